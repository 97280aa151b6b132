//! The one task that owns a run: it decides, emits and ends everything of the run.
//!
//! A run goes through four stages: the script plays; what is left of it winds down; the run settles, which is its
//! last observation; and its remains are cleared away.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;
use weft_types::MemberOutcome;
use weft_workflow::{
    Disposal, Limit, Members, ObservationKind, RunResult, SavedWorkflows, StartRequest, WorkflowObservation,
    WorkflowObservers,
};

use super::board::{Active, Board};
use super::connection::{Connection, Incoming};
use super::launch::Launched;
use super::member::{Events, Judgement, MemberEvent, MemberEventKind, judge};
use super::prepare::Terms;
use super::run::Shared;
use crate::EngineConfig;
use crate::protocol::{Args, Finished, FromWorker, Go, Outcome, Reply, Saved, ToWorker};
use crate::text::name_list;

mod saved;
mod script;

/// How long a worker that has reported its end may take to exit.
const EXIT_TIME: Duration = Duration::from_secs(1);
/// How many failed members are told in notes.
const MAX_FAILURE_NOTES: usize = 5;

/// The owner of a run.
pub(super) struct Owner {
    config: Arc<EngineConfig>,
    shared: Shared,
    observers: WorkflowObservers,
    terms: Terms,
    members: Arc<dyn Members>,
    /// The caller's own way to cancel.
    caller: CancellationToken,
    /// Fires when the script is over: nothing is started any more, and members stop.
    over: CancellationToken,
    board: Board,
    /// The number of the last call.
    last_seq: u64,
    /// The line of the script that made it.
    last_line: Option<usize>,
    tasks: JoinSet<()>,
    /// The workflows that scripts may run by name.
    saved: Option<Arc<dyn SavedWorkflows>>,
    /// The one that the script waits for, if it waits for any.
    lookups: JoinSet<Saved>,
    sender: Events,
    events: mpsc::UnboundedReceiver<MemberEvent>,
    notes: Vec<String>,
    failures: usize,
    /// The labels of members that were stopped because the script was over.
    stopped: Vec<String>,
    /// The limit on what is spent for which calls were refused.
    refused: Option<Limit>,
    /// The limit that ended the run.
    exhausted: Option<Limit>,
}

/// How the script ended.
enum Verdict {
    /// The worker reported it.
    Finished(Finished),
    /// A cancel came first, for this reason.
    Cancelled(String),
    /// There is no report: the worker died or broke a rule.
    Failed(String),
}

impl Owner {
    pub(super) fn new(
        config: Arc<EngineConfig>,
        shared: Shared,
        observers: WorkflowObservers,
        terms: Terms,
        request: StartRequest,
    ) -> Self {
        let (sender, events) = mpsc::unbounded_channel();
        let slots = terms.limits.concurrency.and_then(|slots| usize::try_from(slots).ok());
        let slots = slots.unwrap_or(config.max_concurrent_agents);
        Self {
            shared,
            observers,
            terms,
            members: request.members,
            caller: request.cancel,
            over: CancellationToken::new(),
            board: Board::new(slots),
            last_seq: 0,
            last_line: None,
            tasks: JoinSet::new(),
            saved: request.saved,
            lookups: JoinSet::new(),
            sender,
            events,
            notes: Vec::new(),
            failures: 0,
            stopped: Vec::new(),
            refused: None,
            exhausted: None,
            config,
        }
    }

    /// Tells that the run exists. Nothing else is emitted before, and nothing by anybody else.
    pub(super) fn announce(&self) {
        self.emit(ObservationKind::Start);
    }

    /// Sees the run through to its last trace.
    pub(super) async fn run(mut self, worker: Launched) {
        let mut worker = Connection::new(worker, &self.config);
        tokio::select! {
            () = self.shared.claim.attended() => {}
            () = self.caller.cancelled() => {}
        }
        let verdict = self.play(&mut worker).await;
        self.over.cancel();
        let (result, forced) = self.wind_down(verdict, &mut worker).await;
        self.settle(result);
        self.clear_away(worker, forced).await;
    }

    fn emit(&self, kind: ObservationKind) {
        let run = Arc::clone(&self.shared.info);
        let scope = Some(&self.shared.info.id);
        self.observers.emit(scope, &WorkflowObservation { run, kind });
    }

    /// Runs the script until its outcome is claimed.
    async fn play(&mut self, worker: &mut Connection) -> Verdict {
        if self.caller.is_cancelled() {
            self.shared.claim.cancel("it was cancelled before it began");
        }
        let go = ToWorker::Go(Go {
            args: std::mem::replace(&mut self.terms.args, Args::Absent),
            max_total_agents: self.max_total_agents(),
            max_tokens: self.terms.limits.tokens,
            origin: self.shared.origin,
        });
        let began = Instant::now();
        let limit = self.time_limit();
        let claim = Arc::clone(&self.shared.claim);
        if claim.is_open()
            && let Err(error) = worker.send(&go)
        {
            return self.fail(format!("the script could not be started: {error}"));
        }
        loop {
            tokio::select! {
                biased;
                () = claim.cancelled.cancelled() => return self.fail("it was cancelled".into()),
                () = self.caller.cancelled() => claim.cancel("it was cancelled by its caller"),
                () = sleep_until(began + limit.unwrap_or_default()), if limit.is_some() => {
                    return self.fail_by_time(limit.unwrap_or_default());
                }
                Some(event) = self.events.recv() => self.on_member(event, worker),
                Some(found) = self.lookups.join_next() => Self::answer_saved(found, worker),
                incoming = worker.next() => match incoming {
                    Incoming::Message(message) => if let Some(verdict) = self.on_message(message, worker) {
                        return verdict;
                    }
                    Incoming::Over(why) => return self.fail_by_death(worker, why).await,
                },
            }
        }
    }

    /// Claims the run for a verdict. A cancel that was first stands.
    fn claim(&self, verdict: Verdict) -> Verdict {
        match self.shared.claim.settle() {
            Ok(()) => verdict,
            Err(reason) => Verdict::Cancelled(reason),
        }
    }

    fn fail(&self, error: String) -> Verdict {
        self.claim(Verdict::Failed(error))
    }

    fn max_total_agents(&self) -> u64 {
        self.terms.limits.agents.unwrap_or(self.config.max_total_agents)
    }

    /// How long the run may take, to the fraction of a second if that is the engine's own limit.
    fn time_limit(&self) -> Option<Duration> {
        let own = Some(self.config.max_run_time).filter(|limit| !limit.is_zero());
        let asked = self.terms.limits.seconds.map(Duration::from_secs);
        match (own, asked) {
            (Some(own), Some(asked)) => Some(own.min(asked)),
            (own, asked) => own.or(asked),
        }
    }

    fn fail_by_time(&mut self, limit: Duration) -> Verdict {
        let verdict = self.fail(format!("the run took {limit:?}, which is the limit (max_run_time)"));
        if matches!(verdict, Verdict::Failed(_)) {
            self.exhausted = Some(Limit::Time);
        }
        verdict
    }

    /// The worker is gone. Its first sign of that closes the run to whatever else might come from it.
    async fn fail_by_death(&self, worker: &mut Connection, why: Option<String>) -> Verdict {
        if let Some(why) = why {
            return self.fail(script::broken(&why));
        }
        match self.fail(String::new()) {
            Verdict::Failed(_) => {
                let cause = worker.cause_of_death(&self.config).await;
                Verdict::Failed(script::died(&cause, self.last_line))
            }
            verdict => verdict,
        }
    }

    /// Whether a member's end counts as forced by the run's own.
    fn is_over(&self) -> bool {
        self.over.is_cancelled() || !self.shared.claim.is_open()
    }

    fn on_member(&mut self, event: MemberEvent, worker: &Connection) {
        let seq = event.seq;
        match event.kind {
            MemberEventKind::Started(child_id) => {
                // One that came up too late is on its way out already, and nobody is to hear of it.
                if !self.is_over()
                    && let Some(observation) = self.board.announce(seq, child_id)
                {
                    self.emit(observation);
                }
            }
            MemberEventKind::Lost(why) => {
                if let Some(active) = self.board.release(seq) {
                    if why.is_none() {
                        self.stopped.push(active.label);
                    }
                    self.reply(worker, seq, Reply::StartFailed(why.unwrap_or_default()));
                }
            }
            MemberEventKind::Ended(end) => {
                let over = self.is_over();
                if let Some(active) = self.board.release(seq) {
                    let Judgement {
                        outcome,
                        reply,
                        problem,
                    } = judge(end, active.has_schema, over);
                    self.note_end(&active, outcome, problem);
                    self.emit_end(seq, active, outcome);
                    self.reply(worker, seq, reply);
                }
            }
        }
        self.start_members(worker);
    }

    fn note_end(&mut self, active: &Active, outcome: MemberOutcome, problem: Option<String>) {
        match (outcome, problem) {
            (MemberOutcome::Cancelled, _) => self.stopped.push(active.label.clone()),
            (MemberOutcome::Failed, Some(problem)) => {
                self.failures += 1;
                if self.failures <= MAX_FAILURE_NOTES {
                    self.notes.push(format!("agent {:?} failed: {problem}", active.label));
                }
            }
            _ => {}
        }
    }

    fn emit_end(&self, seq: u64, active: Active, outcome: MemberOutcome) {
        let Active {
            label,
            phase,
            child_id: Some(child_id),
            ..
        } = active
        else {
            return;
        };
        self.emit(ObservationKind::AgentEnd {
            seq,
            label,
            phase,
            child_id,
            outcome,
        });
    }

    /// Lets the script's remains end: members, and after a cancel the worker. Tells whether some had to be given up.
    async fn wind_down(&mut self, verdict: Verdict, worker: &mut Connection) -> (RunResult, bool) {
        let began = Instant::now();
        let deadline = began + self.config.dispose_grace;
        let never_started = self.board.clear_queue();
        let mut worker_open = matches!(verdict, Verdict::Cancelled(_));
        if worker_open {
            // A cancel is a small frame.
            drop(worker.send(&ToWorker::Cancel));
        } else if matches!(verdict, Verdict::Failed(_)) {
            worker.kill();
        }
        let mut reported = None;
        let forced = loop {
            if self.board.is_idle() && !worker_open {
                break false;
            }
            tokio::select! {
                biased;
                () = sleep_until(deadline) => break true,
                () = sleep_until(began + self.config.cancel_grace), if worker_open => {
                    worker.kill();
                    worker_open = false;
                }
                Some(event) = self.events.recv() => self.on_member(event, worker),
                incoming = worker.next(), if worker_open => match incoming {
                    Incoming::Message(FromWorker::Finished(finished)) => {
                        reported = Some(finished.accepted);
                        worker_open = false;
                    }
                    Incoming::Message(_) => {}
                    Incoming::Over(_) => worker_open = false,
                },
            }
        };
        for (seq, active) in self.board.release_all() {
            self.stopped.push(active.label.clone());
            self.emit_end(seq, active, MemberOutcome::Cancelled);
        }
        (self.result(verdict, reported, never_started), forced)
    }

    fn result(&mut self, verdict: Verdict, reported: Option<u64>, never_started: Vec<String>) -> RunResult {
        let known = |accepted: u64| accepted.clamp(self.board.begun(), self.max_total_agents());
        let mut result = match verdict {
            Verdict::Cancelled(reason) => RunResult::cancelled(&reason, known(reported.unwrap_or(0))),
            Verdict::Failed(error) => RunResult::failed(error, known(0)),
            Verdict::Finished(finished) => {
                let accepted = known(finished.accepted);
                let result = match finished.outcome {
                    Outcome::Returned(value) => {
                        let unsent = finished.unsent_total.saturating_sub(finished.unsent.len() as u64);
                        self.stopped.extend(never_started.into_iter().chain(finished.unsent));
                        self.note_strays(unsent);
                        RunResult::completed(value, accepted)
                    }
                    Outcome::Failed(error) => {
                        self.exhausted = self.limit_of(finished.code.as_deref());
                        RunResult::failed(error, accepted)
                    }
                    Outcome::Cancelled => RunResult::failed("the script was stopped", accepted),
                };
                self.notes.extend(finished.notes);
                result
            }
        };
        if let Some(more) = self.failures.checked_sub(MAX_FAILURE_NOTES).filter(|more| *more > 0) {
            self.notes.push(format!("{more} more agents failed"));
        }
        result.notes = std::mem::take(&mut self.notes);
        result.exhausted = self.exhausted;
        result
    }

    /// The limit that an error of the hooks with this code tells of.
    fn limit_of(&self, code: Option<&str>) -> Option<Limit> {
        match code {
            Some("AGENT_CAP") => Some(Limit::Agents),
            Some("BUDGET") => self.refused,
            _ => None,
        }
    }

    /// Tells of members that the script left behind when it returned.
    fn note_strays(&mut self, more: u64) {
        let total = self.stopped.len() as u64 + more;
        if total > 0 {
            let names = name_list(&self.stopped, total);
            self.notes.push(match total {
                1 => format!("1 agent was stopped because the script returned and had not awaited it: {names}"),
                _ => {
                    format!("{total} agents were stopped because the script returned and had not awaited them: {names}")
                }
            });
        }
    }

    /// The run's last observation, then its result.
    fn settle(&mut self, result: RunResult) {
        self.emit(ObservationKind::End {
            stop: result.stop,
            error: result.error.clone(),
            agents_started: result.agents_started,
        });
        self.shared.result.send_replace(Some(Arc::new(result)));
    }

    /// Waits until the worker has exited and every member is disposed of. Once somebody wants to be rid of the run,
    /// the grace limits that.
    async fn clear_away(mut self, mut worker: Connection, forced: bool) {
        let patience = if forced {
            Duration::ZERO
        } else {
            EXIT_TIME.min(self.config.dispose_grace)
        };
        let claim = Arc::clone(&self.shared.claim);
        let quiet = async {
            worker.exit(patience).await;
            while self.tasks.join_next().await.is_some() {}
        };
        let disposal = tokio::select! {
            biased;
            () = quiet => Disposal::Quiet,
            () = claim.out_of_patience(self.config.dispose_grace) => Disposal::GraceExpired,
        };
        self.tasks.abort_all();
        drop(worker);
        self.shared.disposal.send_replace(Some(disposal));
    }
}
