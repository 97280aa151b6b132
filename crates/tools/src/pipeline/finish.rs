//! Phases 6 to 9: what becomes of an outcome.

use std::ops::ControlFlow;
use std::sync::Arc;

use serde_json::Value;
use weft_types::ContentBlock;

use crate::contain::contained_future;
use crate::pipeline::{Settled, aborted};
use crate::policy::AfterPolicy;
use crate::{Replacement, ResultObservation, ToolError, ToolResult, Verdict};

impl Settled {
    /// Phases 6 to 9.
    pub(crate) async fn finish(mut self) -> ToolResult {
        let added = if self.is_sealed {
            Vec::new()
        } else {
            self.ask_policies().await
        };
        if self.outcome.is_ok() && self.execution.signal().is_cancelled() {
            self.fail(aborted(&self.execution));
        }
        let result = Arc::new(self.materialise(&added));
        let observation = ResultObservation {
            execution: self.execution.clone(),
            result: Arc::clone(&result),
        };
        let scope = self.execution.agent();
        self.layer.root.results.emit(scope.as_ref(), &observation);
        drop(observation);
        Arc::unwrap_or_clone(result)
    }

    /// Phase 6. Returns the contexts that policies added.
    async fn ask_policies(&mut self) -> Vec<ContentBlock> {
        let mut added = Vec::new();
        for layer in self.layer.outermost_first() {
            let mut last = None;
            while let Some((number, policy)) = layer.after.after(last) {
                if self.ask_policy(&policy, &mut added).await.is_break() {
                    return added;
                }
                last = Some(number);
            }
        }
        added
    }

    async fn ask_policy(&mut self, policy: &Arc<AfterPolicy>, added: &mut Vec<ContentBlock>) -> ControlFlow<()> {
        let result = Arc::new(self.result(added));
        let execution = self.execution.clone();
        match contained_future(|| policy(execution, result)).await {
            Ok(Verdict::Accept { replace, contexts }) => {
                added.extend(contexts);
                replace.map_or(ControlFlow::Continue(()), |replacement| self.replace(replacement))
            }
            Ok(Verdict::Block { feedback }) => {
                self.deferred.contexts.clear();
                self.fail(ToolError::new(feedback));
                ControlFlow::Break(())
            }
            Err(panic) => {
                let name = self.execution.name();
                self.fail(ToolError::new(format!("a policy after tool {name} panicked: {panic}")));
                ControlFlow::Break(())
            }
        }
    }

    fn replace(&mut self, replacement: Replacement) -> ControlFlow<()> {
        match (replacement, &self.definition) {
            (Replacement::Content(content), _) => {
                self.content = content;
                ControlFlow::Continue(())
            }
            (Replacement::Value(value), Some(definition)) if self.outcome.is_ok() => {
                self.outcome = definition.check_value(&value).map(|()| value);
                self.render();
                ControlFlow::Continue(())
            }
            (Replacement::Value(_), _) => {
                let name = self.execution.name();
                let message = format!("a policy after tool {name} replaced the value of a call that had failed");
                self.fail(ToolError::new(message));
                ControlFlow::Break(())
            }
        }
    }

    /// Phases 7 and 8. Whatever fails here makes an ordinary failure.
    fn materialise(&mut self, added: &[ContentBlock]) -> ToolResult {
        let meta = self.meta();
        let mut result = self.result(added);
        result.meta = meta;
        let finalized = match &self.definition {
            Some(definition) => definition.finalize(&self.execution, &result),
            None => Ok(None),
        };
        match finalized {
            Ok(None) => {}
            Ok(Some(content)) => result.content = content,
            Err(error) => {
                self.fail(error);
                result = self.result(added);
            }
        }
        result
    }

    /// What the presenter gets, which for a failure is what its error brings along.
    fn meta(&mut self) -> Option<Value> {
        if self.execution.is_nested() {
            return None;
        }
        let made = match (&self.outcome, &self.definition) {
            (Ok(value), Some(definition)) => definition.meta(self.execution.arguments(), value),
            (Ok(_), None) => return None,
            (Err(error), _) => return error.meta().cloned(),
        };
        made.unwrap_or_else(|error| {
            self.fail(error);
            None
        })
    }

    /// The result as it stands.
    fn result(&self, added: &[ContentBlock]) -> ToolResult {
        ToolResult {
            outcome: self.outcome.clone(),
            content: self.content.clone(),
            meta: None,
            contexts: [&self.deferred.contexts, added].concat(),
            concludes_turn: self.deferred.concludes_turn && self.outcome.is_ok(),
        }
    }

    fn fail(&mut self, error: ToolError) {
        self.outcome = Err(error);
        self.render();
    }

    /// Makes the content that belongs to the outcome; a value that cannot be rendered is a failure.
    pub(super) fn render(&mut self) {
        let rendered = match (&self.outcome, &self.definition) {
            (Ok(value), Some(definition)) => definition.render(self.execution.arguments(), value),
            (Ok(_), None) => unreachable!("a call of an unknown tool has no value"),
            (Err(error), _) => Err(error.clone()),
        };
        match rendered {
            Ok(content) => self.content = content,
            Err(error) => {
                self.content = vec![ContentBlock::text(format!("Error: {error}"))];
                self.outcome = Err(error);
            }
        }
    }
}
