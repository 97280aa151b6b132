//! The steps that a client's script can have. `docs/scenario-client.md` describes them for people.

use regex::Regex;
use serde::{Deserialize, Deserializer, de};
use serde_json::{Map, Value};

use crate::{Exit, PermissionAnswer};

/// One step. In the file it is a table with one key, the step's name.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Action {
    Initialize(Initialize),
    NewSession(NewSession),
    Prompt(Prompt),
    Request(Request),
    Await(Await),
    ExpectError(ExpectError),
    WaitUpdate(WaitUpdate),
    WaitPermission(OfSession),
    AnswerPermission(AnswerPermission),
    Cancel(OfSession),
    CloseSession(OfSession),
    OpenGate(OpenGate),
    WaitGate(WaitGate),
    WriteFile(WriteFile),
    Signal(Signal),
    CloseStdin(CloseStdin),
    WaitExit(WaitExit),
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
}

/// Sends `session/prompt` without waiting.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Prompt {
    pub(crate) session: String,
    pub(crate) text: String,
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

/// Waits for an update that fits every key that is given.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WaitUpdate {
    pub(crate) session: String,
    /// The value of `sessionUpdate`.
    pub(crate) kind: Option<String>,
    /// The call id.
    pub(crate) call: Option<String>,
    pub(crate) status: Option<String>,
    pub(crate) title: Option<Pattern>,
    /// Searched in the text of the update's content.
    pub(crate) content: Option<Pattern>,
}

/// A step about one session.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OfSession {
    pub(crate) session: String,
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

impl Action {
    /// The step's name in the file.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Initialize(_) => "initialize",
            Self::NewSession(_) => "new_session",
            Self::Prompt(_) => "prompt",
            Self::Request(_) => "request",
            Self::Await(_) => "await",
            Self::ExpectError(_) => "expect_error",
            Self::WaitUpdate(_) => "wait_update",
            Self::WaitPermission(_) => "wait_permission",
            Self::AnswerPermission(_) => "answer_permission",
            Self::Cancel(_) => "cancel",
            Self::CloseSession(_) => "close_session",
            Self::OpenGate(_) => "open_gate",
            Self::WaitGate(_) => "wait_gate",
            Self::WriteFile(_) => "write_file",
            Self::Signal(_) => "signal",
            Self::CloseStdin(_) => "close_stdin",
            Self::WaitExit(_) => "wait_exit",
        }
    }

    /// The session that the step is about, if an earlier step must have opened it.
    pub(super) fn session(&self) -> Option<&str> {
        match self {
            Self::Prompt(Prompt { session, .. })
            | Self::WaitUpdate(WaitUpdate { session, .. })
            | Self::WaitPermission(OfSession { session })
            | Self::Cancel(OfSession { session })
            | Self::CloseSession(OfSession { session }) => Some(session),
            _ => None,
        }
    }

    /// Whether the step writes to the agent's input.
    pub(super) fn writes(&self) -> bool {
        !matches!(
            self,
            Self::Await(_)
                | Self::ExpectError(_)
                | Self::WaitUpdate(_)
                | Self::WaitPermission(_)
                | Self::AnswerPermission(_)
                | Self::WriteFile(_)
                | Self::Signal(_)
                | Self::WaitExit(_)
        )
    }
}

impl WaitUpdate {
    /// Whether an `update` object fits.
    pub(crate) fn fits(&self, update: &Value) -> bool {
        let equals = |wanted: &Option<String>, key: &str| wanted.as_deref().is_none_or(|wanted| update[key] == wanted);
        let title = || update["title"].as_str().unwrap_or_default();
        equals(&self.kind, "sessionUpdate")
            && equals(&self.call, "toolCallId")
            && equals(&self.status, "status")
            && self.title.as_ref().is_none_or(|pattern| pattern.0.is_match(title()))
            && self
                .content
                .as_ref()
                .is_none_or(|pattern| pattern.0.is_match(&text_of(&update["content"])))
    }

    /// What is waited for, in words.
    pub(crate) fn describe(&self) -> String {
        let pattern = |pattern: &Option<Pattern>| pattern.as_ref().map(|pattern| pattern.0.as_str().to_owned());
        let keys = [
            ("kind", self.kind.clone()),
            ("call", self.call.clone()),
            ("status", self.status.clone()),
            ("title", pattern(&self.title)),
            ("content", pattern(&self.content)),
        ];
        let keys = keys
            .iter()
            .filter_map(|(key, value)| Some(format!(" {key} {:?}", value.as_ref()?)));
        format!("an update of session {:?}{}", self.session, keys.collect::<String>())
    }
}

/// The text of a chunk's content or of a card's, one line per block.
fn text_of(content: &Value) -> String {
    let block = |item: &Value| {
        item["text"]
            .as_str()
            .or(item["content"]["text"].as_str())
            .map(str::to_owned)
    };
    match content {
        Value::Array(items) => items.iter().filter_map(block).collect::<Vec<_>>().join("\n"),
        single => block(single).unwrap_or_default(),
    }
}

/// A regular expression that must be found somewhere in a text.
#[derive(Debug)]
pub(crate) struct Pattern(Regex);

impl Pattern {
    pub(crate) fn is_found_in(&self, text: &str) -> bool {
        self.0.is_match(text)
    }

    pub(crate) fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl<'de> Deserialize<'de> for Pattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Regex::new(&text).map(Self).map_err(|error| {
            let reason = error.to_string();
            let reason = reason.lines().last().unwrap_or_default().trim_start_matches("error: ");
            de::Error::custom(format!("found \"{text}\" ({reason}), expected a regular expression"))
        })
    }
}
