//! Which calls an agent may make.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use weft_tools::{Access, Decision, ProposedCall, Registration};

use crate::AgentOptions;

/// What becomes of calls that [carry a risk](Access::is_risky). All others are allowed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum PermissionMode {
    /// They are denied: the agent looks and plans.
    Plan,
    /// The user is asked.
    #[default]
    Ask,
    /// Changes of files in the session's folders are allowed, the user is asked about the rest.
    AcceptEdits,
    /// They are allowed.
    Full,
}

impl PermissionMode {
    /// Every mode, from the strictest to the most lenient.
    pub const ALL: [Self; 4] = [Self::Plan, Self::Ask, Self::AcceptEdits, Self::Full];

    /// The mode's name in configuration, logs and protocols.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Ask => "ask",
            Self::AcceptEdits => "accept-edits",
            Self::Full => "full",
        }
    }

    /// The mode of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.as_str() == name)
    }

    pub(crate) fn decide(self, call: &ProposedCall<'_>) -> Decision {
        match (self, call.access) {
            (_, access) if !access.is_risky() => Decision::Allow,
            (Self::Full, _) => Decision::Allow,
            (Self::Plan, Access::Read(_)) | (Self::Ask, _) => Decision::Ask,
            (Self::Plan, _) => Decision::Deny {
                reason: format!("{} is not for planning; the user chose the mode plan", call.name),
            },
            (Self::AcceptEdits, Access::Edit(places))
                if places.iter().all(|place| place.is_inside && place.caution.is_none()) =>
            {
                Decision::Allow
            }
            (Self::AcceptEdits, _) => Decision::Ask,
        }
    }
}

impl fmt::Display for PermissionMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What an agent and its subagents may do, for as long as its session is open. Changes hold from the next call on.
#[derive(Debug, Default)]
pub struct Permissions {
    mode: Mutex<PermissionMode>,
}

impl Permissions {
    /// Permissions in this mode.
    pub fn new(mode: PermissionMode) -> Self {
        Self { mode: Mutex::new(mode) }
    }

    /// The mode in force.
    pub fn mode(&self) -> PermissionMode {
        *self.mode.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts another mode in force.
    pub fn set_mode(&self, mode: PermissionMode) {
        *self.mode.lock().unwrap_or_else(PoisonError::into_inner) = mode;
    }
}

/// Puts the agent's permissions and its approver into its layer of tools.
pub(crate) fn install(options: &AgentOptions) -> Registration {
    if let Some(approver) = &options.approver {
        options.tools.set_approver(Arc::clone(approver));
    }
    let permissions = Arc::clone(&options.permissions);
    options
        .tools
        .before_execute(move |call| permissions.mode().decide(call))
}
