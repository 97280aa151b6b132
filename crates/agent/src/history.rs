//! The conversation that a model is given, derived from a session's events and from nothing else.
//!
//! What a model is sent is always well-formed: every tool call is followed by exactly one result, and no
//! message is empty. Text that was cut off stays, for the user saw it.

use std::collections::HashSet;
use std::sync::Arc;

use weft_session::{LogError, Session};
use weft_types::{AssistantBlock, CallId, ContentBlock, Event, EventBody, Message, ToolSpec};

/// How many events are read at a time.
const PAGE: usize = 256;

/// The messages of a whole log, which may end anywhere.
pub fn messages<'a>(events: impl IntoIterator<Item = &'a Event>) -> Vec<Message> {
    let mut history = History::default();
    for event in events {
        history.push(&event.body);
    }
    history.messages()
}

/// The fold behind [`messages`], event by event.
#[derive(Debug, Default)]
pub(crate) struct History {
    messages: Vec<Message>,
    /// The calls of the last answer, in its order.
    calls: Vec<CallId>,
    /// Those of them that have no result yet.
    open_calls: HashSet<CallId>,
    call_ids: HashSet<CallId>,
    header: Option<RequestHeader>,
    last_turn: u32,
    turn_is_open: bool,
    has_title: bool,
}

/// What the log says the model was given beside the messages.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RequestHeader {
    pub(crate) model: String,
    pub(crate) system: Arc<str>,
    pub(crate) tools: Arc<[ToolSpec]>,
}

impl History {
    /// The fold of a session's whole log, read page by page.
    pub(crate) fn read(session: &Session) -> Result<Self, LogError> {
        let (mut history, mut next) = (Self::default(), 0);
        loop {
            let page = session.page(next, PAGE)?;
            if page.is_empty() {
                return Ok(history);
            }
            next += page.len() as u64;
            page.iter().for_each(|event| history.push(&event.body));
        }
    }

    pub(crate) fn push(&mut self, body: &EventBody) {
        match body {
            EventBody::TurnStart { turn } => {
                self.last_turn = *turn;
                self.turn_is_open = true;
            }
            EventBody::TurnEnd { .. } => self.turn_is_open = false,
            EventBody::SessionTitle { .. } => self.has_title = true,
            EventBody::UserMessage { content, .. } | EventBody::ToolContext { content, .. } => {
                let content = content.clone();
                self.messages.push(Message::User { content });
            }
            EventBody::RequestHeader {
                model, system, tools, ..
            } => self.set_header(RequestHeader {
                model: model.clone(),
                system: system.as_str().into(),
                tools: tools.as_slice().into(),
            }),
            EventBody::AssistantMessage { content, .. } => self.push_answer(content),
            EventBody::ToolResult {
                call_id,
                content,
                error,
                ..
            } => {
                self.open_calls.remove(call_id);
                self.messages.push(Message::Tool {
                    call_id: call_id.clone(),
                    content: content.clone(),
                    is_error: error.is_some(),
                });
            }
            _ => {}
        }
    }

    fn push_answer(&mut self, content: &[AssistantBlock]) {
        let calls = content.iter().filter_map(|block| match block {
            AssistantBlock::ToolCall { id, .. } => Some(id.clone()),
            AssistantBlock::Text { .. } | AssistantBlock::Reasoning { .. } => None,
        });
        self.calls = calls.collect();
        self.open_calls = self.calls.iter().cloned().collect();
        self.call_ids.extend(self.calls.iter().cloned());
        if content.iter().any(says_something) {
            let content = content.to_vec();
            self.messages.push(Message::Assistant { content });
        }
    }

    pub(crate) fn set_header(&mut self, header: RequestHeader) {
        self.header = Some(header);
    }

    /// A copy of the messages, completed if a call is still open.
    pub(crate) fn messages(&self) -> Vec<Message> {
        let mut messages = self.messages.clone();
        let open = self.calls.iter().filter(|call| self.open_calls.contains(call));
        messages.extend(open.map(|call_id| Message::Tool {
            call_id: call_id.clone(),
            content: vec![ContentBlock::text(
                "Error: the call was interrupted; its outcome is unknown",
            )],
            is_error: true,
        }));
        messages
    }

    /// Whether a message of the session has named such a call.
    pub(crate) fn has_call(&self, id: &CallId) -> bool {
        self.call_ids.contains(id)
    }

    /// The last header of the log.
    pub(crate) fn header(&self) -> Option<&RequestHeader> {
        self.header.as_ref()
    }

    /// The number of the last turn; 0 if there was none.
    pub(crate) fn last_turn(&self) -> u32 {
        self.last_turn
    }

    /// What a title can be made of: the first prompt, unless the session has a title.
    pub(crate) fn untitled_prompt(&self) -> Option<&[ContentBlock]> {
        match self.messages.first() {
            Some(Message::User { content }) if !self.has_title => Some(content),
            _ => None,
        }
    }

    pub(crate) fn turn_is_open(&self) -> bool {
        self.turn_is_open
    }
}

/// Reasoning alone is no message: endpoints refuse one without text and calls.
fn says_something(block: &AssistantBlock) -> bool {
    match block {
        AssistantBlock::Text { text } => !text.is_empty(),
        AssistantBlock::Reasoning { .. } => false,
        AssistantBlock::ToolCall { .. } => true,
    }
}
