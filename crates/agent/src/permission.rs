//! Which calls an agent may make: modes, rules, and the user's answers to questions.
//!
//! [`Permissions`] is what is in force, shared by an agent and its subagents. A [`PermissionMode`] decides about calls of
//! which no rule of [`Rules`] says anything. The user's agent asks through an [`Asking`] approver, which offers answers
//! that stand for more than one call and keeps the rules that they give.

mod asking;
mod glob;
mod mode;
mod offers;
mod record;
mod rule;
mod rules;
mod url;
mod words;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use weft_tools::{Approver, Decision, ProposedCall, Registration};
use weft_types::{Origin, RuleEffect};

use crate::AgentOptions;

use asking::Asking;
pub use mode::PermissionMode;
pub(crate) use record::ModeRecord;
pub use rule::{RuleError, RuleFolders};
pub use rules::Rules;

/// Where the rules are kept that the user gives for a whole project.
pub trait ProjectRules: Send + Sync {
    /// Keeps rules for good, for the sessions that open from now on. It may block.
    ///
    /// # Errors
    /// They are not kept; the text says why.
    fn keep(&self, effect: RuleEffect, rules: &[String]) -> Result<(), KeepError>;
}

/// Why rules are not kept.
pub type KeepError = Box<dyn std::error::Error + Send + Sync>;

/// What an agent and its subagents may do, for as long as its session is open. Changes hold from the next call on; a
/// question that is open stays open.
#[derive(Default)]
pub struct Permissions {
    state: Mutex<State>,
    project: Option<Arc<dyn ProjectRules>>,
}

#[derive(Debug, Default)]
struct State {
    mode: PermissionMode,
    rules: Rules,
}

impl Permissions {
    /// Permissions in this mode, without rules.
    pub fn new(mode: PermissionMode) -> Self {
        Self::with_rules(mode, Rules::default())
    }

    /// Permissions in this mode, with rules.
    pub fn with_rules(mode: PermissionMode, rules: Rules) -> Self {
        Self {
            state: Mutex::new(State { mode, rules }),
            project: None,
        }
    }

    /// The same, where answers may also stand for the whole project. Its rules are not read from there.
    #[must_use]
    pub fn kept_in(self, project: Arc<dyn ProjectRules>) -> Self {
        Self {
            project: Some(project),
            ..self
        }
    }

    /// The mode in force.
    pub fn mode(&self) -> PermissionMode {
        self.state().mode
    }

    /// Puts another mode in force, without a record: see [`Agent::set_mode`](crate::Agent::set_mode).
    pub fn set_mode(&self, mode: PermissionMode) {
        self.state().mode = mode;
    }

    /// Puts a rule in force, without a record.
    ///
    /// # Errors
    /// It is none; nothing changes.
    pub fn add_rule(&self, effect: RuleEffect, rule: &str) -> Result<(), RuleError> {
        self.state().rules.add(effect, rule)
    }

    /// Puts the rules of a log in force. One that cannot be read is left out, with a warning.
    pub fn restore(&self, rules: &[(RuleEffect, String)]) {
        for (effect, rule) in rules {
            if let Err(error) = self.add_rule(*effect, rule) {
                tracing::warn!(%error, "the session's log has a rule that cannot be used");
            }
        }
    }

    /// What becomes of a call.
    pub fn decide(&self, call: &ProposedCall<'_>) -> Decision {
        let state = self.state();
        state.mode.decide(call, &state.rules.judge(call))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Permissions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permissions")
            .field("mode", &self.mode())
            .finish_non_exhaustive()
    }
}

/// Whom the agent asks. A user's agent offers answers that stand; a subagent asks through the one that started it.
pub(crate) fn approver(options: &AgentOptions) -> Option<Arc<dyn Approver>> {
    let asked = options.approver.clone()?;
    if options.session.header().origin != Origin::User {
        return Some(asked);
    }
    Some(Arc::new(Asking::new(
        Arc::clone(&options.permissions),
        &options.session,
        asked,
    )))
}

/// Puts the agent's permissions and its approver into its layer of tools.
pub(crate) fn install(options: &AgentOptions) -> Registration {
    if let Some(approver) = &options.approver {
        options.tools.set_approver(Arc::clone(approver));
    }
    let permissions = Arc::clone(&options.permissions);
    options.tools.before_execute(move |call| permissions.decide(call))
}
