//! A plugged-in rule over the real store: on append, on load, and after every cut.
//!
//! The rule stands for that of workflow records: it knows which runs were started and have not ended.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;

use weft_session::{FileStore, Invariant, Sessions, StoreOptions, Violation};
use weft_types::{Event, EventBody, RunId, RunStop};

use crate::disk::{Disk, events, header_line, header_of, id, log_text};
use crate::generate::{append_all, refused, turn_start, user};

/// For every run that was started, whether it has not ended.
#[derive(Default)]
struct Runs(BTreeMap<RunId, bool>);

impl Invariant for Runs {
    fn check(&self, next: &Event) -> Result<(), Violation> {
        match &next.body {
            EventBody::WorkflowRunStart { run_id, .. } if self.0.contains_key(run_id) => {
                Err(Violation::new("run-once", format!("run {run_id} was started before")))
            }
            EventBody::WorkflowRunEnd { run_id, .. } if self.0.get(run_id) != Some(&true) => {
                Err(Violation::new("open-run", format!("run {run_id} is not open")))
            }
            _ => Ok(()),
        }
    }

    fn commit(&mut self, event: &Event) {
        match &event.body {
            EventBody::WorkflowRunStart { run_id, .. } => drop(self.0.insert(run_id.clone(), true)),
            EventBody::WorkflowRunEnd { run_id, .. } => drop(self.0.insert(run_id.clone(), false)),
            _ => {}
        }
    }
}

fn store(disk: &Disk) -> FileStore {
    let options = StoreOptions {
        invariants: Arc::new(|| vec![Box::<Runs>::default()]),
        ..StoreOptions::new("test")
    };
    FileStore::new(disk.root(), options).expect("valid")
}

fn run_start(run: &str) -> EventBody {
    EventBody::WorkflowRunStart {
        run_id: run.into(),
        name: "demo".to_owned(),
    }
}

fn run_end(run: &str) -> EventBody {
    EventBody::WorkflowRunEnd {
        run_id: run.into(),
        stop_reason: RunStop::Completed,
    }
}

/// Two interleaved runs, one of which does not end, in a turn that does not end either.
fn legal() -> Vec<EventBody> {
    vec![turn_start(1), run_start("a"), user(1), run_start("b"), run_end("a")]
}

/// What may not follow it, with the rule that it breaks.
fn illegal() -> Vec<(EventBody, &'static str, &'static str)> {
    vec![
        (run_start("a"), "run-once", "run a was started before"),
        (run_start("b"), "run-once", "run b was started before"),
        (run_end("a"), "open-run", "run a is not open"),
        (run_end("c"), "open-run", "run c is not open"),
    ]
}

#[test]
fn g48_a_refused_record_is_not_in_the_log_and_the_next_legal_one_is() {
    let disk = Disk::new();
    let session = store(&disk).create(header_of("s", 1)).expect("created");
    append_all(&session, legal());
    let before = fs::read(disk.log("s")).expect("readable");
    for (body, rule, _) in illegal() {
        refused(&session, body, rule);
        assert_eq!(fs::read(disk.log("s")).expect("readable"), before);
    }
    append_all(&session, [run_end("b"), run_start("c")]);
    let found = store(&disk).verify(&id("s")).expect("a log");
    assert_eq!((found.events, found.damage), (7, None));
}

#[test]
fn g49_a_record_that_breaks_the_rule_is_damage_that_names_the_run_and_the_event() {
    for (body, rule, message) in illegal() {
        let disk = Disk::new();
        let bodies = legal().into_iter().chain([body, run_end("b")]);
        let text = log_text(&header_of("s", 1), bodies);
        disk.write("s", &text);
        let expected = format!("{message} (rule {rule})");
        let store = store(&disk);
        let damage = store.verify(&id("s")).expect("a log").damage.expect("damaged");
        assert_eq!((damage.seq, damage.line, &damage.reason), (5, 7, &expected));
        // It opens with what is sound, read-only, and is not touched.
        let mut opening = store.open(&id("s")).expect("nobody has it");
        let mut count = 0;
        loop {
            let page = opening.next_page().expect("readable");
            if page.is_empty() {
                break;
            }
            count += page.len();
        }
        assert_eq!(opening.damage(), Some(&damage));
        assert_eq!(count, 6, "what is sound, and the end of its turn");
        let session = opening.finish().expect("readable");
        let error = session.append(turn_start(2)).expect_err("read-only").to_string();
        assert!(error.contains(&expected), "{error}");
        drop(session);
        assert_eq!(fs::read_to_string(disk.log("s")).expect("text"), text);
        // Elsewhere it is not even taken in.
        let other = Disk::new();
        let error = self::store(&other).import(text.as_bytes()).expect_err("no legal log");
        assert_eq!(
            error.to_string(),
            format!("failed to import a session: line 7: {expected}")
        );
    }
}

#[test]
fn g50_a_log_that_was_cut_after_any_record_goes_on() {
    let bodies = legal();
    for len in 0..=bodies.len() {
        let disk = Disk::new();
        let header = header_of("s", 1);
        disk.write("s", log_text(&header, bodies[..len].iter().cloned()));
        let store = store(&disk);
        assert_eq!(store.verify(&id("s")).expect("a log").damage, None);
        let session = store
            .open(&id("s"))
            .and_then(weft_session::Opening::finish)
            .expect("legal");
        let sound = events(0, bodies[..len].iter().cloned());
        let stored = session.events().expect("readable");
        assert!(stored.iter().zip(&sound).all(|(stored, sound)| **stored == *sound));
        assert_eq!(
            stored.len(),
            if len == 0 { 0 } else { len + 1 },
            "the end of the turn, and no invented record"
        );
        append_all(
            &session,
            [turn_start(if len == 0 { 1 } else { 2 }), run_start("c"), run_end("c")],
        );
        drop(session);
        let text = fs::read_to_string(disk.log("s")).expect("text");
        assert!(
            text.starts_with(header_line(&header).trim_end().trim_end_matches('}')),
            "{text}"
        );
    }
}
