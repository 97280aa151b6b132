//! Policies of a layer, and what they mean for a call that is only proposed.

use std::sync::{Arc, PoisonError};

use futures::future::BoxFuture;

use crate::contain::contained;
use crate::registry::{Definition, Layer};
use crate::{
    Access, Approver, Decision, Executed, Extensions, Next, ProposedCall, Registration, ToolExecution, ToolRegistry,
    ToolResult, Verdict, arguments,
};

impl ToolRegistry {
    /// Adds a policy that decides whether a call may run: a pure function, asked before the call and
    /// again by [`needs_approval`](Self::needs_approval). Calls of unknown tools are seen too.
    ///
    /// A policy that panics fails the call.
    pub fn before_execute(
        &self,
        policy: impl Fn(&ProposedCall<'_>) -> Decision + Send + Sync + 'static,
    ) -> Registration {
        let number = self.layer.before.push(Arc::new(policy));
        self.registration(move |layer| layer.before.remove(number))
    }

    /// Adds a guard, which can only deny, with its reason for the model. Guards are asked after the user
    /// was; those added while guards are being asked are asked too.
    pub fn guard(&self, guard: impl Fn(&ToolExecution) -> Result<(), String> + Send + Sync + 'static) -> Registration {
        let number = self.layer.guards.push(Arc::new(guard));
        self.registration(move |layer| layer.guards.remove(number))
    }

    /// Wraps the bodies of calls: the first wrapper of the outermost layer is outermost. It must return
    /// soon after the signal of its execution has fired. One that panics fails the call.
    pub fn around_execute<F>(&self, wrapper: F) -> Registration
    where
        F: Fn(ToolExecution, Next) -> BoxFuture<'static, Executed> + Send + Sync + 'static,
    {
        let number = self.layer.wrappers.push(Arc::new(wrapper));
        self.registration(move |layer| layer.wrappers.remove(number))
    }

    /// Adds a policy that judges results. It must return soon after the signal of its execution has
    /// fired. One that panics fails the call.
    pub fn after_execute<F>(&self, policy: F) -> Registration
    where
        F: Fn(ToolExecution, Arc<ToolResult>) -> BoxFuture<'static, Verdict> + Send + Sync + 'static,
    {
        let number = self.layer.after.push(Arc::new(policy));
        self.registration(move |layer| layer.after.remove(number))
    }

    /// Sets who answers for the user in this layer and those within it.
    pub fn set_approver(&self, approver: Arc<dyn Approver>) {
        let mut own = self.layer.approver.lock().unwrap_or_else(PoisonError::into_inner);
        *own = Some(approver);
    }

    /// Whether the user would be asked before this call runs, given what its caller lends. A call that cannot run, for its tool or
    /// its arguments, is not asked about.
    pub fn needs_approval(&self, name: &str, raw_arguments: &str, lent: &Extensions) -> bool {
        let arguments = arguments::parse(name, raw_arguments);
        let Some(definition) = self.layer.find(name) else {
            return false;
        };
        if arguments.problem.is_some() || !definition.accepts(&arguments.value) {
            return false;
        }
        let access = definition.access(&arguments.value, lent);
        let call = ProposedCall {
            name,
            arguments: &arguments.value,
            access: &access,
            is_approved: false,
        };
        // A policy that panics here will panic again, and fail the call.
        contained(|| self.layer.decide(&call)) == Ok(Decision::Ask)
    }

    /// What a call would do, in its tool's own words, given what its caller lends; `None` for a call that cannot run, for
    /// its tool or its arguments.
    pub fn access(&self, name: &str, raw_arguments: &str, lent: &Extensions) -> Option<Access> {
        let arguments = arguments::parse(name, raw_arguments);
        let definition = self.layer.find(name)?;
        let can_run = arguments.problem.is_none() && definition.accepts(&arguments.value);
        can_run.then(|| definition.access(&arguments.value, lent))
    }

    /// Whether this call may overlap with its siblings, as things stand now.
    pub(crate) fn is_concurrency_safe(&self, name: &str, raw_arguments: &str) -> bool {
        let arguments = arguments::parse(name, raw_arguments);
        let fits = |definition: &Definition| arguments.problem.is_none() && definition.accepts(&arguments.value);
        self.layer
            .find(name)
            .is_some_and(|definition| fits(&definition) && definition.is_concurrency_safe(&arguments.value))
    }
}

impl Layer {
    /// What all policies together decide: the first denial, else whether any of them asks.
    pub(crate) fn decide(self: &Arc<Self>, call: &ProposedCall<'_>) -> Decision {
        let mut decided = Decision::Allow;
        for layer in self.outermost_first() {
            for policy in layer.before.snapshot() {
                match policy(call) {
                    Decision::Allow => {}
                    Decision::Ask => decided = Decision::Ask,
                    denial @ Decision::Deny { .. } => return denial,
                }
            }
        }
        decided
    }
}
