//! One writer, many readers.

use std::sync::Barrier;

use super::*;
use crate::store::lock;

#[test]
fn a_second_writer_is_refused_by_name_until_the_first_is_done() {
    let fixture = Fixture::new();
    let session = fixture.create(short_turns(1));
    let paths = fixture.store.layout().session(&id()).expect("a name");
    let running = || lock::running(&RealFiles, &paths).expect("it can be asked");
    let holder = Holder {
        pid: Some(std::process::id()),
        program: Some("weft test".to_owned()),
    };
    assert_eq!(running(), Some(holder.clone()));
    for store in [fixture.store.clone(), fixture.other()] {
        let error = store.open(&id()).expect_err("in use");
        let pid = std::process::id();
        let text = format!("failed to open session s: it is in use by weft test (process {pid}); close it there first");
        assert_eq!(error.to_string(), text);
        assert!(matches!(error, StoreError::InUse { holder: named, .. } if named == holder));
    }
    session.append(start(2)).expect("the first is not disturbed");
    drop(session);
    assert_eq!(running(), None);
    let opening = fixture.other().open(&id()).expect("nobody has it");
    assert!(running().is_some(), "an opening has it too");
    drop(opening);
    assert_eq!(running(), None);
    let session = Opened::of(fixture.other().open(&id()).expect("nobody has it")).session;
    assert!(running().is_some());
    drop(session);
    assert_eq!(running(), None);
}

#[test]
fn of_many_writers_that_open_at_once_one_has_the_session() {
    let fixture = Fixture::new();
    drop(fixture.create(short_turns(1)));
    let (barrier, stores) = (Barrier::new(8), Vec::from_iter((0..8).map(|_| fixture.other())));
    let opened: Vec<Option<Opening>> = std::thread::scope(|scope| {
        let open = |store: &FileStore| {
            barrier.wait();
            store.open(&id()).ok()
        };
        let threads: Vec<_> = stores.iter().map(|store| scope.spawn(move || open(store))).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("no panic"))
            .collect()
    });
    assert_eq!(opened.iter().flatten().count(), 1);
}

#[test]
fn whoever_asks_whether_a_session_runs_keeps_no_writer_out() {
    let fixture = Fixture::new();
    drop(fixture.create(short_turns(1)));
    let paths = fixture.store.layout().session(&id()).expect("a name");
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(std::sync::atomic::Ordering::SeqCst) {
                lock::running(&RealFiles, &paths).expect("it can be asked");
            }
        });
        for _ in 0..50 {
            drop(fixture.store.open(&id()).expect("nobody has it"));
        }
        done.store(true, std::sync::atomic::Ordering::SeqCst);
    });
}

#[test]
fn a_lock_that_is_deleted_before_it_is_locked_is_no_lock() {
    let fixture = Fixture::new();
    drop(fixture.create(short_turns(1)));
    fixture.layer.lose_lock();
    let opening = fixture.store.open(&id()).expect("it locks the file that has the name");
    assert!(fixture.folder().join("lock").exists());
    fixture.other().open(&id()).expect_err("the first has it");
    drop(opening);
    fixture.other().open(&id()).expect("nobody has it");
}

#[test]
fn a_session_that_another_deletes_first_is_not_found() {
    for attempt in [
        |store: &FileStore| store.open(&id()).map(drop),
        |store: &FileStore| store.delete(&id()).map(drop),
    ] {
        let fixture = Fixture::new();
        drop(fixture.create(short_turns(1)));
        fixture.layer.lose_folder();
        let error = attempt(&fixture.store).expect_err("it is gone");
        let text = "failed to find session s: there is none of this id";
        assert_eq!(error.to_string(), text);
    }
}

#[test]
fn an_id_that_is_no_plain_file_name_is_not_found() {
    let fixture = Fixture::new();
    drop(fixture.create(short_turns(1)));
    for odd in [
        "",
        ".",
        "..",
        "../s",
        "/etc",
        "a/b",
        "a\\b",
        ".hidden",
        "a\0b",
        "a b",
        "é",
        &"x".repeat(201),
        "other",
    ] {
        let id: SessionId = odd.into();
        for error in [fixture.store.open(&id).map(drop), fixture.store.read(&id).map(drop)] {
            assert!(matches!(error, Err(StoreError::NotFound { .. })), "{odd:?}: {error:?}");
        }
        if odd != "other" {
            fixture.store.create(header(odd)).expect_err("no session can have it");
        }
    }
    fs::write(fixture.store.root().join("file"), "").expect("written");
    assert!(matches!(
        fixture.store.open(&"file".into()),
        Err(StoreError::NotFound { .. })
    ));
    assert_eq!(fs::read_dir(fixture.store.root()).expect("a folder").count(), 2);
    let error = fixture.store.create(header("s")).expect_err("it exists").to_string();
    assert_eq!(
        error,
        "failed to create session s: failed to create session s: it exists already"
    );
}

#[test]
fn of_two_sessions_created_with_one_id_the_first_to_be_appended_to_has_it() {
    let fixture = Fixture::new();
    let (first, second) = (fixture.create([]), fixture.create([]));
    first.append(start(1)).expect("the first");
    second.append(start(1)).expect_err("the second");
    drop(first);
    second.append(start(1)).expect_err("it exists");
    assert_eq!(fixture.names(), ["lock", "log.jsonl"], "what is another's is let be");
    assert_eq!(fixture.open().events.len(), 2);
}

#[cfg(unix)]
#[test]
fn what_is_made_is_private_to_the_user() {
    use std::os::unix::fs::PermissionsExt;
    let fixture = Fixture::new();
    let _session = fixture.create(short_turns(1));
    let mode = |path: PathBuf| path.metadata().expect("it exists").permissions().mode() & 0o777;
    assert_eq!(mode(fixture.store.root().to_owned()), 0o700);
    assert_eq!(mode(fixture.folder()), 0o700);
    assert_eq!(
        (mode(fixture.log()), mode(fixture.folder().join("lock"))),
        (0o600, 0o600)
    );
}
