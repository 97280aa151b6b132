//! The `todo` tool: the agent's plan, which its client shows.

use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use weft_tools::{CallView, PlanEntry, PlanStatus, Tool, ToolError, ToolExecution, ToolKind};
use weft_types::{ContentBlock, ToolSpec};

use crate::files::arguments;

/// The most tasks a plan has.
const MAX_ENTRIES: usize = 100;

/// The most characters a task has.
const MAX_CHARS: usize = 500;

const DESCRIPTION: &str = "\
Keeps the plan of your work, which the user sees. Give the whole list each time; it replaces the one before. Use it for \
work of three steps or more: write the plan before you begin, mark a task `in_progress` when you begin with it and \
`completed` as soon as it is done, not before, and add what turns up on the way. One task is in progress at a time. Do \
not use it for a single step or a question.";

/// Keeps the agent's plan. It needs nothing of its caller: the plan is the last call's arguments, in the log and in the
/// model's own context.
#[derive(Clone, Copy, Debug, Default)]
pub struct Todo;

#[derive(Deserialize)]
struct Arguments {
    entries: Vec<PlanEntry>,
}

/// The canonical value.
#[derive(Serialize, Deserialize)]
struct Kept {
    completed: usize,
    total: usize,
}

impl Kept {
    fn of(entries: &[PlanEntry]) -> Self {
        Self {
            completed: entries
                .iter()
                .filter(|entry| entry.status == PlanStatus::Completed)
                .count(),
            total: entries.len(),
        }
    }
}

impl Tool for Todo {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "todo".into(),
            description: DESCRIPTION.into(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "entries": {
                        "type": "array",
                        "maxItems": MAX_ENTRIES,
                        "description": "Every task, in order; an empty list takes the plan away.",
                        "items": {
                            "type": "object",
                            "properties": {
                                "content": { "type": "string", "minLength": 1, "maxLength": MAX_CHARS, "description": "What is to be done, one line." },
                                "priority": { "enum": ["high", "medium", "low"], "description": "Default `medium`." },
                                "status": { "enum": ["pending", "in_progress", "completed"] },
                            },
                            "required": ["content", "status"],
                            "additionalProperties": false,
                        },
                    },
                },
                "required": ["entries"],
                "additionalProperties": false,
            }),
        }
    }

    fn output_schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "completed": { "type": "integer", "minimum": 0 },
                "total": { "type": "integer", "minimum": 0 },
            },
            "required": ["completed", "total"],
            "additionalProperties": false,
        })
    }

    fn execute(self: Arc<Self>, execution: ToolExecution) -> BoxFuture<'static, Result<Value, ToolError>> {
        async move {
            let Arguments { entries } = arguments(&execution)?;
            serde_json::to_value(Kept::of(&entries)).map_err(|error| ToolError::new(error.to_string()))
        }
        .boxed()
    }

    fn render(&self, _arguments: &Value, value: &Value) -> Vec<ContentBlock> {
        let text = match Kept::deserialize(value) {
            Ok(Kept { total: 0, .. }) => "The plan is gone.".to_owned(),
            Ok(Kept { completed, total }) => format!("The user sees the plan: {completed} of {total} done."),
            Err(_) => return Vec::new(),
        };
        vec![ContentBlock::text(text)]
    }

    fn plan(&self, arguments: &Value) -> Option<Vec<PlanEntry>> {
        Arguments::deserialize(arguments).ok().map(|given| given.entries)
    }

    fn present_call(&self, arguments: &Value) -> Option<CallView> {
        let Kept { completed, total } = Kept::of(&self.plan(arguments)?);
        Some(CallView::Generic {
            title: format!("plan: {completed} of {total} done"),
            kind: ToolKind::Think,
            raw_input: Some(arguments.clone()),
            content: Vec::new(),
            locations: Vec::new(),
        })
    }
}

#[cfg(test)]
mod tests {
    use weft_tools::{PlanPriority, ToolCallRequest, ToolLimits, ToolRegistry};
    use weft_types::text_of;

    use super::*;

    async fn call(arguments: &Value) -> (ToolRegistry, Result<String, String>) {
        let registry = ToolRegistry::new(ToolLimits::default());
        registry.register(Arc::new(Todo)).expect("a good tool").keep();
        let request = ToolCallRequest::new("c".into(), "todo", arguments.to_string());
        let result = registry.execute(request).await;
        let text = text_of(&result.content);
        (registry, if result.is_error() { Err(text) } else { Ok(text) })
    }

    #[tokio::test]
    async fn a_plan_is_the_whole_list_in_its_order() {
        let arguments = json!({ "entries": [
            { "content": "look", "status": "completed", "priority": "high" },
            { "content": "change", "status": "in_progress" },
            { "content": "test", "status": "pending" },
        ] });
        let (registry, said) = call(&arguments).await;
        assert_eq!(said.as_deref(), Ok("The user sees the plan: 1 of 3 done."));
        let plan = registry.plan_of("todo", &arguments.to_string()).expect("a plan");
        let shown: Vec<_> = plan
            .iter()
            .map(|entry| (entry.content.as_str(), entry.priority, entry.status))
            .collect();
        let expected = [
            ("look", PlanPriority::High, PlanStatus::Completed),
            ("change", PlanPriority::Medium, PlanStatus::InProgress),
            ("test", PlanPriority::Medium, PlanStatus::Pending),
        ];
        assert_eq!(shown, expected);
        let view = registry.present_call("todo", &arguments.to_string());
        assert_eq!(view.title(), "plan: 1 of 3 done");
    }

    #[tokio::test]
    async fn an_empty_list_takes_the_plan_away() {
        let (registry, said) = call(&json!({ "entries": [] })).await;
        assert_eq!(said.as_deref(), Ok("The plan is gone."));
        assert_eq!(registry.plan_of("todo", r#"{"entries":[]}"#), Some(Vec::new()));
    }

    #[tokio::test]
    async fn what_is_no_plan_is_refused_and_shown_nowhere() {
        let long = "x".repeat(MAX_CHARS + 1);
        let entry = json!({ "content": "x", "status": "pending" });
        for arguments in [
            json!({ "entries": [{ "content": "x", "status": "cancelled" }] }),
            json!({ "entries": [{ "content": "", "status": "pending" }] }),
            json!({ "entries": [{ "content": long, "status": "pending" }] }),
            json!({ "entries": vec![entry; MAX_ENTRIES + 1] }),
            json!({}),
        ] {
            let (registry, said) = call(&arguments).await;
            assert!(said.expect_err("refused").contains("invalid arguments"));
            assert_eq!(registry.plan_of("todo", &arguments.to_string()), None);
        }
    }
}
