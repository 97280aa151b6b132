//! What the script says, by way of its worker.
//!
//! A worker keeps all rules and limits by itself. One that has been broken into may not, so that they are kept here
//! once more.

use futures::FutureExt;
use weft_workflow::{Limit, MemberRequest, ObservationKind};

use super::{Owner, Verdict};
use crate::EngineConfig;
use crate::host::connection::Connection;
use crate::host::member::see_through;
use crate::protocol::{Call, Finished, FromWorker, Outcome, Reply, ToWorker};
use crate::text::{cut_bytes, cut_chars, cut_label};

const MAX_ERROR_BYTES: usize = 16 * 1024;
const MAX_NOTES: usize = 32;
const MAX_NOTE_BYTES: usize = 1024;
/// What a value that was cut may be longer than its limit, since its brackets are closed.
const CLOSING_BYTES: usize = 256;

impl Owner {
    /// Deals with a message of the worker; a verdict is its last.
    pub(super) fn on_message(&mut self, message: FromWorker, worker: &Connection) -> Option<Verdict> {
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
                    return Some(self.fail(broken(&problem)));
                }
                self.last_seq = call.seq;
                self.last_line = call.line;
                self.board.push(Call {
                    label: cut_label(&call.label),
                    phase: call.phase.map(|phase| cut_chars(&phase, self.config.max_phase_chars)),
                    ..call
                });
                self.start_members(worker);
            }
            FromWorker::Saved { name } => {
                if let Err(problem) = self.look_up_saved(name) {
                    return Some(self.fail(broken(&problem)));
                }
            }
            FromWorker::Finished(finished) => return Some(self.on_finished(finished)),
            FromWorker::Loaded(_) | FromWorker::Rejected(_) => {
                return Some(self.fail(broken("it loaded its script twice")));
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

    fn check_call(&self, call: &Call) -> Result<(), String> {
        let (seq, last, in_flight) = (call.seq, self.last_seq, self.config.max_calls_in_flight);
        if seq <= last || seq > self.max_total_agents() {
            return Err(format!("a call has the number {seq}, after {last}"));
        }
        if self.board.len() >= in_flight {
            return Err(format!("more than {in_flight} calls are in flight"));
        }
        check_sizes(call, &self.config)
    }

    fn on_finished(&self, mut finished: Finished) -> Verdict {
        let limit = self.config.max_result_bytes + CLOSING_BYTES;
        match &mut finished.outcome {
            Outcome::Returned(value) if value.get().len() > limit => {
                return self.fail(broken("the value of its script is larger than allowed"));
            }
            Outcome::Cancelled => return self.fail(broken("it stopped without being told")),
            Outcome::Failed(error) => *error = cut_bytes(error, MAX_ERROR_BYTES),
            Outcome::Returned(_) => {}
        }
        cut_list(&mut finished.unsent, cut_label);
        cut_list(&mut finished.notes, |note| cut_bytes(note, MAX_NOTE_BYTES));
        self.claim(Verdict::Finished(finished))
    }

    /// Starts as many members as there are slots for; none once what the run may spend is spent.
    pub(super) fn start_members(&mut self, worker: &Connection) {
        while !self.is_over()
            && !self.refuse_exhausted(worker)
            && let Some(call) = self.board.next()
        {
            let request = MemberRequest {
                run: self.shared.info.id.clone(),
                seq: call.seq,
                label: call.label,
                phase: call.phase,
                prompt: call.prompt,
                // It was parsed before.
                schema: call.schema.and_then(|schema| serde_json::from_str(schema.get()).ok()),
                provider: call.provider.or_else(|| Some(self.terms.provider.clone())),
                model: call.model,
                tools: call.tools,
                cancel: self.over.child_token(),
            };
            let (members, events) = (self.members.clone(), self.sender.clone());
            let mut member = see_through(members, request, self.config.max_agent_time, events).boxed();
            // A start that takes no time is told here: such members start in the order of their calls.
            if (&mut member).now_or_never().is_none() {
                self.tasks.spawn(member);
            }
        }
        // Members that are through with everything leave nothing behind.
        while self.tasks.try_join_next().is_some() {}
    }

    /// Refuses the calls in line if the run has spent what it may.
    fn refuse_exhausted(&mut self, worker: &Connection) -> bool {
        let Some(limit) = self.members.spent().exhausts(&self.terms.limits) else {
            return false;
        };
        for seq in self.board.refuse_queue() {
            self.refused.get_or_insert(limit);
            self.reply(worker, seq, Reply::Exhausted(self.exhaustion(limit)));
        }
        true
    }

    fn exhaustion(&self, limit: Limit) -> String {
        let (limits, spent) = (&self.terms.limits, self.members.spent());
        match limit {
            Limit::Cost => format!(
                "the agents of this run have cost {:.2} US dollars, and the limit is {} cents (max_cost_cents)",
                spent.cost_usd,
                limits.cost_cents.unwrap_or_default()
            ),
            _ => format!(
                "the agents of this run have used {} tokens, and the limit is {} (max_tokens)",
                spent.tokens,
                limits.tokens.unwrap_or_default()
            ),
        }
    }

    /// Answers a call of the script. One whose script is over is not missed.
    pub(super) fn reply(&self, worker: &Connection, seq: u64, reply: Reply) {
        if self.is_over() {
            return;
        }
        let spent = self.members.spent().tokens;
        if let Err(error) = worker.send(&ToWorker::Reply { seq, reply, spent }) {
            let reply = Reply::ResultFailed(error.to_string());
            // An error fits.
            drop(worker.send(&ToWorker::Reply { seq, reply, spent }));
        }
    }
}

fn check_sizes(call: &Call, config: &EngineConfig) -> Result<(), String> {
    let schema = call.schema.as_ref().map_or("{}", |schema| schema.get());
    let names = [&call.provider, &call.model];
    let names = names.into_iter().flatten().chain(call.tools.iter().flatten());
    let names: usize = names.map(String::len).sum();
    if call.prompt.len() > config.max_prompt_bytes || names + schema.len() > config.max_options_bytes {
        return Err("a call is larger than allowed".into());
    }
    match serde_json::from_str::<serde_json::Value>(schema) {
        Ok(_) => Ok(()),
        Err(error) => Err(format!("the schema of a call cannot be read: {error}")),
    }
}

fn cut_list(texts: &mut Vec<String>, cut: impl Fn(&str) -> String) {
    texts.truncate(MAX_NOTES);
    for text in texts {
        *text = cut(text);
    }
}

/// The error of a run whose worker broke a rule.
pub(super) fn broken(problem: &str) -> String {
    format!("the worker process broke the protocol: {problem}")
}

/// The error of a run whose worker died, for this cause. What the script was at died with it, but for its last call.
pub(super) fn died(cause: &str, last_line: Option<usize>) -> String {
    match last_line {
        Some(line) => format!("{cause}; the script's last call of agent() is at line {line}"),
        None => cause.to_owned(),
    }
}
