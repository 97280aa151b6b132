//! `weft workflow runs`.

use std::io::{self, Write as _};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context as _;
use serde_json::{Value, json};
use weft_session::{FileStore, ListQuery, SessionRow, SystemClock};
use weft_types::{Origin, RunStatus, RunView, WorkflowRuns};

use crate::args::WorkflowRunsArgs;
use crate::config::{Config, Home, Overrides};
use crate::store;
use crate::terminal::one_line;

/// How many sessions of one page of the list are looked at.
const PAGE: usize = 100;

pub(super) fn run(args: &WorkflowRunsArgs) -> anyhow::Result<ExitCode> {
    let home = Home::find()?;
    let config = Config::load(&home.config, &Overrides::default())?;
    let store = store::open(&config, home.sessions, "weft workflow runs", Arc::new(SystemClock))?;
    let found = find(&store, args)?;
    let mut out = io::stdout().lock();
    if args.json {
        let runs: Vec<Value> = found.iter().map(Found::document).collect();
        writeln!(out, "{}", json!({ "runs": runs }))?;
        return Ok(ExitCode::SUCCESS);
    }
    for found in &found {
        writeln!(out, "{}", found.line())?;
    }
    if found.is_empty() {
        let _unread = writeln!(
            io::stderr(),
            "no workflow runs of this folder; --all shows those of every folder"
        );
    }
    Ok(ExitCode::SUCCESS)
}

/// A run, and the session that it belongs to.
struct Found {
    run: RunView,
    status: RunStatus,
    session: SessionRow,
}

/// The latest runs, those of the session that was used last first.
fn find(store: &FileStore, args: &WorkflowRunsArgs) -> anyhow::Result<Vec<Found>> {
    let cwd = std::env::current_dir().context("failed to find the current folder")?;
    let mut query = ListQuery {
        cwd: (!args.all).then_some(cwd),
        origin: Some(Origin::User),
        limit: PAGE,
        ..ListQuery::default()
    };
    let mut found = Vec::new();
    while found.len() < args.limit {
        let list = store.list(&query)?;
        for session in list.rows {
            found.extend(runs_of(store, &session)?);
        }
        match list.next {
            Some(next) => query.cursor = Some(next),
            None => break,
        }
    }
    found.truncate(args.limit);
    Ok(found)
}

/// The runs of a session, the latest first. Most sessions have none, which is cheap to tell.
fn runs_of(store: &FileStore, session: &SessionRow) -> anyhow::Result<Vec<Found>> {
    if store.journals(&session.id)?.is_empty() {
        return Ok(Vec::new());
    }
    let mut fold = WorkflowRuns::new();
    store.each_event(&session.id, |event| {
        // A log that is read from its start on has no gaps.
        let _contiguous = fold.append(event);
    })?;
    let mut runs: Vec<Found> = (fold.runs())
        .map(|run| Found {
            status: match run.status {
                // Nobody is at work on a session that nobody has open.
                RunStatus::Running if !session.running => RunStatus::Interrupted,
                status => status,
            },
            run,
            session: session.clone(),
        })
        .collect();
    runs.reverse();
    Ok(runs)
}

impl Found {
    fn counts(&self) -> (usize, usize) {
        let members = self.run.phases.iter().flat_map(|phase| &phase.members);
        let completed = members.clone().filter(|member| member.status == RunStatus::Completed);
        (completed.count(), members.count())
    }

    fn line(&self) -> String {
        let (completed, all) = self.counts();
        let status = word(self.status);
        let RunView { run_id, name, .. } = &self.run;
        format!("{run_id}  {status:11}  {completed}/{all} agents  {}", one_line(name))
    }

    fn document(&self) -> Value {
        let (completed, all) = self.counts();
        json!({
            "run": self.run.run_id,
            "name": self.run.name,
            "status": word(self.status),
            "agentsStarted": all,
            "agentsCompleted": completed,
            "session": self.session.id,
            "updatedAt": self.session.updated_at,
        })
    }
}

fn word(status: RunStatus) -> &'static str {
    match status {
        RunStatus::Running => "running",
        RunStatus::Completed => "completed",
        RunStatus::Failed => "failed",
        RunStatus::Cancelled => "cancelled",
        RunStatus::Interrupted => "interrupted",
    }
}
