use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use futures::FutureExt;
use futures::future::BoxFuture;
use weft_types::{AssistantBlock, ContentBlock, Origin, StopReason, TurnEnd, UnixMillis};

use super::*;
use crate::{LoadError, MemoryLog, Restore};

fn header() -> SessionHeader {
    SessionHeader {
        version: SessionHeader::VERSION,
        id: "s".into(),
        created_at: UnixMillis(7),
        cwd: "/tmp".to_owned(),
        origin: Origin::User,
        parent: None,
        depth: 0,
        label: None,
        run_id: None,
        run_seq: None,
    }
}

fn clock() -> Arc<dyn Clock> {
    Arc::new(|| UnixMillis(1))
}

fn session() -> Arc<Session> {
    Session::create(header(), Box::new(MemoryLog::default()), clock(), Vec::new())
}

fn start(turn: u32) -> EventBody {
    EventBody::TurnStart { turn }
}

fn end(turn: u32) -> EventBody {
    EventBody::TurnEnd {
        turn,
        reason: TurnEnd::Completed,
    }
}

fn delta(text: &str) -> Delta {
    Delta {
        turn: 1,
        step: 1,
        kind: DeltaKind::Text,
        text: text.to_owned(),
    }
}

type Seen = Arc<Mutex<Vec<String>>>;

fn record(session: &Session) -> (Seen, Subscription) {
    let seen = Seen::default();
    let into = Arc::clone(&seen);
    let subscription = session.observe(move |update| {
        lock(&into).push(match update {
            SessionUpdate::Event(event) => format!("event {}", event.seq),
            SessionUpdate::Delta(delta) => format!("delta {}", delta.text),
        });
    });
    (seen, subscription)
}

/// Refuses every candidate while its switch is on, and counts what it sees.
#[derive(Clone, Default)]
struct Switch {
    refuse: Arc<AtomicBool>,
    committed: Arc<AtomicU64>,
}

impl Invariant for Switch {
    fn check(&self, _next: &Event) -> Result<(), Violation> {
        if self.refuse.load(Ordering::SeqCst) {
            return Err(Violation::new("switch", "the switch is on"));
        }
        Ok(())
    }

    fn commit(&mut self, _event: &Event) {
        self.committed.fetch_add(1, Ordering::SeqCst);
    }
}

/// Fails every append while its switch is on; panics while the other is.
#[derive(Clone, Default)]
struct FaultyLog {
    events: MemoryLog,
    fail: Arc<AtomicBool>,
    panic: Arc<AtomicBool>,
}

impl EventLog for FaultyLog {
    fn append(&mut self, event: &Arc<Event>) -> Result<(), LogError> {
        assert!(!self.panic.load(Ordering::SeqCst), "on purpose");
        if self.fail.load(Ordering::SeqCst) {
            return Err(LogError::new("append to the test log", "no space left"));
        }
        self.events.append(event)
    }

    fn flush(&mut self) -> BoxFuture<'static, Result<(), LogError>> {
        Box::pin(std::future::ready(Err(LogError::new("flush the test log", "no disk"))))
    }

    fn reader(&self) -> Arc<dyn EventReader> {
        self.events.reader()
    }
}

/// The session that goes on from `events`.
fn restore(events: Vec<Event>) -> Result<Arc<Session>, LoadError> {
    let events: Vec<_> = events.into_iter().map(Arc::new).collect();
    let mut restore = Restore::new(header(), Vec::new());
    events.iter().try_for_each(|event| restore.push(event))?;
    Ok(restore.finish(Box::new(MemoryLog::holding(events)), clock()))
}

#[test]
fn events_and_deltas_are_published_in_the_order_of_their_calls() {
    let session = session();
    let (seen, _subscription) = record(&session);
    session.append(start(1)).expect("valid");
    session.delta(delta("a"));
    session.delta(delta("b"));
    session.append(end(1)).expect("valid");
    assert_eq!(*lock(&seen), ["event 0", "delta a", "delta b", "event 1"]);
    assert_eq!(session.len(), 2, "deltas are not stored");
}

#[test]
fn a_refused_candidate_leaves_every_fold_as_it_was() {
    let switch = Switch::default();
    let session = Session::create(
        header(),
        Box::new(MemoryLog::default()),
        clock(),
        vec![Box::new(switch.clone())],
    );
    switch.refuse.store(true, Ordering::SeqCst);
    let refused = session.append(start(1)).expect_err("the switch is on");
    let text = "failed to append event 0 to session s: the switch is on (rule switch)";
    assert_eq!(refused.to_string(), text);
    switch.refuse.store(false, Ordering::SeqCst);
    // Had the session's own rules committed the refused one, turn 1 would be open by now.
    assert_eq!(session.append(start(1)).expect("valid").seq, 0);
    session.append(start(2)).expect_err("turn 1 is open");
    assert_eq!(
        switch.committed.load(Ordering::SeqCst),
        1,
        "it sees committed events only"
    );
    assert_eq!(session.append(end(1)).expect("valid").seq, 1);
}

#[test]
fn an_event_that_the_log_refuses_was_never_appended() {
    let log = FaultyLog::default();
    let session = Session::create(header(), Box::new(log.clone()), clock(), Vec::new());
    let (seen, _subscription) = record(&session);
    log.fail.store(true, Ordering::SeqCst);
    let refused = session.append(start(1)).expect_err("the log fails");
    let text = "failed to append event 0 to session s: failed to append to the test log: no space left";
    assert_eq!(refused.to_string(), text);
    assert!(session.is_empty() && lock(&seen).is_empty());
    log.fail.store(false, Ordering::SeqCst);
    session
        .append(start(1))
        .expect("turn 1 was not opened by the refused event");
    assert_eq!(*lock(&seen), ["event 0"]);
}

#[test]
fn after_a_panic_inside_the_log_appends_are_refused_instead_of_guessing() {
    let log = FaultyLog::default();
    let session = Session::create(header(), Box::new(log.clone()), clock(), Vec::new());
    log.panic.store(true, Ordering::SeqCst);
    let appending = Arc::clone(&session);
    std::thread::spawn(move || appending.append(start(1)))
        .join()
        .expect_err("the log panics");
    log.panic.store(false, Ordering::SeqCst);
    let refused = session.append(start(1)).expect_err("nobody knows what the log holds");
    assert!(matches!(refused, AppendError::Broken { .. }), "{refused}");
    session.delta(delta("dropped, not a deadlock"));
    assert!(session.is_empty());
}

#[test]
fn an_append_from_inside_an_observer_is_refused_and_reading_is_not() {
    let session = session();
    let outcome = Arc::new(Mutex::new(None));
    let (into, inner) = (Arc::clone(&outcome), Arc::downgrade(&session));
    let _subscription = session.observe(move |_| {
        let session = inner.upgrade().expect("the test holds it");
        session.delta(delta("dropped"));
        let refused = matches!(session.append(end(1)), Err(AppendError::Reentrant { .. }));
        let flush = session.durable().now_or_never().expect("refused at once");
        *lock(&into) = Some((
            refused,
            flush.is_err(),
            session.len(),
            session.events().map(|events| events.len()).ok(),
        ));
    });
    session.append(start(1)).expect("valid");
    assert_eq!(
        *lock(&outcome),
        Some((true, true, 1, Some(1))),
        "the event is committed before it is published"
    );
    drop(_subscription);
    session.append(end(1)).expect("the refusal left nothing behind");
}

#[test]
fn an_append_from_another_thread_waits_for_the_publication() {
    let session = session();
    let (entered_tx, entered) = std::sync::mpsc::channel();
    let (go, go_rx) = std::sync::mpsc::channel::<()>();
    let gate = Mutex::new(Some(go_rx));
    let _blocks = session.observe(move |_| {
        if let Some(gate) = lock(&gate).take() {
            entered_tx.send(()).expect("the test listens");
            gate.recv().expect("the test opens it");
        }
    });
    let (seen, _subscription) = record(&session);
    std::thread::scope(|scope| {
        scope.spawn(|| session.append(start(1)).expect("valid"));
        entered.recv().expect("published");
        let second = scope.spawn(|| session.append(end(1)).expect("valid"));
        assert!(!second.is_finished());
        go.send(()).expect("the observer waits");
    });
    assert_eq!(*lock(&seen), ["event 0", "event 1"]);
}

#[test]
fn appends_of_many_threads_are_published_in_seq_order() {
    let session = session();
    let (seen, _subscription) = record(&session);
    session.append(start(1)).expect("valid");
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let session = &session;
            scope.spawn(move || {
                for n in 0..50 {
                    let content = vec![ContentBlock::text(format!("{thread}-{n}"))];
                    session
                        .append(EventBody::UserMessage { turn: 1, content })
                        .expect("valid");
                }
            });
        }
    });
    let expected: Vec<String> = (0..401).map(|seq| format!("event {seq}")).collect();
    assert_eq!(*lock(&seen), expected);
    let events = session.events().expect("in memory");
    assert!(events.iter().map(|event| event.seq).eq(0..401));
}

#[test]
fn a_panicking_observer_fails_neither_the_append_nor_the_next_observer() {
    let session = session();
    let _panics = session.observe(|_| panic!("on purpose"));
    let (seen, _subscription) = record(&session);
    session.append(start(1)).expect("contained");
    session.append(end(1)).expect("contained");
    assert_eq!(*lock(&seen), ["event 0", "event 1"]);
}

#[test]
fn g87_a_clock_that_jumps_backwards_changes_no_order() {
    let time = AtomicU64::new(1_000);
    let clock: Arc<dyn Clock> = Arc::new(move || UnixMillis(time.fetch_sub(400, Ordering::SeqCst)));
    let session = Session::create(header(), Box::new(MemoryLog::default()), clock, Vec::new());
    for body in [start(1), end(1), start(2)] {
        session.append(body).expect("valid whatever the time");
    }
    let events = session.events().expect("in memory");
    assert!(events.iter().map(|event| event.time.0).eq([1_000, 600, 200]));
    assert!(events.iter().map(|event| event.seq).eq([0, 1, 2]));
    restore(events.iter().map(|event| Event::clone(event)).collect()).expect("order is that of seq");
}

#[test]
fn load_names_the_first_event_that_breaks_a_rule_and_goes_on_from_a_good_log() {
    let at = |seq, body| Event {
        seq,
        time: UnixMillis(0),
        body,
    };
    let bad = vec![at(0, start(1)), at(1, end(1)), at(2, end(1)), at(3, start(9))];
    let refused = restore(bad).expect_err("turn 1 ends twice");
    assert_eq!(refused.seq, 2);
    assert_eq!(
        refused.to_string(),
        "failed to load session s: event 2 is not valid: turn/end of turn 1 while no turn is open (rule inside-turn)"
    );
    assert_eq!(
        restore(vec![at(0, start(1)), at(2, end(1))]).expect_err("a hole").seq,
        2
    );
    let session = restore(vec![at(0, start(1)), at(1, end(1))]).expect("valid");
    session.append(start(1)).expect_err("turn 1 is over");
    assert_eq!(session.append(start(2)).expect("valid").seq, 2);
}

#[test]
fn durable_is_immediate_in_memory_and_passes_on_the_logs_error() {
    session()
        .durable()
        .now_or_never()
        .expect("at once")
        .expect("nothing to lose");
    let session = Session::create(header(), Box::<FaultyLog>::default(), clock(), Vec::new());
    let error = session.durable().now_or_never().expect("at once").expect_err("no disk");
    assert_eq!(error.to_string(), "failed to flush the test log: no disk");
}

#[test]
fn export_keeps_line_separators_inside_of_a_line() {
    let session = session();
    let odd = "a\u{2028}b\u{2029}c\u{85}d\r\n\u{0}\u{1F600}";
    for body in [
        start(1),
        EventBody::UserMessage {
            turn: 1,
            content: vec![ContentBlock::text(odd)],
        },
        EventBody::StepStart { turn: 1, step: 1 },
        EventBody::AssistantMessage {
            turn: 1,
            step: 1,
            content: vec![AssistantBlock::Text { text: odd.to_owned() }],
            stop: Some(StopReason::EndTurn),
            usage: None,
            interrupted: false,
        },
    ] {
        session.append(body).expect("valid");
    }
    let mut text = Vec::new();
    session.export(&mut text).expect("a vector takes all");
    assert_eq!(text.iter().filter(|byte| **byte == b'\n').count(), 5);
    assert_eq!(text.last(), Some(&b'\n'));
    let (header, events) = crate::read_lines(&*text).expect("what was written");
    assert_eq!(&header, session.header());
    let kept = session.events().expect("in memory");
    assert!(events.iter().eq(kept.iter().map(|event| &**event)));
}
