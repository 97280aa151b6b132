//! Every committed scenario: it is played against the real agent, and its log keeps every invariant.

#![cfg(unix)]

use std::io::Cursor;
use std::sync::Arc;

use weft_replay::{Compare, run_scenario};
use weft_session::{Invariant, Restore, read_lines};
use weft_tests::{program, scenarios};
use weft_tool_workflow::RecordInvariant;

#[tokio::test(flavor = "multi_thread")]
async fn every_scenario_comes_to_what_is_committed() {
    let mut failed = Vec::new();
    for folder in scenarios() {
        let report = run_scenario(&program(), &folder, Compare::Expect).await;
        failed.extend(
            report
                .failures
                .iter()
                .map(|failure| format!("{}: {failure}", report.name)),
        );
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// The L-check. A log file holds the logs of all sessions of its scenario, each with its header first.
#[test]
fn every_committed_log_keeps_every_invariant() {
    let mut checked = 0;
    for folder in scenarios() {
        let text = std::fs::read_to_string(folder.join("log.jsonl")).expect("every scenario has a log");
        let mut logs: Vec<String> = Vec::new();
        for line in text.lines() {
            if line.contains("\"createdAt\"") && !line.starts_with("{\"seq\"") {
                logs.push(String::new());
            }
            let log = logs.last_mut().expect("a log begins with its header");
            log.push_str(line);
            log.push('\n');
        }
        for log in logs {
            let (header, events) = read_lines(Cursor::new(log)).expect("every line reads");
            let invariants: Vec<Box<dyn Invariant>> = vec![Box::new(RecordInvariant::default())];
            let mut restore = Restore::new(header, invariants);
            for event in events {
                let taken = restore.push(&Arc::new(event));
                assert!(taken.is_ok(), "{}: {:?}", folder.display(), taken.err());
            }
            checked += 1;
        }
    }
    assert!(checked > 20, "only {checked} logs were checked");
}
