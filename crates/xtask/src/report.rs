//! Runs gates one after the other, each under a heading, and sums up at the end.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use crate::gates::{Gate, Outcome};
use crate::workspace::Workspace;

/// Runs the gates in order, stops at the first that fails, and prints a summary that names it.
pub(crate) fn run(workspace: &Workspace, gates: &[Gate]) -> ExitCode {
    let mut done = Vec::new();
    let mut failed = false;
    for &gate in gates {
        println!("\n==> {}", gate.name());
        let start = Instant::now();
        let verdict = strict(gate.run(workspace), in_ci());
        if let Err(error) = &verdict {
            println!("FAILED {}: {error:#}", gate.name());
            failed = true;
        }
        done.push((gate, verdict, start.elapsed()));
        if failed {
            break;
        }
    }
    println!("\n==> summary");
    for (gate, verdict, took) in &done {
        println!("{}", line(*gate, verdict, *took));
    }
    for gate in &gates[done.len()..] {
        println!("{:9}{}", "not run", gate.name());
    }
    ExitCode::from(u8::from(failed))
}

/// On CI nothing may be left out: there a skipped gate has failed.
fn strict(verdict: anyhow::Result<Outcome>, in_ci: bool) -> anyhow::Result<Outcome> {
    match verdict {
        Ok(Outcome::Skipped(reason)) if in_ci => Err(anyhow::anyhow!("skipped, which CI does not allow: {reason}")),
        other => other,
    }
}

/// Whether we run on CI, which says so with `CI=true`.
fn in_ci() -> bool {
    std::env::var_os("CI").is_some_and(|value| value == "true")
}

fn line(gate: Gate, verdict: &anyhow::Result<Outcome>, took: Duration) -> String {
    let (word, reason) = match verdict {
        Ok(Outcome::Passed) => ("ok", String::new()),
        Ok(Outcome::Skipped(reason)) => ("SKIPPED", format!(": {reason}")),
        Err(error) => ("FAILED", format!(": {error:#}")),
    };
    format!("{word:9}{} ({:.1} s){reason}", gate.name(), took.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skipped_gate_fails_on_ci_only() {
        let skipped = || Ok(Outcome::Skipped("no registry".into()));
        assert!(matches!(strict(skipped(), false), Ok(Outcome::Skipped(_))));
        let error = strict(skipped(), true).expect_err("CI must not skip");
        assert!(error.to_string().contains("no registry"));
        assert!(matches!(strict(Ok(Outcome::Passed), true), Ok(Outcome::Passed)));
    }

    #[test]
    fn the_summary_names_a_failed_gate_and_its_reason() {
        let verdict = Err(anyhow::anyhow!("3 files").context("too long"));
        let line = line(Gate::FileSize, &verdict, Duration::from_millis(1250));
        assert_eq!(line, "FAILED   file-size (1.2 s): too long: 3 files");
    }
}
