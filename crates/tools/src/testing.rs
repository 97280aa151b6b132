//! Tools, calls and recordings for the tests of this crate.

use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard};

use futures::future::BoxFuture;
use serde_json::{Value, json};
use weft_observe::Subscription;
use weft_types::{AgentId, CallId, ContentBlock, ToolSpec};

use crate::{
    Access, CallView, Extensions, ProgressLimits, ProgressObservation, ResultForView, ResultView, Tool,
    ToolCallRequest, ToolError, ToolExecution, ToolRegistry, ToolResult,
};

pub(crate) type Outcome = Result<Value, ToolError>;
type Body = dyn Fn(ToolExecution) -> BoxFuture<'static, Outcome> + Send + Sync;
type Say<R> = Box<dyn Fn(&Value) -> R + Send + Sync>;
type Finalizer = dyn Fn(&ToolExecution, &ToolResult) -> Option<Vec<ContentBlock>> + Send + Sync;

/// A tool made of closures. It takes and returns anything, unless told otherwise.
pub(crate) struct TestTool {
    pub(crate) name: &'static str,
    pub(crate) parameters: Value,
    pub(crate) output: Value,
    pub(crate) is_safe: Say<bool>,
    pub(crate) needs_approval: Say<bool>,
    pub(crate) meta: Say<Option<Value>>,
    pub(crate) call_view: Say<Option<CallView>>,
    pub(crate) result_view: Say<Option<ResultView>>,
    pub(crate) finalizer: Box<Finalizer>,
    body: Box<Body>,
}

impl TestTool {
    pub(crate) fn new<F: Future<Output = Outcome> + Send + 'static>(
        name: &'static str,
        body: impl Fn(ToolExecution) -> F + Send + Sync + 'static,
    ) -> Self {
        Self {
            name,
            parameters: json!({ "type": "object" }),
            output: json!(true),
            is_safe: Box::new(|_| false),
            needs_approval: Box::new(|_| false),
            meta: Box::new(|_| None),
            call_view: Box::new(|_| None),
            result_view: Box::new(|_| None),
            finalizer: Box::new(|_, _| None),
            body: Box::new(move |execution| Box::pin(body(execution))),
        }
    }

    /// A tool that does nothing and returns `"done"`.
    pub(crate) fn idle(name: &'static str) -> Self {
        Self::new(name, |_| async { Ok(json!("done")) })
    }

    pub(crate) fn safe(mut self) -> Self {
        self.is_safe = Box::new(|_| true);
        self
    }

    /// A registry that holds only this tool.
    pub(crate) fn alone(self) -> ToolRegistry {
        let registry = ToolRegistry::new(ProgressLimits::default());
        self.join(&registry);
        registry
    }

    pub(crate) fn join(self, registry: &ToolRegistry) {
        registry.register(Arc::new(self)).expect("a good tool").keep();
    }
}

impl Tool for TestTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: self.name.into(),
            description: format!("the tool {}", self.name),
            parameters: self.parameters.clone(),
        }
    }

    fn output_schema(&self) -> Value {
        self.output.clone()
    }

    fn execute(self: Arc<Self>, execution: ToolExecution) -> BoxFuture<'static, Outcome> {
        (self.body)(execution)
    }

    fn render(&self, _arguments: &Value, value: &Value) -> Vec<ContentBlock> {
        assert_ne!(value, "unrenderable", "on purpose");
        vec![ContentBlock::text(value.to_string())]
    }

    fn presentation_meta(&self, _arguments: &Value, value: &Value) -> Option<Value> {
        (self.meta)(value)
    }

    fn finalize_content(&self, execution: &ToolExecution, result: &ToolResult) -> Option<Vec<ContentBlock>> {
        (self.finalizer)(execution, result)
    }

    fn is_concurrency_safe(&self, arguments: &Value) -> bool {
        (self.is_safe)(arguments)
    }

    fn access(&self, arguments: &Value, _lent: &Extensions) -> Access {
        if (self.needs_approval)(arguments) {
            Access::Other
        } else {
            Access::Harmless
        }
    }

    fn present_call(&self, arguments: &Value) -> Option<CallView> {
        (self.call_view)(arguments)
    }

    fn present_result(&self, arguments: &Value, _result: &ResultForView<'_>) -> Option<ResultView> {
        (self.result_view)(arguments)
    }
}

/// A call by an agent of its own, without arguments.
pub(crate) fn call(id: &str, name: &str) -> ToolCallRequest {
    ToolCallRequest {
        agent: Some(AgentId::mint()),
        ..ToolCallRequest::new(CallId::new(id), name, "")
    }
}

/// A list that closures of several threads add to.
pub(crate) struct Log<T>(Arc<Mutex<Vec<T>>>);

impl<T> Default for Log<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<T> Clone for Log<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T: Clone> Log<T> {
    pub(crate) fn push(&self, entry: T) {
        self.lock().push(entry);
    }

    pub(crate) fn all(&self) -> Vec<T> {
        self.lock().clone()
    }

    pub(crate) fn len(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<T>> {
        self.0.lock().expect("no panic under the lock")
    }
}

impl Log<ProgressObservation> {
    /// Records all reports of a registry.
    pub(crate) fn of(registry: &ToolRegistry) -> (Self, Subscription) {
        let log = Self::default();
        let to = log.clone();
        let subscription = registry
            .progress()
            .subscribe(None, move |report| to.push(report.clone()));
        (log, subscription)
    }

    /// The texts of the reports' first blocks.
    pub(crate) fn texts(&self) -> Vec<String> {
        let reports = self.all();
        let first = |report: &ProgressObservation| report.view.content.first()?.as_text().map(str::to_owned);
        reports.iter().filter_map(first).collect()
    }
}

pub(crate) fn text_of(result: &ToolResult) -> String {
    weft_types::text_of(&result.content)
}
