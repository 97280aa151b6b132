//! A model that goes round in circles: it makes the same calls again although all of them failed.

use weft_tools::ToolResult;

use crate::calls::NamedCall;

/// The calls that failed last, and how many steps in a row made just these.
#[derive(Debug, Default)]
pub(crate) struct Repeats {
    calls: Vec<Made>,
    steps: u32,
}

/// A call as the model made it, whatever its id.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Made {
    name: String,
    arguments: String,
}

impl Repeats {
    /// The calls of a step, to be remembered beyond it.
    pub(crate) fn made(calls: &[NamedCall]) -> Vec<Made> {
        let made = |call: &NamedCall| Made {
            name: call.name.clone(),
            arguments: call.arguments.clone(),
        };
        calls.iter().map(made).collect()
    }

    /// Takes in what came of a step's calls. Says what is wrong once so many steps in a row have made the very same calls
    /// and all of them failed.
    pub(crate) fn take(&mut self, calls: Vec<Made>, results: &[ToolResult], most: u32) -> Option<String> {
        let errors = results.iter().map(|result| result.outcome.as_ref().err());
        let Some(errors) = errors.collect::<Option<Vec<_>>>() else {
            *self = Self::default();
            return None;
        };
        self.steps = if self.calls == calls { self.steps + 1 } else { 1 };
        self.calls = calls;
        let (call, error) = self.calls.first().zip(errors.first())?;
        (self.steps >= most).then(|| {
            format!(
                "the model made the same call of {} {} times in a row, the limit agent.max_repeats, and it failed each \
                 time: {error}",
                call.name, self.steps
            )
        })
    }
}
