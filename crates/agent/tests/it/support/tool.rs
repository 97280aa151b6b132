//! Tools made of closures.

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::{Value, json};
use weft_tools::{Access, Extensions, Tool, ToolError, ToolExecution};
use weft_types::{ContentBlock, ToolSpec};

type Body = dyn Fn(ToolExecution) -> BoxFuture<'static, Result<Value, ToolError>> + Send + Sync;

/// A tool whose value is any JSON, rendered as such.
pub(crate) struct TestTool {
    name: &'static str,
    safe: bool,
    access: Access,
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
            access: Access::Harmless,
            body: Arc::new(move |execution| Box::pin(body(execution))),
        }
    }

    /// Gives back its arguments.
    pub(crate) fn echo() -> Self {
        Self::new("echo", |execution| async move { Ok(execution.arguments().clone()) })
    }

    /// May overlap with others.
    pub(crate) fn safe(self) -> Self {
        Self { safe: true, ..self }
    }

    /// Carries a risk.
    pub(crate) fn risky(self) -> Self {
        self.accessing(Access::Other)
    }

    /// Says that it does this.
    pub(crate) fn accessing(self, access: Access) -> Self {
        Self { access, ..self }
    }
}

/// Waits for its signal, then fails with a text of its own.
pub(crate) fn hold() -> TestTool {
    TestTool::new("hold", |execution| async move {
        execution.signal().cancelled().await;
        Err(ToolError::new("stopped when told to"))
    })
}

/// Waits for its signal, then succeeds.
pub(crate) fn take_signal() -> TestTool {
    TestTool::new("take_signal", |execution| async move {
        execution.signal().cancelled().await;
        Ok(json!("done nevertheless"))
    })
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
        self.access.clone()
    }
}
