//! What a conversation holds, folded from its events.
//!
//! Items are taken out at the front as soon as nothing of them can change any more: a turn's end settles everything of
//! the turn, so that never more than the last turn is held, however long the log is.

use std::collections::{HashMap, VecDeque};

use weft_tools::{ExitStatus, ResultForView, ResultView, ToolRegistry};
use weft_types::{
    AbortCause, AssistantBlock, CallId, ContentBlock, Event, EventBody, NotContiguous, RunStatus, RunView,
    ToolErrorRecord, TurnEnd, UnixMillis, WorkflowRuns, text_of,
};

/// A conversation while its events are read.
pub(super) struct Conversation {
    presenter: ToolRegistry,
    items: VecDeque<Item>,
    runs: WorkflowRuns,
    /// The calls that the last answer made, by id: name and arguments.
    announced: HashMap<CallId, (String, String)>,
    model: Option<String>,
    /// Where the log is damaged: events from that number on are none of it.
    end: Option<u64>,
}

/// One thing to show.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Item {
    /// A turn began then.
    Turn(UnixMillis),
    /// Somebody spoke.
    Said { who: Speaker, text: String },
    /// A tool was called.
    Call(Call),
    /// A workflow run, as it stood when the items were last taken or looked at.
    Run(RunView),
    /// The model that answers from here on.
    Model(String),
    /// Something to know of the conversation itself.
    Note(String),
}

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Speaker {
    User,
    Model,
    Thought,
}

/// A tool call.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Call {
    id: CallId,
    name: String,
    arguments: String,
    pub(super) title: String,
    pub(super) status: CallStatus,
    /// What it gave; empty as long as it runs.
    pub(super) output: String,
    /// How its command ended, if not well.
    pub(super) exit: Option<String>,
}

/// How far a call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallStatus {
    Running,
    Completed,
    Failed,
}

impl Item {
    fn is_settled(&self) -> bool {
        match self {
            Self::Call(call) => call.status != CallStatus::Running,
            Self::Run(run) => run.status != RunStatus::Running,
            Self::Turn(_) | Self::Said { .. } | Self::Model(_) | Self::Note(_) => true,
        }
    }
}

impl Conversation {
    /// An empty one, whose calls are shown as `presenter` presents them.
    pub(super) fn new(presenter: ToolRegistry) -> Self {
        Self {
            presenter,
            items: VecDeque::new(),
            runs: WorkflowRuns::new(),
            announced: HashMap::new(),
            model: None,
            end: None,
        }
    }

    /// Events from number `seq` on stand in for what is damaged; that they interrupt a turn says nothing of it.
    pub(super) fn ends_at(&mut self, seq: u64) {
        self.end = Some(seq);
    }

    /// Takes the next event.
    ///
    /// # Errors
    /// It does not follow the one before.
    pub(super) fn apply(&mut self, event: &Event) -> Result<(), NotContiguous> {
        if self.items.is_empty() && matches!(event.body, EventBody::TurnStart { .. }) {
            // The runs of earlier turns have been shown.
            self.runs = WorkflowRuns::new();
        }
        self.runs.append(event)?;
        let is_made_up = self.end.is_some_and(|end| event.seq >= end);
        if !(is_made_up && matches!(event.body, EventBody::TurnEnd { .. })) {
            self.show(event);
        }
        Ok(())
    }

    /// Takes out what stands first and will not change any more.
    pub(super) fn take_settled(&mut self) -> Vec<Item> {
        self.refresh();
        let settled = self.items.iter().take_while(|item| item.is_settled()).count();
        self.items.drain(..settled).collect()
    }

    /// Everything that was not taken out yet.
    pub(super) fn pending(&mut self) -> &VecDeque<Item> {
        self.refresh();
        &self.items
    }

    fn refresh(&mut self) {
        let mut views: HashMap<_, _> = self.runs.runs().map(|view| (view.run_id.clone(), view)).collect();
        for item in &mut self.items {
            if let Item::Run(run) = item
                && let Some(view) = views.remove(&run.run_id)
            {
                *run = view;
            }
        }
    }

    fn show(&mut self, event: &Event) {
        match &event.body {
            EventBody::UserMessage { content, .. } => {
                self.items.push_back(Item::Turn(event.time));
                self.say(Speaker::User, &text_of(content));
            }
            EventBody::RequestHeader { model, .. } if self.model.as_ref() != Some(model) => {
                self.items.push_back(Item::Model(model.clone()));
                self.model = Some(model.clone());
            }
            EventBody::ModelRetry { attempt, message, .. } => {
                self.note(format!("attempt {attempt} to reach the model failed: {message}"));
            }
            EventBody::AssistantMessage { content, .. } => self.answer(content),
            EventBody::ToolCall {
                call_id,
                name,
                arguments,
                ..
            } => {
                self.call(call_id, name, arguments);
            }
            EventBody::ToolResult {
                call_id,
                content,
                error,
                meta,
                ..
            } => self.result(call_id, content, error.as_ref(), meta.as_ref()),
            EventBody::TurnEnd { reason, .. } => {
                if let Some(text) = ending(reason) {
                    self.note(text);
                }
            }
            EventBody::WorkflowRunStart { run_id, name } => self.items.push_back(Item::Run(RunView {
                run_id: run_id.clone(),
                anchor: 0,
                name: name.clone(),
                status: RunStatus::Running,
                phases: Vec::new(),
            })),
            _ => {}
        }
    }

    fn say(&mut self, who: Speaker, text: &str) {
        if !text.trim().is_empty() {
            let text = text.trim_end().to_owned();
            self.items.push_back(Item::Said { who, text });
        }
    }

    fn note(&mut self, text: String) {
        self.items.push_back(Item::Note(text));
    }

    fn answer(&mut self, content: &[AssistantBlock]) {
        self.announced.clear();
        for block in content {
            match block {
                AssistantBlock::Text { text } => self.say(Speaker::Model, text),
                AssistantBlock::Reasoning { text, .. } => self.say(Speaker::Thought, text),
                AssistantBlock::ToolCall { id, name, arguments } => {
                    self.announced.insert(id.clone(), (name.clone(), arguments.clone()));
                }
            }
        }
    }

    fn call(&mut self, id: &CallId, name: &str, arguments: &str) {
        self.items.push_back(Item::Call(Call {
            id: id.clone(),
            name: name.to_owned(),
            arguments: arguments.to_owned(),
            title: self.presenter.present_call(name, arguments).title().to_owned(),
            status: CallStatus::Running,
            output: String::new(),
            exit: None,
        }));
    }

    fn result(
        &mut self,
        id: &CallId,
        content: &[ContentBlock],
        error: Option<&ToolErrorRecord>,
        meta: Option<&serde_json::Value>,
    ) {
        if self.open_call(id).is_none() {
            // The process died between the answer and the call: there is a result of a call that never began.
            let (name, arguments) = self.announced.remove(id).unwrap_or_default();
            self.call(id, &name, &arguments);
        }
        let presenter = self.presenter.clone();
        let Some(call) = self.open_call(id) else { return };
        let is_error = error.is_some();
        let result = ResultForView {
            content,
            is_error,
            meta,
        };
        let view = presenter.present_result(&call.name, &call.arguments, result);
        let (title, output, exit) = shown(view, content);
        call.exit = exit;
        call.title = title.unwrap_or_else(|| std::mem::take(&mut call.title));
        call.output = match error {
            Some(error) if output.trim().is_empty() => error.message.clone(),
            _ => output,
        };
        call.status = if is_error {
            CallStatus::Failed
        } else {
            CallStatus::Completed
        };
    }

    fn open_call(&mut self, id: &CallId) -> Option<&mut Call> {
        self.items.iter_mut().rev().find_map(|item| match item {
            Item::Call(call) if call.id == *id && call.status == CallStatus::Running => Some(call),
            _ => None,
        })
    }
}

/// The title, if it is another now, the text of a result, and how a command ended, if not well.
fn shown(view: ResultView, raw: &[ContentBlock]) -> (Option<String>, String, Option<String>) {
    match view {
        ResultView::Generic { title, content } => (title, text_of(content.as_deref().unwrap_or(raw)), None),
        ResultView::Terminal { title, output, exit } => {
            let exit = match exit {
                Some(ExitStatus::Code(code)) if code != 0 => Some(format!("exit code {code}")),
                Some(ExitStatus::Signal(signal)) => Some(format!("ended by {signal}")),
                _ => None,
            };
            (title, output.unwrap_or_default(), exit)
        }
        ResultView::Diff { title, diffs } => {
            let paths: Vec<_> = diffs.into_iter().map(|diff| diff.path).collect();
            (title, paths.join("\n"), None)
        }
    }
}

/// What is to be said of a turn's end; nothing of one that is as it should be.
fn ending(reason: &TurnEnd) -> Option<String> {
    Some(match reason {
        TurnEnd::Completed => return None,
        TurnEnd::Aborted { by: AbortCause::User } => "cancelled by the user".to_owned(),
        TurnEnd::Aborted { by: AbortCause::Parent } => "cancelled by the agent that started this one".to_owned(),
        TurnEnd::Aborted { by: AbortCause::Closed } => "cancelled: the session was closed".to_owned(),
        TurnEnd::Error { message } => format!("failed: {message}"),
        TurnEnd::MaxTokens => "ended at the model's token limit".to_owned(),
        TurnEnd::MaxSteps => "ended at agent.max_steps".to_owned(),
        TurnEnd::Refusal => "the model refused".to_owned(),
        TurnEnd::Interrupted => "interrupted: this turn was not finished".to_owned(),
    })
}

#[cfg(test)]
pub(super) mod tests;
