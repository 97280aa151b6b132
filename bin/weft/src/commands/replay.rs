//! `weft replay`: plays scenarios against the real agent and compares what they leave behind.

use std::io::Write as _;
use std::process::ExitCode;

use anyhow::Context as _;
use weft_replay::{Compare, Report, run_scenario};

use crate::args::ReplayArgs;

/// Plays all of them and says of each how it went.
pub(crate) async fn run(args: ReplayArgs) -> anyhow::Result<ExitCode> {
    let weft = std::env::current_exe().context("failed to find the weft program itself")?;
    let compare = if args.bless { Compare::Bless } else { Compare::Expect };
    let mut failed = 0;
    for scenario in &args.scenarios {
        let report = run_scenario(&weft, scenario, compare).await;
        failed += usize::from(!report.is_ok());
        tell(&report)?;
    }
    let passed = args.scenarios.len() - failed;
    writeln!(std::io::stdout(), "{passed} passed, {failed} failed")?;
    Ok(if failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn tell(report: &Report) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "{} {}",
        if report.is_ok() { "ok    " } else { "FAILED" },
        report.name
    )?;
    for failure in &report.failures {
        writeln!(out, "{failure}")?;
    }
    for file in &report.written {
        writeln!(out, "       wrote {}", file.display())?;
    }
    Ok(())
}
