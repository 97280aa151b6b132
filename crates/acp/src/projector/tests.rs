//! Every row of the event and card tables, as JSON.

mod cards;
mod events;
mod logs;
mod progress;
mod replay;

use std::sync::Mutex;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use weft_tools::{CallView, ProgressLimits, ProgressView, ResultForView, ResultView, Tool, ToolError, ToolExecution};
use weft_types::{ToolSpec, UnixMillis};

use super::*;

/// A tool whose views are what a test says.
#[derive(Debug, Default)]
struct Viewed {
    call: Mutex<Option<CallView>>,
    result: Mutex<Option<ResultView>>,
}

impl Tool for Viewed {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "viewed".into(),
            description: String::new(),
            parameters: json!({ "type": "object", "required": ["a"] }),
        }
    }

    fn output_schema(&self) -> Value {
        json!(true)
    }

    fn execute(self: Arc<Self>, _: ToolExecution) -> BoxFuture<'static, Result<Value, ToolError>> {
        async { Ok(Value::Null) }.boxed()
    }

    fn render(&self, _: &Value, _: &Value) -> Vec<ContentBlock> {
        Vec::new()
    }

    fn present_call(&self, _: &Value) -> Option<CallView> {
        self.call.lock().unwrap().clone()
    }

    fn present_result(&self, _: &Value, _: &ResultForView<'_>) -> Option<ResultView> {
        self.result.lock().unwrap().clone()
    }
}

const PLAIN: ClientProfile = ClientProfile {
    terminal_output: false,
    subagents: false,
    reads_files: false,
    writes_files: false,
    notices: false,
    compaction: false,
};
const CAPABLE: ClientProfile = ClientProfile {
    terminal_output: true,
    ..PLAIN
};
const ID: &str = "c1";

/// A projector over one tool, in the session folder `/w`.
struct Stage {
    tool: Arc<Viewed>,
    projector: Projector,
}

impl Stage {
    fn new(client: ClientProfile) -> Self {
        Self::with_mode(client, Mode::Live)
    }

    fn with_mode(client: ClientProfile, mode: Mode) -> Self {
        let registry = ToolRegistry::new(ProgressLimits::default());
        let tool = Arc::new(Viewed::default());
        registry.register(Arc::clone(&tool) as Arc<dyn Tool>).unwrap().keep();
        Self {
            tool,
            projector: Projector::new(registry, "/w".into(), client, mode),
        }
    }

    fn event(&mut self, body: &EventBody) -> Vec<Value> {
        let event = Event {
            seq: 0,
            time: UnixMillis(1500),
            body: body.clone(),
        };
        let mut updates = Vec::new();
        let mut show = |update| updates.push(serde_json::to_value(&update).unwrap());
        self.projector.event(&event, &mut show);
        updates
    }

    /// Announces a call with this view; gives its one update.
    fn call(&mut self, view: CallView) -> Value {
        *self.tool.call.lock().unwrap() = Some(view);
        only(self.event(&tool_call("viewed", r#"{"a":1}"#, false)))
    }

    fn progress(&mut self, view: &ProgressView) -> Value {
        let update = self.projector.progress(&ID.into(), view).expect("the card is open");
        serde_json::to_value(update).unwrap()
    }

    /// Finishes the call with this view and the raw content `raw`.
    fn result(&mut self, view: ResultView) -> Value {
        *self.tool.result.lock().unwrap() = Some(view);
        only(self.event(&tool_result("raw", false)))
    }
}

#[track_caller]
fn only(mut updates: Vec<Value>) -> Value {
    assert_eq!(updates.len(), 1, "{updates:?}");
    updates.remove(0)
}

fn tool_call(name: &str, arguments: &str, needs_approval: bool) -> EventBody {
    EventBody::ToolCall {
        turn: 1,
        step: 1,
        call_id: ID.into(),
        name: name.into(),
        arguments: arguments.into(),
        needs_approval,
    }
}

fn tool_result(raw: &str, failed: bool) -> EventBody {
    EventBody::ToolResult {
        turn: 1,
        step: 1,
        call_id: ID.into(),
        content: vec![ContentBlock::text(raw)],
        error: failed.then(|| ToolErrorRecord {
            message: raw.into(),
            code: None,
        }),
        meta: None,
    }
}

fn view(title: Option<&str>, blocks: &[&str]) -> ProgressView {
    ProgressView {
        title: title.map(str::to_owned),
        content: blocks.iter().copied().map(ContentBlock::text).collect(),
    }
}

/// How a text block looks in a card.
fn text(text: &str) -> Value {
    json!({ "type": "content", "content": { "type": "text", "text": text } })
}
