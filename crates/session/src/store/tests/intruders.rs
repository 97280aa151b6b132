//! Others that change a log under its writer: noticed, never overwritten.

use super::*;

const RELOAD: &str =
    "load the session again to go on from what its log holds; nothing should write or delete it meanwhile";

/// Refuses an append, twice, and leaves what is on disk as it is. Gives why.
#[track_caller]
fn refused(fixture: &Fixture, session: &Session) -> String {
    let before = fs::read(fixture.log()).ok();
    let refuse = || {
        let Err(crate::AppendError::Log { cause, .. }) = session.append(start(2)) else {
            panic!("the log refuses");
        };
        assert_eq!(cause.hint(), Some(RELOAD));
        assert_eq!(fs::read(fixture.log()).ok(), before);
        cause.to_string()
    };
    let reason = refuse();
    assert_eq!(refuse(), reason);
    let told = format!("failed to write to {}: ", fixture.log().display());
    reason.strip_prefix(&told).expect("it names the log once").to_owned()
}

#[test]
fn a_second_writer_without_the_lock_loses_nothing_to_the_first() {
    let fixture = Fixture::new();
    let first = fixture.create(short_turns(1));
    let expected = fixture.bytes().len();
    fs::remove_file(fixture.folder().join("lock")).expect("removed");
    let second = Opened::of(fixture.other().open(&id()).expect("nobody seems to have it")).session;
    for body in [start(2), user(2, "acknowledged"), end(2)] {
        second.append(body).expect("legal");
    }
    let found = fixture.bytes().len();
    assert_eq!(
        refused(&fixture, &first),
        format!("the log was changed by another program: it has {found} bytes, expected {expected}")
    );
    second.append(start(3)).expect("the second is not disturbed");
}

#[test]
fn whoever_of_two_writers_is_late_is_refused() {
    let fixture = Fixture::new();
    let first = fixture.create(short_turns(1));
    fs::remove_file(fixture.folder().join("lock")).expect("removed");
    let second = Opened::of(fixture.other().open(&id()).expect("nobody seems to have it")).session;
    first.append(start(2)).expect("nothing has changed yet");
    let reason = refused(&fixture, &second);
    assert!(
        reason.starts_with("the log was changed by another program: "),
        "{reason}"
    );
    first.append(end(2)).expect("the first is not disturbed");
}

#[test]
fn a_log_that_was_shortened_takes_nothing_more_even_if_it_has_its_length_again() {
    let fixture = Fixture::new();
    let session = fixture.create(short_turns(1));
    let whole = fixture.bytes();
    let shorten = |len: usize| {
        let file = fs::File::options().write(true).open(fixture.log()).expect("opened");
        file.set_len(len as u64).expect("set");
    };
    shorten(whole.len() - 9);
    let reason = refused(&fixture, &session);
    shorten(whole.len());
    assert_eq!(refused(&fixture, &session), reason);
}

#[cfg(unix)]
#[test]
fn a_log_that_lost_its_name_takes_nothing_more() {
    type Change = fn(&Fixture);
    let changes: [Change; 3] = [
        |fixture| fs::remove_dir_all(fixture.folder()).expect("removed"),
        |fixture| fs::rename(fixture.log(), fixture.folder().join("elsewhere")).expect("renamed"),
        |fixture| {
            let bytes = fixture.bytes();
            fs::rename(fixture.log(), fixture.folder().join("elsewhere")).expect("renamed");
            fixture.write(&bytes);
        },
    ];
    for change in changes {
        let fixture = Fixture::new();
        let session = fixture.create(short_turns(1));
        change(&fixture);
        assert_eq!(
            refused(&fixture, &session),
            "the log was removed or replaced by another program"
        );
    }
}

#[cfg(unix)]
#[test]
fn a_write_goes_to_the_end_wherever_that_is_by_then() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let path = dir.path().join("log");
    let made = RealFiles.create(&path).expect("made");
    RealFiles.write(&made, b"one ").expect("written");
    let opened = RealFiles.open_to_append(&path).expect("opened");
    RealFiles.write(&made, b"two ").expect("written");
    RealFiles.write(&opened, b"three ").expect("written");
    RealFiles.write(&made, b"four").expect("written");
    assert_eq!(fs::read(&path).expect("readable"), b"one two three four");
}

/// Finishes a line, as another writer does, between the reading and the mending of a log.
struct Finishes(&'static [u8]);

impl FileLayer for Finishes {
    fn open_to_append(&self, path: &std::path::Path) -> std::io::Result<fs::File> {
        let file = RealFiles.open_to_append(path)?;
        RealFiles.write(&file, self.0)?;
        Ok(file)
    }
}

#[test]
fn an_end_that_is_half_written_no_longer_is_not_cut_off() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let change = |options: &mut StoreOptions| options.files = Arc::new(Finishes(b"1}\n"));
    let store = store(&dir, &Arc::default(), change);
    let folder = store.root().join("s");
    fs::create_dir_all(&folder).expect("made");
    fs::write(
        folder.join("log.jsonl"),
        [&sample().0[..], b"{\"seq\":20,\"x\":"].concat(),
    )
    .expect("written");
    let opened = Opened::of(store.open(&id()).expect("it opens"));
    let [Note::ReadOnly(ReadOnly::NoWriting(reason))] = &opened.notes[..] else {
        panic!("{:?}", opened.notes);
    };
    assert!(
        reason.ends_with("log.jsonl: another program has written to it meanwhile"),
        "{reason}"
    );
    let whole = [&sample().0[..], b"{\"seq\":20,\"x\":1}\n"].concat();
    assert_eq!(fs::read(folder.join("log.jsonl")).expect("readable"), whole);
}
