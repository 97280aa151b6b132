//! The first page of the list of a large store.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::time::Instant;

use anyhow::ensure;
use serde::Serialize;
use weft_session::{FileStore, ListQuery, StoreOptions};

/// Rows of a page.
const PAGE: usize = 50;

/// Milliseconds from opening the store to its first page.
#[derive(Serialize)]
pub(crate) struct Figures {
    /// Nothing but the logs is there.
    cold_ms: f64,
    /// The index is there, and every log is as it says; the middle of several.
    warm_ms: f64,
    rows: usize,
}

/// Measures first without the index, which leaves it behind, and then with it.
pub(crate) fn measure(root: &Path) -> anyhow::Result<Figures> {
    match fs::remove_file(root.join("index")) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
        _ => {}
    }
    let (cold_ms, rows) = once(root)?;
    ensure!(root.join("index").exists(), "the first list left no index behind");
    let mut warm = Vec::new();
    for _ in 0..9 {
        warm.push(once(root)?.0);
    }
    warm.sort_unstable_by(f64::total_cmp);
    let warm_ms = warm[warm.len() / 2];
    Ok(Figures { cold_ms, warm_ms, rows })
}

fn once(root: &Path) -> anyhow::Result<(f64, usize)> {
    let started = Instant::now();
    let store = FileStore::new(root.to_owned(), StoreOptions::new("weft-probe"))?;
    let query = ListQuery {
        limit: PAGE,
        ..ListQuery::default()
    };
    let list = store.list(&query)?;
    let took = started.elapsed().as_secs_f64() * 1e3;
    ensure!(list.rows.len() == PAGE, "the page has {} rows", list.rows.len());
    ensure!(list.next.is_some(), "there is no second page");
    Ok((took, list.rows.len()))
}
