//! The index of the list: it may be missing, stale or broken, and the list tells the same.

use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;
use weft_session::{FileLayer, FileStore, SessionRow, StoreOptions};
use weft_types::{EventBody, UnixMillis};

use crate::disk::{Disk, all_rows, event_lines, events, header_line, header_of, log_text};
use crate::generate::{turn_start, user};

fn title(title: &str) -> EventBody {
    let title = title.to_owned();
    EventBody::SessionTitle { title }
}

fn rows(disk: &Disk) -> Vec<SessionRow> {
    all_rows(&disk.store(), 7)
}

/// What a list tells that has no index to look at.
fn rows_from_scratch(disk: &Disk) -> Vec<SessionRow> {
    let index = disk.root().join("index");
    let kept = fs::read(&index).ok();
    drop(fs::remove_file(&index));
    let rows = rows(disk);
    if let Some(kept) = kept {
        fs::write(index, kept).expect("written");
    }
    rows
}

fn filled() -> Disk {
    let disk = Disk::new();
    for n in 0..20 {
        let id = format!("s{n}");
        disk.write(&id, log_text(&header_of(&id, n), [title(&id), turn_start(1), user(1)]));
    }
    disk
}

/// Changes a log so that only its bytes tell of it.
fn change_unseen(path: &Path, from: &str, to: &str) {
    let time = fs::metadata(path)
        .and_then(|metadata| metadata.modified())
        .expect("a time");
    let text = fs::read_to_string(path).expect("readable").replace(from, to);
    fs::write(path, text).expect("written");
    let file = File::options().append(true).open(path).expect("opened");
    file.set_modified(time).expect("set");
}

#[test]
fn a_log_that_did_not_change_is_not_read_again() {
    let disk = filled();
    let before = rows(&disk);
    change_unseen(&disk.log("s3"), "s3", "XX");
    assert_eq!(rows(&disk), before, "the index was believed");
    let title = |rows: &[SessionRow]| {
        rows.iter()
            .find(|row| row.id.as_str() == "s3")
            .and_then(|row| row.title.clone())
    };
    assert_eq!(title(&rows_from_scratch(&disk)).as_deref(), Some("XX"));
}

#[test]
fn of_a_log_that_grew_only_the_new_bytes_are_read() {
    let disk = filled();
    rows(&disk);
    change_unseen(&disk.log("s3"), "\"s3\"}", "\"XX\"}");
    disk.append(
        "s3",
        event_lines(&events(
            3,
            [EventBody::ToolContext {
                turn: 1,
                content: Vec::new(),
            }],
        )),
    );
    let rows = rows(&disk);
    let row = rows.iter().find(|row| row.id.as_str() == "s3").expect("listed");
    assert_eq!(row.title.as_deref(), Some("s3"));
}

#[test]
fn an_index_that_is_no_whole_one_is_as_good_as_none() {
    let disk = filled();
    let expected = rows(&disk);
    let index = disk.root().join("index");
    let whole = fs::read(&index).expect("it was written");
    let text = String::from_utf8(whole.clone()).expect("text");
    let mut flipped = whole.clone();
    *flipped.last_mut().expect("not empty") ^= 1;
    let broken: Vec<Vec<u8>> = vec![
        Vec::new(),
        b"\n".to_vec(),
        b"garbage".to_vec(),
        vec![0; whole.len()],
        whole[..whole.len() / 2].to_vec(),
        [&whole[..], b"\n"].concat(),
        flipped,
        text.replacen("\"format\":1", "\"format\":2", 1).into_bytes(),
        text.replace("s3", "XX").into_bytes(),
    ];
    for bytes in broken {
        fs::write(&index, &bytes).expect("written");
        assert_eq!(rows(&disk), expected);
        let mut lines: Vec<_> = fs::read_to_string(&index)
            .expect("text")
            .lines()
            .map(str::to_owned)
            .collect();
        let mut whole: Vec<_> = text.lines().map(str::to_owned).collect();
        lines[1..].sort();
        whole[1..].sort();
        assert_eq!(
            lines[1..],
            whole[1..],
            "it was made anew after {:?}",
            String::from_utf8_lossy(&bytes)
        );
    }
    fs::remove_file(&index).expect("removed");
    fs::create_dir(&index).expect("made");
    assert_eq!(rows(&disk), expected, "even if it cannot be");
}

#[test]
fn an_index_that_tells_of_places_that_no_log_has_is_not_believed() {
    for place in ["\"start\":18446744073709551615", "\"start\":9000000000000000000"] {
        let disk = filled();
        rows(&disk);
        let index = disk.root().join("index");
        let text = fs::read_to_string(&index).expect("text");
        let (_, sessions) = text.split_once('\n').expect("a head");
        let sessions = sessions.replace("\"start\":0", place);
        let (count, crc) = (sessions.lines().count(), crc32fast::hash(sessions.as_bytes()));
        fs::write(
            &index,
            format!("{{\"format\":1,\"sessions\":{count},\"crc\":{crc}}}\n{sessions}"),
        )
        .expect("written");
        disk.append("s3", event_lines(&events(3, [title("grown")])));
        assert_eq!(rows(&disk), rows_from_scratch(&disk), "{place}");
    }
}

#[test]
fn a_log_that_was_shortened_or_replaced_is_read_anew() {
    let disk = filled();
    rows(&disk);
    let text = |title_of: &str| log_text(&header_of("x", 5), [title(title_of), turn_start(1), user(1)]);
    fs::write(disk.log("s1"), header_line(&header_of("s1", 1))).expect("shortened in place");
    disk.write("s2", text("replaced"));
    fs::write(disk.log("s3"), text("longer in place")).expect("written");
    let same = fs::read_to_string(disk.log("s4"))
        .expect("readable")
        .replace("\"s4\"}", "\"XX\"}");
    disk.write("s4", same);
    change_unseen(&disk.log("s5"), "\"s5\"}", "\"XX\"}");
    let file = File::options().append(true).open(disk.log("s5")).expect("opened");
    file.set_modified(std::time::UNIX_EPOCH).expect("set");
    assert_eq!(rows(&disk), rows_from_scratch(&disk));
}

/// Takes nothing.
struct FullDisk;

impl FileLayer for FullDisk {
    fn write(&self, _file: &File, _bytes: &[u8]) -> std::io::Result<()> {
        Err(std::io::ErrorKind::StorageFull.into())
    }
}

#[test]
fn a_full_disk_fails_no_list_and_leaves_nothing_behind() {
    let disk = filled();
    let options = StoreOptions {
        files: Arc::new(FullDisk),
        ..StoreOptions::new("test")
    };
    let store = FileStore::new(disk.root(), options).expect("valid");
    assert_eq!(all_rows(&store, 7), rows(&Disk::clone_of(&disk)));
    assert_eq!(
        fs::read_dir(disk.root()).expect("readable").count(),
        20,
        "sessions only"
    );
}

#[test]
fn lists_at_the_same_time_agree() {
    let disk = filled();
    let expected = rows(&Disk::clone_of(&disk));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..8 {
                    assert_eq!(rows(&disk), expected);
                    drop(fs::remove_file(disk.root().join("index")));
                }
            });
        }
    });
    rows(&disk);
    assert_eq!(
        fs::read_dir(disk.root()).expect("readable").count(),
        21,
        "sessions and the index"
    );
}

#[test]
fn what_a_dead_process_left_of_an_index_goes() {
    let disk = filled();
    let left = disk.root().join(".index-1-0");
    let fresh = disk.root().join(".index-1-1");
    for path in [&left, &fresh] {
        fs::write(path, "half").expect("written");
    }
    let file = File::options().append(true).open(&left).expect("opened");
    file.set_modified(std::time::UNIX_EPOCH).expect("set");
    rows(&disk);
    rows(&disk);
    assert!(!left.exists());
    assert!(fresh.exists(), "somebody may be writing it");
}

/// What happens to the logs between two lists.
#[derive(Clone, Debug)]
enum Deed {
    Create(u8, u64),
    Append(u8, Vec<EventBody>),
    Tear(u8, usize),
    Replace(u8, Vec<EventBody>),
    Cut(u8, prop::sample::Index),
    Remove(u8),
    List,
}

fn deed() -> impl Strategy<Value = Deed> {
    let body = prop_oneof![
        "[a-z]{0,9}".prop_map(|text| title(&text)),
        Just(turn_start(1)),
        Just(user(1)),
        Just(EventBody::StepStart { turn: 1, step: 1 }),
    ];
    let bodies = prop::collection::vec(body, 0..5);
    let id = 0..5_u8;
    prop_oneof![
        (id.clone(), 0..9_u64).prop_map(|(id, created)| Deed::Create(id, created)),
        (id.clone(), bodies.clone()).prop_map(|(id, bodies)| Deed::Append(id, bodies)),
        (id.clone(), 1..40_usize).prop_map(|(id, bytes)| Deed::Tear(id, bytes)),
        (id.clone(), bodies).prop_map(|(id, bodies)| Deed::Replace(id, bodies)),
        (id.clone(), any::<prop::sample::Index>()).prop_map(|(id, at)| Deed::Cut(id, at)),
        id.prop_map(Deed::Remove),
        Just(Deed::List),
    ]
}

/// Does it; the index may be made worth writing by many more sessions.
fn perform(disk: &Disk, deed: &Deed) {
    let name = |id: &u8| format!("s{id}");
    let text = |id: &u8| fs::read(disk.log(&name(id))).ok();
    match deed {
        Deed::Create(id, created) if text(id).is_none() => {
            disk.write(&name(id), header_line(&header_of(&name(id), *created)));
        }
        Deed::Append(id, bodies) => {
            if let Some(text) = text(id) {
                let lines = text.iter().filter(|byte| **byte == b'\n').count() as u64;
                let torn = if text.ends_with(b"\n") { "" } else { "\n" };
                let from = lines.saturating_sub(1);
                disk.append(&name(id), torn.to_owned() + &event_lines(&events(from, bodies.clone())));
            }
        }
        Deed::Tear(id, bytes) if text(id).is_some() => {
            let line = event_lines(&events(0, [title("torn")]));
            disk.append(&name(id), &line[..(*bytes).min(line.len() - 1)]);
        }
        Deed::Replace(id, bodies) if text(id).is_some() => {
            disk.write(&name(id), log_text(&header_of(&name(id), 3), bodies.clone()));
        }
        Deed::Cut(id, at) => {
            if let Some(text) = text(id) {
                let file = File::options().write(true).open(disk.log(&name(id))).expect("opened");
                file.set_len(at.index(text.len() + 1) as u64).expect("cut");
            }
        }
        Deed::Remove(id) => drop(fs::remove_dir_all(disk.folder(&name(id)))),
        Deed::List => drop(rows(disk)),
        Deed::Create(..) | Deed::Tear(..) | Deed::Replace(..) => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn rows_with_an_index_are_rows_from_scratch(deeds in prop::collection::vec(deed(), 1..40)) {
        let disk = Disk::new();
        for deed in &deeds {
            perform(&disk, deed);
            // Every other index is one that was written before the last deeds.
            if let Deed::List = deed {
                prop_assert_eq!(rows(&disk), rows_from_scratch(&disk));
            }
        }
        let told = rows(&disk);
        prop_assert_eq!(&told, &rows_from_scratch(&disk));
        let mut sound = told.iter().filter(|row| !row.cwd.is_empty());
        prop_assert!(sound.all(|row| row.updated_at >= row.created_at && row.created_at < UnixMillis(9)));
    }
}

#[test]
fn an_index_that_is_larger_than_any_is_not_read_but_replaced() {
    let disk = filled();
    let expected = rows(&disk);
    let index = disk.root().join("index");
    let whole = fs::read(&index).expect("readable");
    let file = File::options().write(true).open(&index).expect("opened");
    file.set_len(20 << 30).expect("set");
    assert_eq!(rows(&disk), expected);
    assert_eq!(fs::read(&index).expect("replaced").len(), whole.len());
}
