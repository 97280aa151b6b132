//! The tool whose calls are those of an agent of others: the body of each waits until the agent says that it is over.

use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde::Deserialize as _;
use serde_json::{Value, json};
use weft_agent::AgentContext;
use weft_tools::{
    CallView, ErrorCode, FileDiff, PlanEntry, PlanStatus, ProgressView, ResultForView, ResultView, Tool, ToolError,
    ToolExecution, ToolKind,
};
use weft_types::{ContentBlock, ToolSpec};

use super::card::{Arguments, Card, Change, ends_of};
use super::link::Link;
use crate::sdk::schema;

/// How much of a running call's text is shown, in bytes.
const LIVE_BYTES: usize = 8 << 10;
/// The keys of a result's presentation data.
const TITLE: &str = "title";
const CHANGES: &str = "changes";

/// The tool; without a link it only presents calls.
pub(super) struct PeerCall {
    name: String,
    link: Option<Arc<Link>>,
}

/// The name under which calls of an agent of that name stand in logs and in rules.
pub(super) fn tool_name(agent: &str) -> String {
    format!("acp__{agent}")
}

impl PeerCall {
    pub(super) fn presenting(agent: &str) -> Self {
        Self {
            name: tool_name(agent),
            link: None,
        }
    }

    pub(super) fn of(agent: &str, link: Arc<Link>) -> Self {
        Self {
            link: Some(link),
            ..Self::presenting(agent)
        }
    }
}

/// Waits for the end of a call, and shows meanwhile what becomes of it.
async fn wait(link: Arc<Link>, execution: ToolExecution) -> Result<Value, ToolError> {
    let arguments = read(execution.arguments())
        .ok_or_else(|| ToolError::with_code(ErrorCode::InvalidArgs, "the arguments are those of no call"))?;
    if !arguments.plan.is_empty() {
        return Ok(json!({ "text": "" }));
    }
    let Some(context) = execution.extension::<AgentContext>() else {
        return Err(ToolError::new("a call of an agent needs that agent"));
    };
    let inbox = link.inbox();
    let _running = inbox.enter(&arguments.call, execution.call_id().clone(), context);
    let mut changed = inbox.watch();
    let mut seen = arguments.clone();
    let mut shown = String::new();
    loop {
        let card = inbox.look(&arguments.call).map_err(ToolError::new)?;
        if card.is_over() {
            return result_of(&card, &arguments);
        }
        let (title, text) = (card.title(), live_text(&card));
        if title != seen.title || text != shown {
            let view = ProgressView {
                title: (title != arguments.title).then(|| title.to_owned()),
                content: (!text.is_empty())
                    .then(|| ContentBlock::text(&text))
                    .into_iter()
                    .collect(),
            };
            if let Err(error) = execution.report_progress(view) {
                tracing::debug!(%error, "the progress of an agent's call is not shown");
            }
            title.clone_into(&mut seen.title);
            shown = text;
        }
        tokio::select! {
            biased;
            () = execution.signal().cancelled() => {
                link.cancel();
                return Err(ToolError::with_code(ErrorCode::Aborted, "stopped with the agent's turn"));
            }
            // The inbox lives as long as the link.
            _alive = changed.changed() => {}
        }
    }
}

/// The end of what a running call shows.
fn live_text(card: &Card) -> String {
    let text = card.text();
    let start = text.ceil_char_boundary(text.len().saturating_sub(LIVE_BYTES));
    text[start..].to_owned()
}

fn result_of(card: &Card, announced: &Arguments) -> Result<Value, ToolError> {
    let mut meta = json!({});
    if card.title() != announced.title {
        meta[TITLE] = json!(card.title());
    }
    let changes = card.changes();
    if !changes.is_empty() && changes != announced.changes {
        meta[CHANGES] = json!(changes);
    }
    let text = card.text();
    if card.has_failed() {
        let why = if text.trim().is_empty() {
            "the agent says that it failed".to_owned()
        } else {
            text
        };
        return Err(ToolError::new(why).with_meta(meta));
    }
    let mut value = json!({ "text": text });
    if meta != json!({}) {
        value["meta"] = meta;
    }
    Ok(value)
}

fn read(arguments: &Value) -> Option<Arguments> {
    Arguments::deserialize(arguments).ok()
}

impl Tool for PeerCall {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: self.name.clone(),
            description: "A call that another agent makes and carries out by itself.".to_owned(),
            parameters: json!({
                "type": "object",
                "properties": { "call": { "type": "string" }, "title": { "type": "string" } },
                "required": ["call", "title"],
            }),
        }
    }

    fn output_schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": { "text": { "type": "string" }, "meta": { "type": "object" } },
            "required": ["text"],
            "additionalProperties": false,
        })
    }

    fn execute(self: Arc<Self>, execution: ToolExecution) -> BoxFuture<'static, Result<Value, ToolError>> {
        let Some(link) = self.link.clone() else {
            let message = format!(
                "{} cannot be called: its calls are those that another agent makes",
                self.name
            );
            return std::future::ready(Err(ToolError::new(message))).boxed();
        };
        wait(link, execution).boxed()
    }

    fn render(&self, _arguments: &Value, value: &Value) -> Vec<ContentBlock> {
        let text = value.get("text").and_then(Value::as_str).unwrap_or_default();
        (!text.is_empty())
            .then(|| ContentBlock::text(text))
            .into_iter()
            .collect()
    }

    fn presentation_meta(&self, _arguments: &Value, value: &Value) -> Option<Value> {
        value.get("meta").cloned()
    }

    fn is_concurrency_safe(&self, _arguments: &Value) -> bool {
        true
    }

    fn plan(&self, arguments: &Value) -> Option<Vec<PlanEntry>> {
        let plan = read(arguments)?.plan;
        (!plan.is_empty()).then_some(plan)
    }

    fn present_call(&self, arguments: &Value) -> Option<CallView> {
        let call = read(arguments)?;
        let locations = call.places.into_iter().map(Into::into).collect();
        if !call.changes.is_empty() {
            return Some(CallView::Diff {
                title: call.title,
                diffs: call.changes.into_iter().map(Into::into).collect(),
                locations,
            });
        }
        let content = call.plan.iter().map(plan_line).collect::<Vec<_>>().join("\n");
        Some(CallView::Generic {
            title: call.title,
            kind: kind_of(call.kind),
            raw_input: call.input,
            content: (!content.is_empty())
                .then(|| ContentBlock::text(content))
                .into_iter()
                .collect(),
            locations,
        })
    }

    fn present_result(&self, arguments: &Value, result: &ResultForView<'_>) -> Option<ResultView> {
        let title = result
            .meta
            .and_then(|meta| meta.get(TITLE)?.as_str())
            .map(str::to_owned);
        let changed = result
            .meta
            .and_then(|meta| Vec::<Change>::deserialize(meta.get(CHANGES)?).ok());
        let changes = changed.or_else(|| Some(read(arguments)?.changes)).unwrap_or_default();
        if changes.is_empty() || result.is_error {
            return Some(ResultView::Generic { title, content: None });
        }
        let diffs: Vec<FileDiff> = changes.into_iter().map(Into::into).collect();
        Some(ResultView::Diff { title, diffs })
    }
}

fn plan_line(entry: &PlanEntry) -> String {
    let mark = match entry.status {
        PlanStatus::Pending => "[ ]",
        PlanStatus::InProgress => "[>]",
        PlanStatus::Completed => "[x]",
    };
    format!("- {mark} {}", ends_of(entry.content.clone(), 500))
}

fn kind_of(kind: schema::ToolKind) -> ToolKind {
    match kind {
        schema::ToolKind::Read => ToolKind::Read,
        schema::ToolKind::Edit => ToolKind::Edit,
        schema::ToolKind::Delete => ToolKind::Delete,
        schema::ToolKind::Move => ToolKind::Move,
        schema::ToolKind::Search => ToolKind::Search,
        schema::ToolKind::Execute => ToolKind::Execute,
        schema::ToolKind::Think => ToolKind::Think,
        schema::ToolKind::Fetch => ToolKind::Fetch,
        _ => ToolKind::Other,
    }
}
