//! Following a log that somebody else writes.

use std::fs::{self, File};
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::FutureExt;
use tokio::time::{Instant, timeout};
use weft_session::{FileLayer, FileStore, Follower, Sessions, StoreError, StoreOptions};
use weft_types::{EventBody, SessionHeader};

use crate::disk::{Disk, event_lines, events, header_line, header_of, id, log_text};
use crate::generate::{append_all, step_end, step_start, turn_end, turn_start, user};

/// How soon an event is seen at the latest.
const SOON: Duration = Duration::from_millis(250);

fn seqs(events: &[Arc<weft_types::Event>]) -> Vec<u64> {
    events.iter().map(|event| event.seq).collect()
}

/// The numbers of what comes next.
async fn next(follower: &mut Follower) -> Vec<u64> {
    let events = timeout(SOON, follower.next()).await.expect("in time");
    seqs(&events.expect("sound"))
}

async fn nothing(follower: &mut Follower) {
    let more = timeout(4 * SOON, follower.next()).await;
    assert!(more.is_err(), "{more:?}");
}

async fn error(follower: &mut Follower) -> StoreError {
    timeout(SOON, follower.next())
        .await
        .expect("in time")
        .expect_err("an end")
}

fn two_turns() -> Vec<EventBody> {
    vec![
        turn_start(1),
        user(1),
        step_start(1, 1),
        step_end(1, 1),
        turn_end(1),
        turn_start(2),
    ]
}

#[tokio::test(start_paused = true)]
async fn every_event_of_a_live_session_is_seen_soon_once_and_in_order() {
    let disk = Disk::new();
    let session = disk.store().create(header_of("s", 1)).expect("created");
    append_all(&session, [turn_start(1)]);
    let mut follower = disk.store().follow(&id("s"), 0).expect("it is there");
    assert_eq!(follower.header(), session.header());
    assert!(follower.running());
    assert_eq!(next(&mut follower).await, [0]);
    for seq in 1..20 {
        nothing(&mut follower).await;
        append_all(&session, [user(1)]);
        assert_eq!(next(&mut follower).await, [seq]);
    }
    append_all(&session, (0..100).map(|_| user(1)));
    assert_eq!(next(&mut follower).await, (20..120).collect::<Vec<_>>());
    drop(session);
    assert!(!follower.running());
    nothing(&mut follower).await;
}

#[tokio::test(start_paused = true)]
async fn it_begins_where_it_is_told_to() {
    let disk = Disk::new();
    disk.write("s", log_text(&header_of("s", 1), two_turns()));
    for from in 0..6 {
        let mut follower = disk.store().follow(&id("s"), from).expect("it is there");
        assert_eq!(next(&mut follower).await, (from..6).collect::<Vec<_>>());
    }
    let mut ahead = disk.store().follow(&id("s"), 7).expect("it is there");
    nothing(&mut ahead).await;
    disk.append("s", event_lines(&events(6, [user(2), user(2), turn_end(2)])));
    assert_eq!(next(&mut ahead).await, [7, 8]);
}

#[tokio::test(start_paused = true)]
async fn only_whole_lines_are_given_however_they_are_written() {
    let bodies = two_turns();
    let lines = event_lines(&events(0, bodies.clone()));
    for piece in [1, 2, 7, 50, lines.len()] {
        let disk = Disk::new();
        disk.write("s", header_line(&header_of("s", 1)));
        let mut follower = disk.store().follow(&id("s"), 0).expect("it is there");
        let mut given = Vec::new();
        let mut written = 0;
        for piece in lines.as_bytes().chunks(piece) {
            disk.append("s", piece);
            written += piece.iter().filter(|byte| **byte == b'\n').count() as u64;
            if given.len() as u64 == written {
                let more = timeout(SOON, follower.next()).await;
                assert!(more.is_err(), "{more:?}");
            } else {
                given.extend(next(&mut follower).await);
            }
        }
        assert_eq!(given, (0..bodies.len() as u64).collect::<Vec<_>>());
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_crash_left_half_written_and_the_next_writer_removes_is_never_given() {
    let disk = Disk::new();
    let text = log_text(&header_of("s", 1), two_turns());
    disk.write("s", text.clone() + "{\"seq\":6,\"time\":1,\"ty");
    let mut follower = disk.store().follow(&id("s"), 6).expect("it is there");
    nothing(&mut follower).await;
    let file = File::options().write(true).open(disk.log("s")).expect("opened");
    file.set_len(text.len() as u64).expect("cut");
    nothing(&mut follower).await;
    disk.append("s", event_lines(&events(6, [user(2)])));
    assert_eq!(next(&mut follower).await, [6]);
    // A torn line that others went on after.
    disk.append(
        "s",
        "{\"seq\":7,\"ti\n".to_owned() + &event_lines(&events(7, [turn_end(2)])),
    );
    assert_eq!(next(&mut follower).await, [7]);
}

#[tokio::test(start_paused = true)]
async fn a_log_that_is_rewritten_is_gone_on_with() {
    let disk = Disk::new();
    let header = header_of("s", 1);
    let first = SessionHeader {
        version: 1,
        ..header.clone()
    };
    disk.write("s", log_text(&first, [turn_start(1), user(1), user(1)]));
    let mut follower = disk.store().follow(&id("s"), 0).expect("it is there");
    let given = timeout(SOON, follower.next()).await.expect("in time").expect("sound");
    assert_eq!(seqs(&given), [0, 1, 2]);
    assert!(
        matches!(given[2].body, EventBody::ToolContext { .. }),
        "it is given as today's"
    );
    // As opening it does: migrated, with another name for the old one, and gone on with.
    let mut opening = disk.store().open(&id("s")).expect("nobody has it");
    while !opening.next_page().expect("sound").is_empty() {}
    let session = opening.finish().expect("sound");
    assert_eq!(next(&mut follower).await, [3], "the end of the interrupted turn");
    append_all(&session, [turn_start(2)]);
    assert_eq!(next(&mut follower).await, [4]);
    let text = fs::read(disk.log("s")).expect("readable");
    disk.write("s", text);
    nothing(&mut follower).await;
    disk.append("s", event_lines(&events(5, [user(2)])));
    assert_eq!(next(&mut follower).await, [5]);
}

#[tokio::test(start_paused = true)]
async fn a_session_that_is_deleted_ends_with_an_error_that_says_so() {
    let disk = Disk::new();
    disk.write("s", log_text(&header_of("s", 1), two_turns()));
    let mut follower = disk.store().follow(&id("s"), 0).expect("it is there");
    assert_eq!(next(&mut follower).await.len(), 6);
    disk.store().delete(&id("s")).expect("deleted");
    for _ in 0..2 {
        let error = error(&mut follower).await;
        assert_eq!(
            error.to_string(),
            "failed to find session s: it was deleted while it was followed"
        );
    }
    let error = disk.store().follow(&id("s"), 0).expect_err("it is gone");
    assert!(matches!(error, StoreError::NotFound { .. }), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_log_that_lost_events_is_no_log_to_go_on_with() {
    for in_place in [false, true] {
        let disk = Disk::new();
        let header = header_of("s", 1);
        disk.write("s", log_text(&header, two_turns()));
        let mut follower = disk.store().follow(&id("s"), 0).expect("it is there");
        assert_eq!(next(&mut follower).await.len(), 6);
        nothing(&mut follower).await;
        let shorter = log_text(&header, two_turns().into_iter().take(3));
        if in_place {
            fs::write(disk.log("s"), shorter).expect("written");
        } else {
            disk.write("s", shorter);
        }
        let error = error(&mut follower).await;
        assert!(error.to_string().contains("replaced by a shorter one"), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn damage_is_told_after_what_is_before_it() {
    let disk = Disk::new();
    disk.write(
        "s",
        log_text(&header_of("s", 1), two_turns()) + "garbage\n" + &event_lines(&events(9, [user(2)])),
    );
    let mut follower = disk.store().follow(&id("s"), 4).expect("it is there");
    assert_eq!(next(&mut follower).await, [4, 5]);
    let error = error(&mut follower).await;
    assert!(
        matches!(&error, StoreError::Damaged { damage, .. } if damage.seq == 6),
        "{error}"
    );
}

#[tokio::test(start_paused = true)]
async fn dropping_the_future_at_any_moment_loses_nothing() {
    let disk = Disk::new();
    disk.write("s", log_text(&header_of("s", 1), two_turns()));
    let mut follower = disk.store().follow(&id("s"), 0).expect("it is there");
    let mut given = Vec::new();
    for seq in 6..60 {
        disk.append("s", event_lines(&events(seq, [user(2)])));
        if let Some(events) = follower.next().now_or_never() {
            given.extend(seqs(&events.expect("sound")));
        }
        tokio::time::advance(Duration::from_millis(seq % 7 * 50)).await;
    }
    while given.len() < 60 {
        given.extend(next(&mut follower).await);
    }
    assert_eq!(given, (0..60).collect::<Vec<_>>());
    nothing(&mut follower).await;
}

/// Counts how often a file is read.
#[derive(Default)]
struct Counting {
    reads: AtomicUsize,
}

impl FileLayer for Counting {
    fn read(&self, mut file: &File, into: &mut [u8]) -> io::Result<usize> {
        self.reads.fetch_add(1, Ordering::SeqCst);
        file.read(into)
    }
}

#[tokio::test(start_paused = true)]
async fn an_idle_log_is_looked_at_no_more_than_five_times_a_second() {
    let disk = Disk::new();
    disk.write("s", log_text(&header_of("s", 1), two_turns()));
    let files = Arc::new(Counting::default());
    let options = StoreOptions {
        files: files.clone(),
        ..StoreOptions::new("test")
    };
    let store = FileStore::new(disk.root(), options).expect("valid");
    let mut follower = store.follow(&id("s"), 0).expect("it is there");
    assert_eq!(next(&mut follower).await.len(), 6);
    let reads = || files.reads.swap(0, Ordering::SeqCst);
    reads();
    timeout(Duration::from_secs(10), follower.next())
        .await
        .expect_err("nothing comes");
    let idle = reads();
    assert!((40..=51).contains(&idle), "{idle} reads in 10 s");
    // Neither is it for one who asks all the time.
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(10) {
        timeout(Duration::from_millis(3), follower.next())
            .await
            .expect_err("nothing comes");
    }
    let impatient = reads();
    assert!((40..=51).contains(&impatient), "{impatient} reads in 10 s");
}

#[tokio::test(start_paused = true)]
async fn a_long_log_comes_in_pages_without_a_pause() {
    let disk = Disk::new();
    let users = (0..100).map(|_| user(1));
    disk.write(
        "s",
        log_text(&header_of("s", 1), std::iter::once(turn_start(1)).chain(users)),
    );
    let options = StoreOptions {
        page_events: 10,
        ..StoreOptions::new("test")
    };
    let store = FileStore::new(disk.root(), options).expect("valid");
    let mut follower = store.follow(&id("s"), 0).expect("it is there");
    let begin = Instant::now();
    for page in 0..10 {
        assert_eq!(
            next(&mut follower).await,
            (page * 10..page * 10 + 10).collect::<Vec<_>>()
        );
    }
    assert_eq!(next(&mut follower).await, [100]);
    assert_eq!(begin.elapsed(), Duration::ZERO);
}
