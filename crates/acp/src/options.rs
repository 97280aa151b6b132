//! What a connection is made of.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use futures::future::BoxFuture;
use weft_agent::{Agent, Chosen};
use weft_model::Models;
use weft_session::{FileStore, Session};
use weft_tools::{Approver, Extensions, ToolRegistry};
use weft_types::{SessionHeader, SessionId};

use crate::{
    CloseGrace, ExtensionMethods, FileTimeout, ImageBytes, LineLimit, MaxSessions, OutboxBytes, ProgressConfig,
    StallTimeout,
};

/// Everything [`serve()`](crate::serve()) needs beside the two streams.
#[derive(Clone)]
pub struct AcpOptions {
    /// Makes the agents behind sessions.
    pub agents: Arc<dyn AgentFactory>,
    /// Where the agents' sessions are kept: what is listed, loaded and deleted.
    pub sessions: FileStore,
    /// Who the agent is to the client.
    pub info: AgentInfo,
    /// How often a call may send its progress.
    pub progress: ProgressConfig,
    /// How much may wait for a slow client before updates are merged.
    pub outbox_bytes: OutboxBytes,
    /// How long a request may wait for a client that does not read.
    pub stall_timeout: StallTimeout,
    /// The longest line taken from the client.
    pub line_limit: LineLimit,
    /// The largest picture taken in a prompt.
    pub image_bytes: ImageBytes,
    /// How long the client may take with a file.
    pub file_timeout: FileTimeout,
    /// How many sessions may be open at a time.
    pub max_sessions: MaxSessions,
    /// How long the end of the connection may take.
    pub close_grace: CloseGrace,
    /// The methods beyond the protocol.
    pub extensions: ExtensionMethods,
}

impl AcpOptions {
    /// Options with every setting at its default and no extension methods.
    pub fn new(agents: Arc<dyn AgentFactory>, sessions: FileStore, info: AgentInfo) -> Self {
        Self {
            agents,
            sessions,
            info,
            progress: ProgressConfig::default(),
            outbox_bytes: OutboxBytes::default(),
            stall_timeout: StallTimeout::default(),
            line_limit: LineLimit::default(),
            image_bytes: ImageBytes::default(),
            file_timeout: FileTimeout::default(),
            max_sessions: MaxSessions::default(),
            close_grace: CloseGrace::default(),
            extensions: ExtensionMethods::default(),
        }
    }
}

impl fmt::Debug for AcpOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AcpOptions")
            .field("info", &self.info)
            .finish_non_exhaustive()
    }
}

/// Who the agent is to the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentInfo {
    /// A name for programs.
    pub name: String,
    /// A name for people.
    pub title: Option<String>,
    /// The version.
    pub version: String,
}

/// Makes the agents behind sessions.
///
/// Both methods run in a task of their own: they may take their time, for other requests go on meanwhile. They are
/// dropped when the client cancels the request and, at the latest, when the connection has ended and its grace is over.
pub trait AgentFactory: Send + Sync {
    /// Makes the agent of a new session, whose log must carry the given id and folder.
    fn open(&self, session: NewSession) -> BoxFuture<'static, Result<Agent, OpenError>>;

    /// Prepares the agent of a stored session, whose history is about to be read. By now the bridge holds the
    /// session's lock and has checked its folder and its origin; nothing of its events has been read.
    fn load(&self, session: LoadSession) -> BoxFuture<'static, Result<Loading, OpenError>>;
}

/// An MCP server that a client names. Values may hold credentials and are never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct McpServer {
    /// Its name, unique among the session's servers.
    pub name: String,
    /// How it is reached.
    pub transport: McpTransport,
}

/// How an MCP server is reached.
#[derive(Clone, PartialEq, Eq)]
pub enum McpTransport {
    /// A process that speaks the protocol on stdin and stdout.
    Stdio {
        /// The program.
        command: PathBuf,
        /// Its arguments.
        args: Vec<String>,
        /// Its environment, beside what every server gets.
        env: Vec<(String, String)>,
    },
    /// An endpoint of the streamable HTTP transport.
    Http {
        /// Where it is.
        url: String,
        /// Further headers of every request.
        headers: Vec<(String, String)>,
    },
    /// The older transport of events, which weft does not speak.
    Sse,
}

impl fmt::Debug for McpTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Stdio { .. } => "Stdio",
            Self::Http { .. } => "Http",
            Self::Sse => "Sse",
        })
    }
}

impl fmt::Debug for McpServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpServer")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// What a client asks for with every session that it is given.
#[derive(Clone)]
pub struct SessionSetup {
    /// The absolute folder it works in, that of the header if there is one already. It exists.
    pub cwd: PathBuf,
    /// Further folders it works in: absolute paths that exist.
    pub additional_directories: Vec<PathBuf>,
    /// The MCP servers that the client wants it to use, each with a name of its own.
    pub mcp_servers: Vec<McpServer>,
    /// What the client lends to the agent's tools, such as its files.
    pub lent: Extensions,
    /// Asks the user, on the session's behalf, whether a call may run.
    pub approver: Arc<dyn Approver>,
}

impl fmt::Debug for SessionSetup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionSetup")
            .field("cwd", &self.cwd)
            .finish_non_exhaustive()
    }
}

/// A session about to be opened.
#[derive(Clone, Debug)]
pub struct NewSession {
    /// Its id, fresh.
    pub id: SessionId,
    /// What the client asks for.
    pub setup: SessionSetup,
}

/// A stored session about to be taken up again.
#[derive(Clone, Debug)]
pub struct LoadSession {
    /// What stands before its events: a user's session.
    pub header: SessionHeader,
    /// What the client asks for.
    pub setup: SessionSetup,
}

/// An agent that waits for its session.
pub struct Loading {
    /// Draws the cards of the calls in its history: the agent's tools, or others that present the same.
    pub presenter: ToolRegistry,
    /// What is known of the models that answered in it: the agent's models.
    pub models: Arc<dyn Models>,
    /// Starts the agent once its history has been read, with what was chosen in it; it is called inside of the runtime.
    /// Dropped uncalled when the history cannot be read or the request is cancelled.
    pub start: Box<dyn FnOnce(Arc<Session>, Chosen) -> Agent + Send>,
}

impl fmt::Debug for Loading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Loading").finish_non_exhaustive()
    }
}

/// Why a session was not opened. The text goes to the client: it says what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// What was asked for cannot be had; answered as invalid params.
    #[error("{0}")]
    Refused(String),
    /// The world failed; answered as an internal error.
    #[error("{0}")]
    Failed(String),
}
