//! One home in which a workflow is run, killed and resumed, round by round.

use std::collections::{HashMap, HashSet};
use std::error::Error;
use std::fs;
use std::path::PathBuf;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use weft_replay::{Exit, Message, RequestId, WireClient, WireError};

use crate::endpoint::Endpoint;
use crate::home::{Home, open, prompt};
use crate::random::SplitMix;

type Checked<T> = Result<T, Box<dyn Error + Send + Sync>>;

const SCRIPT: &str = include_str!("members.js");

/// How many members the script has.
const MEMBERS: usize = 40;

/// About as many frames as a turn with the whole workflow has.
const FRAMES: u64 = 130;

/// What is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Victim {
    Worker,
    Agent,
    Both,
}

/// What kills have met.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) rounds: u64,
    pub(crate) kills: u64,
    /// Members that a kill had interrupted.
    pub(crate) in_flight: usize,
    /// Members that had been asked more than once when their run was done.
    pub(crate) asked_again: usize,
    /// Calls that were answered without a model.
    pub(crate) answered_again: usize,
}

impl Seen {
    pub(crate) fn add(&mut self, other: &Self) {
        self.rounds += other.rounds;
        self.kills += other.kills;
        self.in_flight += other.in_flight;
        self.asked_again += other.asked_again;
        self.answered_again += other.answered_again;
    }
}

pub(crate) struct Game {
    random: SplitMix,
    endpoint: Endpoint,
    home: Home,
    agent: WireClient,
    /// What the script returns when nothing is killed.
    undisturbed: Value,
    /// The sessions of members that a kill was found to have interrupted.
    counted: HashSet<PathBuf>,
    seen: Seen,
}

fn ensure(holds: bool, otherwise: impl FnOnce() -> String) -> Checked<()> {
    if holds { Ok(()) } else { Err(otherwise().into()) }
}

impl Game {
    /// Plays a round in which nothing is killed.
    pub(crate) async fn start(mut random: SplitMix) -> Checked<Self> {
        let endpoint = Endpoint::start(SplitMix::new(random.next()), SCRIPT).await?;
        let config = format!(
            "model = \"local/m\"\nmode = \"full\"\nacp.progress.min_interval = \"0ms\"\n\
             [providers.local]\nkind = \"openai-chat\"\nbase_url = \"{}\"\n",
            endpoint.address()
        );
        let home = Home::new("", &[("config.toml", &config)]);
        let mut agent = home.agent().await?;
        let session = open(&mut agent, &home).await?;
        let asked = prompt(&mut agent, &session, "MAIN run").await?;
        agent.response(asked).await??;
        let mut game = Self {
            random,
            endpoint,
            home,
            agent,
            undisturbed: Value::Null,
            counted: HashSet::new(),
            seen: Seen::default(),
        };
        let asked = game.endpoint.take();
        ensure(
            asked.len() == MEMBERS && asked.values().all(|times| *times == 1),
            || format!("an undisturbed run asks {asked:?}"),
        )?;
        game.undisturbed = game.returned(&session)?.ok_or("an undisturbed run returns something")?;
        Ok(game)
    }

    pub(crate) fn seen(&self) -> Seen {
        self.seen
    }

    /// One run in a session of its own, killed one to four times, and resumed until it is done.
    pub(crate) async fn round(&mut self) -> Checked<()> {
        let session = open(&mut self.agent, &self.home).await?;
        let mut kills = 1 + self.random.below(4);
        let mut interrupted: HashMap<String, u32> = HashMap::new();
        loop {
            let text = match self.runs(&session)?.as_slice() {
                [] => "MAIN run".to_owned(),
                // Whichever attempt is named, all of them count.
                runs => {
                    let at = self.random.below(runs.len() as u64);
                    format!("MAIN {}", runs[usize::try_from(at)?])
                }
            };
            let asked = prompt(&mut self.agent, &session, &text).await?;
            if kills == 0 {
                self.agent.response(asked).await??;
                break;
            }
            kills -= 1;
            let session_is_there = self.kill_somewhere(&session, asked).await?;
            if self.returned(&session)?.is_some() {
                break;
            }
            for question in self.in_flight()? {
                self.seen.in_flight += 1;
                *interrupted.entry(question).or_default() += 1;
            }
            if !session_is_there {
                // It was killed before anything of the session was on the disk.
                return Ok(());
            }
        }
        self.judge(&session, &interrupted)?;
        self.seen.rounds += 1;
        let closed = serde_json::json!({ "sessionId": session });
        self.agent.request("session/delete", closed).await?;
        Ok(())
    }

    /// Compares what was asked and what came out with what should have.
    fn judge(&mut self, session: &str, interrupted: &HashMap<String, u32>) -> Checked<()> {
        let returned = self.returned(session)?;
        ensure(returned.as_ref() == Some(&self.undisturbed), || {
            format!("it returned {returned:?}, expected {}", self.undisturbed)
        })?;
        let asked = self.endpoint.take();
        ensure(asked.len() == MEMBERS, || {
            format!("{} questions were asked", asked.len())
        })?;
        for (question, times) in &asked {
            let excused = interrupted.get(question).copied().unwrap_or_default();
            ensure(*times <= 1 + excused, || {
                format!("{question:?} was asked {times} times, and {excused} kills had interrupted it")
            })?;
            self.seen.asked_again += usize::from(*times > 1);
        }
        let text = fs::read_to_string(self.log(session))?;
        let journals = fs::read_dir(self.home.path().join("sessions").join(session).join("runs"))?;
        for journal in journals {
            let journal = fs::read_to_string(journal?.path())?;
            self.seen.answered_again += journal.matches("\"type\":\"answered\"").count();
            ensure(!journal.contains("<find"), || "a journal holds an answer".to_owned())?;
        }
        ensure(!text.contains("\"type\":\"answered\""), || {
            "a log holds a journal".to_owned()
        })
    }

    /// Kills somebody after some frames, and sees that an agent is there that has the session open. False if there is no
    /// such session.
    async fn kill_somewhere(&mut self, session: &str, asked: RequestId) -> Checked<bool> {
        let frames = self.random.below(FRAMES);
        let looks = self.random.below(200);
        let victim = match self.random.below(2) {
            _ if self.random.one_in(3) => Victim::Worker,
            0 => Victim::Agent,
            _ => Victim::Both,
        };
        for _ in 0..frames {
            if let Message::Response(_) = self.agent.next().await? {
                return Ok(true);
            }
        }
        let agent = self.agent.pid();
        for _ in 0..looks {
            drop(fs::read(format!("/proc/{agent}/stat")));
        }
        let worker = worker_of(agent);
        if victim != Victim::Agent
            && let Some(worker) = worker
        {
            kill(worker);
        }
        if victim == Victim::Worker {
            self.seen.kills += u64::from(worker.is_some());
            // The call fails, and the turn goes on to its end.
            self.agent.response(asked).await??;
            return Ok(true);
        }
        self.seen.kills += 1;
        kill(agent);
        loop {
            match self.agent.finish().await {
                Ok(finished) => {
                    ensure(finished.exit == Exit::Signal(9), || {
                        format!("it ended with {}", finished.exit)
                    })?;
                    break;
                }
                Err(WireError::BadLine { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        self.agent = self.home.agent().await?;
        if !self.log(session).exists() {
            return Ok(false);
        }
        self.agent.request("session/load", self.home.load(session)).await?;
        Ok(true)
    }

    /// Ends in good order, with every log sound.
    pub(crate) async fn finish(mut self) -> Checked<Seen> {
        let finished = self.agent.finish().await?;
        ensure(finished.exit == Exit::Code(0), || {
            format!("it ended with {}", finished.exit)
        })?;
        let said = self.home.say(&["sessions", "verify"]).await?;
        ensure(said.status.success(), || format!("{} {}", said.out, said.err))?;
        Ok(self.seen)
    }

    fn log(&self, session: &str) -> PathBuf {
        self.home.path().join("sessions").join(session).join("log.jsonl")
    }

    /// The runs of a session, as its log has them.
    fn runs(&self, session: &str) -> Checked<Vec<String>> {
        let starts = self.events(session, "tool-workflow/run-start")?;
        let id = |data: &Value| data["runId"].as_str().map(str::to_owned);
        Ok(starts.iter().filter_map(id).collect())
    }

    /// What the last run returned that returned something.
    fn returned(&self, session: &str) -> Checked<Option<Value>> {
        let results = self.events(session, "tool/result")?;
        let texts = results.iter().filter_map(|data| data["content"][0]["text"].as_str());
        let value = |text: &str| {
            let (_, value) = text.split_once("\nReturn value:\n")?;
            let value = value.split_once("\nNotes:").map_or(value, |(value, _)| value);
            serde_json::from_str(value).ok()
        };
        Ok(texts.filter_map(value).next_back())
    }

    /// The questions of members that have begun and not answered, and that no earlier kill had interrupted.
    fn in_flight(&mut self) -> Checked<Vec<String>> {
        let mut questions = Vec::new();
        for entry in fs::read_dir(self.home.path().join("sessions"))? {
            let path = entry?.path();
            let Ok(text) = fs::read_to_string(path.join("log.jsonl")) else {
                continue;
            };
            let mut lines = text
                .lines()
                .map(|line| serde_json::from_str::<Value>(line).unwrap_or_default());
            let is_member = lines.next().is_some_and(|header| header["origin"] == "subagent");
            let events: Vec<Value> = lines.collect();
            let is_done = events
                .iter()
                .any(|event| event["type"] == "turn/end" && event["data"]["reason"]["kind"] == "completed");
            let question = events.iter().find(|event| event["type"] == "user/message");
            let question = question.and_then(|event| event["data"]["content"][0]["text"].as_str());
            if let (true, false, Some(question)) = (is_member, is_done, question)
                && self.counted.insert(path)
            {
                questions.push(question.lines().next().unwrap_or_default().to_owned());
            }
        }
        Ok(questions)
    }

    /// The data of the session's events of a kind; a session that is not on the disk has none.
    fn events(&self, session: &str, kind: &str) -> Checked<Vec<Value>> {
        let text = fs::read_to_string(self.log(session)).unwrap_or_default();
        let events = text
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap_or_default());
        let of_kind = events.filter(|event| event["type"] == kind);
        Ok(of_kind.map(|mut event| event["data"].take()).collect())
    }
}

fn kill(process: u32) {
    let pid = i32::try_from(process).ok().and_then(Pid::from_raw);
    // Who has ended meanwhile is as dead as it can be.
    let _gone = kill_process(pid.expect("a process has an id"), Signal::KILL);
}

/// The worker of the agent's run, if there is one.
fn worker_of(agent: u32) -> Option<u32> {
    let threads = fs::read_dir(format!("/proc/{agent}/task"))
        .into_iter()
        .flatten()
        .flatten();
    let lists = threads.map(|thread| fs::read_to_string(thread.path().join("children")).unwrap_or_default());
    let children: Vec<u32> = lists
        .flat_map(|list| {
            list.split_whitespace()
                .filter_map(|child| child.parse().ok())
                .collect::<Vec<_>>()
        })
        .collect();
    children.into_iter().find(|child| {
        let command = fs::read(format!("/proc/{child}/cmdline")).unwrap_or_default();
        command.split(|byte| *byte == 0).any(|part| part == b"worker")
    })
}
