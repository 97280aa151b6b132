//! The calls of one attempt, as they come.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use weft_session::{Journal, StoreError};
use weft_types::{MemberOutcome, RunStop, SessionId};
use weft_workflow::{MemberRequest, cut_for_display};

use super::Past;
use super::key::Key;
use super::past::PastCall;
use super::records::{Call, Record};

/// How many labels a note names, and how many characters of each.
const NAMED: usize = 10;
const LABEL_CHARS: usize = 60;

/// What was decided for each call of a run, and its journal. Writing never fails a run: the first record that cannot be
/// written is the last, with one warning.
#[derive(Debug)]
pub(crate) struct Ledger {
    past: Past,
    /// Labels and phases whose calls run again whatever was answered.
    rerun: Vec<String>,
    answered: Arc<AtomicU64>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// How many calls of each key there were.
    seen: HashMap<Key, u32>,
    /// Which of `rerun` matched a call.
    matched: Vec<bool>,
    /// The labels of calls that an earlier attempt had begun.
    begun_before: Vec<String>,
    sink: Sink,
}

/// Where records go.
#[derive(Debug)]
enum Sink {
    /// They wait until the run is known to have started.
    Waiting(Vec<Record>),
    Open(Journal),
    /// Nowhere, for this reason if there is one to tell.
    Closed(Option<String>),
}

/// A call, with what is to be done about it.
#[derive(Debug)]
pub(crate) struct Accepted {
    pub(crate) call: Call,
    /// The session of the agent that answered it.
    pub(crate) answer: Option<Answer>,
    /// Whether an earlier attempt began it.
    pub(crate) begun_before: bool,
}

/// Where a call's answer may be.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) session: SessionId,
}

impl Ledger {
    /// The ledger of an attempt after those of `past`.
    pub(crate) fn new(past: Past, rerun: Vec<String>) -> Self {
        let state = State {
            seen: HashMap::new(),
            matched: vec![false; rerun.len()],
            begun_before: Vec::new(),
            sink: Sink::Waiting(Vec::new()),
        };
        Self {
            past,
            rerun,
            answered: Arc::default(),
            state: Mutex::new(state),
        }
    }

    /// How many calls were answered from earlier attempts.
    pub(crate) fn answered(&self) -> &Arc<AtomicU64> {
        &self.answered
    }

    /// Begins to write.
    pub(crate) fn begin(&self, journal: Result<Journal, StoreError>) {
        let mut state = self.lock();
        let waiting = match std::mem::replace(&mut state.sink, Sink::Closed(None)) {
            Sink::Waiting(records) => records,
            Sink::Open(_) | Sink::Closed(_) => Vec::new(),
        };
        state.sink = match journal {
            Ok(journal) => Sink::Open(journal),
            Err(error) => {
                tracing::warn!(%error, "a workflow run cannot be resumed, since its journal cannot be made");
                Sink::Closed(Some(error.to_string()))
            }
        };
        waiting.into_iter().for_each(|record| state.write(&record));
    }

    /// Takes a call. Nothing of it is written yet.
    pub(crate) fn accept(&self, request: &MemberRequest) -> Accepted {
        let key = Key::of(request);
        let mut state = self.lock();
        let nth = state.seen.entry(key.clone()).or_default();
        *nth += 1;
        let call = Call {
            seq: request.seq,
            nth: *nth,
            key,
            label: request.label.clone(),
            phase: request.phase.clone(),
        };
        let past = self.past.call(&call.key, call.nth);
        let wanted = self.is_wanted_again(&mut state, &call);
        let answer = past.filter(|_| !wanted).and_then(answer_of);
        let begun_before = past.is_some_and(|past| past.outcome != Some(MemberOutcome::Completed));
        Accepted {
            call,
            answer,
            begun_before,
        }
    }

    /// The call was answered from what was said in `session`.
    pub(crate) fn answer(&self, call: Call, session: SessionId) {
        self.answered.fetch_add(1, Ordering::AcqRel);
        self.lock().write(&Record::Answered { call, session });
    }

    /// An agent is about to be started for the call.
    pub(crate) fn begin_call(&self, call: Call, begun_before: bool) {
        let mut state = self.lock();
        if begun_before {
            state.begun_before.push(cut_for_display(&call.label, LABEL_CHARS));
        }
        state.write(&Record::Call(call));
    }

    /// The agent exists.
    pub(crate) fn member(&self, seq: u64, session: SessionId) {
        self.lock().write(&Record::Member { seq, session });
    }

    /// The agent has ended.
    pub(crate) fn end(&self, seq: u64, outcome: MemberOutcome) {
        self.lock().write(&Record::End { seq, outcome });
    }

    /// The run has ended.
    pub(crate) fn end_run(&self, stop: RunStop) {
        self.lock().write(&Record::RunEnd { stop });
    }

    /// Whether the run can be resumed.
    pub(crate) fn is_resumable(&self) -> bool {
        matches!(self.lock().sink, Sink::Open(_))
    }

    /// What there is to be said about the run beside its result.
    pub(crate) fn notes(&self) -> Vec<String> {
        let state = self.lock();
        let mut notes = Vec::new();
        if let Sink::Closed(Some(why)) = &state.sink {
            notes.push(format!("This run cannot be resumed from here: {why}"));
        }
        if self.past.broken() > 0 {
            notes.push(format!(
                "{} records of the journal could not be read and counted as not finished.",
                self.past.broken()
            ));
        }
        notes.extend(begun_before(&state.begun_before));
        let unmatched = self.rerun.iter().zip(&state.matched).filter(|(_, matched)| !**matched);
        notes.extend(unmatched.map(|(name, _)| format!("rerun: no call has the label or the phase {name:?}.")));
        notes
    }

    fn is_wanted_again(&self, state: &mut State, call: &Call) -> bool {
        let mut wanted = false;
        for (name, matched) in self.rerun.iter().zip(&mut state.matched) {
            if *name == call.label || Some(name) == call.phase.as_ref() {
                (*matched, wanted) = (true, true);
            }
        }
        wanted
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic leaves at worst a record unwritten.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where to look for the answer of a call that was answered, or of which nobody knows: then its agent's own session tells.
fn answer_of(past: &PastCall) -> Option<Answer> {
    match past.outcome {
        Some(MemberOutcome::Completed) | None => past.session.clone().map(|session| Answer { session }),
        Some(MemberOutcome::Failed | MemberOutcome::Cancelled) => None,
    }
}

fn begun_before(labels: &[String]) -> Option<String> {
    let more = labels.len().checked_sub(NAMED).filter(|more| *more > 0);
    let named = labels[..labels.len().min(NAMED)].join(", ");
    let more = more.map_or_else(String::new, |more| format!(" and {more} more"));
    (!labels.is_empty()).then(|| {
        format!(
            "Run again, though an earlier attempt had begun them, so that what they do may have been done twice: \
             {named}{more}."
        )
    })
}

impl State {
    fn write(&mut self, record: &Record) {
        let failed = match &mut self.sink {
            Sink::Waiting(records) => {
                records.push(record.clone());
                return;
            }
            Sink::Open(journal) => journal.append(record).err(),
            Sink::Closed(_) => None,
        };
        if let Some(error) = failed {
            tracing::warn!(%error, "the journal of a workflow run ends before its end");
            self.sink = Sink::Closed(Some(format!("what follows is not in its journal: {error}")));
        }
    }
}

#[cfg(test)]
mod tests;
