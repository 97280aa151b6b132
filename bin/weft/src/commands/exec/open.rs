//! The session that a turn runs in: a fresh one, or one that is taken up again.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use weft_acp::{AgentFactory as _, LoadSession, NewSession, SessionSetup};
use weft_agent::{Agent, Chosen};
use weft_session::{FileStore, ListQuery, Opening, Session, mint_session_id};
use weft_tools::Extensions;
use weft_types::{Origin, SessionId};

use super::Job;
use super::denier::Denier;
use crate::commands::sessions;

/// The agent of the session that was asked for.
pub(super) async fn agent(job: &Job<'_>, denier: &Arc<Denier>) -> anyhow::Result<Agent> {
    match chosen(job).await? {
        Some(id) => again(job, denier, id).await,
        None => fresh(job, denier).await,
    }
}

/// The stored session that was asked for, if one was.
async fn chosen(job: &Job<'_>) -> anyhow::Result<Option<SessionId>> {
    let store = job.store.clone();
    if let Some(given) = job.args.session.clone() {
        return blocking(move || sessions::find(&store, &given).map(Some)).await;
    }
    if job.args.continue_last {
        let folder = folder(job)?;
        return blocking(move || last_of(&store, &folder).map(Some)).await;
    }
    Ok(None)
}

fn last_of(store: &FileStore, folder: &Path) -> anyhow::Result<SessionId> {
    let query = ListQuery {
        cwd: Some(folder.to_owned()),
        origin: Some(Origin::User),
        limit: 1,
        ..ListQuery::default()
    };
    let last = store.list(&query)?.rows.into_iter().next();
    let last = last.with_context(|| {
        format!(
            "there is no session in {} to go on with\nhint: weft exec without --continue starts one",
            folder.display()
        )
    })?;
    Ok(last.id)
}

/// The folder of a fresh session: it is there, and its name is without links.
fn folder(job: &Job<'_>) -> anyhow::Result<PathBuf> {
    named(job.args.cd.as_deref().unwrap_or(Path::new(".")))
}

/// What this command asks for with a session that works in `cwd`.
fn setup(job: &Job<'_>, denier: &Arc<Denier>, cwd: PathBuf) -> anyhow::Result<SessionSetup> {
    let further: anyhow::Result<_> = job.args.add_dir.iter().map(|folder| named(folder)).collect();
    Ok(SessionSetup {
        cwd,
        additional_directories: further?,
        mcp_servers: Vec::new(),
        lent: Extensions::new(),
        approver: Arc::clone(denier) as _,
    })
}

fn named(given: &Path) -> anyhow::Result<PathBuf> {
    let folder = (given.canonicalize()).with_context(|| format!("failed to find the folder {}", given.display()))?;
    anyhow::ensure!(
        folder.is_dir(),
        "failed to work in {}: it is not a folder",
        folder.display()
    );
    Ok(folder)
}

async fn fresh(job: &Job<'_>, denier: &Arc<Denier>) -> anyhow::Result<Agent> {
    let session = NewSession {
        id: mint_session_id(),
        setup: setup(job, denier, folder(job)?)?,
    };
    Ok(job.agents.open(session).await?)
}

async fn again(job: &Job<'_>, denier: &Arc<Denier>, id: SessionId) -> anyhow::Result<Agent> {
    let store = job.store.clone();
    let opening = blocking(move || sessions::open(&store, &id)).await?;
    let header = opening.header().clone();
    let id = &header.id;
    anyhow::ensure!(
        header.origin == Origin::User,
        "session {id} is that of a subagent; go on with the session that started it"
    );
    let cwd = PathBuf::from(&header.cwd);
    anyhow::ensure!(
        cwd.is_dir(),
        "session {id} works in {}, which is not there\nhint: weft sessions import --cwd DIR moves an export of it",
        cwd.display()
    );
    let setup = setup(job, denier, cwd)?;
    let stored = LoadSession { header, setup };
    let loading = job.agents.load(stored).await?;
    let (session, chosen) = blocking(move || read(opening)).await?;
    // What may be done without a question is this command's to say, and so is a model that it names.
    let chosen = Chosen {
        mode: None,
        model: chosen
            .model
            .filter(|_| job.args.model.as_deref().is_none_or(str::is_empty)),
        rules: chosen.rules,
    };
    Ok((loading.start)(session, chosen))
}

/// Reads what there is, says what is to be known of it, and goes on from there with what was chosen in it.
fn read(mut opening: Opening) -> anyhow::Result<(Arc<Session>, Chosen)> {
    let mut chosen = Chosen::default();
    loop {
        let page = opening.next_page()?;
        if page.is_empty() {
            break;
        }
        page.iter().for_each(|event| chosen.push(&event.body));
    }
    for note in opening.notes() {
        crate::complain(&note.to_string());
    }
    Ok((opening.finish()?, chosen))
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> anyhow::Result<T> + Send + 'static) -> anyhow::Result<T> {
    tokio::task::spawn_blocking(work)
        .await
        .context("failed to read the store")?
}
