//! Agents of others: the built program has each of them do a task, as its client.
//!
//! The agents are other people's packages, at the versions that `tests/agents/` pins, installed into the target folder when
//! they are first needed: the examples of both official SDKs, and opencode with a model that is written down. What the
//! agent said and did must stand in the log of the subagent that it was.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use serde_json::{Value, json};

use super::Outcome;
use super::clients::install::{copy_files, remake};
use crate::command::program;
use crate::workspace::Workspace;

/// An agent, called by its folder in `tests/agents/`.
#[derive(Clone, Copy, Debug)]
enum Agent {
    /// The example of the TypeScript SDK: two calls, of which it asks about the second. It is part of the package up to
    /// version 1.9.
    TypeScript,
    /// The example of the Python SDK, from its source package: it says what it was told.
    Python,
    /// opencode, whose model calls the shell once.
    Opencode,
}

/// One agent at work: where its packages are and what they come from.
struct Stage<'a> {
    workspace: &'a Workspace,
    agent: Agent,
    sources: PathBuf,
    installed: PathBuf,
}

/// What is left of a task: the events of the subagent's log.
struct Log(Vec<Value>);

/// Has every agent that can be installed do its task.
pub(super) fn check(workspace: &Workspace) -> anyhow::Result<Outcome> {
    let mut left_out = Vec::new();
    for agent in [Agent::TypeScript, Agent::Python, Agent::Opencode] {
        let stage = Stage::new(workspace, agent);
        println!("-- {}", agent.name());
        if let Err(error) = stage.install() {
            println!("SKIPPED {}: {error:#}", agent.name());
            left_out.push(format!("{}: {error:#}", agent.name()));
            continue;
        }
        let seen = stage.take().with_context(|| agent.name().to_owned())?;
        println!("{seen}");
    }
    if left_out.is_empty() {
        return Ok(Outcome::Passed);
    }
    Ok(Outcome::Skipped(format!(
        "could not be installed: {}",
        left_out.join("; ")
    )))
}

impl Agent {
    fn name(self) -> &'static str {
        match self {
            Self::TypeScript => "typescript",
            Self::Python => "python",
            Self::Opencode => "opencode",
        }
    }

    /// The file that pins the packages.
    fn pins(self) -> &'static str {
        match self {
            Self::Python => "requirements.txt",
            Self::TypeScript | Self::Opencode => "package.json",
        }
    }
}

impl<'a> Stage<'a> {
    fn new(workspace: &'a Workspace, agent: Agent) -> Self {
        Self {
            workspace,
            agent,
            sources: workspace.root.join("tests/agents").join(agent.name()),
            installed: workspace.target.join("agents").join(agent.name()),
        }
    }

    /// Installs the agent's packages, unless those that are pinned are there.
    fn install(&self) -> anyhow::Result<()> {
        let pins = std::fs::read(self.sources.join(self.agent.pins()))?;
        let done = self.installed.join("installed");
        if std::fs::read(&done).is_ok_and(|before| before == pins) {
            return copy_files(&self.sources, &self.installed);
        }
        remake(&self.installed)?;
        copy_files(&self.sources, &self.installed)?;
        match self.agent {
            Agent::Python => self.pip()?,
            Agent::TypeScript | Agent::Opencode => {
                let mut npm = program("npm");
                npm.current_dir(&self.installed);
                npm.args([
                    "install",
                    "--no-package-lock",
                    "--no-audit",
                    "--no-fund",
                    "--loglevel=error",
                ]);
                self.workspace.run(&mut npm)?;
            }
        }
        std::fs::write(done, pins)?;
        Ok(())
    }

    /// The packages, and beside them the source package that holds the example.
    fn pip(&self) -> anyhow::Result<()> {
        let pins = self.installed.join(self.agent.pins());
        let pinned = std::fs::read_to_string(&pins)?;
        let sdk = pinned
            .lines()
            .find(|line| line.starts_with("agent-client-protocol=="))
            .context("the SDK is not pinned")?;
        let venv = self.installed.join("venv");
        self.workspace.run(program("python3").args(["-m", "venv"]).arg(&venv))?;
        let pip = || program(venv.join("bin/pip"));
        let installing = ["install", "--quiet", "--no-deps", "--requirement"];
        self.workspace.run(pip().args(installing).arg(&pins))?;
        let fetching = ["download", "--quiet", "--no-deps", "--no-binary", ":all:", "--dest"];
        self.workspace.run(pip().args(fetching).arg(&self.installed).arg(sdk))?;
        let archive = format!("{}.tar.gz", sdk.replace('-', "_").replace("==", "-"));
        let mut tar = program("tar");
        tar.arg("--extract").arg("--file").arg(self.installed.join(archive));
        tar.arg("--directory")
            .arg(self.installed.join("venv"))
            .arg("--strip-components=1");
        self.workspace.run(&mut tar)
    }

    /// What starts the agent.
    fn command(&self, home: &Path) -> Value {
        let at = |path: &str| self.installed.join(path);
        match self.agent {
            Agent::TypeScript => {
                json!([
                    "node",
                    at("node_modules/@agentclientprotocol/sdk/dist/examples/agent.js")
                ])
            }
            Agent::Python => json!([at("venv/bin/python"), at("venv/examples/agent.py")]),
            Agent::Opencode => {
                let opencode = at("node_modules/.bin/opencode");
                json!(["python3", at("with_model.py"), home, opencode, "acp"])
            }
        }
    }

    /// Has the agent do its task and looks at what it left; says what was seen.
    fn take(&self) -> anyhow::Result<String> {
        match self.agent {
            Agent::TypeScript => {
                let log = self.run("full")?;
                log.called("Modifying critical configuration file", false)?;
                log.said("successfully updated the configuration")?;
                let log = self.run("ask")?;
                log.said("I understand you prefer not to make that change")?;
                Ok("two calls, and one permission given and one refused".to_owned())
            }
            Agent::Python => {
                self.run("ask")?.said("Client sent:Count the files.")?;
                Ok("an answer".to_owned())
            }
            Agent::Opencode => {
                let log = self.run("full")?;
                let result = log.called("echo 3 files", false)?;
                ensure!(result.contains("3 files"), "the command gave {result:?}");
                log.said("There are three.")?;
                Ok("a command and an answer".to_owned())
            }
        }
    }

    /// Runs one turn in that mode without anybody to ask, and reads the log of the subagent.
    fn run(&self, mode: &str) -> anyhow::Result<Log> {
        let (home, folder) = (self.installed.join("home"), self.installed.join("workspace"));
        remake(&home)?;
        remake(&folder)?;
        copy_files(&self.sources.with_file_name("scenario"), &home)?;
        let config = format!(
            "model = \"scripted/m\"\n[providers.scripted]\nkind = \"scripted\"\nscript = \"model.toml\"\n\
             [agents.other]\ncommand = {}\n",
            self.command(&home)
        );
        std::fs::write(home.join("config.toml"), config)?;
        let mut weft = program(self.workspace.built("weft"));
        weft.env("WEFT_HOME", &home).current_dir(&folder);
        self.workspace.run(weft.args(["exec", "--mode", mode, "Go."]))?;
        Log::of_subagent(&home.join("sessions"))
    }
}

impl Log {
    fn of_subagent(sessions: &Path) -> anyhow::Result<Self> {
        for entry in std::fs::read_dir(sessions).context("there are no sessions")? {
            let Ok(text) = std::fs::read_to_string(entry?.path().join("log.jsonl")) else {
                continue;
            };
            let lines: Vec<Value> = text.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
            if lines.first().is_some_and(|header| header["origin"] == "subagent") {
                return Ok(Self(lines));
            }
        }
        bail!("no subagent has left a log")
    }

    fn of_type<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Value> {
        self.0.iter().filter(move |event| event["type"] == kind)
    }

    /// The agent has made a call of that title, which failed or did not; gives the text of its result. Some give a call its
    /// title only when it has begun.
    fn called(&self, title: &str, failed: bool) -> anyhow::Result<String> {
        let began_as = |call: &Value| {
            let arguments = call["data"]["arguments"].as_str().unwrap_or_default();
            serde_json::from_str::<Value>(arguments).is_ok_and(|arguments| arguments["title"] == title)
        };
        let found = self.of_type("tool/result").find(|result| {
            let mut calls = self.of_type("tool/call");
            let call = calls.find(|call| call["data"]["callId"] == result["data"]["callId"]);
            let is_titled = result["data"]["meta"]["title"] == title || call.is_some_and(began_as);
            is_titled && result["data"]["error"].is_object() == failed
        });
        let result = found.with_context(|| format!("no call {title:?} with failed = {failed} in {:#?}", self.0))?;
        Ok(result["data"]["content"][0]["text"]
            .as_str()
            .unwrap_or_default()
            .to_owned())
    }

    /// The agent has said that in the end.
    fn said(&self, text: &str) -> anyhow::Result<()> {
        let last = self.of_type("assistant/message").last().map(Value::to_string);
        let last = last.context("the agent has said nothing")?;
        ensure!(last.contains(text), "the agent has said {last}, expected {text:?}");
        let end = self
            .of_type("turn/end")
            .last()
            .map(|end| &end["data"]["reason"]["kind"]);
        ensure!(end == Some(&json!("completed")), "the turn ended with {end:?}");
        Ok(())
    }
}
