//! The conversation that a model is given, derived from a session's events and from nothing else.
//!
//! What a model is sent is always well-formed: every tool call is followed by exactly one result, and no
//! message is empty. Text that was cut off stays, for the user saw it. Where the conversation was summed up,
//! the summary stands in place of what came before.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use weft_model::Messages;
use weft_session::{LogError, Session};
use weft_types::{AssistantBlock, CallId, ContentBlock, Event, EventBody, Message, ToolSpec, Usage};

use crate::command::is_own_command;
use crate::meter::{add, usage_of};
use crate::size::{bytes_of_message, estimated_tokens};

/// How many events are read at a time.
const PAGE: usize = 256;

/// What stands before a summary.
const SUMMARY_HEAD: &str = "The conversation before this point was summed up to make room for more. What follows \
    is the summary; everything after it is the conversation as it was.";

/// The messages of a whole log, which may end anywhere.
pub fn messages<'a>(events: impl IntoIterator<Item = &'a Event>) -> Messages {
    let mut history = History::default();
    for event in events {
        history.push(event);
    }
    history.messages()
}

/// The fold behind [`messages`], event by event.
#[derive(Debug, Default)]
pub(crate) struct History {
    entries: Vec<Entry>,
    /// The calls of the last answer, in its order.
    calls: Vec<CallId>,
    /// Those of them that have no result yet.
    open_calls: HashSet<CallId>,
    call_ids: HashSet<CallId>,
    header: Option<RequestHeader>,
    /// The bytes of the header.
    header_bytes: usize,
    last_turn: u32,
    turn_is_open: bool,
    has_title: bool,
    /// Whether the first entry is a summary.
    was_summed_up: bool,
    /// The entry of the open turn's prompt, while it looks like one that the agent answers by itself.
    own_command: Option<usize>,
    /// The bytes of all entries.
    bytes: usize,
    /// What the provider counted last.
    counted: Option<Counted>,
    /// The tokens of all requests, by model.
    used: BTreeMap<String, Usage>,
}

/// A message and the event that it comes from; a summary has the number of its compaction.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) seq: u64,
    pub(crate) message: Arc<Message>,
    /// Whether it holds what the user wants, in the user's own words or in a summary.
    pub(crate) is_prompt: bool,
    /// Whether it stands for others.
    pub(crate) is_summary: bool,
}

/// What the log says the model was given beside the messages.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RequestHeader {
    pub(crate) model: String,
    pub(crate) system: Arc<str>,
    pub(crate) tools: Arc<[ToolSpec]>,
}

/// The tokens up to an answer, itself included, and the bytes of what came after it.
#[derive(Clone, Copy, Debug)]
struct Counted {
    tokens: u64,
    bytes_since: usize,
}

/// How much of a context the next request would take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ContextSize {
    /// In tokens.
    pub tokens: u64,
    /// Whether no provider has counted any of it: a token is then taken for four bytes.
    pub is_estimate: bool,
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
            page.iter().for_each(|event| history.push(event));
        }
    }

    pub(crate) fn push(&mut self, event: &Event) {
        if let Some(usage) = usage_of(&event.body) {
            add(&mut self.used, header_model(self.header.as_ref()), usage);
        }
        match &event.body {
            EventBody::TurnStart { turn } => {
                self.last_turn = *turn;
                self.turn_is_open = true;
                self.own_command = None;
            }
            EventBody::TurnEnd { .. } => {
                self.turn_is_open = false;
                self.drop_own_command();
            }
            EventBody::SessionTitle { .. } => self.has_title = true,
            EventBody::UserMessage { content, .. } => {
                self.own_command = is_own_command(content).then_some(self.entries.len());
                self.push_user(event.seq, content);
                if let Some(entry) = self.entries.last_mut() {
                    entry.is_prompt = true;
                }
            }
            EventBody::ToolContext { content, .. } => self.push_user(event.seq, content),
            // It is not one that the agent answers by itself: the model is asked.
            EventBody::StepStart { .. } => self.own_command = None,
            EventBody::RequestHeader {
                model, system, tools, ..
            } => self.set_header(RequestHeader {
                model: model.clone(),
                system: system.as_str().into(),
                tools: tools.as_slice().into(),
            }),
            EventBody::AssistantMessage { content, usage, .. } => self.push_answer(event.seq, content, *usage),
            EventBody::ToolResult {
                call_id,
                content,
                error,
                ..
            } => {
                self.open_calls.remove(call_id);
                let message = Message::Tool {
                    call_id: call_id.clone(),
                    content: content.clone(),
                    is_error: error.is_some(),
                };
                self.push_message(event.seq, message);
            }
            EventBody::SessionCompaction { summary, kept_from, .. } => self.sum_up(event.seq, summary, *kept_from),
            _ => {}
        }
    }

    fn push_user(&mut self, seq: u64, content: &[ContentBlock]) {
        let content = content.to_vec();
        self.push_message(seq, Message::User { content });
    }

    fn push_message(&mut self, seq: u64, message: Message) {
        let bytes = bytes_of_message(&message);
        self.bytes += bytes;
        if let Some(counted) = &mut self.counted {
            counted.bytes_since += bytes;
        }
        let message = Arc::new(message);
        self.entries.push(Entry {
            seq,
            message,
            is_prompt: false,
            is_summary: false,
        });
    }

    fn push_answer(&mut self, seq: u64, content: &[AssistantBlock], usage: Option<Usage>) {
        let calls = content.iter().filter_map(|block| match block {
            AssistantBlock::ToolCall { id, .. } => Some(id.clone()),
            AssistantBlock::Text { .. } | AssistantBlock::Reasoning { .. } => None,
        });
        self.calls = calls.collect();
        self.open_calls = self.calls.iter().cloned().collect();
        self.call_ids.extend(self.calls.iter().cloned());
        if content.iter().any(says_something) {
            let content = content.to_vec();
            self.push_message(seq, Message::Assistant { content });
        }
        if let Some(usage) = usage.filter(|usage| usage.input_tokens > 0) {
            self.counted = Some(Counted {
                tokens: usage.input_tokens.saturating_add(usage.output_tokens),
                bytes_since: 0,
            });
        }
    }

    /// Puts a summary in place of everything before event `kept_from`. Results whose call is gone go with it: they
    /// can only stand first, since nothing comes between an answer and the results of its calls.
    fn sum_up(&mut self, seq: u64, summary: &str, kept_from: u64) {
        self.drop_own_command();
        let entries = std::mem::take(&mut self.entries).into_iter();
        let kept = entries
            .filter(|entry| entry.seq >= kept_from && !entry.is_summary)
            .skip_while(|entry| matches!(*entry.message, Message::Tool { .. }));
        let content = vec![ContentBlock::text(format!("{SUMMARY_HEAD}\n\n{summary}"))];
        let summary = Entry {
            seq,
            message: Arc::new(Message::User { content }),
            is_prompt: true,
            is_summary: true,
        };
        self.entries = std::iter::once(summary).chain(kept).collect();
        self.was_summed_up = true;
        self.counted = None;
        self.bytes = self.entries.iter().map(|entry| bytes_of_message(&entry.message)).sum();
        // Calls are answered before anything is summed up.
        self.calls.clear();
        self.open_calls.clear();
    }

    /// A prompt that the agent answered by itself is none for a model.
    fn drop_own_command(&mut self) {
        if let Some(at) = self.own_command.take().filter(|at| *at < self.entries.len()) {
            let entry = self.entries.remove(at);
            let bytes = bytes_of_message(&entry.message);
            self.bytes -= bytes;
            if let Some(counted) = &mut self.counted {
                counted.bytes_since = counted.bytes_since.saturating_sub(bytes);
            }
        }
    }

    pub(crate) fn set_header(&mut self, header: RequestHeader) {
        self.header_bytes = header.bytes();
        self.header = Some(header);
    }

    /// The messages, shared, and completed if a call is still open.
    pub(crate) fn messages(&self) -> Messages {
        let open = self.calls.iter().filter(|call| self.open_calls.contains(call));
        let interrupted = open.map(|call_id| {
            Arc::new(Message::Tool {
                call_id: call_id.clone(),
                content: vec![ContentBlock::text(
                    "Error: the call was interrupted; its outcome is unknown",
                )],
                is_error: true,
            })
        });
        let messages = self.entries.iter().map(|entry| Arc::clone(&entry.message));
        messages.chain(interrupted).collect()
    }

    /// The messages that a summary can be made of, in order: all but a prompt that the agent answers by itself.
    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries[..self.own_command.unwrap_or(self.entries.len())]
    }

    /// The bytes of all messages.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether the first entry is a summary.
    pub(crate) fn begins_with_summary(&self) -> bool {
        self.was_summed_up
    }

    /// How much of a context the messages and the last header take, but for a prompt that the agent answers by itself.
    pub(crate) fn context_size(&self) -> ContextSize {
        let own = self.own_command.and_then(|at| self.entries.get(at));
        let own = own.map_or(0, |entry| bytes_of_message(&entry.message));
        if let Some(Counted { tokens, bytes_since }) = self.counted {
            return ContextSize {
                tokens: tokens.saturating_add(estimated_tokens(bytes_since.saturating_sub(own))),
                is_estimate: false,
            };
        }
        ContextSize {
            tokens: estimated_tokens(self.bytes - own + self.header_bytes),
            is_estimate: true,
        }
    }

    /// Whether a message that is still given holds this text as one of its blocks' beginning.
    pub(crate) fn holds_context(&self, beginning: &str) -> bool {
        self.entries.iter().any(|entry| match &*entry.message {
            Message::User { content } => content
                .iter()
                .filter_map(ContentBlock::as_text)
                .any(|text| text.starts_with(beginning)),
            Message::Assistant { .. } | Message::Tool { .. } => false,
        })
    }

    /// The tokens of all requests, by model.
    pub(crate) fn used(&self) -> &BTreeMap<String, Usage> {
        &self.used
    }

    /// The model of the last header; empty before the first.
    pub(crate) fn model(&self) -> &str {
        header_model(self.header.as_ref())
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

    /// What a title can be made of: the first prompt for a model, unless the session has a title.
    pub(crate) fn untitled_prompt(&self) -> Option<&[ContentBlock]> {
        if self.has_title || self.was_summed_up || self.own_command == Some(0) {
            return None;
        }
        match &*self.entries.first()?.message {
            Message::User { content } => Some(content),
            Message::Assistant { .. } | Message::Tool { .. } => None,
        }
    }

    pub(crate) fn turn_is_open(&self) -> bool {
        self.turn_is_open
    }
}

impl RequestHeader {
    fn bytes(&self) -> usize {
        let tools = self.tools.iter().map(|tool| {
            // What is written of a schema is about as long as what is sent of it.
            tool.name.len() + tool.description.len() + tool.parameters.to_string().len()
        });
        self.system.len() + tools.sum::<usize>()
    }
}

fn header_model(header: Option<&RequestHeader>) -> &str {
    header.map_or("", |header| &header.model)
}

/// Reasoning alone is no message: endpoints refuse one without text and calls.
fn says_something(block: &AssistantBlock) -> bool {
    match block {
        AssistantBlock::Text { text } => !text.is_empty(),
        AssistantBlock::Reasoning { .. } => false,
        AssistantBlock::ToolCall { .. } => true,
    }
}
