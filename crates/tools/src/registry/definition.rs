//! A registered tool: its definition as it was at registration.

use std::sync::Arc;

use serde_json::Value;
use weft_types::{ContentBlock, ToolSpec};

use crate::contain::contained;
use crate::registry::RegisterError;
use crate::schema::{MAX_DEPTH, Schema, is_deeper_than};
use crate::{
    Access, CallView, ErrorCode, Extensions, PlanEntry, ResultForView, ResultView, Tool, ToolError, ToolExecution,
    ToolResult,
};

/// The longest name a tool may have; endpoints refuse longer ones.
const MAX_NAME_BYTES: usize = 64;
/// A name that no tool may take: that of the tool through which programs call tools.
const RESERVED_NAME: &str = "run_code";

pub(crate) struct Definition {
    pub(crate) spec: ToolSpec,
    pub(crate) tool: Arc<dyn Tool>,
    parameters: Schema,
    output: Schema,
    /// Whether a model is told of it.
    pub(crate) is_listed: bool,
}

impl Definition {
    /// The tool with its schemas compiled.
    pub(crate) fn new(tool: Arc<dyn Tool>) -> Result<Self, RegisterError> {
        let definition = Self::known(tool)?;
        let unsupported = |schema, reason| RegisterError::UnsupportedSchema {
            name: definition.spec.name.clone(),
            schema,
            reason,
        };
        for (name, schema) in [("parameters", &definition.parameters), ("output", &definition.output)] {
            schema.compiled().map_err(|reason| unsupported(name, reason))?;
        }
        Ok(definition)
    }

    /// The tool with its schemas as they are, to be compiled at its first call.
    pub(crate) fn known(tool: Arc<dyn Tool>) -> Result<Self, RegisterError> {
        let spec = tool.spec();
        check_name(&spec.name)?;
        if spec.parameters.get("type").and_then(Value::as_str) != Some("object") {
            return Err(RegisterError::UnsupportedSchema {
                name: spec.name,
                schema: "parameters",
                reason: "its type must be \"object\"".to_owned(),
            });
        }
        let parameters = Schema::known(spec.parameters.clone());
        let output = Schema::known(tool.output_schema());
        Ok(Self {
            spec,
            tool,
            parameters,
            output,
            is_listed: true,
        })
    }

    /// The same tool, of which no model is told.
    pub(crate) fn unlisted(self) -> Self {
        Self {
            is_listed: false,
            ..self
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.spec.name
    }

    pub(crate) fn check_arguments(&self, arguments: &Value) -> Result<(), ToolError> {
        self.parameters.check(arguments).map_err(|violations| {
            let message = format!("invalid arguments of tool {}: {violations}", self.name());
            ToolError::with_code(ErrorCode::InvalidArgs, message)
        })
    }

    pub(crate) fn accepts(&self, arguments: &Value) -> bool {
        self.parameters.is_valid(arguments)
    }

    pub(crate) fn check_value(&self, value: &Value) -> Result<(), ToolError> {
        let checked = if is_deeper_than(value, MAX_DEPTH) {
            Err(format!("it is nested deeper than {MAX_DEPTH} levels"))
        } else {
            self.output.check(value)
        };
        checked.map_err(|violations| {
            let message = format!("invalid value of tool {}: {violations}", self.name());
            ToolError::with_code(ErrorCode::InvalidToolOutput, message)
        })
    }

    pub(crate) fn render(&self, arguments: &Value, value: &Value) -> Result<Vec<ContentBlock>, ToolError> {
        contained(|| self.tool.render(arguments, value)).map_err(|panic| {
            let message = format!("tool {} panicked while it rendered its value: {panic}", self.name());
            ToolError::new(message)
        })
    }

    pub(crate) fn finalize(
        &self,
        execution: &ToolExecution,
        result: &ToolResult,
    ) -> Result<Option<Vec<ContentBlock>>, ToolError> {
        contained(|| self.tool.finalize_content(execution, result)).map_err(|panic| {
            let message = format!("tool {} panicked while it finalised its content: {panic}", self.name());
            ToolError::new(message)
        })
    }

    pub(crate) fn meta(&self, arguments: &Value, value: &Value) -> Result<Option<Value>, ToolError> {
        let meta = self.ask("presentation_meta", || self.tool.presentation_meta(arguments, value));
        let Some(meta) = meta.flatten() else { return Ok(None) };
        if is_deeper_than(&meta, MAX_DEPTH) {
            let name = self.name();
            let message = format!("invalid metadata of tool {name}: it is nested deeper than {MAX_DEPTH} levels");
            return Err(ToolError::with_code(ErrorCode::InvalidToolOutput, message));
        }
        Ok(Some(meta))
    }

    /// The tool's word; no word means that it may not overlap. Arguments must fit.
    pub(crate) fn is_concurrency_safe(&self, arguments: &Value) -> bool {
        self.ask("is_concurrency_safe", || self.tool.is_concurrency_safe(arguments))
            .unwrap_or(false)
    }

    /// The tool's word; no word means that nothing is known. Arguments must fit.
    pub(crate) fn access(&self, arguments: &Value, lent: &Extensions) -> Access {
        self.ask("access", || self.tool.access(arguments, lent))
            .unwrap_or(Access::Other)
    }

    pub(crate) fn plan(&self, arguments: &Value) -> Option<Vec<PlanEntry>> {
        self.ask("plan", || self.tool.plan(arguments)).flatten()
    }

    pub(crate) fn present_call(&self, arguments: &Value) -> Option<CallView> {
        self.ask("present_call", || self.tool.present_call(arguments)).flatten()
    }

    pub(crate) fn present_result(&self, arguments: &Value, result: &ResultForView<'_>) -> Option<ResultView> {
        self.ask("present_result", || self.tool.present_result(arguments, result))
            .flatten()
    }

    fn ask<R>(&self, method: &'static str, question: impl FnOnce() -> R) -> Option<R> {
        contained(question)
            .inspect_err(|panic| tracing::warn!(tool = self.name(), method, panic, "a tool panicked"))
            .ok()
    }
}

fn check_name(name: &str) -> Result<(), RegisterError> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if name.is_empty() || name.len() > MAX_NAME_BYTES || !name.bytes().all(is_plain) {
        return Err(RegisterError::InvalidName { name: name.to_owned() });
    }
    if name == RESERVED_NAME {
        return Err(RegisterError::ReservedName { name: name.to_owned() });
    }
    Ok(())
}
