//! An agent of others as the model of the agent that stands for it.
//!
//! A request of weft's agent loop is a prompt if none is under way, and else a look at what else the program has said:
//! text as it comes, and then the calls that it has made in one go. A schema for the answer is told in words; what the
//! program says in the end goes into the call that takes structured answers, so that violations are found, told and
//! bounded like those of any model.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream;
use tokio::time::{Instant, timeout_at};
use weft_agent::STRUCTURED_OUTPUT;
use weft_model::{Model, ModelError, ModelErrorKind, ModelEvent, ModelRequest, ModelStream, Models, ResolvedModel};
use weft_types::{CallId, ContentBlock, Message, StopReason, text_of};

use super::call::tool_name;
use super::inbox::{Next, TurnOver};
use super::link::Link;
use crate::sdk::schema;
use crate::wire;

/// How long further calls are waited for once one was made: agents announce several at once, and often say more of a
/// call right after they have announced it.
const GATHER: Duration = Duration::from_millis(40);

/// The one model of such an agent, whatever is asked for.
pub(super) struct PeerModels {
    name: String,
    model: Arc<PeerModel>,
}

impl PeerModels {
    pub(super) fn new(link: Arc<Link>) -> Self {
        let name = link.name().to_owned();
        let model = PeerModel {
            link,
            answers: AtomicUsize::new(0),
        };
        Self {
            name,
            model: Arc::new(model),
        }
    }
}

impl Models for PeerModels {
    fn resolve(&self, _choice: Option<&str>) -> Result<ResolvedModel, ModelError> {
        Ok(ResolvedModel {
            model: Arc::clone(&self.model) as Arc<dyn Model>,
            provider: "acp".to_owned(),
            name: self.name.clone(),
        })
    }
}

struct PeerModel {
    link: Arc<Link>,
    /// How many structured answers were taken from it.
    answers: AtomicUsize,
}

impl Model for PeerModel {
    fn stream(&self, request: ModelRequest) -> ModelStream {
        let schema = request.tools.iter().find(|tool| tool.name == STRUCTURED_OUTPUT);
        let answer = Answer {
            link: Arc::clone(&self.link),
            prompt: prompt_of(&request, schema.map(|tool| &tool.parameters)),
            structured: schema.map(|_| self.answers.fetch_add(1, Ordering::Relaxed) + 1),
            state: State::New,
        };
        stream::unfold(answer, Answer::next).boxed()
    }

    /// A turn may end with a call and no word about it.
    fn may_be_silent(&self) -> bool {
        true
    }
}

/// The answer to one request. One that is dropped before its end cancels the turn.
struct Answer {
    link: Arc<Link>,
    prompt: Vec<schema::ContentBlock>,
    /// The number of the structured answer that this one may give.
    structured: Option<usize>,
    state: State,
}

enum State {
    New,
    /// The agent speaks.
    Speaking,
    /// It has made a call, and more are waited for until then.
    Calling(Instant),
    /// What is left to say.
    Ending(Vec<Result<ModelEvent, ModelError>>),
}

impl Answer {
    async fn next(mut self) -> Option<(Result<ModelEvent, ModelError>, Self)> {
        loop {
            match &mut self.state {
                State::New => {
                    if let Err(failure) = self.link.connect().await {
                        self.state = State::Ending(vec![Err(self.failed(&failure.with_hint()))]);
                        continue;
                    }
                    let inbox = self.link.inbox();
                    inbox.close_calls();
                    if !inbox.is_in_turn() {
                        self.link.prompt(std::mem::take(&mut self.prompt));
                    }
                    self.state = State::Speaking;
                }
                State::Speaking => {
                    let next = self.wait(None).await;
                    if let Some(event) = self.take(next) {
                        return Some((event, self));
                    }
                }
                State::Calling(until) => {
                    let until = *until;
                    let next = self.wait(Some(until)).await;
                    if let Some(event) = self.take(next) {
                        return Some((event, self));
                    }
                    self.state = State::Ending(self.ending(StopReason::ToolUse));
                }
                State::Ending(events) => {
                    if events.is_empty() {
                        return None;
                    }
                    let event = events.remove(0);
                    return Some((event, self));
                }
            }
        }
    }

    /// What is said next. Until a point in time only calls count; and nothing, if none comes.
    async fn wait(&self, until: Option<Instant>) -> Next {
        let inbox = self.link.inbox();
        let mut changed = inbox.watch();
        loop {
            match (inbox.next(until.is_some()), until) {
                (Next::Nothing, None) => drop(changed.changed().await),
                (Next::Nothing, Some(until)) => {
                    if inbox.has_more() || timeout_at(until, changed.changed()).await.is_err() {
                        return Next::Nothing;
                    }
                }
                (next, _) => return next,
            }
        }
    }

    fn take(&mut self, next: Next) -> Option<Result<ModelEvent, ModelError>> {
        match next {
            Next::Text(text) => Some(Ok(ModelEvent::TextDelta(text))),
            Next::Thought(text) => Some(Ok(ModelEvent::ReasoningDelta(text))),
            Next::Call(id, arguments) => {
                if matches!(self.state, State::Speaking) {
                    self.state = State::Calling(Instant::now() + GATHER);
                }
                let name = tool_name(self.link.name());
                Some(Ok(ModelEvent::ToolCall { id, name, arguments }))
            }
            // Its calls are over as well then, and the next answer tells of the end.
            Next::Over(_) if matches!(self.state, State::Calling(_)) => None,
            Next::Over(over) => {
                self.state = State::Ending(self.end_of_turn(over));
                None
            }
            Next::Nothing => None,
        }
    }

    fn end_of_turn(&self, over: TurnOver) -> Vec<Result<ModelEvent, ModelError>> {
        let failed = |reason: &str| vec![Err(self.failed(reason))];
        match over {
            Ok(schema::StopReason::EndTurn) => match self.structured {
                Some(number) => {
                    let call = ModelEvent::ToolCall {
                        id: CallId::new(format!("answer-{number}")),
                        name: STRUCTURED_OUTPUT.to_owned(),
                        arguments: json_in(&self.link.inbox().said()),
                    };
                    let mut events = vec![Ok(call)];
                    events.extend(self.ending(StopReason::ToolUse));
                    events
                }
                None => self.ending(StopReason::EndTurn),
            },
            Ok(schema::StopReason::MaxTokens) => self.ending(StopReason::MaxTokens),
            Ok(schema::StopReason::Refusal) => self.ending(StopReason::Refusal),
            Ok(schema::StopReason::MaxTurnRequests) => failed("ended its turn at its own limit of requests"),
            Ok(schema::StopReason::Cancelled) => failed("was cancelled on its own side"),
            Ok(other) => failed(&format!("ended its turn for a reason that is not known: {other:?}")),
            Err(reason) => failed(&reason),
        }
    }

    fn failed(&self, reason: &str) -> ModelError {
        let message = format!("the agent {} {reason}", self.link.name());
        ModelError::new(ModelErrorKind::Protocol, message)
    }

    fn ending(&self, stop: StopReason) -> Vec<Result<ModelEvent, ModelError>> {
        let usage = self.link.inbox().take_usage().map(ModelEvent::Usage);
        usage.into_iter().chain([ModelEvent::Finish(stop)]).map(Ok).collect()
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        if matches!(self.state, State::Speaking | State::Calling(_)) {
            self.link.cancel();
        }
    }
}

/// What the agent is told: what came behind its last answer, and in which form its answer is wanted.
fn prompt_of(request: &ModelRequest, wanted: Option<&serde_json::Value>) -> Vec<schema::ContentBlock> {
    let mut blocks = Vec::new();
    for message in request.messages.iter().rev() {
        match message {
            Message::User { content } => blocks.splice(0..0, content.iter().map(wire::content)).for_each(drop),
            Message::Tool { content, .. } => {
                let told = format!("Your answer could not be taken: {}", text_of(content));
                blocks.insert(0, wire::content(&ContentBlock::text(told)));
                continue;
            }
            Message::Assistant { .. } => break,
        }
    }
    if let Some(wanted) = wanted {
        blocks.push(wire::content(&ContentBlock::text(form_of(wanted))));
    }
    blocks
}

fn form_of(wanted: &serde_json::Value) -> String {
    let mut text = String::from(
        "Your answer is read by a program. When your work is done, end your last message with one block that begins \
         with a line ```json and ends with a line ```. In it stands your whole answer as one JSON object that fits this \
         JSON Schema:\n",
    );
    // Writing into a text does not fail.
    let _written = write!(text, "{wanted:#}");
    text
}

/// The JSON that a message ends with: its last block of JSON, or of anything, or all of it.
fn json_in(message: &str) -> String {
    let mut last = None;
    let mut open: Option<(bool, String)> = None;
    for line in message.lines() {
        match (&mut open, line.trim_start().strip_prefix("```")) {
            (Some((is_json, text)), Some(_)) => {
                last = Some((*is_json, std::mem::take(text)))
                    .filter(|(is_json, _)| *is_json || last.is_none())
                    .or(last);
                open = None;
            }
            (None, Some(kind)) => open = Some((kind.trim().eq_ignore_ascii_case("json"), String::new())),
            (Some((_, text)), None) => {
                text.push_str(line);
                text.push('\n');
            }
            (None, None) => {}
        }
    }
    let block = last.map(|(_, text): (bool, String)| text);
    block.unwrap_or_else(|| message.to_owned()).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(message: &str, expected: &str) {
        assert_eq!(json_in(message), expected, "{message}");
    }

    #[test]
    fn a_structured_answer_is_the_last_block_of_json() {
        check("{\"a\":1}\n", "{\"a\":1}");
        check(
            "first\n```json\n{\"a\":1}\n```\nthen\n```json\n{\"a\":2}\n```\n",
            "{\"a\":2}",
        );
        check("```json\n{}\n```\n```sh\nls\n```\n", "{}");
        check("see\n```\n{\n}\n```", "{\n}");
        check("```json\n{\"a\":1}", "```json\n{\"a\":1}");
        check("", "");
    }
}
