//! What the script says, by way of its worker.

use futures::FutureExt;
use weft_workflow::{MemberRequest, ObservationKind};

use super::{Owner, Verdict};
use crate::host::connection::Connection;
use crate::host::member::see_through;
use crate::protocol::{Call, Finished, FromWorker, Reply, ToWorker};
use crate::text::{cut_bytes, cut_chars, cut_label};

impl Owner {
    /// Deals with a message of the worker; a verdict is its last.
    pub(super) fn on_message(&mut self, message: FromWorker) -> Option<Verdict> {
        match message {
            FromWorker::Phase { title } => {
                let title = cut_chars(&title, self.config.max_phase_chars);
                self.narrate(ObservationKind::Phase { title });
            }
            FromWorker::Log { message, left_out } => {
                let mut message = cut_bytes(&message, self.config.max_log_bytes);
                if left_out > 0 {
                    message.push_str(&format!(" ({left_out} lines before this one left out)"));
                }
                self.narrate(ObservationKind::Log { message });
            }
            FromWorker::Call(call) => {
                if let Err(problem) = self.check_call(&call) {
                    return Some(self.fail(format!("the worker process broke the protocol: {problem}")));
                }
                self.last_seq = call.seq;
                self.board.push(Call {
                    label: cut_label(&call.label),
                    phase: call.phase.map(|phase| cut_chars(&phase, self.config.max_phase_chars)),
                    ..call
                });
                self.start_members();
            }
            FromWorker::Finished(finished) => return Some(self.on_finished(finished)),
            FromWorker::Loaded | FromWorker::Rejected(_) => {
                return Some(self.fail("the worker process broke the protocol: it loaded its script twice".into()));
            }
        }
        None
    }

    /// After a cancel nothing is told any more.
    fn narrate(&self, kind: ObservationKind) {
        if self.shared.claim.is_open() {
            self.emit(kind);
        }
    }

    /// A worker keeps these rules by itself; one that has been broken into may not.
    fn check_call(&self, call: &Call) -> Result<(), String> {
        let Call { seq, .. } = call;
        if *seq <= self.last_seq || *seq > self.terms.max_total_agents {
            return Err(format!("a call has the number {seq}, after {}", self.last_seq));
        }
        if self.board.len() >= self.config.max_calls_in_flight {
            return Err(format!(
                "more than {} calls are in flight",
                self.config.max_calls_in_flight
            ));
        }
        Ok(())
    }

    fn on_finished(&self, finished: Finished) -> Verdict {
        match self.shared.claim.settle() {
            Ok(()) => Verdict::Finished(finished),
            Err(reason) => Verdict::Cancelled(reason),
        }
    }

    /// Starts as many members as there are slots for.
    pub(super) fn start_members(&mut self) {
        while !self.is_over()
            && let Some(call) = self.board.next()
        {
            let request = MemberRequest {
                run: self.shared.info.id.clone(),
                seq: call.seq,
                label: call.label,
                prompt: call.prompt,
                schema: call.schema,
                provider: call.provider.or_else(|| Some(self.terms.provider.clone())),
                model: call.model,
                cancel: self.over.child_token(),
            };
            let (members, events) = (self.members.clone(), self.sender.clone());
            let mut member = Box::pin(see_through(members, request, self.config.max_agent_time, events));
            // Polled here first, members that start at once start in the order of their calls.
            if member.as_mut().now_or_never().is_none() {
                self.tasks.spawn(member);
            }
        }
        // Members that are through with everything leave nothing behind.
        while self.tasks.try_join_next().is_some() {}
    }

    /// Answers a call of the script. One whose script is over is not missed.
    pub(super) fn reply(&self, worker: &Connection, seq: u64, reply: Reply) {
        if self.is_over() {
            return;
        }
        if let Err(error) = worker.send(&ToWorker::Reply { seq, reply }) {
            let reply = Reply::ResultFailed(error.to_string());
            // An error fits.
            drop(worker.send(&ToWorker::Reply { seq, reply }));
        }
    }
}
