//! The settings of the tool.

use std::time::Duration;

use weft_tools::InvalidLimit;
use weft_workflow::DisplayLimits;

/// The settings of a [`WorkflowTool`](crate::WorkflowTool).
///
/// By default the tool is called `workflow`, the model is given 50 000 characters of a return value, the card shows
/// the labels of 20 running members, agents down to level 2 may be members, a member that does nothing for 2 min is
/// shown as stalled and for 30 min has failed, and a run has 12 s to become quiet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkflowToolConfig {
    pub(crate) name: String,
    pub(crate) result_chars: usize,
    pub(crate) shown_members: usize,
    pub(crate) display: DisplayLimits,
    pub(crate) max_depth: u32,
    pub(crate) teardown: Duration,
    pub(crate) stall_after: Duration,
    pub(crate) max_stall: Duration,
}

impl Default for WorkflowToolConfig {
    fn default() -> Self {
        Self {
            name: "workflow".to_owned(),
            result_chars: 50_000,
            shown_members: 20,
            display: DisplayLimits::default(),
            max_depth: 2,
            teardown: Duration::from_secs(12),
            stall_after: Duration::from_secs(120),
            max_stall: Duration::from_secs(1_800),
        }
    }
}

impl WorkflowToolConfig {
    /// Sets the tool's name; the registry refuses one that is none.
    #[must_use]
    pub fn name(self, name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            ..self
        }
    }

    /// Sets how many characters of a return value, or of an error, the model is given: 1 to 1 000 000. The value that
    /// a nested caller gets stays whole.
    pub fn result_chars(self, result_chars: usize) -> Result<Self, InvalidLimit> {
        let result_chars = InvalidLimit::check("workflow.result_chars", result_chars, &(1..=1_000_000))?;
        Ok(Self { result_chars, ..self })
    }

    /// Sets how many running members the card names: 1 to 200. The others are counted.
    pub fn shown_members(self, shown_members: usize) -> Result<Self, InvalidLimit> {
        let shown_members = InvalidLimit::check("shown_members", shown_members, &(1..=200))?;
        Ok(Self { shown_members, ..self })
    }

    /// Sets how much of phases, log lines and labels the card shows.
    #[must_use]
    pub fn display(self, display: DisplayLimits) -> Self {
        Self { display, ..self }
    }

    /// Sets the deepest level on which members may stand: 1 to 16. The members of a user's own agent stand on
    /// level 1; an agent on the deepest level is refused a workflow.
    pub fn max_depth(self, max_depth: u32) -> Result<Self, InvalidLimit> {
        let max_depth = InvalidLimit::check("agent.max_depth", max_depth, &(1..=16))?;
        Ok(Self { max_depth, ..self })
    }

    /// Sets after how long without any activity the card shows a member as stalled: 1 s to 24 h.
    pub fn stall_after(self, stall_after: Duration) -> Result<Self, InvalidLimit> {
        let stall_after = InvalidLimit::check_millis("workflow.stall_after", stall_after, &(1_000..=86_400_000))?;
        Ok(Self { stall_after, ..self })
    }

    /// Sets after how long without any activity a member has failed: 0, which is never, to 7 days.
    pub fn max_stall(self, max_stall: Duration) -> Result<Self, InvalidLimit> {
        let max_stall = InvalidLimit::check_millis("workflow.max_stall", max_stall, &(0..=604_800_000))?;
        Ok(Self { max_stall, ..self })
    }

    /// Sets how long a run may take to become quiet once it has settled or was cancelled: 100 ms to 10 min. It is the
    /// backstop for engines that do not keep their own grace, so it should be longer than that.
    pub fn teardown(self, teardown: Duration) -> Result<Self, InvalidLimit> {
        let teardown = InvalidLimit::check_millis("teardown_ms", teardown, &(100..=600_000))?;
        Ok(Self { teardown, ..self })
    }
}
