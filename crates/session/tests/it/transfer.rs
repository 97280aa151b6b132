//! Export and import: sessions as plain JSON Lines.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;
use weft_session::{FileLayer, FileStore, StoreError, StoreOptions};
use weft_types::{EventBody, SessionHeader};

use crate::disk::{Disk, all_rows, event_lines, events, header_line, header_of, id, log_text};
use crate::generate::{log, step_end, step_start, tool_context, turn_end, turn_start, user};

fn sound() -> String {
    log_text(&header_of("s", 5), [turn_start(1), user(1), step_start(1, 1)])
}

fn export(store: &FileStore) -> String {
    let mut text = Vec::new();
    store.export(&id("s"), &mut text).expect("sound");
    String::from_utf8(text).expect("text")
}

/// An import that is refused, and leaves nothing behind.
#[track_caller]
fn refused(text: impl AsRef<[u8]>) -> StoreError {
    let disk = Disk::new();
    let error = disk.store().import(text.as_ref()).expect_err("no log");
    assert!(!disk.root().exists(), "not even the store's folder was left");
    fs::create_dir(disk.root()).expect("made");
    disk.store().import(text.as_ref()).expect_err("no log");
    assert_eq!(
        fs::read_dir(disk.root()).expect("readable").count(),
        0,
        "nothing was left in it"
    );
    error
}

#[track_caller]
fn refused_at(text: impl AsRef<[u8]>, at: u64, expected: &str) {
    match refused(text) {
        StoreError::Import { line, reason } => {
            assert_eq!(line, at, "{reason}");
            assert!(reason.contains(expected), "{reason}");
        }
        error => panic!("{error}"),
    }
}

#[test]
fn an_imported_session_is_there_and_its_lines_have_checksums() {
    let disk = Disk::new();
    assert_eq!(disk.store().import(sound().as_bytes()).expect("sound"), id("s"));
    let rows = all_rows(&disk.store(), 9);
    assert_eq!((rows.len(), rows[0].running, rows[0].blank), (1, false, false));
    let text = fs::read_to_string(disk.log("s")).expect("text");
    assert_eq!(text.lines().count(), 4);
    assert!(text.lines().all(|line| line.contains(",\"crc\":")), "{text}");
    assert_eq!(disk.store().verify(&id("s")).expect("a log").events, 3);
    assert_eq!(disk.files().len(), 1, "the log is all there is");
    // Its own lines, checksums and all, are an import too.
    let other = Disk::new();
    other.store().import(text.as_bytes()).expect("sound");
    assert_eq!(fs::read_to_string(other.log("s")).expect("text"), text);
}

#[test]
fn an_import_can_give_a_session_another_folder() {
    let disk = Disk::new();
    let written = log_text(&header_of("s", 5), [turn_start(1)]);
    disk.store()
        .import_into(Some("/moved"), written.as_bytes())
        .expect("sound");
    assert_eq!(all_rows(&disk.store(), 9)[0].cwd, "/moved");
    assert_eq!(disk.store().verify(&id("s")).expect("a log").damage, None);
    let moved = SessionHeader {
        cwd: "/moved".to_owned(),
        ..header_of("s", 5)
    };
    assert_eq!(export(&disk.store()), log_text(&moved, [turn_start(1)]));
}

#[test]
fn blank_lines_at_the_end_are_no_fault_of_an_import() {
    for blank in ["\n", "\r\n\n", "\n  "] {
        let disk = Disk::new();
        disk.store().import((sound() + blank).as_bytes()).expect("sound");
        assert_eq!(export(&disk.store()), sound(), "{blank:?}");
    }
}

#[test]
fn a_session_without_an_absolute_folder_is_refused_unless_one_is_given() {
    for cwd in ["", ".", "work/x"] {
        let mut header = header_of("s", 5);
        cwd.clone_into(&mut header.cwd);
        let text = log_text(&header, [turn_start(1)]);
        refused_at(&text, 1, &format!("its cwd is {cwd:?}, expected an absolute path"));
        let disk = Disk::new();
        disk.store()
            .import_into(Some("/moved"), text.as_bytes())
            .expect("moved");
        let store = disk.store();
        store.delete(&id("s")).expect("deleted");
        let moved = log_text(&header_of("s", 5), [turn_start(1)]);
        store
            .import_into(Some(cwd), moved.as_bytes())
            .expect_err("no absolute path");
        assert!(disk.files().is_empty());
    }
}

#[test]
fn an_open_turn_stays_open_on_the_way() {
    let disk = Disk::new();
    disk.store().import(sound().as_bytes()).expect("sound");
    assert_eq!(export(&disk.store()), sound());
}

#[test]
fn an_id_that_is_taken_is_refused_and_the_session_stays() {
    let disk = Disk::new();
    disk.write("s", log_text(&header_of("s", 1), [turn_start(1)]));
    let before = disk.files();
    let error = disk.store().import(sound().as_bytes()).expect_err("taken");
    assert!(matches!(error, StoreError::Exists { .. }), "{error}");
    assert_eq!(disk.files(), before);
    disk.write("s", "damaged\nbeyond repair\n");
    let before = disk.files();
    disk.store().import(sound().as_bytes()).expect_err("still taken");
    assert_eq!(disk.files(), before);
}

#[test]
fn what_never_came_to_be_or_was_left_half_imported_is_in_nobodys_way() {
    let disk = Disk::new();
    fs::create_dir_all(disk.folder("s")).expect("made");
    for left in ["lock", "import.raw", "import.new"] {
        fs::write(disk.folder("s").join(left), "half").expect("written");
    }
    disk.store().import(sound().as_bytes()).expect("sound");
    assert_eq!(export(&disk.store()), sound());
    assert_eq!(disk.files().len(), 1);
}

#[test]
fn a_session_that_is_being_made_is_taken() {
    let disk = Disk::new();
    fs::create_dir_all(disk.folder("s")).expect("made");
    let _lock = disk.run("s");
    let error = disk.store().import(sound().as_bytes()).expect_err("taken");
    assert!(matches!(error, StoreError::Exists { .. }), "{error}");
    assert!(disk.folder("s").join("lock").exists(), "it is the other's");
}

#[test]
fn what_is_no_log_is_refused_and_leaves_nothing() {
    refused_at("", 1, "it is empty");
    refused_at("\n", 1, "no session header");
    refused_at("{}\n", 1, "id");
    refused_at("{\"id\":\"s\"}\n", 1, "version");
    refused_at("{\"id\":\"s\",\"version\":2}\n", 1, "createdAt");
    refused_at("{\"id\":\"s\",\"version\":0}\n", 1, "version 0");
    refused_at(vec![0xff; 9], 1, "no session header");
    for odd in ["../s", "a/b", "", ".s", "index"] {
        refused_at(header_line(&header_of(odd, 1)), 1, "its id is");
    }
    refused_at(sound() + "[]\n", 5, "no event");
    refused_at(
        sound() + &event_lines(&events(4, [turn_end(1)])),
        5,
        "seq is 4, expected 3",
    );
    refused_at(
        sound() + &event_lines(&events(3, [turn_end(1)])),
        5,
        "while step 1 is open",
    );
    refused_at(sound() + "{\"seq\":3,\"ti", 5, "part of an event");
    refused_at(
        sound() + "{\"seq\":3,\"ti\n" + &event_lines(&events(3, [step_end(1, 1)])),
        5,
        "part of an event",
    );
    let wrong = sound().replacen("\"time\":1001", "\"time\":1001,\"x\":1", 1);
    let wrong = wrong.replacen("}]}}\n", "}]},\"crc\":1}\n", 1);
    refused_at(wrong, 3, "checksum");
    refused_at(
        sound() + "{\"seq\":3,\"time\":1,\"type\":\"new/thing\",\"data\":{}}\n",
        5,
        "unknown type \"new/thing\"",
    );
    let newer = SessionHeader {
        version: SessionHeader::VERSION + 1,
        ..header_of("s", 1)
    };
    let error = refused(header_line(&newer) + "whatever\n");
    assert!(matches!(error, StoreError::NewerVersion { found: 4, .. }), "{error}");
}

#[test]
fn a_line_beyond_the_limit_is_refused_without_being_read_whole() {
    let import = |text: String| {
        let disk = Disk::new();
        let options = StoreOptions {
            max_line_bytes: 64 << 10,
            ..StoreOptions::new("test")
        };
        let store = FileStore::new(disk.root(), options).expect("valid");
        let error = store.import(text.as_bytes()).expect_err("too long");
        assert!(!disk.root().exists());
        error.to_string()
    };
    let long = "x".repeat(65 << 10);
    assert!(import(long.clone()).contains("line 1: it is longer than max_line_bytes, 65536"));
    assert!(import(sound() + &long).contains("line 5: it is longer than max_line_bytes, 65536"));
    // As it comes it is short enough; with its checksum nobody could read it.
    let title = |len: usize| EventBody::SessionTitle { title: "x".repeat(len) };
    let lines = |len| log_text(&header_of("s", 5), [title(len)]);
    let beside = lines(0).lines().nth(1).expect("an event").len();
    assert!(
        import(lines((64 << 10) - beside))
            .contains("line 2: with its checksum it is longer than max_line_bytes, 65536")
    );
}

/// Input that ends in an error.
struct Broken;

impl Read for Broken {
    fn read(&mut self, _into: &mut [u8]) -> io::Result<usize> {
        Err(io::Error::other("the pipe burst"))
    }
}

#[test]
fn input_that_fails_leaves_nothing() {
    for text in [String::new(), header_line(&header_of("s", 1)), sound()] {
        let disk = Disk::new();
        let lines = BufReader::new(text.as_bytes().chain(Broken));
        let error = disk.store().import(lines).expect_err("it fails");
        assert!(error.to_string().contains("the pipe burst"), "{error}");
        assert!(!disk.root().exists());
    }
}

/// Input is looked at in pieces of any size.
struct Pieces<'a>(&'a [u8]);

impl Read for Pieces<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0.read(into)
    }
}

impl BufRead for Pieces<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        Ok(&self.0[..self.0.len().min(3)])
    }

    fn consume(&mut self, bytes: usize) {
        self.0 = &self.0[bytes..];
    }
}

#[test]
fn input_may_come_in_small_pieces() {
    let disk = Disk::new();
    disk.store().import(Pieces(sound().as_bytes())).expect("sound");
    assert_eq!(export(&disk.store()), sound());
}

/// Fails the call with that number, of all that change the disk.
struct FailingAt {
    calls: AtomicUsize,
    at: usize,
}

impl FailingAt {
    fn call(&self) -> io::Result<()> {
        if self.calls.fetch_add(1, Ordering::SeqCst) == self.at {
            return Err(io::ErrorKind::StorageFull.into());
        }
        Ok(())
    }
}

impl FileLayer for FailingAt {
    fn create_folder(&self, path: &Path) -> io::Result<()> {
        self.call().and_then(|()| fs::create_dir(path))
    }
    fn create(&self, path: &Path) -> io::Result<File> {
        self.call()
            .and_then(|()| File::options().append(true).create_new(true).open(path))
    }
    fn write(&self, mut file: &File, bytes: &[u8]) -> io::Result<()> {
        self.call().and_then(|()| io::Write::write_all(&mut file, bytes))
    }
    fn sync(&self, _file: &File) -> io::Result<()> {
        self.call()
    }
    fn sync_folder(&self, _path: &Path) -> io::Result<()> {
        self.call()
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.call().and_then(|()| fs::rename(from, to))
    }
}

#[test]
fn a_disk_that_fails_at_any_moment_of_an_import_leaves_nothing() {
    for at in 0.. {
        let disk = Disk::new();
        let files = Arc::new(FailingAt {
            calls: AtomicUsize::new(0),
            at,
        });
        let options = StoreOptions {
            files,
            ..StoreOptions::new("test")
        };
        let store = FileStore::new(disk.root(), options).expect("valid");
        if store.import(sound().as_bytes()).is_ok() {
            assert!(at > 6, "it was made to fail at each");
            return;
        }
        assert!(!disk.root().exists(), "call {at} left something");
        disk.store().import(sound().as_bytes()).expect("it is nobody's");
    }
}

#[test]
fn of_a_damaged_log_what_is_sound_is_exported_and_the_damage_is_told() {
    let disk = Disk::new();
    disk.write("s", sound() + "garbage\n" + &event_lines(&events(7, [turn_end(1)])));
    let mut text = Vec::new();
    let error = disk.store().export(&id("s"), &mut text).expect_err("damaged");
    let StoreError::Damaged { session, damage } = &error else {
        panic!("{error}");
    };
    assert_eq!((session.as_str(), damage.seq, damage.line), ("s", 3, 5));
    assert_eq!(String::from_utf8(text).expect("text"), sound());
}

#[test]
fn an_export_ends_where_the_log_is_torn() {
    let disk = Disk::new();
    disk.write("s", sound() + "{\"seq\":3,\"ti");
    assert_eq!(export(&disk.store()), sound());
    disk.write("s", sound().trim_end());
    assert_eq!(export(&disk.store()), sound(), "only the line feed is missing");
}

#[test]
fn a_reader_that_goes_away_is_an_error_and_no_panic() {
    struct Gone;
    impl io::Write for Gone {
        fn write(&mut self, _bytes: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let disk = Disk::new();
    disk.write("s", sound());
    let error = disk.store().export(&id("s"), Gone).expect_err("nobody reads");
    assert!(
        matches!(&error, StoreError::Io { source, .. } if source.kind() == io::ErrorKind::BrokenPipe),
        "{error}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn what_was_exported_comes_back_byte_for_byte(bodies in log(), open in any::<bool>()) {
        let header = SessionHeader { label: Some("\u{2028}\"".to_owned()), ..header_of("s", 1 << 52) };
        let turns = bodies.iter().filter(|body| matches!(body, EventBody::TurnStart { .. })).count();
        let turn = u32::try_from(turns).expect("few") + 1;
        let open = open.then(|| [turn_start(turn), user(turn), tool_context(turn)]);
        let text = log_text(&header, bodies.into_iter().chain(open.into_iter().flatten()));
        let (one, other) = (Disk::new(), Disk::new());
        one.store().import(text.as_bytes()).expect("legal");
        let exported = export(&one.store());
        prop_assert_eq!(&exported, &text);
        other.store().import(exported.as_bytes()).expect("an export");
        prop_assert_eq!(export(&other.store()), text);
        prop_assert_eq!(one.files().len(), 1);
    }
}
