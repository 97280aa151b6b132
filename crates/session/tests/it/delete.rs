//! Deleting sessions: whole families, all or nothing, and again after a crash.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use weft_session::{FileLayer, FileStore, StoreError, StoreOptions};
use weft_types::{Origin, SessionHeader, SessionId};

use crate::disk::{Disk, all_rows, header_line, header_of, id, ids};

/// A session of each id, started by the one it is paired with.
fn family(members: &[(&str, Option<&str>)]) -> Disk {
    let disk = Disk::new();
    for (id, parent) in members {
        let header = SessionHeader {
            parent: parent.map(SessionId::from),
            origin: if parent.is_some() {
                Origin::Subagent
            } else {
                Origin::User
            },
            ..header_of(id, 1)
        };
        disk.write(id, header_line(&header));
    }
    disk
}

fn names(ids: &[SessionId]) -> Vec<&str> {
    ids.iter().map(SessionId::as_str).collect()
}

/// The names in the root, except for the index.
fn left(disk: &Disk) -> Vec<String> {
    let items = fs::read_dir(disk.root()).expect("readable");
    let names = items.map(|item| item.expect("readable").file_name().into_string().expect("text"));
    let mut names: Vec<_> = names.filter(|name| name != "index").collect();
    names.sort();
    names
}

const FAMILY: &[(&str, Option<&str>)] = &[
    ("other", None),
    ("top", None),
    ("a", Some("top")),
    ("b", Some("top")),
    ("a.a", Some("a")),
    ("a.a.a", Some("a.a")),
    ("orphan", Some("gone")),
];

#[test]
fn children_go_before_those_that_started_them() {
    let disk = family(FAMILY);
    let deleted = disk.store().delete(&id("top")).expect("deleted");
    let place = |id: &str| deleted.iter().position(|other| other.as_str() == id).expect("deleted");
    assert_eq!(deleted.len(), 5);
    assert!(place("a.a.a") < place("a.a") && place("a.a") < place("a"));
    assert_eq!(place("top"), 4);
    assert_eq!(left(&disk), ["orphan", "other"]);
    assert_eq!(ids(&all_rows(&disk.store(), 9)), ["other", "orphan"]);
}

#[test]
fn a_child_goes_alone() {
    let disk = family(FAMILY);
    assert_eq!(
        names(&disk.store().delete(&id("a.a")).expect("deleted")),
        ["a.a.a", "a.a"]
    );
    assert_eq!(left(&disk), ["a", "b", "orphan", "other", "top"]);
}

#[test]
fn a_family_with_a_running_member_stays_as_a_whole() {
    for running in ["top", "a.a.a"] {
        let disk = family(FAMILY);
        let lock = disk.run(running);
        let before = disk.files();
        let error = disk.store().delete(&id("top")).expect_err("it runs");
        assert!(
            matches!(&error, StoreError::InUse { session, .. } if session.as_str() == running),
            "{error}"
        );
        assert_eq!(disk.files(), before);
        drop(lock);
        assert_eq!(disk.store().delete(&id("top")).expect("nobody is in the way").len(), 5);
    }
}

#[test]
fn what_is_no_session_is_not_found_and_nothing_is_touched() {
    let disk = family(FAMILY);
    let before = disk.files();
    for unknown in [
        "nobody",
        "",
        ".",
        "..",
        "../sessions",
        "a/log.jsonl",
        ".hidden",
        &"x".repeat(201),
        "a\0",
    ] {
        let error = disk.store().delete(&id(unknown)).expect_err("unknown");
        assert!(matches!(error, StoreError::NotFound { .. }), "{error}");
    }
    assert_eq!(disk.files(), before);
    let nowhere = Disk::new();
    let error = nowhere.store().delete(&id("s")).expect_err("there is not even a store");
    assert!(matches!(error, StoreError::NotFound { .. }), "{error}");
    assert!(!nowhere.root().exists());
}

#[test]
fn sessions_that_started_each_other_are_deleted_once() {
    let disk = family(&[("a", Some("b")), ("b", Some("a")), ("c", Some("c"))]);
    assert_eq!(names(&disk.store().delete(&id("a")).expect("deleted")), ["b", "a"]);
    assert_eq!(names(&disk.store().delete(&id("c")).expect("deleted")), ["c"]);
    assert_eq!(left(&disk), [""; 0]);
}

#[test]
fn a_damaged_session_can_be_deleted() {
    let disk = family(&[]);
    disk.write("s", "garbage\nmore\n");
    disk.store().delete(&id("s")).expect("deleted");
    assert_eq!(left(&disk), [""; 0]);
}

/// Fails from the rename with that number on.
struct Dying {
    renames: AtomicUsize,
    from: usize,
}

impl FileLayer for Dying {
    fn rename(&self, from: &Path, to: &Path) -> std::io::Result<()> {
        let is_index = to.ends_with("index");
        if !is_index && self.renames.fetch_add(1, Ordering::SeqCst) >= self.from {
            return Err(std::io::Error::other("died"));
        }
        fs::rename(from, to)
    }
}

#[test]
fn what_a_failure_or_a_crash_leaves_of_a_family_a_second_deletion_finishes() {
    for from in 0..5 {
        let disk = family(FAMILY);
        let files = Arc::new(Dying {
            renames: AtomicUsize::new(0),
            from,
        });
        let options = StoreOptions {
            files,
            ..StoreOptions::new("test")
        };
        let store = FileStore::new(disk.root(), options).expect("valid");
        store.delete(&id("top")).expect_err("it dies");
        assert!(
            left(&disk).contains(&"top".to_owned()),
            "the first one is the last to go"
        );
        assert_eq!(
            left(&disk).len(),
            FAMILY.len() - from,
            "each is there as a whole or not at all"
        );
        assert_eq!(disk.store().delete(&id("top")).expect("it goes on").len(), 5 - from);
        assert_eq!(left(&disk), ["orphan", "other"]);
    }
}

#[test]
fn what_a_crash_leaves_in_the_middle_of_one_session_is_no_session_and_goes_next_time() {
    let disk = family(FAMILY);
    fs::rename(disk.folder("a.a.a"), disk.root().join(".deleted-a.a.a")).expect("renamed");
    assert_eq!(all_rows(&disk.store(), 9).len(), FAMILY.len() - 1);
    let error = disk.store().delete(&id("a.a.a")).expect_err("it is gone already");
    assert!(matches!(error, StoreError::NotFound { .. }), "{error}");
    assert!(!left(&disk).contains(&".deleted-a.a.a".to_owned()));
}

#[test]
fn children_of_a_session_that_is_gone_go_with_its_id() {
    let disk = family(FAMILY);
    assert_eq!(names(&disk.store().delete(&id("gone")).expect("deleted")), ["orphan"]);
}
