//! A session's folder, an agent's memory and the file tools over them, for tests.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use weft_tools::{Extensions, Memory, Tool, ToolCallRequest, ToolLimits, ToolRegistry, ToolResult, WorkingDirectory};
use weft_types::{CallId, text_of};

use crate::{Edit, FilesConfig, Glob, Grep, Read, SearchConfig, Write};

/// A folder with the tools at work in it.
pub(crate) struct Stage {
    registry: ToolRegistry,
    keep: TempDir,
    lent: Extensions,
}

impl Stage {
    pub(crate) fn new() -> Self {
        Self::with(&FilesConfig::default())
    }

    pub(crate) fn with(config: &FilesConfig) -> Self {
        Self::equipped(config, &SearchConfig::default())
    }

    pub(crate) fn searching(config: &SearchConfig) -> Self {
        Self::equipped(&FilesConfig::default(), config)
    }

    fn equipped(config: &FilesConfig, search: &SearchConfig) -> Self {
        let registry = ToolRegistry::new(ToolLimits::default());
        let tools: [Arc<dyn Tool>; 5] = [
            Arc::new(Read::new(config.clone()).expect("the limits are within their bounds")),
            Arc::new(Edit::new(config.clone()).expect("the limits are within their bounds")),
            Arc::new(Write::new(config.clone()).expect("the limits are within their bounds")),
            Arc::new(Glob::new(search.clone()).expect("the limits are within their bounds")),
            Arc::new(Grep::new(search.clone()).expect("the limits are within their bounds")),
        ];
        for tool in tools {
            registry.register(tool).expect("the tool is sound").keep();
        }
        let keep = tempfile::tempdir().expect("a folder can be made");
        let folder = keep.path().join("work");
        fs::create_dir(&folder).expect("a folder can be made");
        let lent = Extensions::new()
            .with(Arc::new(WorkingDirectory(folder)))
            .with(Arc::new(Memory::default()));
        Self { registry, keep, lent }
    }

    /// Lends one more thing to every call.
    pub(crate) fn lend<T: Send + Sync + 'static>(&mut self, value: Arc<T>) {
        self.lent = self.lent.clone().with(value);
    }

    /// The session's folder.
    pub(crate) fn folder(&self) -> PathBuf {
        self.keep.path().join("work")
    }

    /// A path beside the session's folder.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.keep.path().join(name)
    }

    pub(crate) fn put(&self, path: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.folder().join(path);
        fs::create_dir_all(path.parent().expect("a path within")).expect("a folder can be made");
        fs::write(&path, bytes).expect("a file can be written");
        path
    }

    pub(crate) fn bytes(&self, path: impl AsRef<Path>) -> Vec<u8> {
        fs::read(self.folder().join(path)).expect("the file exists")
    }

    /// What another agent lends: the same folder, a memory of its own.
    pub(crate) fn stranger(&self) -> Extensions {
        self.lent.clone().with(Arc::new(Memory::default()))
    }

    pub(crate) async fn call(&self, tool: &str, arguments: &Value) -> ToolResult {
        self.call_as(self.lent.clone(), tool, arguments).await
    }

    pub(crate) async fn call_as(&self, lent: Extensions, tool: &str, arguments: &Value) -> ToolResult {
        let mut request = ToolCallRequest::new(CallId::new("call"), tool, arguments.to_string());
        request.extensions = lent;
        self.registry.execute(request).await
    }

    /// The text of a call that goes well.
    pub(crate) async fn said(&self, tool: &str, arguments: &Value) -> String {
        let result = self.call(tool, arguments).await;
        assert!(!result.is_error(), "{}", text_of(&result.content));
        text_of(&result.content)
    }

    /// The error of a call that does not.
    pub(crate) async fn refused(&self, tool: &str, arguments: &Value) -> String {
        let result = self.call(tool, arguments).await;
        let error = result.outcome.expect_err("the call is refused");
        error.message().to_owned()
    }

    pub(crate) async fn cancelled(&self, tool: &str, arguments: &Value) -> ToolResult {
        let mut request = ToolCallRequest::new(CallId::new("call"), tool, arguments.to_string());
        request.extensions = self.lent.clone();
        request.signal = CancellationToken::new();
        request.signal.cancel();
        self.registry.execute(request).await
    }

    pub(crate) fn asks(&self, tool: &str, arguments: &Value) -> bool {
        let asked = self.registry.before_execute(|call| {
            if call.access.is_risky() {
                weft_tools::Decision::Ask
            } else {
                weft_tools::Decision::Allow
            }
        });
        let asks = self.registry.needs_approval(tool, &arguments.to_string(), &self.lent);
        drop(asked);
        asks
    }
}
