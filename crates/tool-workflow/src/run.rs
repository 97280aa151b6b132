//! One call of the tool, from the capture to the end of the record.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde_json::Value;
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout_at};
use tokio_util::sync::CancellationToken;
use weft_agent::{AgentContext, HEARTBEAT, Spending, meta_of_run};
use weft_tools::{ToolError, ToolExecution};
use weft_types::RunStop;
use weft_workflow::{RunResult, SavedWorkflows, WorkflowEngine};

use crate::WorkflowToolConfig;
use crate::doings::Doings;
use crate::live::Live;
use crate::members::AgentMembers;
use crate::outcome::{self, Kept};
use crate::owned::OwnedRun;
use crate::plan::Plan;
use crate::progress::Renderer;
use crate::results::Results;

/// What a run is cancelled with when its call is. The model is told the same, whoever of engine and tool hears of it
/// first.
const CALL_CANCELLED: &str = "the call was cancelled";

/// Runs the workflow of one call. Dropping the future cancels the run.
pub(crate) async fn run(
    (engine, saved): (Arc<dyn WorkflowEngine>, Option<Arc<dyn SavedWorkflows>>),
    config: WorkflowToolConfig,
    call_title: String,
    execution: ToolExecution,
) -> Result<Value, ToolError> {
    let caller = caller_of(&execution, config.max_depth)?;
    let mut plan = Plan::of(&execution, caller.session.id(), &*engine, saved).await?;
    let spending = Spending::within(&caller.lent);
    let doings = Arc::new(Doings::new(Arc::clone(&spending), config.stall_after));
    let (run_name, results) = (Arc::<OnceLock<String>>::default(), Arc::<Results>::default());
    let members = AgentMembers {
        parent: Arc::clone(&caller),
        call: execution.root_call_id().clone(),
        doings: Arc::clone(&doings),
        run_name: Arc::clone(&run_name),
        spending: Arc::clone(&spending),
        results: Arc::clone(&results),
        max_stall: config.max_stall,
    };
    let request = plan.request(members, &execution, caller.depth);
    let ledger = plan.ledger().cloned();
    let answered = ledger.as_ref().map(|ledger| Arc::clone(ledger.answered()));
    let renderer = Renderer {
        call_title,
        shown_members: config.shown_members,
        answered: answered.unwrap_or_default(),
    };
    let live = Live::new(execution.clone(), renderer, doings);
    // Before the start: an engine may emit everything in there, the run's end included.
    let capture = live.capture(engine.observations(), config.display);
    let started = engine.start(request);
    let mut run = OwnedRun::new(started.map_err(|error| ToolError::new(error.message()))?);
    // It is accepted once.
    drop(run_name.set(run.info().meta.name.clone()));
    plan.begin(&run.info(), run.origin());
    if !execution.is_nested() {
        live.record(Arc::clone(&caller.session), &run.info());
    }
    capture.select(&run.info());
    let (result, since) = settle(&run, &live, execution.signal(), config.teardown).await;
    let quiet = run.quiesce(capture, since + config.teardown).await;
    if let (Some(result), true) = (&result, quiet) {
        live.end_record(result.stop);
    }
    let stop = result.as_ref().map_or(RunStop::Cancelled, |result| result.stop);
    let kept = ledger.map(|ledger| Kept::of(&ledger, stop)).unwrap_or_default();
    let unpriced = run.limits().cost_cents.map(|_| spending.unpriced(&*caller.models));
    let kept = kept.and(
        results.told(),
        (unpriced.into_iter().flatten())
            .map(|model| format!("the limit on costs did not count {model}: its price is not known")),
    );
    drop(plan);
    let info = run.info();
    let outcome = match result {
        Some(result) if result.stop == RunStop::Cancelled && execution.signal().is_cancelled() => {
            Err(outcome::cancelled(&info.id, CALL_CANCELLED, &result.notes, &kept))
        }
        Some(result) => outcome::of_result(&info, &result, &kept, config.result_chars),
        None => Err(outcome::cancelled(&info.id, CALL_CANCELLED, &[], &kept)),
    };
    outcome.map_err(|error| error.with_meta(meta_of_run(&info.id)))
}

fn caller_of(execution: &ToolExecution, max_depth: u32) -> Result<Arc<AgentContext>, ToolError> {
    let Some(caller) = execution.extension::<AgentContext>() else {
        return Err(ToolError::new(
            "cannot run a workflow without a calling agent, whose children its members are",
        ));
    };
    if caller.depth >= max_depth {
        return Err(ToolError::new(format!(
            "cannot run a workflow here: its members would stand {} levels below the user's agent, \
             the limit agent.max_depth is {max_depth}; do the work yourself",
            caller.depth + 1
        )));
    }
    Ok(caller)
}

/// Waits for the result, keeping the card alive, and says when the run began to end. After a cancel the wait is
/// bounded, for engines that ignore it; then there is no result.
async fn settle(
    run: &OwnedRun,
    live: &Live,
    signal: &CancellationToken,
    limit: Duration,
) -> (Option<Arc<RunResult>>, Instant) {
    let mut result = run.result();
    let mut beat = interval_at(Instant::now() + HEARTBEAT, HEARTBEAT);
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            biased;
            result = &mut result => return (Some(result), Instant::now()),
            () = signal.cancelled() => break,
            _now = beat.tick() => live.beat(),
        }
    }
    let since = Instant::now();
    run.cancel(CALL_CANCELLED);
    let result = timeout_at(since + limit, result).await;
    if result.is_err() {
        tracing::warn!(run = %run.info().id, ?limit, "a cancelled workflow run did not settle in time");
    }
    (result.ok(), since)
}
