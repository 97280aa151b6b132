//! What the protocol's methods do: the sessions of one connection.

mod load;
mod setup;
mod stored;
mod table;

use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use futures::future::join_all;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::CancellationToken;
use weft_agent::Agent;
use weft_tools::{ClientFilesHandle, Extensions};
use weft_types::SessionId;

use crate::client_files::EditorFiles;
use crate::outbox::Outbox;
use crate::permission::Permissions;
use crate::projector::{ClientProfile, Mode, Note, Projector, Spending};
use crate::prompt::prompt_content;
use crate::refusal::RequestError;
use crate::sdk::{Client, schema};
use crate::selectors::{Choice, Form, Selectors, parse_mode};
use crate::session::{OpenSession, Prompt};
use crate::ticker::Ticker;
use crate::view::SessionView;
use crate::{AcpOptions, NewSession, SessionSetup};
use setup::{check_folders, mcp_servers};
use table::Table;

pub(crate) use load::LoadRequest;
pub(crate) use setup::Setup;

/// The method that needs nothing from the user: the configured provider and its key are used.
const AUTH_METHOD: &str = "configured";

/// How long requests that were given up may take to be answered.
const LAST_WORDS: Duration = Duration::from_millis(100);

/// One connection.
#[derive(Debug)]
pub(crate) struct Bridge {
    options: AcpOptions,
    outbox: Outbox,
    ticker: Ticker,
    profile: OnceLock<ClientProfile>,
    table: Mutex<Table>,
    /// The requests that are being worked on.
    tasks: Mutex<JoinSet<()>>,
    /// Fires when the connection begins to end.
    ending: CancellationToken,
    /// Fires when its grace is over.
    expired: CancellationToken,
}

impl Bridge {
    pub(crate) fn new(options: AcpOptions, outbox: Outbox, ticker: Ticker) -> Self {
        Self {
            options,
            outbox,
            ticker,
            profile: OnceLock::new(),
            table: Mutex::default(),
            tasks: Mutex::default(),
            ending: CancellationToken::new(),
            expired: CancellationToken::new(),
        }
    }

    pub(crate) fn options(&self) -> &AcpOptions {
        &self.options
    }

    /// Fires when the connection begins to end.
    pub(crate) fn ending(&self) -> &CancellationToken {
        &self.ending
    }

    /// Fires when nothing is waited for any more.
    pub(crate) fn expired(&self) -> &CancellationToken {
        &self.expired
    }

    /// Whether requests are still taken up.
    pub(crate) fn accepts(&self) -> Result<(), RequestError> {
        if self.ending.is_cancelled() {
            return Err(closing());
        }
        Ok(())
    }

    /// Runs the work of one request; it must end soon after [`expired`](Self::expired) fires.
    pub(crate) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = self.tasks();
        while tasks.try_join_next().is_some() {}
        tasks.spawn(work);
    }

    pub(crate) fn initialize(&self, request: &schema::InitializeRequest) -> schema::InitializeResponse {
        let profile = ClientProfile::of(&request.client_capabilities);
        self.profile.get_or_init(|| profile);
        let info = &self.options.info;
        let sessions = schema::SessionCapabilities::new()
            .list(schema::SessionListCapabilities::new())
            .resume(schema::SessionResumeCapabilities::new())
            .close(schema::SessionCloseCapabilities::new())
            .delete(schema::SessionDeleteCapabilities::new())
            .additional_directories(schema::SessionAdditionalDirectoriesCapabilities::new());
        let prompts = schema::PromptCapabilities::new().image(true).embedded_context(true);
        let capabilities = schema::AgentCapabilities::new()
            .load_session(true)
            .prompt_capabilities(prompts)
            .mcp_capabilities(schema::McpCapabilities::new().http(true))
            .session_capabilities(sessions);
        let configured = schema::AuthMethodAgent::new(AUTH_METHOD, "Use the configured provider")
            .description("Nothing to do here: the key is the one of the configured model provider.".to_owned());
        schema::InitializeResponse::new(request.protocol_version)
            .agent_capabilities(capabilities)
            .auth_methods(vec![schema::AuthMethod::Agent(configured)])
            .agent_info(schema::Implementation::new(info.name.clone(), info.version.clone()).title(info.title.clone()))
    }

    pub(crate) fn authenticate(
        &self,
        request: &schema::AuthenticateRequest,
    ) -> Result<schema::AuthenticateResponse, RequestError> {
        if &*request.method_id.0 != AUTH_METHOD {
            return Err(RequestError::invalid(format!("the one `methodId` is `{AUTH_METHOD}`")));
        }
        Ok(schema::AuthenticateResponse::new())
    }

    pub(crate) async fn new_session(
        self: &Arc<Self>,
        request: schema::NewSessionRequest,
        client: Client,
    ) -> Result<Setup, RequestError> {
        check_folders(&request.cwd, &request.additional_directories).await?;
        let servers = mcp_servers(request.mcp_servers)?;
        let id = weft_session::mint_session_id();
        let _place = self.reserve(id.clone())?;
        let session: Arc<str> = id.as_str().into();
        let approver = Arc::new(Permissions::new(Arc::clone(&session), client.clone()));
        let asked = SessionSetup {
            cwd: request.cwd,
            additional_directories: request.additional_directories,
            mcp_servers: servers,
            lent: self.lent(&session, client),
            approver: Arc::clone(&approver) as _,
        };
        let opening = NewSession {
            id: id.clone(),
            setup: asked,
        };
        let agent = self.options.agents.open(opening).await?;
        let spending = Spending::new(Arc::clone(agent.models()));
        let view = self.view(Arc::clone(&session), &agent, spending, Vec::new());
        let setup = Setup::new(session, &agent);
        approver.look_at(agent.id(), Arc::downgrade(&view));
        self.publish(OpenSession::new(id, agent, view)).await?;
        Ok(setup)
    }

    fn view(&self, session: Arc<str>, agent: &Agent, spending: Spending, notes: Vec<Note>) -> Arc<SessionView> {
        let (tools, cwd) = (agent.tools().clone(), agent.cwd().to_owned());
        let projector = Projector::new(tools, cwd, self.profile(), Mode::Live)
            .with_spending(spending)
            .with_selectors(Selectors::of(agent))
            .with_notes(notes);
        let interval = self.options.progress.min_interval();
        SessionView::new(session, projector, self.outbox.clone(), self.ticker.clone(), interval)
    }

    /// What the client lends to a session's tools.
    fn lent(&self, session: &Arc<str>, client: Client) -> Extensions {
        let files = EditorFiles::offered(Arc::clone(session), client, self.profile(), self.options.file_timeout);
        match files {
            Some(files) => Extensions::new().with(Arc::new(ClientFilesHandle(Arc::new(files)))),
            None => Extensions::new(),
        }
    }

    fn profile(&self) -> ClientProfile {
        self.profile.get().copied().unwrap_or_default()
    }

    pub(crate) fn prompt(&self, request: schema::PromptRequest) -> Result<Prompt, RequestError> {
        self.accepts()?;
        let session = self.find(&request.session_id)?;
        session.prompt(prompt_content(request.prompt, self.options.image_bytes)?)
    }

    pub(crate) fn set_mode(
        &self,
        request: &schema::SetSessionModeRequest,
    ) -> Result<schema::SetSessionModeResponse, RequestError> {
        self.accepts()?;
        let session = self.find(&request.session_id)?;
        let mode = parse_mode("modeId", &request.mode_id.0)?;
        session.choose(Choice::Mode(mode), Form::Modes)?;
        Ok(schema::SetSessionModeResponse::new())
    }

    /// Answers all options, whatever was chosen.
    pub(crate) fn set_config_option(
        &self,
        request: &schema::SetSessionConfigOptionRequest,
    ) -> Result<schema::SetSessionConfigOptionResponse, RequestError> {
        self.accepts()?;
        let session = self.find(&request.session_id)?;
        let choice = Selectors::of(session.agent()).parse(&request.config_id.0, &request.value)?;
        session.choose(choice, Form::Options)?;
        let options = Selectors::of(session.agent()).options();
        Ok(schema::SetSessionConfigOptionResponse::new(options))
    }

    /// Cancels a session's turn, or a subagent that the client was told of; unknown and idle sessions are left alone.
    pub(crate) fn cancel(&self, id: &schema::SessionId) {
        if let Ok(session) = self.find(id) {
            session.cancel();
            return;
        }
        let id = SessionId::new(&*id.0);
        let open: Vec<_> = self.table().open.values().cloned().collect();
        open.iter().any(|session| session.cancel_child(&id));
    }

    /// Closes a session; resolves when it is quiet and its prompt answered.
    pub(crate) async fn close(&self, id: &schema::SessionId) -> Result<schema::CloseSessionResponse, RequestError> {
        if !self.put_away(&SessionId::new(&*id.0)).await {
            return Err(RequestError::UnknownSession(id.clone()));
        }
        Ok(schema::CloseSessionResponse::new())
    }

    fn find(&self, id: &schema::SessionId) -> Result<Arc<OpenSession>, RequestError> {
        let session = self.table().open.get(&SessionId::new(&*id.0)).cloned();
        session.ok_or_else(|| RequestError::UnknownSession(id.clone()))
    }

    /// Ends the connection: closes all sessions side by side, lets requests that were read be answered, all
    /// until `deadline`, and then gives up what is left. Gives the sessions that were not quiet by then.
    pub(crate) async fn end(&self, deadline: Instant) -> Vec<SessionId> {
        self.ending.cancel();
        let mut tasks = std::mem::take(&mut *self.tasks());
        let open = self.take_sessions(false);
        let (answered, mut unfinished) = tokio::join!(
            timeout_at(deadline, join_all_of(&mut tasks)),
            close_until(&open, deadline)
        );
        // A request that was answered meanwhile may have opened one more.
        let late = self.take_sessions(true);
        unfinished.extend(close_until(&late, deadline).await);
        self.expired.cancel();
        if answered.is_err() {
            // All they have to do now is to answer; one that does not even do that is aborted.
            timeout(LAST_WORDS, join_all_of(&mut tasks)).await.ok();
        }
        unfinished
    }

    /// Takes all open sessions away; with `closed`, no more can be opened.
    fn take_sessions(&self, closed: bool) -> Vec<Arc<OpenSession>> {
        let mut table = self.table();
        table.closed = closed;
        table.open.drain().map(|(_, session)| session).collect()
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tasks(&self) -> MutexGuard<'_, JoinSet<()>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) fn closing() -> RequestError {
    RequestError::Internal("the connection is closing".into())
}

async fn join_all_of(tasks: &mut JoinSet<()>) {
    while tasks.join_next().await.is_some() {}
}

/// Closes sessions side by side; gives those that were not quiet in time.
async fn close_until(sessions: &[Arc<OpenSession>], deadline: Instant) -> Vec<SessionId> {
    let close = async |session: &Arc<OpenSession>| {
        let late = timeout_at(deadline, session.close()).await.is_err();
        late.then(|| session.id().clone())
    };
    join_all(sessions.iter().map(close))
        .await
        .into_iter()
        .flatten()
        .collect()
}
