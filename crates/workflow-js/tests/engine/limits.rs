//! Limits, each by its name.

use std::time::Duration;

use serde_json::{Value, json};

use super::harness::{Harness, config, error_of, shell_worker, value_of};

#[tokio::test]
async fn g75_the_cap_of_items_is_exact() {
    let harness = Harness::new();
    let count = |hook: &str, n: u32| match hook {
        "parallel" => format!("return (await parallel(Array.from({{ length: {n} }}, () => () => 1))).length"),
        _ => format!("return (await pipeline(Array.from({{ length: {n} }}), () => 1)).length"),
    };
    for hook in ["parallel", "pipeline"] {
        assert_eq!(value_of(&*harness.run(&count(hook, 4_096)).await), json!(4_096));
        let result = harness.run(&count(hook, 4_097)).await;
        let error = error_of(&result);
        assert!(
            error.contains("at most 4096 items (max_items_per_call), not 4097 [ITEM_CAP]"),
            "{error}"
        );
    }
}

#[tokio::test]
async fn g75_the_cap_of_agents_is_exact() {
    let harness = Harness::new();
    let count = |n: u32| format!("for (let i = 0; i < {n}; i++) await agent('x'); return 'all'");
    let result = harness.run(&count(1_000)).await;
    assert_eq!((value_of(&result), result.agents_started), (json!("all"), 1_000));
    let result = harness.run(&count(1_001)).await;
    assert!(
        error_of(&result)
            .contains("at most 1000 times (workflow.max_total_agents, or limits.agents of the call) [AGENT_CAP]"),
        "{:?}",
        result.error
    );
    assert_eq!(result.agents_started, 1_000);
}

#[tokio::test]
async fn a_request_may_lower_the_cap_of_agents() {
    let harness = Harness::new();
    let mut request = harness.request("await agent('a'); await agent('b'); await agent('c')");
    request.limits.agents = Some(2);
    let result = harness.run_request(request).await;
    assert!(error_of(&result).contains("at most 2 times"));
    assert_eq!(result.agents_started, 2);
}

#[tokio::test]
async fn a_fan_out_of_thousands_is_refused_loudly() {
    let harness = Harness::new();
    let script = "return await Promise.all(Array.from({ length: 5000 }, (_, i) => agent('item ' + i)))";
    let result = harness.run(script).await;
    assert!(error_of(&result).contains("[AGENT_CAP]"));
    assert!(harness.members.counts().most_at_work <= 16);
}

#[tokio::test]
async fn prompts_options_lines_phases_and_labels_have_limits() {
    let harness = Harness::new();
    let script = "const codes = [];
        for (const args of [['x'.repeat(2 << 20)], ['x', { schema: { type: 'object', description: 'y'.repeat(300 << 10) } }]]) {
          try { await agent(...args) } catch (e) { codes.push(e.message.match(/max_\\w+/)[0]) }
        }
        log('é'.repeat(8 << 10)); phase('p'.repeat(1000)); await agent('x', { phase: 'q'.repeat(1000) });
        return codes";
    let result = harness.run(script).await;
    assert_eq!(value_of(&result), json!(["max_prompt_bytes", "max_options_bytes"]));
    let seen = harness.seen();
    assert!(
        seen[1].len() <= 4 + (8 << 10) && seen[1].ends_with("é…"),
        "{}",
        seen[1].len()
    );
    assert_eq!(seen[2], format!("phase {}…", "p".repeat(255)));
    assert_eq!(
        seen[3],
        format!("agent 1 \"x\" in {:?}", format!("{}…", "q".repeat(255)))
    );
}

#[tokio::test]
async fn a_million_lines_are_bounded_and_counted() {
    let mut config = config();
    config.max_slice = Duration::from_secs(60);
    let harness = Harness::with(config);
    let result = harness
        .run("for (let i = 0; i < 1000000; i++) log('line ' + i); phase('P'); await agent('x'); return 1")
        .await;
    assert_eq!(value_of(&result), json!(1));
    let seen = harness.seen();
    assert!(seen.len() < 5_000, "{} observations", seen.len());
    assert!(
        seen.iter().any(|line| line.starts_with("log line 999999 (")),
        "the last line is shown"
    );
    let tail: Vec<_> = seen.iter().rev().take(4).rev().map(String::as_str).collect();
    assert_eq!(
        tail,
        [
            "phase P",
            "agent 1 \"x\" in \"P\"",
            "agent 1 Completed",
            "end Completed 1"
        ]
    );
    assert!(
        result.notes[0].contains("log lines were left out"),
        "{:?}",
        result.notes
    );
}

#[tokio::test]
async fn a_large_return_value_is_cut_and_its_size_told() {
    let harness = Harness::new();
    let result = harness.run("return 'z'.repeat(50 << 20)").await;
    assert!(result.value.as_ref().is_some_and(|value| value.get().len() <= 1 << 20));
    assert!(
        result.notes[0].contains("it has about 52428802 bytes of JSON"),
        "{:?}",
        result.notes
    );
}

#[tokio::test]
async fn the_heap_the_stack_and_the_address_space_are_limited() {
    let mut config = config();
    config.max_heap_bytes = 16 << 20;
    config.max_slice = Duration::from_secs(10);
    let harness = Harness::with(config.clone());
    let result = harness.run("const a = []; while (true) a.push({ a })").await;
    let error = error_of(&result);
    assert!(
        error.contains("out of memory") && error.contains("16777216 bytes (max_heap_bytes)"),
        "{error}"
    );
    let result = harness.run("const f = n => f(n + 1) + 1; return f(0)").await;
    let error = error_of(&result);
    assert!(
        error.contains("Maximum call stack") && error.contains("(max_stack_bytes)"),
        "{error}"
    );
    config.max_heap_bytes = 1 << 30;
    config.max_address_space_bytes = 300 << 20;
    let harness = Harness::with(config);
    let result = harness
        .run("const s = 'x'.repeat(120 << 20); log(s); log(s); return 1")
        .await;
    let error = error_of(&result);
    assert!(error.contains("max_address_space_bytes"), "{error}");
}

#[tokio::test]
async fn the_cpu_time_of_all_slices_is_limited() {
    let mut config = config();
    config.max_cpu = Duration::from_secs(1);
    let harness = Harness::with(config);
    let script = "for (;;) { for (let i = 0; i < 1e6; i++); await agent('x'); }";
    let mut request = harness.request(script);
    request.limits.agents = Some(1_000);
    let result = harness.run_request(request).await;
    let error = error_of(&result);
    assert_eq!(
        error,
        "the script used 1s of CPU time in all, which is the limit (max_cpu); the script's last call of agent() is at line 1"
    );
}

#[tokio::test]
async fn a_built_in_that_ignores_the_engine_ends_by_the_limit_of_a_slice() {
    let harness = Harness::new();
    let script = "\nawait agent('x');\nnew Array(2 ** 32 - 1).join('')";
    let result = harness.run(script).await;
    let expected = "the script used 300ms of CPU time in a built-in function that cannot be interrupted, which is the \
                    limit (max_slice); the script's last call of agent() is at line 2";
    assert_eq!(error_of(&result), expected);
}

#[tokio::test]
async fn the_time_of_a_run_is_limited() {
    let mut config = config();
    config.max_run_time = Duration::from_millis(100);
    let harness = Harness::with(config);
    let result = harness.run("await agent('hangs')").await;
    assert_eq!(
        error_of(&result),
        "the run took 100ms, which is the limit (max_run_time)"
    );
    assert_eq!(harness.seen()[2..], ["agent 1 Cancelled", "end Error 1"]);
}

#[tokio::test]
async fn a_member_that_takes_too_long_fails_and_the_run_goes_on() {
    let mut config = config();
    config.max_agent_time = Duration::from_millis(50);
    let harness = Harness::with(config);
    let result = harness
        .run("return [await agent('hangs'), await agent('deaf'), await agent('quick')]")
        .await;
    assert_eq!(value_of(&result), json!([Value::Null, Value::Null, "quick"]));
    assert_eq!(
        result.notes[0],
        "agent \"hangs\" failed: it took longer than allowed (max_agent_time)"
    );
    assert_eq!(harness.members.counts().disposals_done, 3);
}

#[tokio::test]
async fn a_start_that_takes_too_long_is_refused() {
    let mut config = config();
    config.max_agent_time = Duration::from_millis(50);
    let harness = Harness::with(config);
    let result = harness.run("await agent('start-hangs')").await;
    assert!(
        error_of(&result).contains("it took longer than 50ms to start (max_agent_time)"),
        "{:?}",
        result.error
    );
    assert_eq!(harness.members.counts().aborted_starts, 1);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn the_worker_process_is_limited_and_shut_in() {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let mut config = config();
    config.niceness = 7;
    config.worker = shell_worker("echo $$ > \"$0\"; exec \"$1\"");
    config.worker.args.push(folder.path().join("pid").into());
    config.worker.args.push(env!("CARGO_BIN_EXE_weft-worker-test").into());
    let harness = Harness::with(config);
    let run = harness.start("await agent('hangs')");
    let pid = std::fs::read_to_string(folder.path().join("pid")).expect("the worker has written it");
    let proc = |file: &str| std::fs::read_to_string(format!("/proc/{}/{file}", pid.trim())).expect("the worker lives");
    let soft_limit = |name: &str| {
        let limits = proc("limits");
        let line = limits
            .lines()
            .find_map(|line| line.strip_prefix(name))
            .expect("a known limit");
        line.split_whitespace().next().expect("a value").to_owned()
    };
    assert_eq!(soft_limit("Max core file size"), "0");
    assert_eq!(soft_limit("Max cpu time"), "600");
    assert_eq!(soft_limit("Max address space"), (1u64 << 30).to_string());
    let descriptors: u32 = soft_limit("Max open files").parse().expect("a number");
    let is_open = |fd: u32| std::fs::symlink_metadata(format!("/proc/{}/fd/{fd}", pid.trim())).is_ok();
    assert!(
        descriptors < 10 && (0..descriptors).all(is_open),
        "no descriptor is free"
    );
    assert!(proc("status").contains("NoNewPrivs:\t1"), "landlock is on");
    let stat = proc("stat");
    let fields: Vec<_> = stat
        .rsplit(')')
        .next()
        .expect("after the name")
        .split_whitespace()
        .collect();
    assert_eq!(fields[2], pid.trim(), "it leads a process group of its own");
    let own = rustix::process::getpriority_process(None).expect("this process has one");
    assert_eq!(fields[16], (own + 7).min(19).to_string(), "its niceness");
    run.cancel(None);
    harness.finish(&*run).await;
}
