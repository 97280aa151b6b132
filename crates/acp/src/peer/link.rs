//! The process of one agent and the connection with it, from its start until nothing of it is left.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use agent_client_protocol::schema::ProtocolVersion;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use tokio::io::BufReader;
use tokio::sync::{OwnedSemaphorePermit, oneshot};
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;
use weft_agent::Companion;
use weft_process::{Launch, Mask, PipedProcess, Vitals};

use super::config::PeerConfig;
use super::inbox::{Inbox, TurnOver};
use super::question;
use super::{Failure, PeerProgram};
use crate::sdk::{Host, RemoteAgent, RemoteError, connect_to_agent, schema};

/// How long the end of a process may come after the end of its output, for its status to be told.
const STATUS: Duration = Duration::from_millis(500);

/// One agent, from before its process is started until nothing of it is left. Dropping it kills the process;
/// [`end`](Companion::end) is the polite way.
pub(super) struct Link {
    program: PeerProgram,
    /// The session's folder.
    folder: PathBuf,
    inbox: Arc<Inbox>,
    line: Mutex<Option<Line>>,
    /// The task that waits for the end of a turn.
    prompting: Mutex<Option<AbortOnDropHandle<()>>>,
}

/// A process that has made a session.
struct Line {
    agent: RemoteAgent,
    hello: Hello,
    session: schema::SessionId,
    process: PipedProcess,
    connection: AbortOnDropHandle<()>,
    _place: OwnedSemaphorePermit,
}

/// What an agent says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Hello {
    pub(super) name: Option<String>,
    pub(super) version: Option<String>,
    pub(super) auth_methods: Vec<String>,
}

impl Link {
    /// An agent whose process is not started yet.
    pub(super) fn new(program: PeerProgram, folder: &Path) -> Self {
        Self {
            inbox: Inbox::new(Arc::clone(&program.config)),
            program,
            folder: folder.to_owned(),
            line: Mutex::default(),
            prompting: Mutex::default(),
        }
    }

    /// Starts the program and has it make a session, unless that was done: as soon as there is a place for its process,
    /// and then within its time. Dropping the future leaves nothing.
    pub(super) async fn connect(&self) -> Result<(), Failure> {
        if lock(&self.line).is_some() {
            return Ok(());
        }
        let Ok(place) = Arc::clone(&self.program.places).acquire_owned().await else {
            unreachable!("the places of a program are never closed")
        };
        let line = Line::open(&self.program.config, &self.folder, &self.inbox, place).await?;
        *lock(&self.line) = Some(line);
        Ok(())
    }

    pub(super) fn inbox(&self) -> &Arc<Inbox> {
        &self.inbox
    }

    pub(super) fn name(&self) -> &str {
        &self.program.config.name
    }

    /// What it said of itself, if its process was started.
    pub(super) fn hello(&self) -> Option<Hello> {
        lock(&self.line).as_ref().map(|line| line.hello.clone())
    }

    /// Starts a turn; what comes of it comes into the inbox. Without a connection that is its end.
    pub(super) fn prompt(&self, content: Vec<schema::ContentBlock>) {
        self.inbox.begin();
        let (inbox, config) = (Arc::clone(&self.inbox), Arc::clone(&self.program.config));
        let line = lock(&self.line);
        let Some(line) = &*line else {
            return inbox.end(Err("is not connected".to_owned()));
        };
        let (agent, session, vitals) = (
            line.agent.clone(),
            line.session.clone(),
            Arc::clone(line.process.vitals()),
        );
        let task = tokio::spawn(async move {
            let answer = agent.ask(schema::PromptRequest::new(session, content));
            let over = tokio::select! {
                biased;
                answer = answer => over(answer, &config, &vitals).await,
                failure = silence(&inbox, &config) => Err(failure.with_hint()),
            };
            inbox.end(over);
        });
        *lock(&self.prompting) = Some(AbortOnDropHandle::new(task));
    }

    /// Has the agent end its turn, if one is under way.
    pub(super) fn cancel(&self) {
        if self.inbox.cancel()
            && let Some(line) = &*lock(&self.line)
        {
            line.agent.tell(schema::CancelNotification::new(line.session.clone()));
        }
    }

    async fn leave(&self) {
        self.cancel();
        let grace = self.program.config.limits.cancel_grace;
        if self.inbox.is_busy() && timeout(grace, self.inbox.quiet()).await.is_err() {
            tracing::warn!(
                agent = self.name(),
                "an agent did not end its turn in time after a cancel"
            );
        }
        drop(lock(&self.prompting).take());
        let Some(line) = lock(&self.line).take() else { return };
        // Its input ends with the connection.
        line.connection.abort();
        drop(line.connection.await);
        line.process.end().await;
        self.inbox.end(Err("was ended".to_owned()));
    }
}

impl Line {
    async fn open(
        config: &Arc<PeerConfig>,
        folder: &Path,
        inbox: &Arc<Inbox>,
        place: OwnedSemaphorePermit,
    ) -> Result<Self, Failure> {
        let mask = Mask::new(config.secrets.iter().cloned());
        let launch = Launch {
            what: "an agent",
            name: &config.name,
            command: &config.command,
            args: &config.args,
            env: &config.environment,
            folder,
            mask: &mask,
        };
        let (process, stdin, stdout) = PipedProcess::start(&launch)?;
        let ears = Arc::new(Ears {
            inbox: Arc::clone(inbox),
            config: Arc::clone(config),
            cwd: config.cwd.clone().unwrap_or_else(|| folder.to_owned()),
            session: OnceLock::new(),
        });
        let (ready, agent) = oneshot::channel();
        let (host, line) = (Arc::clone(&ears), config.limits.line);
        let (over, is_over) = oneshot::channel::<()>();
        let connection = AbortOnDropHandle::new(tokio::spawn(async move {
            connect_to_agent(host, (BufReader::new(stdout), stdin), line, ready).await;
            drop(over);
        }));
        let shaken = async {
            let agent = agent.await.map_err(|_gone| None)?;
            let (hello, session) = shake_hands(&agent, config, &ears.cwd).await.map_err(Some)?;
            ears.session.get_or_init(|| session.clone());
            Ok((agent, hello, session))
        };
        let opened = tokio::select! {
            biased;
            shaken = timeout(config.limits.startup, shaken) => shaken,
            _closed = is_over => Ok(Err(None)),
        };
        let vitals = process.vitals();
        match opened {
            Ok(Ok((agent, hello, session))) => Ok(Self {
                agent,
                hello,
                session,
                process,
                connection,
                _place: place,
            }),
            Ok(Err(failure)) => Err(why_gone(config, vitals, failure).await),
            Err(_late) => Err(Failure::TimedOut {
                name: config.name.clone(),
                limit: config.limits.startup,
                printed_last: mask.apply(&format!("{} {}", vitals.stderr(), inbox.printed())),
            }),
        }
    }
}

impl Companion for Link {
    fn end(&self) -> BoxFuture<'_, ()> {
        self.leave().boxed()
    }
}

async fn silence(inbox: &Inbox, config: &PeerConfig) -> Failure {
    match config.limits.idle {
        Some(limit) => {
            inbox.silent_for(limit).await;
            Failure::Silent {
                name: config.name.clone(),
                limit,
            }
        }
        None => std::future::pending().await,
    }
}

/// How a turn ended. An answer that failed because its agent is gone ends it for that reason.
async fn over(answer: Result<schema::PromptResponse, RemoteError>, config: &PeerConfig, vitals: &Vitals) -> TurnOver {
    match answer {
        Ok(answer) => Ok(answer.stop_reason),
        Err(error) => Err(why_gone(config, vitals, Some(refused("the prompt", error)))
            .await
            .to_string()),
    }
}

/// Why an agent is of no use: its process ended, or `failure`, or else its output ended.
async fn why_gone(config: &PeerConfig, vitals: &Vitals, failure: Option<Failure>) -> Failure {
    match (vitals.exited_within(STATUS).await, failure) {
        (Some(exit), None | Some(Failure::Refused { .. })) => Failure::exited(config.shown(), exit),
        (_, Some(failure)) => failure,
        (None, None) => Failure::Closed {
            command: config.shown(),
            stderr: vitals.stderr(),
        },
    }
}

/// Says hello, logs in if that is configured, and has a session made.
async fn shake_hands(
    agent: &RemoteAgent,
    config: &PeerConfig,
    cwd: &Path,
) -> Result<(Hello, schema::SessionId), Failure> {
    let about = schema::Implementation::new("weft", env!("CARGO_PKG_VERSION"));
    // Pieces of what commands print come only in this way from agents that run them by themselves.
    let meta = schema::Meta::from_iter([("terminal_output".to_owned(), true.into())]);
    let request = schema::InitializeRequest::new(ProtocolVersion::V1)
        .client_info(about)
        .client_capabilities(schema::ClientCapabilities::new().meta(meta));
    let answer = agent.ask(request).await.map_err(|error| refused("initialize", error))?;
    let hello = Hello {
        name: answer.agent_info.as_ref().map(|info| info.name.clone()),
        version: answer.agent_info.map(|info| info.version),
        auth_methods: answer
            .auth_methods
            .iter()
            .map(|method| method.id().0.to_string())
            .collect(),
    };
    let wants_login = |request, error: RemoteError| match error.wants_login {
        true => Failure::Login {
            methods: hello.auth_methods.clone(),
        },
        false => refused(request, error),
    };
    if let Some(method) = &config.auth {
        let request = schema::AuthenticateRequest::new(method.clone());
        agent
            .ask(request)
            .await
            .map_err(|error| wants_login("authenticate", error))?;
    }
    let request = schema::NewSessionRequest::new(cwd);
    let session = agent
        .ask(request)
        .await
        .map_err(|error| wants_login("session/new", error))?;
    Ok((hello, session.session_id))
}

fn refused(request: &'static str, error: RemoteError) -> Failure {
    Failure::Refused {
        request,
        message: error.message,
    }
}

/// Hears what the agent says.
struct Ears {
    inbox: Arc<Inbox>,
    config: Arc<PeerConfig>,
    /// The folder that the agent was told to work in.
    cwd: PathBuf,
    /// The session that it made; other sessions that it tells of are its own affair.
    session: OnceLock<schema::SessionId>,
}

impl Host for Ears {
    fn update(&self, update: schema::SessionNotification) -> BoxFuture<'_, ()> {
        match self.session.get() {
            Some(session) if *session != update.session_id => self.inbox.alive(),
            _ => self.inbox.update(update.update),
        }
        self.inbox.room().boxed()
    }

    fn question(
        &self,
        question: schema::RequestPermissionRequest,
    ) -> BoxFuture<'static, schema::RequestPermissionOutcome> {
        question::ask(
            Arc::clone(&self.inbox),
            self.config.name.clone(),
            self.cwd.clone(),
            question,
        )
        .boxed()
    }

    fn noise(&self, line: &[u8]) {
        self.inbox.noise(line);
    }

    fn alive(&self) {
        self.inbox.alive();
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    // Every change is a single store.
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
