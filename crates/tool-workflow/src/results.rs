//! What the finished members of a run have returned, for the case that the run itself returns nothing.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use weft_types::SessionId;
use weft_workflow::{MemberResult, MemberStop, cut_for_display};

/// How many bytes of one answer are kept.
const ANSWER_BYTES: usize = 2_000;
/// How many bytes of all answers are kept.
const ALL_BYTES: usize = 24_000;
/// How much is shown of a label.
const LABEL_CHARS: usize = 80;

/// The answers of the members that completed, as far as there is room for them.
#[derive(Debug, Default)]
pub(crate) struct Results {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    answers: Vec<Answer>,
    bytes: usize,
    /// The numbers of the members that completed.
    completed: BTreeSet<u64>,
}

#[derive(Debug)]
struct Answer {
    seq: u64,
    label: String,
    session: SessionId,
    text: String,
    bytes: usize,
}

/// Takes in the result of one member.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) results: Arc<Results>,
    pub(crate) seq: u64,
    pub(crate) label: String,
}

impl Place {
    pub(crate) fn put(&self, session: &SessionId, result: &MemberResult) {
        if result.stop != MemberStop::Completed {
            return;
        }
        let structured = result.structured.as_ref().map(ToString::to_string);
        let whole = structured.as_deref().unwrap_or(&result.text).trim();
        let mut state = self.results.state.lock().unwrap_or_else(PoisonError::into_inner);
        if !state.completed.insert(self.seq) {
            return;
        }
        let text = &whole[..whole.floor_char_boundary(ANSWER_BYTES)];
        if state.bytes + text.len() > ALL_BYTES {
            return;
        }
        state.bytes += text.len();
        state.answers.push(Answer {
            seq: self.seq,
            label: cut_for_display(&self.label, LABEL_CHARS),
            session: session.clone(),
            text: text.to_owned(),
            bytes: whole.len(),
        });
    }
}

impl Results {
    /// What the model is told of them; nothing if no member completed.
    pub(crate) fn told(&self) -> Option<String> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let completed = state.completed.len();
        if completed == 0 {
            return None;
        }
        state.answers.sort_by_key(|answer| answer.seq);
        let mut text = format!(
            "{completed} agent{} had finished; what they returned is kept in their sessions:",
            if completed == 1 { "" } else { "s" },
        );
        for answer in &state.answers {
            let Answer {
                seq, label, session, ..
            } = answer;
            write!(text, "\n- #{seq} {label:?} (session {session}): {}", answer.text)
                .expect("a string takes everything");
            let more = answer.bytes - answer.text.len();
            if more > 0 {
                write!(text, "… and {more} more bytes").expect("a string takes everything");
            }
        }
        let left_out = completed - state.answers.len();
        if left_out > 0 {
            write!(text, "\n- … and {left_out} more agents").expect("a string takes everything");
        }
        Some(text)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn put(results: &Arc<Results>, seq: u64, stop: MemberStop, text: &str) {
        let place = Place {
            results: Arc::clone(results),
            seq,
            label: format!("member {seq}"),
        };
        let result = MemberResult {
            stop,
            text: text.to_owned(),
            structured: None,
        };
        place.put(&"s".into(), &result);
        place.put(&"s".into(), &result);
    }

    #[test]
    fn only_completed_members_are_told_once_each_and_in_their_order() {
        let results = Arc::<Results>::default();
        assert_eq!(results.told(), None);
        put(&results, 2, MemberStop::Completed, " two\n");
        put(&results, 3, MemberStop::Aborted, "three");
        put(&results, 1, MemberStop::Completed, "one");
        assert_eq!(
            results.told().expect("two of them"),
            "2 agents had finished; what they returned is kept in their sessions:\n\
             - #1 \"member 1\" (session s): one\n- #2 \"member 2\" (session s): two"
        );
    }

    #[test]
    fn a_structured_answer_is_told_as_json() {
        let results = Arc::<Results>::default();
        let place = Place {
            results: Arc::clone(&results),
            seq: 1,
            label: "a".into(),
        };
        let result = MemberResult {
            stop: MemberStop::Completed,
            text: "said".into(),
            structured: Some(json!({ "k": 1 })),
        };
        place.put(&"s".into(), &result);
        assert!(results.told().expect("one").ends_with("(session s): {\"k\":1}"));
    }

    #[test]
    fn much_is_cut_and_counted() {
        let results = Arc::<Results>::default();
        let long = "ä".repeat(5_000);
        (1..=100).for_each(|seq| put(&results, seq, MemberStop::Completed, &long));
        let told = results.told().expect("many");
        assert!(told.len() < 26_000, "{}", told.len());
        assert!(told.contains("… and 8000 more bytes\n- #2"), "{told}");
        assert!(told.ends_with("\n- … and 88 more agents"), "{told}");
    }
}
