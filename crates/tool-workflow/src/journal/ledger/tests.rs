use serde_json::json;
use tokio_util::sync::CancellationToken;
use weft_session::{FileStore, Sessions, StoreOptions};
use weft_types::{EventBody, Origin, RunId, SessionHeader, UnixMillis};

use super::*;

/// A session in a store of its own, and what a run of it writes.
struct Fixture {
    store: FileStore,
    session: SessionId,
    _folder: tempfile::TempDir,
}

impl Fixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let options = StoreOptions {
            clock: Arc::new(|| UnixMillis(0)),
            ..StoreOptions::new("test")
        };
        let store = FileStore::new(folder.path().to_owned(), options).expect("good options");
        let header = SessionHeader {
            version: SessionHeader::VERSION,
            id: "main".into(),
            created_at: UnixMillis(0),
            cwd: "/work".to_owned(),
            origin: Origin::User,
            parent: None,
            depth: 0,
            label: None,
            run_id: None,
            run_seq: None,
        };
        let session = store.create(header).expect("created");
        session.append(EventBody::TurnStart { turn: 1 }).expect("appended");
        Self {
            store,
            session: "main".into(),
            _folder: folder,
        }
    }

    /// A ledger after those runs, writing the journal of another.
    fn ledger(&self, run: &str, before: &[&str], rerun: &[&str]) -> Ledger {
        let mut past = Past::default();
        for before in before {
            let mut journal = self
                .store
                .read_journal(&self.session, &RunId::new(*before))
                .expect("there");
            journal.first::<serde_json::Value>().expect("a first line");
            past.take(&mut journal).expect("readable");
        }
        let rerun = rerun.iter().map(|name| (*name).to_owned()).collect();
        let ledger = Ledger::new(past, rerun);
        ledger.begin(
            self.store
                .create_journal(&self.session, &run.into(), &json!({ "version": 1 })),
        );
        ledger
    }
}

fn request(seq: u64, prompt: &str) -> MemberRequest {
    MemberRequest {
        run: "r".into(),
        seq,
        label: format!("label of {prompt}"),
        phase: Some(format!("phase of {prompt}")),
        prompt: prompt.into(),
        schema: None,
        provider: None,
        model: None,
        tools: None,
        cancel: CancellationToken::new(),
    }
}

/// Starts a member of this session; with an outcome, it also ends.
fn play(ledger: &Ledger, seq: u64, prompt: &str, session: &str, outcome: Option<MemberOutcome>) {
    let accepted = ledger.accept(&request(seq, prompt));
    ledger.begin_call(accepted.call, accepted.begun_before);
    ledger.member(seq, session.into());
    if let Some(outcome) = outcome {
        ledger.end(seq, outcome);
    }
}

/// Where the answer of a call is looked for, and whether it was begun before.
fn found(ledger: &Ledger, seq: u64, prompt: &str) -> (Option<String>, bool) {
    let accepted = ledger.accept(&request(seq, prompt));
    let session = accepted.answer.map(|answer| answer.session.to_string());
    (session, accepted.begun_before)
}

fn at(session: &str) -> Option<String> {
    Some(session.to_owned())
}

#[test]
fn wfr01_answers_are_found_whatever_the_order_of_the_calls() {
    let fixture = Fixture::new();
    let first = fixture.ledger("r1", &[], &[]);
    let completed = Some(MemberOutcome::Completed);
    for (seq, prompt, session) in [(1, "a", "s1"), (2, "b", "s2"), (3, "a", "s3")] {
        play(&first, seq, prompt, session, completed);
    }
    let second = fixture.ledger("r2", &["r1"], &[]);
    assert_eq!(found(&second, 1, "b"), (at("s2"), false));
    assert_eq!(found(&second, 2, "a"), (at("s1"), false), "the first of equal calls");
    assert_eq!(found(&second, 3, "new"), (None, false));
    assert_eq!(found(&second, 4, "a"), (at("s3"), false), "the second of equal calls");
    assert_eq!(found(&second, 5, "a"), (None, false), "there was no third");
}

#[test]
fn what_did_not_complete_runs_again_and_is_told_so() {
    let fixture = Fixture::new();
    let first = fixture.ledger("r1", &[], &[]);
    play(&first, 1, "failed", "s1", Some(MemberOutcome::Failed));
    play(&first, 2, "cancelled", "s2", Some(MemberOutcome::Cancelled));
    play(&first, 3, "open", "s3", None);
    let accepted = first.accept(&request(4, "never started"));
    first.begin_call(accepted.call, false);
    let second = fixture.ledger("r2", &["r1"], &[]);
    assert_eq!(found(&second, 1, "failed"), (None, true));
    assert_eq!(found(&second, 2, "cancelled"), (None, true));
    assert_eq!(found(&second, 3, "open"), (at("s3"), true), "its own session knows");
    assert_eq!(found(&second, 4, "never started"), (None, true));
    let accepted = second.accept(&request(5, "failed"));
    second.begin_call(accepted.call, true);
    let notes = second.notes();
    assert!(
        matches!(&notes[..], [note] if note.contains("twice") && note.contains("label of failed")),
        "{notes:?}"
    );
}

#[test]
fn the_last_attempt_to_make_a_call_is_the_one_that_counts() {
    let fixture = Fixture::new();
    let completed = Some(MemberOutcome::Completed);
    let first = fixture.ledger("r1", &[], &[]);
    play(&first, 1, "a", "s1", completed);
    play(&first, 2, "b", "s2", completed);
    let second = fixture.ledger("r2", &["r1"], &["label of a"]);
    assert_eq!(found(&second, 1, "a"), (None, false), "forced, and not begun by halves");
    let second = fixture.ledger("r3", &["r1"], &["phase of b"]);
    play(&second, 1, "b", "s4", Some(MemberOutcome::Failed));
    second.answer(second.accept(&request(2, "a")).call, "s1".into());
    let third = fixture.ledger("r4", &["r1", "r3"], &["nothing"]);
    assert_eq!(found(&third, 1, "b"), (None, true), "its second attempt failed");
    assert_eq!(found(&third, 2, "a"), (at("s1"), false));
    let alone = fixture.ledger("r5", &["r3"], &[]);
    assert_eq!(
        found(&alone, 1, "a"),
        (at("s1"), false),
        "a journal is complete in itself"
    );
    let notes = third.notes();
    assert!(
        matches!(&notes[..], [note] if note.contains("\"nothing\"")),
        "{notes:?}"
    );
}

#[test]
fn what_comes_before_the_run_is_known_to_have_started_is_written_then() {
    let fixture = Fixture::new();
    let ledger = Ledger::new(Past::default(), Vec::new());
    play(&ledger, 1, "early", "s1", Some(MemberOutcome::Completed));
    ledger.begin(
        fixture
            .store
            .create_journal(&fixture.session, &"r1".into(), &json!({ "version": 1 })),
    );
    assert!(ledger.is_resumable() && ledger.notes().is_empty());
    assert_eq!(
        found(&fixture.ledger("r2", &["r1"], &[]), 1, "early"),
        (at("s1"), false)
    );
}

#[test]
fn without_a_journal_the_run_goes_on_and_says_so() {
    let fixture = Fixture::new();
    let first = fixture.ledger("r1", &[], &[]);
    assert!(first.is_resumable());
    let again = fixture.ledger("r1", &[], &[]);
    play(&again, 1, "a", "s1", None);
    assert!(!again.is_resumable());
    let notes = again.notes();
    assert!(
        matches!(&notes[..], [note] if note.contains("cannot be resumed") && note.contains("r1.jsonl")),
        "{notes:?}"
    );
}
