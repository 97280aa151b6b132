//! The steps that a client's script can have. `docs/scenario-client.md` describes them for people.

mod wait;

use serde::Deserialize;
use serde_json::{Map, Value};

pub(crate) use wait::{Pattern, WaitUpdate};

use crate::{Exit, PermissionAnswer};

/// One step. In the file it is a table with one key, the step's name.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Action {
    Initialize(Initialize),
    NewSession(NewSession),
    SetMode(SetMode),
    SetOption(SetOption),
    Prompt(Prompt),
    Request(Request),
    Await(Await),
    ExpectError(ExpectError),
    WaitUpdate(WaitUpdate),
    WaitPermission(OfSession),
    AnswerPermission(AnswerPermission),
    Cancel(OfSession),
    CloseSession(OfSession),
    LoadSession(OfSession),
    ResumeSession(OfSession),
    ListSessions(ListSessions),
    DeleteSession(OfSession),
    OpenGate(OpenGate),
    WaitGate(WaitGate),
    WriteFile(WriteFile),
    OpenFile(OpenFile),
    Signal(Signal),
    CloseStdin(CloseStdin),
    WaitExit(WaitExit),
    Restart(Restart),
}

/// Sends `initialize` and waits for its result.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Initialize {
    /// The client capabilities; none by default.
    #[serde(default)]
    pub(crate) capabilities: Map<String, Value>,
}

/// Sends `session/new` for the workspace and waits for its result.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewSession {
    /// What later steps call the session.
    #[serde(rename = "as")]
    pub(crate) name: String,
    /// Folders of the workspace that the session is given beside its own; none by default.
    #[serde(default)]
    pub(crate) folders: Vec<String>,
}

/// Sends `session/set_mode` and waits for its result.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SetMode {
    pub(crate) session: String,
    pub(crate) mode: String,
}

/// Sends `session/set_config_option` and waits for its result, which must say that the option has the value.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SetOption {
    pub(crate) session: String,
    pub(crate) option: String,
    pub(crate) value: String,
}

/// Sends `session/prompt` without waiting.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Prompt {
    pub(crate) session: String,
    /// The text; empty for none.
    #[serde(default)]
    pub(crate) text: String,
    /// Content blocks behind the text, as they are sent; none by default.
    #[serde(default)]
    pub(crate) blocks: Vec<Value>,
    /// What later steps call the response.
    #[serde(rename = "as")]
    pub(crate) name: String,
}

/// Sends any other request without waiting. In texts of its parameters `${cwd}` and `${session.NAME}`
/// stand for the workspace and the id of a session.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Request {
    pub(crate) method: String,
    #[serde(default)]
    pub(crate) params: Map<String, Value>,
    /// What later steps call the response.
    #[serde(rename = "as")]
    pub(crate) name: String,
}

/// Waits for a response, which must be a result.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Await {
    pub(crate) response: String,
    /// The stop reason that the result must have.
    pub(crate) stop: Option<String>,
}

/// Waits for a response, which must be an error.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExpectError {
    pub(crate) response: String,
    pub(crate) code: i64,
    pub(crate) message: Option<Pattern>,
}

/// A step about one session.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OfSession {
    pub(crate) session: String,
}

/// Sends `session/list` for the workspace and waits for its result.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListSessions {
    /// The sessions it must hold, in this order, and no others.
    pub(crate) sessions: Vec<String>,
}

/// Appends answers for the permission questions to come.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AnswerPermission {
    #[serde(rename = "with")]
    pub(crate) answers: Vec<PermissionAnswer>,
}

/// Opens a gate of the scripted model.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OpenGate {
    pub(crate) gate: String,
}

/// Waits until requests are held at a gate of the scripted model or have passed it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WaitGate {
    pub(crate) gate: String,
    /// How many; one by default.
    pub(crate) count: Option<u64>,
}

/// Writes a file in the workspace, whole at once, as a user at work beside the agent does.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WriteFile {
    /// Its name in the workspace.
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) text: String,
}

/// Has a file of the workspace open in the client's editor, with a text that is not saved.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OpenFile {
    /// Its name in the workspace; the file need not be there.
    pub(crate) name: String,
    pub(crate) text: String,
}

/// Sends a signal.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Signal {
    pub(crate) target: SignalTarget,
    pub(crate) name: SignalName,
}

/// Who gets a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SignalTarget {
    /// The agent's own process.
    Agent,
    /// Every workflow worker of the agent; there must be one.
    Worker,
}

/// A signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(crate) enum SignalName {
    #[serde(rename = "SIGINT")]
    Int,
    #[serde(rename = "SIGTERM")]
    Term,
    #[serde(rename = "SIGKILL")]
    Kill,
}

/// Closes the agent's input.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CloseStdin {}

/// Closes the agent's input if it is open, reads what it still says and waits for its end.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WaitExit {
    pub(super) code: Option<i32>,
    pub(super) signal: Option<i32>,
}

impl WaitExit {
    /// The exit that is expected; code 0 if the step does not say.
    pub(crate) fn expected(&self) -> Exit {
        match self.signal {
            Some(signal) => Exit::Signal(signal),
            None => Exit::Code(self.code.unwrap_or_default()),
        }
    }
}

/// Ends the agent and starts another one in the same home.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Restart {
    /// Whether it is ended with `SIGKILL`; otherwise by the end of its input.
    #[serde(default)]
    pub(crate) kill: bool,
}

impl Action {
    /// The step's name in the file.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Initialize(_) => "initialize",
            Self::NewSession(_) => "new_session",
            Self::SetMode(_) => "set_mode",
            Self::SetOption(_) => "set_option",
            Self::Prompt(_) => "prompt",
            Self::Request(_) => "request",
            Self::Await(_) => "await",
            Self::ExpectError(_) => "expect_error",
            Self::WaitUpdate(_) => "wait_update",
            Self::WaitPermission(_) => "wait_permission",
            Self::AnswerPermission(_) => "answer_permission",
            Self::Cancel(_) => "cancel",
            Self::CloseSession(_) => "close_session",
            Self::LoadSession(_) => "load_session",
            Self::ResumeSession(_) => "resume_session",
            Self::ListSessions(_) => "list_sessions",
            Self::DeleteSession(_) => "delete_session",
            Self::OpenGate(_) => "open_gate",
            Self::WaitGate(_) => "wait_gate",
            Self::WriteFile(_) => "write_file",
            Self::OpenFile(_) => "open_file",
            Self::Signal(_) => "signal",
            Self::CloseStdin(_) => "close_stdin",
            Self::WaitExit(_) => "wait_exit",
            Self::Restart(_) => "restart",
        }
    }

    /// The sessions that the step is about, which an earlier step must have opened.
    pub(super) fn sessions(&self) -> Vec<&str> {
        match self {
            Self::SetMode(SetMode { session, .. })
            | Self::SetOption(SetOption { session, .. })
            | Self::Prompt(Prompt { session, .. })
            | Self::WaitUpdate(WaitUpdate { session, .. })
            | Self::WaitPermission(OfSession { session })
            | Self::Cancel(OfSession { session })
            | Self::CloseSession(OfSession { session })
            | Self::LoadSession(OfSession { session })
            | Self::ResumeSession(OfSession { session })
            | Self::DeleteSession(OfSession { session }) => vec![session],
            Self::ListSessions(list) => list.sessions.iter().map(String::as_str).collect(),
            _ => Vec::new(),
        }
    }

    /// Whether the step writes to the input of the agent that runs.
    pub(super) fn writes(&self) -> bool {
        !matches!(
            self,
            Self::Await(_)
                | Self::ExpectError(_)
                | Self::WaitUpdate(_)
                | Self::WaitPermission(_)
                | Self::AnswerPermission(_)
                | Self::WriteFile(_)
                | Self::OpenFile(_)
                | Self::Signal(_)
                | Self::WaitExit(_)
                | Self::Restart(_)
        )
    }
}
