//! Views of calls and results. They never fail: whatever a tool cannot say has a generic form.

use serde_json::Value;

use crate::{CallView, PlanEntry, ResultForView, ResultView, ToolKind, ToolRegistry, arguments};

impl ToolRegistry {
    /// The card of a pending call. Without a word from the tool: its name as the title and the arguments
    /// as the input, as text if they are not JSON.
    pub fn present_call(&self, name: &str, raw_arguments: &str) -> CallView {
        let arguments = arguments::parse(name, raw_arguments);
        let view = match &arguments.problem {
            Some(_) => None,
            None => self.presentable(name, &arguments.value, |tool| tool.present_call(&arguments.value)),
        };
        view.unwrap_or_else(|| CallView::Generic {
            title: name.to_owned(),
            kind: ToolKind::Other,
            raw_input: Some(arguments.value),
            content: Vec::new(),
            locations: Vec::new(),
        })
    }

    /// The card of a finished call. Without a word from the tool: the call's title and the raw content.
    pub fn present_result(&self, name: &str, raw_arguments: &str, result: ResultForView<'_>) -> ResultView {
        let arguments = arguments::parse(name, raw_arguments);
        let view = match &arguments.problem {
            Some(_) => None,
            None => self.presentable(name, &arguments.value, |tool| {
                tool.present_result(&arguments.value, &result)
            }),
        };
        view.unwrap_or(ResultView::Generic {
            title: None,
            content: None,
        })
    }

    /// The plan that a call which has succeeded puts in place of any earlier one; none for a call that makes no plan.
    pub fn plan_of(&self, name: &str, raw_arguments: &str) -> Option<Vec<PlanEntry>> {
        let arguments = arguments::parse(name, raw_arguments);
        match &arguments.problem {
            Some(_) => None,
            None => self.presentable(name, &arguments.value, |tool| tool.plan(&arguments.value)),
        }
    }

    /// Asks a tool only about arguments that fit: those of an old log need not.
    fn presentable<V>(
        &self,
        name: &str,
        arguments: &Value,
        ask: impl FnOnce(&super::Definition) -> Option<V>,
    ) -> Option<V> {
        let definition = self.layer.find(name)?;
        if !definition.accepts(arguments) {
            return None;
        }
        ask(&definition)
    }
}
