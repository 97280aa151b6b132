//! What endpoints want back that a conversation cannot hold.
//!
//! Some endpoints seal the reasoning behind a tool call and refuse the call's result, or think worse, when
//! the seal does not come back with it. Conversations hold the text of the reasoning only, so adapters
//! keep the sealed answers themselves, for as long as the process lives and the limit allows. What is gone
//! is gone: requests must be acceptable without it.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use weft_types::{CallId, SessionId};

/// How much one adapter keeps, in bytes.
pub(crate) const MAX_KEPT: usize = 16 << 20;

/// A session, and the first call of an answer in it.
type Place = (SessionId, CallId);

/// Answers that called tools, as they came. The oldest go first when there are too many.
#[derive(Debug)]
pub(crate) struct Kept<T> {
    max_bytes: usize,
    answers: Mutex<Answers<T>>,
}

#[derive(Debug)]
struct Answers<T> {
    by_place: HashMap<Place, (Arc<T>, usize)>,
    /// Every place of the map once, the oldest first.
    order: VecDeque<Place>,
    bytes: usize,
}

impl<T> Kept<T> {
    pub(crate) fn new(max_bytes: usize) -> Self {
        Self {
            max_bytes,
            answers: Mutex::new(Answers {
                by_place: HashMap::new(),
                order: VecDeque::new(),
                bytes: 0,
            }),
        }
    }

    /// Keeps an answer of a session under its first call; `bytes` is what it counts for.
    pub(crate) fn put(&self, session: &SessionId, first_call: &CallId, answer: T, bytes: usize) {
        let place = (session.clone(), first_call.clone());
        // The place is held twice.
        let bytes = bytes + 2 * (place.0.as_str().len() + place.1.as_str().len());
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.bytes += bytes;
        match answers.by_place.insert(place.clone(), (Arc::new(answer), bytes)) {
            Some((_, replaced)) => answers.bytes -= replaced,
            None => answers.order.push_back(place),
        }
        while answers.bytes > self.max_bytes
            && let Some(oldest) = answers.order.pop_front()
        {
            let gone = answers.by_place.remove(&oldest);
            answers.bytes -= gone.map_or(0, |(_, bytes)| bytes);
        }
    }

    /// The answer of a session with this first call, if it is still there.
    pub(crate) fn get(&self, session: &SessionId, first_call: &CallId) -> Option<Arc<T>> {
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let found = answers.by_place.get(&(session.clone(), first_call.clone()));
        found.map(|(answer, _)| Arc::clone(answer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(kept: &Kept<u32>, session: &str, call: &str) -> Option<u32> {
        kept.get(&SessionId::new(session), &CallId::new(call))
            .map(|answer| *answer)
    }

    #[test]
    fn an_answer_belongs_to_its_session() {
        let kept = Kept::new(1_000);
        kept.put(&SessionId::new("s"), &CallId::new("a"), 1, 10);
        kept.put(&SessionId::new("t"), &CallId::new("a"), 2, 10);
        assert_eq!(get(&kept, "s", "a"), Some(1));
        assert_eq!(get(&kept, "t", "a"), Some(2));
        assert_eq!(get(&kept, "s", "b"), None);
    }

    #[test]
    fn the_oldest_goes_first_and_what_was_replaced_does_not_count() {
        let kept = Kept::new(100);
        for (call, answer) in [("a", 1), ("b", 2), ("a", 3)] {
            kept.put(&SessionId::new("s"), &CallId::new(call), answer, 40);
        }
        assert_eq!((get(&kept, "s", "a"), get(&kept, "s", "b")), (Some(3), Some(2)));
        kept.put(&SessionId::new("s"), &CallId::new("c"), 4, 40);
        assert_eq!((get(&kept, "s", "a"), get(&kept, "s", "b")), (None, Some(2)));
        assert_eq!(get(&kept, "s", "c"), Some(4));
    }

    #[test]
    fn an_answer_beyond_the_limit_leaves_nothing() {
        let kept = Kept::new(100);
        kept.put(&SessionId::new("s"), &CallId::new("a"), 1, 200);
        assert_eq!(get(&kept, "s", "a"), None);
        let answers = kept.answers.lock().expect("no panic");
        assert_eq!((answers.bytes, answers.order.len(), answers.by_place.len()), (0, 0, 0));
    }
}
