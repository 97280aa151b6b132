//! Tools made of closures.

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::{Value, json};
use weft_tools::{Access, Extensions, ProgressView, Tool, ToolError, ToolExecution};
use weft_types::{ContentBlock, ToolSpec};

type Body = dyn Fn(ToolExecution) -> BoxFuture<'static, Result<Value, ToolError>> + Send + Sync;

/// A tool whose value is any JSON, rendered as such.
pub(crate) struct TestTool {
    name: &'static str,
    safe: bool,
    risky: bool,
    body: Arc<Body>,
}

impl TestTool {
    pub(crate) fn new<F>(name: &'static str, body: impl Fn(ToolExecution) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<Value, ToolError>> + Send + 'static,
    {
        Self {
            name,
            safe: false,
            risky: false,
            body: Arc::new(move |execution| Box::pin(body(execution))),
        }
    }

    /// Gives back its arguments.
    pub(crate) fn echo() -> Self {
        Self::new("echo", |execution| async move { Ok(execution.arguments().clone()) })
    }

    /// Reports each text of its argument `say` as its very first actions.
    pub(crate) fn report() -> Self {
        Self::new("report", |execution| async move {
            let texts = execution.arguments()["say"].as_array().cloned().unwrap_or_default();
            for text in texts {
                let text = text.as_str().expect("texts");
                let view = ProgressView {
                    title: Some(format!("title {text}")),
                    content: vec![ContentBlock::text(text)],
                };
                assert!(execution.report_progress(view).expect("a fit view"));
            }
            Ok(json!("reported"))
        })
    }

    /// Waits for its signal, then fails.
    pub(crate) fn hold() -> Self {
        Self::new("hold", |execution| async move {
            execution.signal().cancelled().await;
            Err(ToolError::new("stopped when told to"))
        })
    }

    /// Does not end, whatever it is told.
    pub(crate) fn stuck() -> Self {
        Self::new("stuck", |_| std::future::pending())
    }

    /// May overlap with others.
    pub(crate) fn safe(self) -> Self {
        Self { safe: true, ..self }
    }

    /// Carries a risk.
    pub(crate) fn risky(self) -> Self {
        Self { risky: true, ..self }
    }
}

impl Tool for TestTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: self.name.to_owned(),
            description: "a tool of the tests".to_owned(),
            parameters: json!({"type": "object"}),
        }
    }

    fn output_schema(&self) -> Value {
        json!(true)
    }

    fn execute(self: Arc<Self>, execution: ToolExecution) -> BoxFuture<'static, Result<Value, ToolError>> {
        (self.body)(execution)
    }

    fn render(&self, _arguments: &Value, value: &Value) -> Vec<ContentBlock> {
        vec![ContentBlock::text(value.to_string())]
    }

    fn is_concurrency_safe(&self, _arguments: &Value) -> bool {
        self.safe
    }

    fn access(&self, _arguments: &Value, _lent: &Extensions) -> Access {
        if self.risky { Access::Other } else { Access::Harmless }
    }
}
