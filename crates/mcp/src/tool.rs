//! A server's tool, as the registry sees it.

use std::fmt;
use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use weft_tools::{Access, CallView, Extensions, Tool, ToolError, ToolExecution, ToolKind};
use weft_types::{ContentBlock, ToolSpec, text_of};

use crate::call::call;
use crate::content::Answer;
use crate::listing::Offered;
use crate::server::Server;

/// How much of a name a card's title shows, in characters.
const TITLE_CHARS: usize = 80;

/// One tool of one server.
pub(crate) struct McpTool {
    /// The name that a model calls it by.
    name: String,
    offered: Offered,
    server: Arc<Server>,
    output_chars: usize,
}

impl McpTool {
    pub(crate) fn new(name: String, offered: Offered, server: Arc<Server>, output_chars: usize) -> Self {
        Self {
            name,
            offered,
            server,
            output_chars,
        }
    }

    /// The server's own name of it.
    pub(crate) fn own_name(&self) -> &str {
        &self.offered.name
    }

    /// The icon of its card. Nothing else follows from what its server says of it.
    fn kind(&self) -> ToolKind {
        match (self.offered.says_read_only, self.offered.says_open_world) {
            (true, true) => ToolKind::Fetch,
            (true, false) => ToolKind::Read,
            (false, _) => ToolKind::Other,
        }
    }
}

impl fmt::Debug for McpTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpTool")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Tool for McpTool {
    fn spec(&self) -> ToolSpec {
        let server = &self.server.config.name;
        let description = match self.offered.description.trim() {
            "" => format!("The tool {} of the MCP server {server}.", self.offered.name),
            text => text.to_owned(),
        };
        ToolSpec {
            name: self.name.clone(),
            description,
            parameters: self.offered.parameters.clone(),
        }
    }

    fn output_schema(&self) -> Value {
        json!({"type": "object", "properties": {"content": {"type": "array"}}, "required": ["content"]})
    }

    fn execute(self: Arc<Self>, execution: ToolExecution) -> BoxFuture<'static, Result<Value, ToolError>> {
        async move {
            let result = call(&self.server, &self.offered.name, &execution).await?;
            let answer = Answer::read(&result, self.output_chars);
            if answer.is_error {
                return Err(ToolError::new(text_of(&answer.content)));
            }
            Ok(json!({ "content": answer.content }))
        }
        .boxed()
    }

    fn render(&self, _arguments: &Value, value: &Value) -> Vec<ContentBlock> {
        let content = value.get("content").cloned().unwrap_or_default();
        serde_json::from_value(content).unwrap_or_default()
    }

    fn is_concurrency_safe(&self, _arguments: &Value) -> bool {
        self.offered.says_read_only
    }

    fn access(&self, _arguments: &Value, _lent: &Extensions) -> Access {
        Access::Other
    }

    fn present_call(&self, arguments: &Value) -> Option<CallView> {
        Some(CallView::Generic {
            title: format!("{}: {}", shown(&self.server.config.name), shown(&self.offered.name)),
            kind: self.kind(),
            raw_input: Some(arguments.clone()),
            content: Vec::new(),
            locations: Vec::new(),
        })
    }
}

fn shown(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(TITLE_CHARS).collect()
}
