//! What a tool is.

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::Value;
use weft_types::{ContentBlock, ToolSpec};

use crate::{Access, CallView, Extensions, PlanEntry, ResultForView, ResultView, ToolError, ToolExecution, ToolResult};

/// Something a model can call.
///
/// Only [`execute`](Tool::execute) does anything. All other methods are pure, quick and never wait; a
/// panic in one of them is logged and read as "nothing to say" (for a result's content: it fails the
/// call). Arguments given to any method here fit the tool's parameters.
pub trait Tool: Send + Sync + 'static {
    /// The name, the description and the parameters that the model is told. Asked once, at registration.
    fn spec(&self) -> ToolSpec;

    /// The JSON Schema (draft 2020-12) of the values that [`execute`](Tool::execute) returns. Asked once.
    fn output_schema(&self) -> Value;

    /// Does it, and returns the canonical value.
    ///
    /// Runs in a task of its own, so that a panic fails this call only. After
    /// [`ToolExecution::signal`] has fired it must clean up and return; one that does not within the
    /// registry's grace is abandoned and its task aborted.
    fn execute(self: Arc<Self>, execution: ToolExecution) -> BoxFuture<'static, Result<Value, ToolError>>;

    /// What the model is given of a value.
    fn render(&self, arguments: &Value, value: &Value) -> Vec<ContentBlock>;

    /// What [`present_result`](Tool::present_result) needs besides the content; stored with the result.
    /// Not asked for nested executions.
    fn presentation_meta(&self, _arguments: &Value, _value: &Value) -> Option<Value> {
        None
    }

    /// Other content instead of a result's: asked last and exactly once for every outcome, failures and
    /// denials too. The execution's arguments need not fit the parameters here.
    fn finalize_content(&self, _execution: &ToolExecution, _result: &ToolResult) -> Option<Vec<ContentBlock>> {
        None
    }

    /// Whether this call may overlap with other calls of the same step.
    fn is_concurrency_safe(&self, _arguments: &Value) -> bool {
        false
    }

    /// The tool's own word on what this call would do; policies decide what follows from it. `lent` is what
    /// the caller lends to the call, such as the folder that relative paths start at.
    fn access(&self, _arguments: &Value, _lent: &Extensions) -> Access {
        Access::Harmless
    }

    /// The plan that this call puts in place of any earlier one of its agent, once it has succeeded; `None` for a call
    /// that makes no plan.
    fn plan(&self, _arguments: &Value) -> Option<Vec<PlanEntry>> {
        None
    }

    /// The card of the pending call; `None` for the generic one.
    fn present_call(&self, _arguments: &Value) -> Option<CallView> {
        None
    }

    /// The card of the finished call; `None` for the generic one, which shows the raw content.
    fn present_result(&self, _arguments: &Value, _result: &ResultForView<'_>) -> Option<ResultView> {
        None
    }
}
