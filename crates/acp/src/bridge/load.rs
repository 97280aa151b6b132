//! `session/load` and `session/resume`: taking up a session that is stored.
//!
//! A [`Load`] holds the session's place on the connection from the moment its request is dispatched, and the store's lock
//! from its first step on. The history is read page by page on a blocking thread, each event once: the store checks it,
//! and a load shows it, as fast as the client takes it. Then the agent starts, and only then is the session one that can
//! be prompted.
//!
//! A session that is open on this very connection is taken up anew: it is closed first, once it is certain that the
//! request means it, so that the folders and servers of the request count. One with a prompt in flight is left alone.
//!
//! The end of the request, of the session or of the connection ends a load between two pages; place and lock are free
//! before it is answered.

use std::convert::Infallible;
use std::future::{Future, pending};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use weft_agent::Chosen;
use weft_session::{Opening, StoreError};
use weft_types::{Origin, SessionHeader, SessionId};

use super::setup::{Setup, check_folders, is_same_folder, mcp_servers};
use super::stored::blocking;
use super::table::Place;
use super::{Bridge, closing};
use crate::permission::Permissions;
use crate::projector::{Mode, Note, Projector, Spending};
use crate::refusal::RequestError;
use crate::replay::Replay;
use crate::sdk::{Client, schema};
use crate::session::OpenSession;
use crate::{LoadSession, Loading, McpServer, SessionSetup};

/// What the two methods ask for.
#[derive(Debug)]
pub(crate) struct LoadRequest {
    id: SessionId,
    cwd: PathBuf,
    servers: Vec<schema::McpServer>,
    further_folders: Vec<PathBuf>,
    /// Whether the client wants to be shown what happened before.
    replay: bool,
}

impl From<schema::LoadSessionRequest> for LoadRequest {
    fn from(request: schema::LoadSessionRequest) -> Self {
        Self {
            id: SessionId::new(&*request.session_id.0),
            cwd: request.cwd,
            servers: request.mcp_servers,
            further_folders: request.additional_directories,
            replay: true,
        }
    }
}

impl From<schema::ResumeSessionRequest> for LoadRequest {
    fn from(request: schema::ResumeSessionRequest) -> Self {
        Self {
            id: SessionId::new(&*request.session_id.0),
            cwd: request.cwd,
            servers: request.mcp_servers,
            further_folders: request.additional_directories,
            replay: false,
        }
    }
}

/// A load that was taken up; it must be answered.
#[derive(Debug)]
pub(crate) struct Load {
    place: Place,
    request: LoadRequest,
    servers: Vec<McpServer>,
    client: Client,
}

impl Bridge {
    /// Takes up a load. Its place is taken before this returns, so that a second one is refused and a close reaches it.
    pub(crate) fn load(self: &Arc<Self>, mut request: LoadRequest, client: Client) -> Result<Load, RequestError> {
        self.accepts()?;
        let servers = mcp_servers(std::mem::take(&mut request.servers))?;
        let place = self.reserve(request.id.clone())?;
        Ok(Load {
            place,
            request,
            servers,
            client,
        })
    }
}

impl Load {
    /// Opens the session and has `answer` say how it went: everything of the replay has been enqueued by then.
    pub(crate) async fn run(
        self,
        withdrawn: impl Future<Output = ()>,
        answer: impl FnOnce(Result<Setup, RequestError>),
    ) {
        let withdrawal = async {
            withdrawn.await;
            self.place.stop().cancel();
            pending::<Infallible>().await
        };
        let mut outcome = tokio::select! {
            outcome = self.open() => outcome,
            never = withdrawal => match never {},
        };
        if let Ok(setup) = &mut outcome
            && self.request.replay
        {
            // They are part of what is shown, and nothing of that comes behind the answer.
            self.place.bridge().outbox.update(&setup.take_commands());
        }
        answer(outcome);
        // The place is given up only now: who waits for it is answered later.
    }

    async fn open(&self) -> Result<Setup, RequestError> {
        let bridge = self.place.bridge();
        if self.place.is_open() {
            self.check(&self.stored_header().await?).await?;
            self.go_on()?;
            self.place.make_way().await;
        }
        let (store, id) = (bridge.options.sessions.clone(), self.place.id().clone());
        let opening = blocking(move || store.open(&id)).await??;
        self.go_on()?;
        let header = opening.header().clone();
        let cwd = self.check(&header).await?;

        let session: Arc<str> = self.place.id().as_str().into();
        let approver = Arc::new(Permissions::new(Arc::clone(&session), self.client.clone()));
        let asked = SessionSetup {
            cwd: cwd.clone(),
            additional_directories: self.request.further_folders.clone(),
            mcp_servers: self.servers.clone(),
            lent: bridge.lent(&session, self.client.clone()),
            approver: Arc::clone(&approver) as _,
        };
        let stored = LoadSession { header, setup: asked };
        let Loading {
            presenter,
            models,
            start,
        } = tokio::select! {
            loading = bridge.options.agents.load(stored) => loading?,
            () = self.place.stop().cancelled() => return Err(self.stopped()),
        };
        let spending = Spending::new(models);
        let replay = self.request.replay.then(|| {
            let projector = Projector::new(presenter, cwd, bridge.profile(), Mode::Replay);
            let projector = projector.with_spending(spending.clone());
            Replay::new(Arc::clone(&session), projector, bridge.outbox.clone())
        });
        let history = History {
            opening,
            replay,
            chosen: Chosen::default(),
            spending,
        };
        let mut history = self.read(history).await?;
        let told = history.show_notes();
        let History {
            opening,
            replay,
            chosen,
            spending,
        } = history;
        let mut notes = replay.map(Replay::into_notes).unwrap_or_default();
        let told = told.into_iter().enumerate();
        notes.extend(told.map(|(at, text)| Note::of_setup(at + 1, text)));
        let stored = blocking(move || opening.finish()).await??;
        self.go_on()?;

        let agent = start(stored, chosen);
        let view = bridge.view(Arc::clone(&session), &agent, spending, notes);
        let setup = Setup::new(session, &agent);
        approver.look_at(agent.id(), Arc::downgrade(&view));
        let id = self.place.id().clone();
        bridge.publish(OpenSession::new(id, agent, view)).await?;
        Ok(setup)
    }

    /// What the store knows of the session, whoever has it open.
    async fn stored_header(&self) -> Result<SessionHeader, RequestError> {
        let (store, id) = (self.place.bridge().options.sessions.clone(), self.place.id().clone());
        let stored = blocking(move || store.read(&id)).await??;
        Ok(stored.header().clone())
    }

    /// Whether this is a session for clients, and the one that this client means. Gives its folder.
    async fn check(&self, header: &SessionHeader) -> Result<PathBuf, RequestError> {
        let id = self.place.id();
        if header.origin != Origin::User {
            let of = header
                .parent
                .as_ref()
                .map_or_else(String::new, |parent| format!(" of session {parent}"));
            return Err(RequestError::invalid(format!(
                "session {id} is that of a subagent{of}; load the session that started it"
            )));
        }
        check_folders(&self.request.cwd, &self.request.further_folders).await?;
        let stored = Path::new(&header.cwd);
        if !is_same_folder(&self.request.cwd, stored).await {
            return Err(RequestError::invalid(format!(
                "session {id} works in {}, not in `cwd` {}; load it with its own folder, which must be there",
                stored.display(),
                self.request.cwd.display()
            )));
        }
        Ok(stored.to_owned())
    }

    /// Reads the history to its end, no faster than the client takes it.
    async fn read(&self, mut history: History) -> Result<History, RequestError> {
        loop {
            let stop = self.place.stop().clone();
            let (read, is_over) = blocking(move || {
                let is_over = history.read(&stop);
                (history, is_over)
            })
            .await?;
            self.go_on()?;
            if is_over? {
                return Ok(read);
            }
            history = read;
            self.wait_for_room().await?;
        }
    }

    async fn wait_for_room(&self) -> Result<(), RequestError> {
        let Bridge { outbox, options, .. } = &**self.place.bridge();
        tokio::select! {
            room = timeout(options.stall_timeout.get(), outbox.room()) => if room.is_err() {
                tracing::warn!(limit = "acp.stall_timeout", "the client does not read a replay; the connection is over");
                outbox.give_up();
                return Err(closing());
            },
            () = self.place.stop().cancelled() => {}
        }
        self.go_on()
    }

    fn go_on(&self) -> Result<(), RequestError> {
        if self.place.stop().is_cancelled() {
            return Err(self.stopped());
        }
        Ok(())
    }

    fn stopped(&self) -> RequestError {
        self.place.bridge().accepts().err().unwrap_or(RequestError::Cancelled)
    }
}

/// What is left to read, and to show as it is read.
struct History {
    opening: Opening,
    /// Absent for a client that only wants to go on.
    replay: Option<Replay>,
    /// What was chosen and spent in what has been read.
    chosen: Chosen,
    spending: Spending,
}

impl History {
    /// Reads until there is no more, which it says, or the client has enough to read for now.
    fn read(&mut self, stop: &CancellationToken) -> Result<bool, StoreError> {
        while !stop.is_cancelled() {
            let page = self.opening.next_page()?;
            if page.is_empty() {
                return Ok(true);
            }
            for event in &page {
                self.chosen.push(&event.body);
                // What is told of it is the replay's to tell.
                drop(self.spending.event(&event.body));
            }
            if let Some(replay) = &mut self.replay {
                replay.show(&page);
                if !replay.has_room() {
                    break;
                }
            }
        }
        Ok(false)
    }

    /// Shows what the user should know of the log, or gives it where nothing may be shown yet.
    fn show_notes(&mut self) -> Vec<String> {
        let notes: Vec<String> = self.opening.notes().iter().map(ToString::to_string).collect();
        match &mut self.replay {
            Some(replay) if !notes.is_empty() => {
                let texts: String = notes.iter().map(|note| format!("[{note}]\n\n")).collect();
                replay.say(&texts);
                Vec::new()
            }
            _ => notes,
        }
    }
}
