//! What endpoints want back that a conversation cannot hold.
//!
//! Some endpoints seal the reasoning behind a tool call and refuse the call's result, or think worse, when
//! the seal does not come back with it. Conversations hold the text of the reasoning only, so adapters
//! keep the sealed answers themselves, for as long as the process lives and the limit allows. What is gone
//! is gone: requests must be acceptable without it.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use weft_model::ModelRequest;
use weft_types::{AssistantBlock, CallId, Message, SessionId};

/// How much one adapter keeps, in bytes.
pub(crate) const MAX_KEPT: usize = 16 << 20;

/// Where an answer stands: its session, the model that gave it, and its first call. Models do not take the
/// reasoning of another for their own.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Place {
    session: SessionId,
    model: String,
    first_call: CallId,
}

impl Place {
    fn len(&self) -> usize {
        self.session.as_str().len() + self.model.len() + self.first_call.as_str().len()
    }
}

/// An answer with reasoning and calls, to be sent back in this order.
#[derive(Debug)]
pub(crate) struct KeptAnswer<R> {
    pub(crate) blocks: Vec<KeptBlock<R>>,
}

/// A block of a [`KeptAnswer`].
#[derive(Debug)]
pub(crate) enum KeptBlock<R> {
    Text(String),
    /// Reasoning as its endpoint wants it back.
    Sealed(R),
    /// The next call of the message; the conversation holds it.
    Call,
}

/// Answers that called tools, as they came. The oldest go first when there are too many.
#[derive(Debug)]
pub(crate) struct Kept<R> {
    max_bytes: usize,
    answers: Mutex<Answers<R>>,
}

#[derive(Debug)]
struct Answers<R> {
    by_place: HashMap<Place, (Arc<KeptAnswer<R>>, usize)>,
    /// Every place of the map once, the oldest first.
    order: VecDeque<Place>,
    bytes: usize,
}

impl<R> Kept<R> {
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

    /// Keeps an answer under its first call; `sealed` is how long a piece of reasoning is, in bytes.
    pub(crate) fn put(
        &self,
        (session, model): (&SessionId, &str),
        first_call: &CallId,
        answer: KeptAnswer<R>,
        sealed: impl Fn(&R) -> usize,
    ) {
        let place = Place {
            session: session.clone(),
            model: model.to_owned(),
            first_call: first_call.clone(),
        };
        // The place is held twice.
        let bytes = answer.bytes(sealed) + 2 * place.len();
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

    /// What was kept of a request's message, if it is still there, the message still is what it was, and the
    /// model is the one that gave it.
    pub(crate) fn find(&self, request: &ModelRequest, message: &Message) -> Option<Arc<KeptAnswer<R>>> {
        let Message::Assistant { content } = message else {
            return None;
        };
        let first = content.iter().find_map(|block| match block {
            AssistantBlock::ToolCall { id, .. } => Some(id),
            _ => None,
        })?;
        let place = Place {
            session: request.origin.session.clone(),
            model: request.model.clone(),
            first_call: first.clone(),
        };
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let (found, _) = answers.by_place.get(&place)?;
        found.is_of(content).then(|| Arc::clone(found))
    }
}

impl<R> KeptAnswer<R> {
    fn is_of(&self, content: &[AssistantBlock]) -> bool {
        let texts = self.blocks.iter().filter_map(|block| match block {
            KeptBlock::Text(text) => Some(text.as_str()),
            KeptBlock::Sealed(_) | KeptBlock::Call => None,
        });
        let is_call = |block: &&KeptBlock<R>| matches!(block, KeptBlock::Call);
        let calls = self.blocks.iter().filter(is_call).count();
        texts.flat_map(str::bytes).eq(texts_of(content).flat_map(str::bytes))
            && calls == content.iter().filter(|block| is_tool_call(block)).count()
    }

    /// What it counts for: its texts, and something for each block.
    fn bytes(&self, sealed: impl Fn(&R) -> usize) -> usize {
        let of = |block: &KeptBlock<R>| match block {
            KeptBlock::Text(text) => text.len(),
            KeptBlock::Sealed(reasoning) => sealed(reasoning),
            KeptBlock::Call => 0,
        };
        self.blocks.iter().map(|block| of(block) + 64).sum()
    }
}

/// The texts of an answer, in its order.
pub(crate) fn texts_of(blocks: &[AssistantBlock]) -> impl Iterator<Item = &str> {
    blocks.iter().filter_map(|block| match block {
        AssistantBlock::Text { text } => Some(text.as_str()),
        AssistantBlock::Reasoning { .. } | AssistantBlock::ToolCall { .. } => None,
    })
}

pub(crate) fn is_tool_call(block: &AssistantBlock) -> bool {
    matches!(block, AssistantBlock::ToolCall { .. })
}

#[cfg(test)]
mod tests {
    use weft_model::{AgentRole, RequestOrigin};

    use super::*;

    fn put(kept: &Kept<u32>, session: &str, call: &str, sealed: u32, bytes: usize) {
        let blocks = vec![KeptBlock::Sealed(sealed), KeptBlock::Text("t".into()), KeptBlock::Call];
        let answer = KeptAnswer { blocks };
        kept.put((&SessionId::new(session), "m"), &CallId::new(call), answer, |_| bytes);
    }

    fn find(kept: &Kept<u32>, session: &str, call: &str) -> Option<u32> {
        let text = AssistantBlock::Text { text: "t".into() };
        find_of(kept, (session, "m"), vec![text, tool_call(call)])
    }

    fn find_of(kept: &Kept<u32>, (session, model): (&str, &str), content: Vec<AssistantBlock>) -> Option<u32> {
        let request = ModelRequest {
            model: model.into(),
            system: "".into(),
            messages: Vec::new(),
            tools: Arc::from([]),
            origin: RequestOrigin {
                role: AgentRole::Main,
                label: None,
                session: SessionId::new(session),
                turn: 1,
                step: 1,
            },
        };
        let answer = kept.find(&request, &Message::Assistant { content })?;
        let KeptBlock::Sealed(sealed) = answer.blocks[0] else {
            panic!("{answer:?}")
        };
        Some(sealed)
    }

    fn tool_call(id: &str) -> AssistantBlock {
        AssistantBlock::ToolCall {
            id: CallId::new(id),
            name: "n".into(),
            arguments: "{}".into(),
        }
    }

    #[test]
    fn an_answer_belongs_to_its_session_and_its_model() {
        let kept = Kept::new(1_000);
        put(&kept, "s", "a", 1, 10);
        put(&kept, "t", "a", 2, 10);
        assert_eq!(find(&kept, "s", "a"), Some(1));
        assert_eq!(find(&kept, "t", "a"), Some(2));
        assert_eq!(find(&kept, "s", "b"), None);
        let same = |model| {
            let text = AssistantBlock::Text { text: "t".into() };
            find_of(&kept, ("s", model), vec![text, tool_call("a")])
        };
        assert_eq!((same("m"), same("another")), (Some(1), None));
    }

    #[test]
    fn a_message_that_is_not_what_it_was_has_nothing_kept() {
        let kept = Kept::new(1_000);
        put(&kept, "s", "a", 1, 10);
        let text = |text: &str| AssistantBlock::Text { text: text.into() };
        assert_eq!(find_of(&kept, ("s", "m"), vec![text("t"), tool_call("a")]), Some(1));
        assert_eq!(find_of(&kept, ("s", "m"), vec![text("u"), tool_call("a")]), None);
        assert_eq!(
            find_of(&kept, ("s", "m"), vec![text("t"), tool_call("a"), tool_call("b")]),
            None
        );
        assert_eq!(find_of(&kept, ("s", "m"), vec![text("t")]), None);
    }

    /// Each answer counts for 600 bytes and a few.
    #[test]
    fn the_oldest_goes_first_and_what_was_replaced_does_not_count() {
        let kept = Kept::new(1_500);
        for (call, sealed) in [("a", 1), ("b", 2), ("a", 3)] {
            put(&kept, "s", call, sealed, 400);
        }
        assert_eq!((find(&kept, "s", "a"), find(&kept, "s", "b")), (Some(3), Some(2)));
        put(&kept, "s", "c", 4, 400);
        assert_eq!((find(&kept, "s", "a"), find(&kept, "s", "b")), (None, Some(2)));
        assert_eq!(find(&kept, "s", "c"), Some(4));
    }

    #[test]
    fn an_answer_beyond_the_limit_leaves_nothing() {
        let kept = Kept::new(1_000);
        put(&kept, "s", "a", 1, 2_000);
        assert_eq!(find(&kept, "s", "a"), None);
        let answers = kept.answers.lock().expect("no panic");
        assert_eq!((answers.bytes, answers.order.len(), answers.by_place.len()), (0, 0, 0));
    }
}
