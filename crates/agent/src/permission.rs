//! Which calls an agent may make.

use std::sync::Arc;

use weft_tools::{Decision, ProposedCall, Registration};

use crate::AgentOptions;

/// What becomes of calls that [carry a risk](weft_tools::Tool::needs_approval). All others are allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PermissionMode {
    /// The user is asked.
    Ask,
    /// They are allowed.
    Full,
    /// They are denied: nobody can be asked, as in a subagent.
    Deny,
}

impl PermissionMode {
    /// The mode of a subagent of an agent with this one. It can ask nobody, so all but full trust means no.
    pub(crate) fn of_subagents(self) -> Self {
        match self {
            Self::Full => Self::Full,
            Self::Ask | Self::Deny => Self::Deny,
        }
    }

    pub(crate) fn decide(self, call: &ProposedCall<'_>) -> Decision {
        match self {
            _ if !call.needs_approval => Decision::Allow,
            Self::Full => Decision::Allow,
            Self::Ask => Decision::Ask,
            Self::Deny => Decision::Deny {
                reason: format!(
                    "{} needs the user's permission here, and this agent cannot ask for it: it is a subagent or runs \
                     unattended",
                    call.name
                ),
            },
        }
    }
}

/// Puts the agent's mode and its approver into its layer of tools.
pub(crate) fn install(options: &AgentOptions) -> Registration {
    if let Some(approver) = &options.approver {
        options.tools.set_approver(Arc::clone(approver));
    }
    let mode = options.permissions;
    options.tools.before_execute(move |call| mode.decide(call))
}
