//! The store by itself: appends that are durable where an agent waits for it, and the list of many sessions.

use std::path::Path;

use anyhow::Context as _;
use serde_json::Value;

use super::Programs;
use super::figures::Figures;
use crate::command;

/// Sessions of the listed store.
const SESSIONS: &str = "10000";

/// Runs the program that measures parts of weft; its figures.
pub(super) fn probe(programs: &Programs, job: &str, arguments: &[&Path]) -> anyhow::Result<Value> {
    let mut probe = command::program(&programs.parts);
    let text = command::capture(probe.arg(job).args(arguments), None)?;
    serde_json::from_str(&text).with_context(|| format!("weft-probe {job} printed no figures: {text}"))
}

/// One of the figures.
pub(super) fn number(figures: &Value, name: &str) -> anyhow::Result<f64> {
    figures[name]
        .as_f64()
        .with_context(|| format!("there is no figure {name}"))
}

/// A typical turn through the store, against the same bytes to a plain file with as many syncs.
pub(crate) fn append(programs: &Programs, figures: &mut Figures) -> anyhow::Result<()> {
    println!("append: a turn through the store, durable at its check points; against the same bytes to a plain file");
    let folder = tempfile::tempdir_in(&programs.scratch)?;
    let found = probe(programs, "append", &[folder.path(), Path::new("300")])?;
    let of = |name| number(&found, name);
    figures.tell(
        "a turn",
        &format!(
            "{} events, {} bytes, {} syncs",
            of("events")?,
            of("bytes")?,
            of("syncs")?
        ),
    );
    for (way, store, plain, budget) in [
        ("with the syncs", "store_us", "plain_us", 1.5),
        ("without syncs", "store_without_sync_us", "plain_without_sync_us", 0.0),
    ] {
        let (store, plain) = (of(store)?, of(plain)?);
        let figure = format!("{store:.0} µs against {plain:.0} µs: {:.2}", store / plain);
        if budget > 0.0 {
            figures.judge(way, &figure, &format!("<= {budget}"), store / plain <= budget);
        } else {
            figures.tell(way, &figure);
        }
    }
    Ok(())
}

/// One page of a store of many sessions, with and without its index.
pub(crate) fn list(programs: &Programs, figures: &mut Figures) -> anyhow::Result<()> {
    println!("list: open a store of {SESSIONS} sessions and list one page");
    let folder = tempfile::tempdir_in(&programs.scratch)?;
    let root = folder.path().join("sessions");
    probe(programs, "fill-many", &[&root, Path::new(SESSIONS)])?;
    let found = probe(programs, "list", &[&root])?;
    let (cold, warm) = (number(&found, "cold_ms")?, number(&found, "warm_ms")?);
    figures.judge("with the index", &format!("{warm:.1} ms"), "< 100 ms", warm < 100.0);
    figures.tell("without: every log is looked at", &format!("{cold:.1} ms"));
    Ok(())
}
