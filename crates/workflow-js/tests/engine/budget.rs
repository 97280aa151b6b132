//! What a run may use, and what its script sees of that.

use serde_json::{Value, json};
use weft_types::RunStop;
use weft_workflow::{Limit, RunLimits, RunResult, WorkflowEngine};

use super::harness::{Harness, config, error_of, value_of};

fn tokens(tokens: u64) -> RunLimits {
    RunLimits {
        tokens: Some(tokens),
        ..RunLimits::default()
    }
}

async fn run_within(harness: &Harness, limits: RunLimits, script: &str) -> std::sync::Arc<RunResult> {
    let mut request = harness.request(script);
    request.limits = limits;
    harness.run_request(request).await
}

#[tokio::test]
async fn a_script_sees_what_is_spent_after_each_answer() {
    let harness = Harness::new();
    let script = "const seen = [budget.total, budget.spent(), budget.remaining()];
        await agent('tokens:30');
        await parallel([() => agent('tokens:5'), () => agent('fails tokens:7')]);
        return [...seen, budget.spent(), budget.remaining()];";
    let result = run_within(&harness, tokens(100), script).await;
    assert_eq!(value_of(&result), json!([100, 0, 100, 42, 58]));
}

#[tokio::test]
async fn without_a_limit_the_total_is_null_and_what_remains_has_no_end() {
    let harness = Harness::new();
    let script = "await agent('tokens:30'); return [budget.total, budget.spent(), budget.remaining() === Infinity]";
    assert_eq!(value_of(&*harness.run(script).await), json!([null, 30, true]));
}

#[tokio::test]
async fn a_script_cannot_change_its_budget() {
    let harness = Harness::new();
    let script = "try { budget.total = 1e9 } catch {} try { budget.spent = () => 0 } catch {}
        await agent('tokens:30');
        return [budget.total, budget.spent(), budget.remaining()]";
    let result = run_within(&harness, tokens(20), script).await;
    assert_eq!(value_of(&result), json!([20, 30, 0]));
}

#[tokio::test]
async fn no_call_is_taken_up_once_the_tokens_are_spent() {
    let harness = Harness::new();
    let result = run_within(&harness, tokens(50), "for (;;) await agent('tokens:20');").await;
    assert_eq!((result.stop, result.exhausted), (RunStop::Error, Some(Limit::Tokens)));
    let error = error_of(&result);
    assert!(
        error.contains("have used 60 tokens, and the limit is 50 (max_tokens) [BUDGET]"),
        "{error}"
    );
    assert_eq!(harness.members.requests().len(), 3);
}

#[tokio::test]
async fn calls_in_line_are_refused_as_well_and_those_at_work_finish() {
    let harness = Harness::new();
    let limits = RunLimits {
        concurrency: Some(2),
        ..tokens(50)
    };
    let script = "const calls = [1, 2, 3, 4].map(() => agent('tokens:60').then((text) => text, (error) => error.code));
        return await Promise.all(calls);";
    let result = run_within(&harness, limits, script).await;
    // Either of the first two may have answered when the slot of the other was free.
    let value = value_of(&result);
    let answered = value
        .as_array()
        .expect("a list")
        .iter()
        .filter(|answer| **answer == "tokens:60")
        .count();
    assert!((1..=2).contains(&answered), "{value}");
    assert_eq!(value[3], "BUDGET");
    assert_eq!(
        (result.stop, result.exhausted),
        (RunStop::Completed, None),
        "the script has dealt with it"
    );
}

#[tokio::test]
async fn an_exhausted_budget_is_fatal_to_combinators() {
    let harness = Harness::new();
    let script = "await agent('tokens:60'); return await parallel([() => agent('x')]);";
    let result = run_within(&harness, tokens(50), script).await;
    assert_eq!(result.exhausted, Some(Limit::Tokens), "{:?}", result.value);
}

#[tokio::test]
async fn costs_are_limited_in_cents() {
    let harness = Harness::new();
    let limits = RunLimits {
        cost_cents: Some(25),
        ..RunLimits::default()
    };
    let result = run_within(&harness, limits, "for (;;) await agent('cents:15');").await;
    assert_eq!(result.exhausted, Some(Limit::Cost));
    let error = error_of(&result);
    assert!(
        error.contains("have cost 0.30 US dollars, and the limit is 25 cents (max_cost_cents)"),
        "{error}"
    );
}

#[tokio::test]
async fn too_many_agents_and_too_much_time_are_named() {
    let harness = Harness::new();
    let limits = |limits: RunLimits| limits;
    let agents = limits(RunLimits {
        agents: Some(1),
        ..RunLimits::default()
    });
    let result = run_within(&harness, agents, "await agent('a'); await agent('b');").await;
    assert_eq!(result.exhausted, Some(Limit::Agents));
    let own_error = "await agent('a'); try { await agent('b') } catch {} throw new Error('mine')";
    let result = run_within(&harness, agents, own_error).await;
    assert_eq!((result.stop, result.exhausted), (RunStop::Error, None));
    let seconds = limits(RunLimits {
        seconds: Some(1),
        ..RunLimits::default()
    });
    let result = run_within(&harness, seconds, "await agent('hangs')").await;
    assert_eq!(result.exhausted, Some(Limit::Time));
    assert_eq!(error_of(&result), "the run took 1s, which is the limit (max_run_time)");
}

#[tokio::test]
async fn a_run_is_held_to_the_lower_of_what_is_asked_and_what_is_configured() {
    let mut config = config();
    (config.max_total_agents, config.max_tokens, config.max_cost_cents) = (10, 1_000, 500);
    let harness = Harness::with(config);
    let mut request = harness.request("return [budget.total, args]");
    request.args = Some(Value::Null);
    request.limits = RunLimits {
        agents: Some(3),
        tokens: Some(400),
        ..RunLimits::default()
    };
    let run = harness.engine.start(request).expect("lower limits");
    let held_to = run.limits();
    assert_eq!(
        (held_to.agents, held_to.tokens, held_to.cost_cents),
        (Some(3), Some(400), Some(500))
    );
    assert_eq!(value_of(&*harness.finish(&*run).await), json!([400, null]));
    let mut request = harness.request("return 1");
    request.limits = tokens(1_001);
    assert_eq!(
        harness.refuse(request).message(),
        "limits.tokens is 1001, expected 1 to 1000: a run may only lower what is configured (max_tokens)"
    );
    let mut request = harness.request("return 1");
    request.limits.concurrency = Some(17);
    let error = harness.refuse(request);
    assert!(
        error.message().contains("limits.concurrency is 17, expected 1 to 16"),
        "{error}"
    );
}
