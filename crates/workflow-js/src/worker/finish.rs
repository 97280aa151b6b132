//! What is left to tell once a script has ended.

use std::time::Duration;

use rquickjs::{Error, Promise, Value};
use serde_json::value::RawValue;

use super::plain::{Halt, Plain, Rules, to_plain};
use super::rejections::Rejections;
use super::render::{describe, describe_briefly};
use super::session::{Ending, Session};
use crate::protocol::{Finished, Outcome, Setup};
use crate::script::Position;
use crate::text::{cut_bytes, cut_chars};

/// How much CPU time showing what was thrown may take, all in all.
const RENDER_TIME: Duration = Duration::from_millis(250);
/// How many unhandled rejections are told one by one.
const MAX_REJECTIONS: usize = 5;
const MAX_ERROR_BYTES: usize = 16 * 1024;
/// How much is shown of a value that cannot be returned.
const MAX_REST_CHARS: usize = 4_000;
const MAX_UNSENT: usize = 8;

/// How the script ended, before its use of memory was looked at. An engine that is out of memory has none for an error
/// either, and throws `null`, or leaves a promise pending.
pub(super) struct Report {
    finished: Finished,
    /// Whether a full heap would explain the outcome.
    odd: bool,
}

impl Report {
    /// The report as the parent gets it.
    pub(super) fn into_finished(mut self, heap_used: usize, setup: &Setup) -> Finished {
        let limit = setup.max_heap_bytes;
        if let (true, Outcome::Failed(error)) = (self.odd && heap_used > limit / 4 * 3, &mut self.finished.outcome) {
            *error = format!("{}, as a rule ({error})", heap_limit(setup));
        }
        self.finished
    }
}

/// A script that was cancelled before it ran.
pub(super) fn never_ran() -> Report {
    Report {
        finished: Finished {
            outcome: Outcome::Cancelled,
            code: None,
            accepted: 0,
            unsent: Vec::new(),
            unsent_total: 0,
            notes: Vec::new(),
        },
        odd: false,
    }
}

/// Draws up the report on a script that ran. The script's getters may run once more meanwhile.
pub(super) fn finish<'js>(
    session: &Session<'js>,
    ending: Ending<'js>,
    main: Option<&Promise<'js>>,
    rejections: &Rejections,
) -> Report {
    let may_run = !matches!(ending, Ending::Stopped(_) | Ending::Cancelled);
    let odd = match &ending {
        Ending::Threw(value) => value.is_null(),
        Ending::Stalled | Ending::Broken(_) => true,
        _ => false,
    };
    let code = match &ending {
        Ending::Threw(value) => session.prelude().code_of(value),
        _ => None,
    };
    let outcome = outcome_of(session, ending);
    if let Some(main) = main.filter(|_| may_run) {
        tell_rejections(session, main, rejections);
    }
    tell_left_out(session);
    let calls = session.calls.borrow();
    let unsent_total = calls.unsent().len() as u64;
    Report {
        finished: Finished {
            outcome,
            code,
            accepted: calls.accepted(),
            unsent: calls.unsent().take(MAX_UNSENT).map(str::to_owned).collect(),
            unsent_total,
            notes: session.notes.take().finish(),
        },
        odd,
    }
}

fn outcome_of<'js>(session: &Session<'js>, ending: Ending<'js>) -> Outcome {
    let error = match ending {
        Ending::Returned(value) => return returned(session, &value),
        Ending::Cancelled => return Outcome::Cancelled,
        Ending::Threw(value) => threw(session, &value),
        Ending::Stalled => {
            "nothing left to wait for: the script awaits a promise that nothing can settle any more".to_owned()
        }
        Ending::Stopped(place) => format!(
            "the script used {:?} of CPU time without waiting for an agent, which is the limit (max_slice){}: an endless \
             loop, as a rule",
            session.slice(),
            whereabouts(place, session.last_call.get())
        ),
        Ending::Broken(error) => format!("the JavaScript engine failed: {error}"),
    };
    Outcome::Failed(cut_bytes(&error, MAX_ERROR_BYTES))
}

/// Where a script was, as exactly as can be told: the engine takes note of places where something is called or thrown.
fn whereabouts(place: Option<Position>, last_call: Option<usize>) -> String {
    match (place, last_call) {
        (Some(Position { line, .. }), _) => format!(", last seen at line {line}"),
        (None, Some(line)) => format!(", after its call of agent() at line {line}"),
        (None, None) => String::new(),
    }
}

fn threw<'js>(session: &Session<'js>, value: &Value<'js>) -> String {
    session.control.begin(RENDER_TIME);
    let text = describe(value, session.source(), session.prelude(), &session.control);
    session.control.end();
    if !value.is_error() {
        return format!("the script threw {text}");
    }
    if text.starts_with("InternalError: out of memory") {
        format!("{text}\n{}", heap_limit(&session.setup))
    } else if text.starts_with("RangeError: Maximum call stack") {
        let limit = session.setup.max_stack_bytes;
        format!("{text}\nthe script's stack is limited to {limit} bytes (max_stack_bytes)")
    } else {
        text
    }
}

fn heap_limit(setup: &Setup) -> String {
    let heap = setup.max_heap_bytes;
    let process = match setup.max_address_space_bytes {
        0 => String::new(),
        bytes => format!(", its process to {bytes} bytes (max_address_space_bytes)"),
    };
    format!("out of memory: the script's heap is limited to {heap} bytes (max_heap_bytes){process}")
}

fn returned<'js>(session: &Session<'js>, value: &Value<'js>) -> Outcome {
    if value.is_undefined() {
        return Outcome::Returned(RawValue::NULL.to_owned());
    }
    let rules = Rules {
        root: "value",
        limit: session.setup.max_result_bytes,
        skip_undefined: false,
    };
    session.control.begin(session.slice());
    let plain = to_plain(value, rules, session.prelude(), &session.control);
    session.control.end();
    match plain {
        Ok(plain) if plain.problems.is_empty() => value_of(session, plain, rules.limit),
        Ok(plain) => Outcome::Failed(unserializable(&plain)),
        Err(Halt::Stopped) if session.control.is_cancelled() => Outcome::Cancelled,
        Err(Halt::Stopped) => Outcome::Failed(format!(
            "the script finished, but reading its return value took longer than {:?} (max_slice)",
            session.slice()
        )),
        Err(Halt::Engine(error)) => Outcome::Failed(unreadable(session, &error)),
    }
}

fn value_of(session: &Session<'_>, plain: Plain, limit: usize) -> Outcome {
    let mut notes = session.notes.borrow_mut();
    if plain.cut {
        notes.add(&format!(
            "the return value was cut: it has about {} bytes of JSON, more than the limit of {limit} \
             (max_result_bytes); return less, or have an agent write it to a file",
            plain.size
        ));
    }
    if let Some(path) = &plain.repaired {
        notes.add(&format!("{path} held half of a surrogate pair, which became U+FFFD"));
    }
    match RawValue::from_string(plain.json) {
        Ok(value) => Outcome::Returned(value),
        Err(error) => Outcome::Failed(format!("the script finished, but its value is no JSON: {error}")),
    }
}

fn unserializable(plain: &Plain) -> String {
    let told = plain.problems.join("; ");
    let more = match plain.problem_count - plain.problems.len() as u64 {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    let rest = match plain.json.as_str() {
        "null" => String::new(),
        json => {
            let rest = cut_chars(json, MAX_REST_CHARS);
            format!("\nwith null in place of what cannot be returned, it is: {rest}")
        }
    };
    format!(
        "the script finished, but its value cannot be returned, since it is not plain JSON [RESULT_UNSERIALIZABLE]: \
         {told}{more}{rest}"
    )
}

fn unreadable(session: &Session<'_>, error: &Error) -> String {
    format!(
        "the script finished, but its value could not be read ({error}): {}",
        heap_limit(&session.setup)
    )
}

/// Tells what nobody handled, as a log line and as a note each.
fn tell_rejections<'js>(session: &Session<'js>, main: &Promise<'js>, rejections: &Rejections) {
    let ctx = main.ctx();
    let (reasons, more) = rejections.take(ctx, main);
    let more = more + reasons.len().saturating_sub(MAX_REJECTIONS) as u64;
    session.control.begin(RENDER_TIME);
    let mut told: Vec<_> = (reasons.iter().take(MAX_REJECTIONS))
        .map(|reason| describe_briefly(reason, session.source(), session.prelude(), &session.control))
        .map(|reason| format!("a rejection that nothing handled: {reason}"))
        .collect();
    session.control.end();
    if more > 0 {
        told.push(format!("{more} more rejections that nothing handled"));
    }
    for text in told {
        session.output.borrow_mut().line(&text);
        // None of them is to be left out for the next.
        session.output.borrow_mut().flush();
        session.notes.borrow_mut().add(&text);
    }
}

fn tell_left_out(session: &Session<'_>) {
    let left_out = session.output.borrow().left_out();
    let rate = session.setup.max_narration_per_second;
    for (count, what) in [(left_out.lines, "log lines"), (left_out.phases, "phases")] {
        if count > 0 {
            let note = format!("{count} {what} were left out: {rate} a second are shown (max_narration_per_second)");
            session.notes.borrow_mut().add(&note);
        }
    }
}
