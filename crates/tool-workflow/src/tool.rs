//! The tool itself.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::{Value, json};
use weft_agent::meta_of_run;
use weft_tools::{Access, AccessScript, CallView, Extensions, Tool, ToolError, ToolExecution, ToolKind};
use weft_types::{ContentBlock, RunId, ToolSpec};
use weft_workflow::{SavedWorkflow, SavedWorkflows, WorkflowEngine, WorkflowMeta, cut_for_display, script_digest};

use crate::arguments::{self, Arguments};
use crate::description::description;
use crate::progress::title_of;
use crate::{WorkflowToolConfig, outcome, run};

/// How much of the list of saved workflows the model is told, in bytes.
const LIST_BYTES: usize = 4_096;
/// How much is shown of a workflow's name, and of each thing that it says of itself.
const NAME_CHARS: usize = 200;
const ABOUT_CHARS: usize = 2_000;
/// How much of each description.
const SAVED_CHARS: usize = 200;

/// The `workflow` tool.
///
/// A call needs the calling agent's [`AgentContext`](weft_agent::AgentContext) as an extension. It owns its run: when
/// it returns, the run is over and disposed of. Taking the tool out of its registry leaves calls that are under way
/// alone.
pub struct WorkflowTool {
    engine: Arc<dyn WorkflowEngine>,
    config: WorkflowToolConfig,
    saved: Option<Arc<dyn SavedWorkflows>>,
}

impl WorkflowTool {
    /// A tool that runs scripts in an engine.
    pub fn new(engine: Arc<dyn WorkflowEngine>, config: WorkflowToolConfig) -> Self {
        Self {
            engine,
            config,
            saved: None,
        }
    }

    /// The same, where calls and scripts may also run saved workflows by name.
    #[must_use]
    pub fn with_saved(self, saved: Arc<dyn SavedWorkflows>) -> Self {
        Self {
            saved: Some(saved),
            ..self
        }
    }

    /// The contract with the model, and the saved workflows that it may run.
    fn description(&self) -> String {
        let mut text = description();
        let all = self.saved.as_ref().map(|saved| saved.list()).unwrap_or_default();
        text.push_str(&saved_list(&all));
        text
    }

    /// The script of a call, and what it says of itself. One that is saved is read now, so that another text by the time of
    /// the start is another script.
    fn access_of(&self, arguments: Arguments<'_>) -> Access {
        let script = match (arguments.script, arguments.saved) {
            (Some(script), _) => Cow::Borrowed(script),
            (None, Some(name)) => match self.saved.as_ref().map(|saved| saved.script(name)) {
                Some(Ok(script)) => Cow::Owned(script),
                // The call will say so.
                _ => return Access::Harmless,
            },
            (None, None) => {
                let run = arguments.resume.unwrap_or_default();
                return Access::Script(AccessScript {
                    name: format!("resume {run}"),
                    about: vec![format!(
                        "Goes on with run {run} of this conversation, with its own script."
                    )],
                    text: String::new(),
                    digest: String::new(),
                });
            }
        };
        let meta = arguments.meta.and_then(|meta| WorkflowMeta::from_json(meta).ok());
        let meta = self.engine.meta_of(&script).or(meta);
        let name = arguments.name().or(meta.as_ref().map(|meta| meta.name.as_str()));
        Access::Script(AccessScript {
            name: cut_for_display(name.unwrap_or("workflow"), NAME_CHARS),
            about: meta.as_ref().map(about).unwrap_or_default(),
            digest: script_digest(&script),
            text: script.into_owned(),
        })
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
            description: self.description(),
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
            let means = (Arc::clone(&self.engine), self.saved.clone());
            run::run(means, self.config.clone(), title, execution).await
        })
    }

    fn access(&self, arguments: &Value, _lent: &Extensions) -> Access {
        match Arguments::read(arguments) {
            Ok(arguments) => self.access_of(arguments),
            // It fails, and nobody needs to be asked about that.
            Err(_) => Access::Harmless,
        }
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
            raw_input: Some(raw_input(arguments)),
            content: Vec::new(),
            locations: Vec::new(),
        })
    }
}

/// What a workflow says of itself, for whoever is asked about it.
fn about(meta: &WorkflowMeta) -> Vec<String> {
    let mut about = vec![cut_for_display(&meta.description, ABOUT_CHARS)];
    if !meta.phases.is_empty() {
        let titles: Vec<_> = meta.phases.iter().map(|phase| phase.title.as_str()).collect();
        about.push(cut_for_display(&format!("Phases: {}", titles.join(", ")), ABOUT_CHARS));
    }
    about
}

/// What the model is told of saved workflows; nothing if there are none.
fn saved_list(all: &[SavedWorkflow]) -> String {
    if all.is_empty() {
        return String::new();
    }
    let mut text = "\n\nSaved workflows, which `name` or `workflow()` runs:".to_owned();
    for (at, SavedWorkflow { name, description }) in all.iter().enumerate() {
        let line = format!("\n- {name}: {}", cut_for_display(description, SAVED_CHARS));
        if text.len() + line.len() > LIST_BYTES {
            text.push_str(&format!("\n- … and {} more", all.len() - at));
            break;
        }
        text.push_str(&line);
    }
    text
}

/// What the card shows as the call's input.
fn raw_input(arguments: Arguments<'_>) -> Value {
    match (arguments.script, arguments.saved, arguments.resume) {
        (Some(script), ..) => script.into(),
        (None, Some(name), _) => match arguments.args {
            Some(args) => json!({ "name": name, "args": args }),
            None => json!({ "name": name }),
        },
        (None, None, resume) => resume.unwrap_or_default().into(),
    }
}

impl fmt::Debug for WorkflowTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkflowTool")
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}
