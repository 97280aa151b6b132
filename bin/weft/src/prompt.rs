//! What agents are told before anything else: the ground rules, where they work, the user's and the project's
//! instructions, and the skills there are.
//!
//! [`Briefing::gather`] reads everything once, when a session is opened; the text that follows from it is the same
//! for the whole session, so that a provider's cache of it holds. A session that is loaded again is told the same if
//! nothing that it is made of has changed: the one date in it is that of the session's start.

mod instructions;
mod inventory;
mod library;
mod places;
mod skills;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use weft_agent::{Command, LibraryHandle};
use weft_tools::{Extensions, ReadableDirectories};
use weft_types::UnixMillis;

use self::instructions::Instructions;
pub(crate) use self::inventory::{Inventory, Told};
use self::library::Shelf;
pub(crate) use self::places::{FileText, Places, read_text};
use self::skills::Skills;
use crate::config::{Config, settings};
use crate::workflows::Workflows;

/// What a briefing is made of.
#[derive(Clone, Debug)]
pub(crate) struct Sources {
    /// The user's own folder of settings; empty for none.
    pub(crate) home: PathBuf,
    /// The folder that the session works in.
    pub(crate) cwd: PathBuf,
    /// Folders beside it.
    pub(crate) additional: Vec<PathBuf>,
    /// The most bytes of instructions.
    pub(crate) instructions_bytes: usize,
    /// The most bytes of the list of skills.
    pub(crate) skills_bytes: usize,
    /// The workflows that can be run by name.
    pub(crate) workflows: Workflows,
}

/// What the agents of one session are told.
#[derive(Debug)]
pub(crate) struct Briefing {
    places: Places,
    additional: Vec<PathBuf>,
    instructions: String,
    skills: Skills,
    workflows: Workflows,
    listed_skills: String,
    instructions_bytes: usize,
    /// What the user is to be told of it.
    notices: Vec<String>,
    /// What MCP servers say of their tools.
    servers: Vec<String>,
}

impl Sources {
    /// Those of a session that works in `cwd`, under its configuration.
    pub(crate) fn of(config: &Config, cwd: &Path, additional: &[PathBuf]) -> Self {
        Self {
            home: config.home().to_owned(),
            cwd: cwd.to_owned(),
            additional: additional.to_vec(),
            instructions_bytes: config.size(&settings::INSTRUCTIONS_BYTES),
            skills_bytes: config.size(&settings::SKILLS_BYTES),
            workflows: Workflows::of(config, cwd),
        }
    }
}

impl Briefing {
    /// Reads all of it. What cannot be read is told and left out.
    pub(crate) fn gather(sources: &Sources) -> Self {
        let mut notices = Vec::new();
        let places = Places::find(&sources.home, &sources.cwd);
        let instructions = Instructions::read(&places, &mut notices).text(sources.instructions_bytes);
        let skills = Skills::find(&places, &mut notices);
        let listed_skills = skills.listed(sources.skills_bytes, &mut notices);
        notices.extend(sources.workflows.notices());
        Self {
            places,
            additional: sources.additional.clone(),
            instructions,
            skills,
            workflows: sources.workflows.clone(),
            listed_skills,
            instructions_bytes: sources.instructions_bytes,
            notices,
            servers: Vec::new(),
        }
    }

    /// Adds what MCP servers say of their tools, for the session's own agent.
    pub(crate) fn add(&mut self, instructions: &[String]) {
        self.servers.extend(instructions.iter().cloned());
    }

    /// What the user is to be told of it.
    pub(crate) fn take_notices(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notices)
    }

    /// The system prompt of the session's own agent.
    pub(crate) fn main_agent(&self, started: UnixMillis) -> String {
        let head = format!(
            "You are weft, a coding agent. You work in the folder {} together with the user, who sees your text, your \
             tool calls and their results in an editor.",
            self.places.cwd.display()
        );
        let date = format!("- The session began on {}.\n", date(started));
        let told = self.joined(&[&head, GROUND_RULES, WORKFLOWS, &self.environment(&date)]);
        let servers = self.servers.iter().map(String::as_str);
        std::iter::once(&*told).chain(servers).collect::<Vec<_>>().join("\n\n")
    }

    /// The system prompt of the agents that another agent started: the same for all of one session.
    pub(crate) fn subagent(&self) -> String {
        let head = "You are a subagent of weft, a coding agent. Another agent gave you one task; nobody watches you work \
            and nobody can answer a question. Do the task, then answer with the result and nothing else: it goes back to \
            the agent that asked.";
        self.joined(&[head, GROUND_RULES, &self.environment("")])
    }

    fn joined(&self, parts: &[&str]) -> String {
        let parts = parts.iter().copied().chain([&*self.instructions, &*self.listed_skills]);
        let parts: Vec<&str> = parts.map(str::trim_end).filter(|part| !part.is_empty()).collect();
        format!("{}\n", parts.join("\n\n"))
    }

    /// What stays true for the whole session.
    fn environment(&self, more: &str) -> String {
        let mut text = format!("# Environment\n\n- Folder: {}\n", self.places.cwd.display());
        for folder in &self.additional {
            let _infallible = writeln!(text, "- Further folder: {}", folder.display());
        }
        if let Some(root) = &self.places.repository {
            let _infallible = writeln!(text, "- Git repository: {}", root.display());
        }
        let (system, machine) = (std::env::consts::OS, std::env::consts::ARCH);
        let _infallible = write!(text, "- Platform: {system}, {machine}\n{more}");
        text
    }

    /// The commands that the user can start a prompt with.
    pub(crate) fn commands(&self) -> Vec<Command> {
        let mut commands = self.skills.commands();
        let workflows = self.workflows.commands().into_iter();
        commands.extend(workflows.filter(|command| {
            !self.skills.has(&command.name) && !skills::OWN_COMMANDS.contains(&command.name.as_str())
        }));
        commands
    }

    /// What the agents are lent: the texts behind the commands, and the skills' folders to read.
    pub(crate) fn lend(self, lent: Extensions) -> Extensions {
        let readable = ReadableDirectories(self.skills.folders());
        let shelf = Shelf::new(
            self.places,
            &self.additional,
            (self.skills, self.workflows),
            self.instructions_bytes,
        );
        lent.with(Arc::new(readable))
            .with(Arc::new(LibraryHandle(Arc::new(shelf))))
    }
}

/// The day of a time, in UTC.
fn date(time: UnixMillis) -> String {
    let time = UNIX_EPOCH + Duration::from_millis(time.0);
    let text = humantime::format_rfc3339_seconds(time).to_string();
    text.split('T').next().unwrap_or_default().to_owned()
}

/// A path as the user would write it, for titles.
fn shown(path: &Path, cwd: &Path) -> String {
    path.strip_prefix(cwd).unwrap_or(path).display().to_string()
}

const GROUND_RULES: &str = "\
Look before you change anything: read the files that matter with your tools instead of guessing. Make the smallest \
change that does the job, then check that it works. Paths may be relative to the working folder. When a tool fails, \
read its error and adapt; do not repeat the same call. When a call is denied, do not try to get the same effect \
another way; say what you could not do.";

const WORKFLOWS: &str = "\
Use the `workflow` tool only when the user asks for a workflow, or for work on a scale that one agent cannot do \
well. For everything else do the work yourself.";
