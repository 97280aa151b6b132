//! A client's script: its steps in order, and what can be known to be wrong without playing them.

use std::collections::BTreeSet;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value};
use toml::Spanned;

use super::step::{Action, OpenFile, WriteFile};
use super::{ScenarioError, line_of};

/// What a client does, step by step.
#[derive(Debug)]
pub(crate) struct Script {
    /// Whether the log shows system prompts and tool descriptions.
    pub(crate) show_header: bool,
    pub(crate) steps: Vec<Step>,
}

/// One thing a client does, and where that is written.
#[derive(Debug)]
pub(crate) struct Step {
    /// The line in `client.toml`, from 1.
    pub(crate) line: usize,
    pub(crate) action: Action,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    show_header: bool,
    step: Vec<Spanned<Action>>,
}

impl Script {
    /// Reads a script and checks that every name it uses is defined by an earlier step.
    pub(super) fn parse(path: &Path, text: &str) -> Result<Self, ScenarioError> {
        let file: File = toml::from_str(text).map_err(|error| ScenarioError::from_toml(path, text, &error))?;
        let place = |action: Spanned<Action>| Step {
            line: line_of(text, action.span().start),
            action: action.into_inner(),
        };
        let script = Self {
            show_header: file.show_header,
            steps: file.step.into_iter().map(place).collect(),
        };
        let mut names = Names::default();
        for step in &script.steps {
            names.follow(&step.action).map_err(|message| ScenarioError::Place {
                path: path.to_owned(),
                line: step.line,
                message,
            })?;
        }
        Ok(script)
    }

    /// The capabilities of the client that is there at the end.
    pub(crate) fn capabilities(&self) -> Map<String, Value> {
        let last = self.steps.iter().rev().find_map(|step| match &step.action {
            Action::Initialize(initialize) => Some(initialize.capabilities.clone()),
            _ => None,
        });
        last.unwrap_or_default()
    }
}

/// The names that the steps so far have defined.
#[derive(Default)]
struct Names {
    sessions: BTreeSet<String>,
    responses: BTreeSet<String>,
    input_closed: bool,
}

impl Names {
    fn follow(&mut self, action: &Action) -> Result<(), String> {
        if self.input_closed && action.writes() {
            return Err("found a step that writes after close_stdin, expected one that only reads".to_owned());
        }
        for session in action.sessions() {
            expect("session", session, &self.sessions)?;
        }
        match action {
            Action::NewSession(new) => define("session", &new.name, &mut self.sessions),
            Action::Prompt(prompt) => define("response", &prompt.name, &mut self.responses),
            Action::Request(request) => define("response", &request.name, &mut self.responses),
            Action::Await(awaited) => take(&awaited.response, &mut self.responses),
            Action::ExpectError(expected) => take(&expected.response, &mut self.responses),
            Action::WriteFile(WriteFile { name, .. }) | Action::OpenFile(OpenFile { name, .. })
                if name.is_empty() || name.contains(['/', '\\']) =>
            {
                Err(format!("found the file name {name:?}, expected one without a folder"))
            }
            Action::WaitExit(exit) if exit.code.is_some() && exit.signal.is_some() => {
                Err("found both code and signal, expected one of them".to_owned())
            }
            Action::CloseStdin(_) | Action::WaitExit(_) => {
                self.input_closed = true;
                Ok(())
            }
            Action::Restart(_) => {
                self.input_closed = false;
                self.responses.clear();
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

fn expect(what: &str, name: &str, known: &BTreeSet<String>) -> Result<(), String> {
    if known.contains(name) {
        return Ok(());
    }
    let known: Vec<_> = known.iter().map(String::as_str).collect();
    let expected = match known.is_empty() {
        true => format!("a step before that defines a {what}"),
        false => format!("one of {}", known.join(", ")),
    };
    Err(format!("found the {what} \"{name}\", expected {expected}"))
}

fn define(what: &str, name: &str, known: &mut BTreeSet<String>) -> Result<(), String> {
    match known.insert(name.to_owned()) {
        true => Ok(()),
        false => Err(format!("found a second {what} \"{name}\", expected a name of its own")),
    }
}

/// A response can be looked at once.
fn take(name: &str, known: &mut BTreeSet<String>) -> Result<(), String> {
    expect("response", name, known)?;
    known.remove(name);
    Ok(())
}
