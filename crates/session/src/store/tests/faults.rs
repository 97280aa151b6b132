//! Disks that fail: what was appended stays, what was refused was never appended, and the next open works.

use std::io::ErrorKind;

use super::layer::Act;
use super::*;

/// The session is opened anew, elsewhere, with exactly these events and no notes but `notes`.
#[track_caller]
fn reopens(fixture: &Fixture, session: Arc<Session>, notes: usize) -> Vec<Arc<Event>> {
    drop(session);
    fixture.layer.heal();
    let opened = Opened::of(fixture.other().open(&id()).expect("it opens"));
    assert_eq!(opened.notes.len(), notes, "{:?}", opened.notes);
    opened.session.append(next_turn(&opened.events)).expect("it goes on");
    opened.events
}

#[test]
fn a_full_disk_refuses_the_event_and_the_next_one_has_its_number() {
    for part in [0, 1, 40, 10_000] {
        let fixture = Fixture::new();
        let session = fixture.create(short_turns(2));
        let before = fixture.bytes();
        fixture.layer.fail_half_way(part);
        let error = session.append(start(3)).expect_err("the disk is full").to_string();
        let log = fixture.log();
        let text = format!(
            "failed to append event 6 to session s: failed to write to {}: no storage space",
            log.display()
        );
        assert_eq!(error, text);
        assert_eq!(fixture.bytes(), before, "{part} bytes are cut off");
        assert_eq!(session.append(start(3)).expect("there is room again").seq, 6);
        session.append(end(3)).expect("it goes on");
        let events = session.events().expect("readable");
        assert_eq!(reopens(&fixture, session, 0), events);
    }
}

#[test]
fn a_disk_that_is_full_at_the_first_event_leaves_nothing_behind() {
    for act in [Act::CreateFolder, Act::OpenToLock, Act::Create, Act::Write] {
        let fixture = Fixture::new();
        let session = fixture.create([]);
        assert!(!fixture.store.root().exists(), "nothing is made before the first event");
        fixture.layer.fail(act, ErrorKind::StorageFull, 0, 1);
        session.append(start(1)).expect_err("the disk is full");
        let left = fs::read_dir(fixture.store.root()).map_or(0, Iterator::count);
        assert_eq!(left, 0, "{act:?}");
        assert_eq!(session.append(start(1)).expect("there is room again").seq, 0, "{act:?}");
        session.append(end(1)).expect("it goes on");
        assert_eq!(reopens(&fixture, session, 0).len(), 2);
    }
}

#[test]
fn an_error_at_the_first_event_names_the_log_once() {
    let fixture = Fixture::new();
    let session = fixture.create([]);
    fixture.layer.fail_half_way(3);
    let error = session.append(start(1)).expect_err("the disk is full").to_string();
    let log = fixture.log();
    assert_eq!(
        error,
        format!(
            "failed to append event 0 to session s: failed to write {}: no storage space",
            log.display()
        )
    );
}

#[test]
fn a_part_that_cannot_be_cut_off_ends_the_log_until_it_is_opened_again() {
    let fixture = Fixture::new();
    let session = fixture.create(short_turns(2));
    let before = fixture.bytes();
    fixture.layer.fail_half_way(17);
    fixture.layer.fail(Act::Truncate, ErrorKind::Other, 0, 1);
    session.append(start(3)).expect_err("the disk is full");
    assert_eq!(fixture.bytes().len(), before.len() + 17);
    let error = session.append(start(3)).expect_err("stuck").to_string();
    assert!(
        error.contains("part of an earlier event could not be cut off: no storage space, then other error"),
        "{error}"
    );
    let events = session.events().expect("it can be read still");
    assert_eq!(events.len(), 6);
    assert_eq!(reopens(&fixture, session, 1), events, "the torn end is cut off");
    assert!(fixture.bytes().starts_with(&before));
}

#[test]
fn an_error_while_reading_is_told_and_nothing_is_changed() {
    let fixture = Fixture::new();
    let session = fixture.create(short_turns(2));
    fixture.layer.fail(Act::Read, ErrorKind::Other, 0, 1);
    let error = session.page(0, 10).expect_err("the disk fails").to_string();
    assert!(
        error.starts_with("failed to read events of session s: failed to read "),
        "{error}"
    );
    assert_eq!(session.page(0, 10).expect("it works again").len(), 6);
    drop(session);
    let bytes = fixture.bytes();
    let mut opening = fixture.store.open(&id()).expect("the header is read");
    fixture.layer.fail(Act::Read, ErrorKind::Other, 0, 1);
    // What was read ahead with the header may do for some events; then it fails, or nothing was left to read.
    while let Ok(page) = opening.next_page()
        && !page.is_empty()
    {}
    drop(opening);
    assert_eq!(fixture.bytes(), bytes);
    fixture.layer.heal();
    fixture.layer.fail(Act::Read, ErrorKind::Other, 0, 1);
    assert!(matches!(fixture.store.read(&id()), Err(StoreError::Io { .. })));
    assert_eq!(fixture.open().events.len(), 6);
}

#[test]
fn a_folder_that_cannot_be_written_opens_read_only_and_says_why() {
    for act in [Act::OpenToLock, Act::OpenToAppend] {
        let fixture = Fixture::new();
        drop(fixture.create(turn(1).into_iter().take(5)));
        let bytes = fixture.bytes();
        fixture.layer.fail(act, ErrorKind::ReadOnlyFilesystem, 0, 1);
        let opened = fixture.open();
        assert_eq!(opened.events.len(), 5 + 5, "its open turn is closed in memory");
        let [Note::ReadOnly(ReadOnly::NoWriting(reason))] = &opened.notes[..] else {
            panic!("{act:?}: {:?}", opened.notes);
        };
        assert!(reason.ends_with("read-only filesystem or storage medium"), "{reason}");
        let Err(crate::AppendError::Log { cause, .. }) = opened.session.append(start(2)) else {
            panic!("{act:?}: it is read-only");
        };
        let hint = "mend that and open it anew; `weft sessions export s` saves it elsewhere";
        assert_eq!(cause.hint(), Some(hint));
        assert_eq!(opened.session.page(7, 100).expect("readable"), opened.events[7..]);
        assert_eq!(fixture.bytes(), bytes);
        let again = Opened::of(fixture.other().open(&id()).expect("nobody holds its lock"));
        assert_eq!((again.events, again.notes), (opened.events, Vec::new()));
    }
}

#[test]
fn a_disk_that_fails_during_the_repair_opens_read_only_and_the_next_open_repairs() {
    let (acts, torn) = ([Act::Truncate, Act::Write, Act::Sync, Act::SyncFolder], b"{\"seq\":5,");
    for (act, after) in acts
        .into_iter()
        .map(|act| (act, 0))
        .chain([(Act::Write, 1), (Act::Write, 4)])
    {
        let fixture = Fixture::new();
        drop(fixture.create(turn(1).into_iter().take(5)));
        fixture.write(&[&fixture.bytes()[..], torn].concat());
        fixture.layer.fail(act, ErrorKind::StorageFull, after, 1);
        let opened = fixture.open();
        assert_eq!(opened.events.len(), 10, "{act:?}");
        assert!(
            matches!(opened.notes.last(), Some(Note::ReadOnly(ReadOnly::NoWriting(_)))),
            "{act:?}: {:?}",
            opened.notes
        );
        opened.session.append(start(2)).expect_err("read-only");
        let again = Opened::of(fixture.other().open(&id()).expect("nobody holds its lock"));
        assert_eq!(again.events, opened.events, "{act:?} after {after}");
        again.session.append(start(2)).expect("it goes on");
    }
}

#[test]
fn a_disk_that_fails_while_a_log_is_rewritten_leaves_it_as_it_was() {
    let (log, events) = sample();
    let (first, rest) = log.split_at(log.iter().position(|byte| *byte == b'\n').expect("a header") + 1);
    let debris = [first, b"{\"seq\":0,\n", rest].concat();
    for act in [Act::Create, Act::Write, Act::Sync, Act::Link, Act::Rename] {
        let fixture = Fixture::new();
        fixture.write(&debris);
        fixture.layer.fail(act, ErrorKind::StorageFull, 0, 1);
        let opened = fixture.open();
        assert_eq!(opened.events, events, "{act:?}");
        assert!(
            matches!(opened.notes[..], [Note::ReadOnly(ReadOnly::NoWriting(_))]),
            "{act:?}: {:?}",
            opened.notes
        );
        assert_eq!(fixture.bytes(), debris, "{act:?}");
        assert!(!fixture.folder().join("log.rewrite").exists());
        drop(opened);
        assert_eq!(fixture.open().notes.len(), 1, "{act:?}");
        assert_eq!(fixture.bytes(), log);
    }
}

#[test]
fn a_rewrite_that_died_half_way_is_done_anew() {
    let fixture = Fixture::new();
    let (log, events) = sample();
    let end = log.iter().rposition(|byte| *byte == b'{').expect("a last line");
    let end = log[..end]
        .iter()
        .rposition(|byte| *byte == b'\n')
        .expect("a line before")
        + 1;
    fixture.write(&[&log[..end], b"{\n", &log[end..]].concat());
    fs::write(fixture.folder().join("log.rewrite"), "half").expect("written");
    let opened = fixture.open();
    assert_eq!((opened.events, opened.notes.len()), (events, 1));
    assert_eq!((fixture.bytes(), fixture.names().len()), (log, 3));
}

#[test]
fn a_sync_that_fails_ends_the_log_and_is_never_tried_again() {
    let fixture = Fixture::new();
    let session = fixture.create(short_turns(1));
    fixture.layer.fail(Act::Sync, ErrorKind::Other, 0, 1);
    let flushed = block_on(session.durable()).expect_err("it fails").to_string();
    let reason = "an earlier sync of the log failed and nothing is known of what it left: other error";
    assert_eq!(flushed, format!("failed to sync {}: {reason}", fixture.log().display()));
    let error = session.append(start(2)).expect_err("poisoned").to_string();
    assert!(error.ends_with(reason), "{error}");
    let again = block_on(session.durable())
        .expect_err("it is not tried again")
        .to_string();
    assert_eq!(again, flushed);
    let other = fixture.store.create(header("other")).expect("created");
    other.append(start(1)).expect("another log is fine");
    block_on(other.durable()).expect("another log is fine");
    assert_eq!(reopens(&fixture, session, 0).len(), 3);
}
