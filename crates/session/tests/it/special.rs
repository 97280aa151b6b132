//! A pipe has the name of a file of the store: whoever opened it to read would wait without end.

use std::fs;
use std::path::Path;

use weft_session::StoreError;
use weft_types::EventBody;

use crate::disk::{Disk, all_rows, header_of, log_text};
use crate::generate::{turn_start, user};

fn put_pipe(path: &Path) {
    rustix::fs::mkfifoat(rustix::fs::CWD, path, rustix::fs::Mode::RWXU).expect("a pipe can be made");
}

/// Two sessions, `a` and `b`.
fn disk() -> Disk {
    let disk = Disk::new();
    for (id, time) in [("a", 1), ("b", 2)] {
        disk.write(id, log_text(&header_of(id, time), [turn_start(1), user(1)]));
    }
    disk
}

fn ids(disk: &Disk) -> Vec<String> {
    let rows = all_rows(&disk.store(), 10);
    rows.iter().map(|row| row.id.as_str().to_owned()).collect()
}

#[track_caller]
fn is_no_file<T: std::fmt::Debug>(outcome: Result<T, StoreError>) {
    let error = outcome.expect_err("it cannot be read").to_string();
    assert!(error.ends_with(": it is no regular file"), "{error}");
}

#[test]
fn a_log_that_is_a_pipe_is_refused_and_keeps_nobody_waiting() {
    let disk = disk();
    fs::remove_file(disk.log("a")).expect("removed");
    put_pipe(&disk.log("a"));
    assert_eq!(ids(&disk), ["b", "a"], "it is listed as one that cannot be read");
    let (store, a) = (disk.store(), "a".into());
    is_no_file(store.read(&a));
    is_no_file(store.open(&a));
    is_no_file(store.verify(&a));
    is_no_file(store.export(&a, std::io::sink()));
    is_no_file(store.follow(&a, 0));
    store.open(&"b".into()).expect("the others are as they were");
    store.delete(&a).expect("it can be deleted");
    assert_eq!(ids(&disk), ["b"]);
}

#[test]
fn a_lock_that_is_a_pipe_is_held_by_nobody() {
    let disk = disk();
    put_pipe(&disk.folder("a").join("lock"));
    assert!(all_rows(&disk.store(), 10).iter().all(|row| !row.running));
    let (store, a) = (disk.store(), "a".into());
    let session = store.read(&a).expect("it can be read");
    assert!(!session.running());
    let events = session.page(0, 10).expect("readable");
    assert!(matches!(events[1].body, EventBody::UserMessage { .. }));
    is_no_file(store.open(&a));
    is_no_file(store.delete(&a));
}

#[test]
fn an_index_that_is_a_pipe_is_as_good_as_none() {
    let disk = disk();
    put_pipe(&disk.root().join("index"));
    assert_eq!(ids(&disk), ["b", "a"]);
}
