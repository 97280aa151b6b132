//! The tool itself.

use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::Value;
use weft_agent::meta_of_run;
use weft_tools::{CallView, Tool, ToolError, ToolExecution, ToolKind};
use weft_types::{ContentBlock, RunId, ToolSpec};
use weft_workflow::WorkflowEngine;

use crate::arguments::{self, Arguments};
use crate::description::DESCRIPTION;
use crate::progress::title_of;
use crate::{WorkflowToolConfig, outcome, run};

/// The `workflow` tool.
///
/// A call needs the calling agent's [`AgentContext`](weft_agent::AgentContext) as an extension. It owns its run: when
/// it returns, the run is over and disposed of. Taking the tool out of its registry leaves calls that are under way
/// alone.
pub struct WorkflowTool {
    engine: Arc<dyn WorkflowEngine>,
    config: WorkflowToolConfig,
}

impl WorkflowTool {
    /// A tool that runs scripts in an engine.
    pub fn new(engine: Arc<dyn WorkflowEngine>, config: WorkflowToolConfig) -> Self {
        Self { engine, config }
    }

    /// The card's title, a pure function of the arguments.
    fn title(&self, arguments: Arguments<'_>) -> String {
        let own = match (arguments.name(), arguments.script) {
            (None, Some(script)) => self.engine.meta_of(script),
            _ => None,
        };
        let name = arguments.name().or(own.as_ref().map(|meta| meta.name.as_str()));
        let resumed = arguments.resume.map(|run| format!("resume {run}"));
        let name = name.filter(|name| !name.is_empty()).or(resumed.as_deref());
        title_of(name, self.config.display)
    }
}

impl Tool for WorkflowTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: self.config.name.clone(),
            description: DESCRIPTION.to_owned(),
            parameters: arguments::schema(),
        }
    }

    fn output_schema(&self) -> Value {
        outcome::schema()
    }

    fn execute(self: Arc<Self>, execution: ToolExecution) -> BoxFuture<'static, Result<Value, ToolError>> {
        Box::pin(async move {
            let title = self.title(Arguments::read(execution.arguments())?);
            // The tool may be taken out of its registry meanwhile; the call holds what it needs.
            run::run(Arc::clone(&self.engine), self.config.clone(), title, execution).await
        })
    }

    fn render(&self, _arguments: &Value, value: &Value) -> Vec<ContentBlock> {
        vec![ContentBlock::text(outcome::render(value, self.config.result_chars))]
    }

    fn presentation_meta(&self, _arguments: &Value, value: &Value) -> Option<Value> {
        Some(meta_of_run(&RunId::new(value["runId"].as_str()?)))
    }

    fn present_call(&self, arguments: &Value) -> Option<CallView> {
        let arguments = Arguments::read(arguments).ok()?;
        Some(CallView::Generic {
            title: self.title(arguments),
            kind: ToolKind::Other,
            raw_input: Some(arguments.script.or(arguments.resume).unwrap_or_default().into()),
            content: Vec::new(),
            locations: Vec::new(),
        })
    }
}

impl fmt::Debug for WorkflowTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkflowTool")
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}
