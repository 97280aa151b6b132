//! Phases 0 to 3: whether a call may run.

use std::sync::Arc;

use crate::contain::{contained, contained_future};
use crate::pipeline::{Checkpoint, Opened, Stop, aborted};
use crate::registry::Layer;
use crate::{
    Access, Approval, ApprovalRequest, Decision, ErrorCode, ProposedCall, ToolCallRequest, ToolError, ToolExecution,
    arguments,
};

/// How many names an error about an unknown tool lists.
const MAX_NAMES: usize = 50;

/// What phases 1 and 2 came to.
pub(super) enum Admission {
    /// It may run.
    Pass,
    /// If the user says so.
    Ask,
    /// Never.
    Stopped(Stop),
}

impl Opened {
    /// Phases 0, 1 and the decision of phase 2.
    pub(crate) fn new(layer: &Arc<Layer>, call: ToolCallRequest) -> Self {
        let arguments = arguments::parse(&call.name, &call.raw_arguments);
        let definition = layer.find(&call.name);
        let runnable = match (&definition, arguments.problem) {
            (None, _) => Err(unknown_tool(layer, &call.name)),
            (Some(_), Some(problem)) => Err(problem),
            (Some(definition), None) => definition
                .check_arguments(&arguments.value)
                .map(|()| Arc::clone(definition)),
        };
        let observers = layer.root.progress.clone();
        let execution = ToolExecution::new(call, arguments.value, layer.root.limits.progress, move |observation| {
            observers.emit(observation.agent.as_ref(), observation);
        });
        let mut opened = Self {
            layer: Arc::clone(layer),
            execution,
            definition,
            runnable,
            access: Access::Harmless,
            admission: Admission::Pass,
        };
        opened.access = opened.access_now();
        opened.admission = opened.decide();
        opened
    }

    fn decide(&self) -> Admission {
        if self.execution.signal().is_cancelled() {
            return Admission::Stopped(Stop::sealed(aborted(&self.execution)));
        }
        let name = self.execution.name();
        match self.decision(false) {
            Ok(Decision::Allow) => Admission::Pass,
            // Nobody is bothered with a call that cannot run.
            Ok(Decision::Ask) if self.runnable.is_err() => Admission::Pass,
            Ok(Decision::Ask) => Admission::Ask,
            Ok(Decision::Deny { reason }) => Admission::Stopped(Stop::open(denied(name, &reason))),
            Err(panic) => Admission::Stopped(Stop::sealed(panicked(name, &panic))),
        }
    }

    /// What the call would do, as things stand now.
    fn access_now(&self) -> Access {
        self.runnable.as_ref().map_or(Access::Harmless, |tool| {
            tool.access(self.execution.arguments(), self.execution.extensions())
        })
    }

    /// What the policies say of what was proposed, or the text of a panic.
    fn decision(&self, is_approved: bool) -> Result<Decision, String> {
        let call = ProposedCall {
            name: self.execution.name(),
            arguments: self.execution.arguments(),
            access: &self.access,
            is_approved,
        };
        contained(|| self.layer.decide(&call))
    }

    /// The rest of phase 2, phase 3, and the check point in front of phase 4.
    pub(super) async fn admit(&self, checkpoint: Option<Checkpoint<'_>>) -> Result<(), Stop> {
        match &self.admission {
            Admission::Pass => {}
            Admission::Ask => {
                self.ask().await?;
                self.check_approved()?;
            }
            Admission::Stopped(stop) => return Err(stop.clone()),
        }
        self.ask_guards()?;
        if let Some(checkpoint) = checkpoint {
            self.pass(checkpoint).await?;
        }
        self.check_signal()?;
        self.check_access()
    }

    /// Whether a denial stands that came while the user was asked.
    fn check_approved(&self) -> Result<(), Stop> {
        let name = self.execution.name();
        match self.decision(true) {
            Ok(Decision::Allow | Decision::Ask) => Ok(()),
            Ok(Decision::Deny { reason }) => Err(Stop::open(denied(name, &reason))),
            Err(panic) => Err(Stop::sealed(panicked(name, &panic))),
        }
    }

    /// Whether the call would still do what was decided upon: a link may have been moved meanwhile.
    fn check_access(&self) -> Result<(), Stop> {
        if self.access_now() == self.access {
            return Ok(());
        }
        let reason = "what it would do has changed since that was decided; make the call again if it is still right";
        Err(Stop::open(denied(self.execution.name(), reason)))
    }

    async fn pass(&self, checkpoint: Checkpoint<'_>) -> Result<(), Stop> {
        let passed = tokio::select! {
            biased;
            passed = checkpoint => passed,
            () = self.execution.signal().cancelled() => Ok(()),
        };
        passed.map_err(|error| {
            let name = self.execution.name();
            Stop::open(ToolError::new(format!("tool {name} was not started: {error}")))
        })
    }

    async fn ask(&self) -> Result<(), Stop> {
        self.check_signal()?;
        let execution = &self.execution;
        let name = execution.name();
        let (Some(approver), Some(agent)) = (self.layer.approver(), execution.agent()) else {
            return Err(Stop::open(nobody(name)));
        };
        let request = ApprovalRequest {
            agent,
            call_id: execution.call_id().clone(),
            root_call_id: execution.root_call_id().clone(),
            tool: name.to_owned(),
            arguments: execution.arguments().clone(),
            access: self.access.clone(),
            standing: Vec::new(),
            asker: None,
        };
        let signal = execution.signal();
        let overdue = async {
            signal.cancelled().await;
            tokio::time::sleep(self.layer.root.limits.cancel_grace).await;
        };
        let question = contained_future(|| approver.ask(request, signal.clone()));
        let answer = tokio::select! {
            biased;
            answer = question => answer,
            () = overdue => Ok(Approval::Cancelled),
        };
        self.check_signal()?;
        Err(Stop::open(match answer {
            Ok(Approval::AllowedOnce) => return Ok(()),
            Ok(Approval::Rejected | Approval::Standing(_)) => denied(name, "the user rejected it"),
            Ok(Approval::Cancelled) => denied(name, "the question to the user was cancelled"),
            Ok(Approval::Unavailable) => nobody(name),
            Err(panic) => return Err(Stop::sealed(panicked(name, &panic))),
        }))
    }

    fn ask_guards(&self) -> Result<(), Stop> {
        let name = self.execution.name();
        for layer in self.layer.outermost_first() {
            let mut last = None;
            while let Some((number, guard)) = layer.guards.after(last) {
                match contained(|| guard(&self.execution)) {
                    Ok(Ok(())) => {}
                    Ok(Err(reason)) => return Err(Stop::open(denied(name, &reason))),
                    Err(panic) => return Err(Stop::sealed(panicked(name, &panic))),
                }
                last = Some(number);
            }
        }
        Ok(())
    }

    fn check_signal(&self) -> Result<(), Stop> {
        if self.execution.signal().is_cancelled() {
            return Err(Stop::open(aborted(&self.execution)));
        }
        Ok(())
    }
}

fn denied(name: &str, reason: &str) -> ToolError {
    ToolError::new(format!("permission to run tool {name} was denied: {reason}"))
}

fn nobody(name: &str) -> ToolError {
    denied(name, "it needs the user's approval, and nobody could be asked")
}

fn panicked(name: &str, panic: &str) -> ToolError {
    ToolError::new(format!("a policy on tool {name} panicked: {panic}"))
}

fn unknown_tool(layer: &Layer, name: &str) -> ToolError {
    let tools = layer.visible();
    let mut names: Vec<&str> = tools.iter().take(MAX_NAMES).map(|tool| tool.name()).collect();
    if tools.len() > MAX_NAMES {
        names.push("…");
    }
    let there_are = if names.is_empty() {
        "there are no tools"
    } else {
        "there are "
    };
    let names = names.join(", ");
    let name = arguments::excerpt(name, 100);
    ToolError::with_code(
        ErrorCode::UnknownTool,
        format!("unknown tool {name:?}; {there_are}{names}"),
    )
}
