//! The workflow engine by itself: how fast its scripts run, and what shutting a worker in costs.

use anyhow::Context as _;
use serde_json::Value;

use super::Programs;
use super::figures::Figures;
use super::store::number;
use crate::command;

/// Two loops in the engine against the same in the bare JavaScript engine, and a worker's whole life with and without
/// its sandbox.
pub(crate) fn engine(programs: &Programs, figures: &mut Figures) -> anyhow::Result<()> {
    println!(
        "engine: loops in a worker against the bare JavaScript engine, median of 5; a worker's life, median of 50"
    );
    let text = command::capture(&mut command::program(&programs.engine), None)?;
    let found: Value =
        serde_json::from_str(&text).with_context(|| format!("weft-engine-probe printed no figures: {text}"))?;
    let of = |name: &str| number(&found, name);
    for (name, loop_name) in [("a loop that computes", "hot"), ("a loop that awaits", "promise")] {
        let (ours, bare) = (of(&format!("{loop_name}_ms"))?, of(&format!("{loop_name}_bare_ms"))?);
        let speed = bare / ours;
        let figure = format!("{ours:.0} ms, bare {bare:.0} ms: {speed:.2}");
        figures.judge(name, &figure, ">= 0.9", speed >= 0.9);
    }
    let (start, open) = (of("start_ms")?, of("start_open_ms")?);
    let figure = format!("{start:.2} ms, without {open:.2} ms");
    figures.judge("spawn, shut in, run, reap", &figure, "< 25 ms", start < 25.0);
    Ok(())
}
