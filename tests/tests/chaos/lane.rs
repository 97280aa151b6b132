//! One home whose agents are killed, one after the other.

use std::collections::HashSet;
use std::error::Error;
use std::fmt;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};
use weft_replay::{Conversation, Direction, Exit, Item, Row, Speaker, WireClient, WireError, conversations, t_check};

use crate::family::Family;
use crate::home::{Home, open, prompt};
use crate::random::SplitMix;

type Checked<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// The prompt that brings a workflow.
const RUN: &str = "run it";

/// The code of the error that there is no such session.
const NOT_FOUND: i64 = -32002;

/// About as many frames as a turn with a workflow has.
const FRAMES_OF_A_RUN: u64 = 28;

/// The frames in which a session gets onto the disk, and a few more.
const FRAMES_OF_A_BIRTH: u64 = 4;

/// How long the processes of an agent may take to notice that it is dead.
const GRACE: Duration = Duration::from_secs(10);

/// After about so many kills a session is deleted and the next one begins, so that loads stay short.
const KILLS_PER_SESSION: u64 = 8;

/// Where agents are killed.
#[derive(Clone, Copy, Debug)]
enum Scene {
    /// In the first turn of a session, which is not on the disk before it.
    Birth,
    /// In a turn with a workflow.
    Run,
    /// While the next agent loads the session.
    Load,
    /// In a turn, and the next agent while it loads and repairs what is left of that.
    RunAndLoad,
}

/// One kill.
#[derive(Clone, Copy, Debug)]
struct Kill {
    scene: Scene,
    frames: u64,
    looks: u64,
}

impl fmt::Display for Kill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { scene, frames, looks } = self;
        write!(f, "{scene:?} after {frames} frames and {looks} looks")
    }
}

pub(crate) struct Lane {
    random: SplitMix,
    home: Home,
    agent: WireClient,
    session: String,
    /// How many turns of the session are known to be over.
    turns: usize,
    /// What was said with the agent that was the last to be given prompts.
    said: Vec<Row>,
    last: Option<Kill>,
    seen: Seen,
}

/// What kills have met.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    /// Turns that were cut off.
    pub(crate) cut: usize,
    /// Agents that had processes of their own.
    pub(crate) parents: usize,
}

fn ensure(holds: bool, otherwise: impl FnOnce() -> String) -> Checked<()> {
    match holds {
        true => Ok(()),
        false => Err(otherwise().into()),
    }
}

impl Lane {
    pub(crate) async fn start(random: SplitMix) -> Checked<Self> {
        let home = Home::new(
            include_str!("model.toml"),
            &[("members.js", include_str!("members.js"))],
        );
        let mut agent = home.agent().await?;
        let session = open(&mut agent, &home).await?;
        let mut lane = Self {
            random,
            home,
            agent,
            session,
            turns: 0,
            said: Vec::new(),
            last: None,
            seen: Seen::default(),
        };
        lane.plain_turn().await?;
        Ok(lane)
    }

    /// Where the last kill was.
    pub(crate) fn last_kill(&self) -> String {
        self.last.map_or_else(|| "none yet".to_owned(), |kill| kill.to_string())
    }

    /// Kills the agent, or the one after it, somewhere.
    pub(crate) async fn kill(&mut self) -> Result<(), String> {
        self.try_kill().await.map_err(|error| error.to_string())
    }

    async fn try_kill(&mut self) -> Checked<()> {
        let scene = match self.random.below(8) {
            0 => Scene::Load,
            1 => Scene::RunAndLoad,
            2 => Scene::Birth,
            _ => Scene::Run,
        };
        match scene {
            Scene::Birth => {
                self.next_session().await?;
                prompt(&mut self.agent, &self.session, RUN).await?;
                self.kill_somewhere(scene).await?;
            }
            Scene::Load => self.end_in_good_order().await?,
            Scene::Run | Scene::RunAndLoad => {
                prompt(&mut self.agent, &self.session, RUN).await?;
                self.kill_somewhere(scene).await?;
            }
        }
        self.said = self.agent.rows().iter().filter(|row| is_whole(row)).cloned().collect();
        if let Scene::Load | Scene::RunAndLoad = scene {
            self.agent = self.home.agent().await?;
            self.agent.send("session/load", self.home.load(&self.session)).await?;
            self.kill_somewhere(scene).await?;
        }
        Ok(())
    }

    async fn kill_somewhere(&mut self, scene: Scene) -> Checked<()> {
        let frames = self.random.below(match scene {
            Scene::Birth => FRAMES_OF_A_BIRTH,
            Scene::Load | Scene::Run | Scene::RunAndLoad => FRAMES_OF_A_RUN,
        });
        // Between two frames, looking at the process up to some hundred times passes the time.
        let looks = if self.random.one_in(2) {
            self.random.below(400)
        } else {
            0
        };
        self.last = Some(Kill { scene, frames, looks });
        self.read(frames).await?;
        let agent = self.agent.pid();
        for _ in 0..looks {
            drop(std::fs::read(format!("/proc/{agent}/stat")));
        }
        let family = Family::bereave(agent)?;
        self.seen.parents += usize::from(!family.is_empty());
        family.ends(GRACE)?;
        self.see_it_end().await
    }

    /// Reads so many frames, or up to the answer of what was asked last.
    async fn read(&mut self, frames: u64) -> Checked<()> {
        for _ in 0..frames {
            if let weft_replay::Message::Response(_) = self.agent.next().await? {
                break;
            }
        }
        Ok(())
    }

    /// Reads what the dead agent has said to the end, of which the last line may be a part.
    async fn see_it_end(&mut self) -> Checked<()> {
        let finished = loop {
            match self.agent.finish().await {
                Ok(finished) => break finished,
                Err(WireError::BadLine { problem, .. }) if problem.contains("newline") => {}
                Err(error) => return Err(error.into()),
            }
        };
        ensure(finished.exit == Exit::Signal(9), || {
            format!("it ended with {}", finished.exit)
        })?;
        ensure(finished.stderr.is_empty(), || {
            format!("its stderr: {}", finished.stderr)
        })
    }

    /// Checks that what the killed agent has shown is there, and goes on with another one.
    pub(crate) async fn check(&mut self) -> Result<(), String> {
        self.try_check().await.map_err(|error| error.to_string())
    }

    async fn try_check(&mut self) -> Checked<()> {
        let broken = t_check(&self.said);
        ensure(broken.is_empty(), || format!("{broken:#?}"))?;
        self.verify().await?;
        self.acknowledged_is_logged()?;
        let open = self.logged("turn/start")?.len() > self.logged("turn/end")?.len();
        self.seen.cut += usize::from(open);

        self.agent = self.home.agent().await?;
        match self.agent.request("session/load", self.home.load(&self.session)).await {
            Err(WireError::Refused { error, .. }) if error.code == NOT_FOUND && !self.was_shown() => {
                self.next_session().await?;
                return self.plain_turn().await;
            }
            loaded => loaded?,
        };
        let broken = t_check(self.agent.rows());
        ensure(broken.is_empty(), || format!("a load: {broken:#?}"))?;
        let differences = self.shown(&self.said).differences(&self.shown(self.agent.rows()));
        ensure(differences.is_empty(), || format!("a load differs: {differences:#?}"))?;
        self.turns = self.logged("turn/end")?.len();
        ensure(self.turns == self.logged("turn/start")?.len(), || {
            "a turn is left open".to_owned()
        })?;
        self.plain_turn().await?;
        if self.random.one_in(KILLS_PER_SESSION) {
            self.next_session().await?;
            self.plain_turn().await?;
        }
        Ok(())
    }

    /// Whether the killed agent has told the client anything of the session's content.
    fn was_shown(&self) -> bool {
        let shown = self.shown(&self.said);
        let by_agent =
            |item: &Item| !matches!(item, Item::Cut) && !matches!(item, Item::Text(text) if text.from == Speaker::User);
        shown.title.is_some() || shown.items.iter().any(by_agent)
    }

    /// What a client shows of the session. What a load says of the log itself, a torn tail that was cut off for one, is
    /// said once and no part of it.
    fn shown(&self, rows: &[Row]) -> Conversation {
        let found = conversations(rows).into_iter().find(|(id, _)| *id == self.session);
        let mut shown = found.map(|(_, shown)| shown).unwrap_or_default();
        let is_note = |item: &Item| matches!(item, Item::Text(text) if text.id.as_deref() == Some("log-note"));
        shown.items.retain(|item| !is_note(item));
        shown
    }

    async fn verify(&self) -> Checked<()> {
        let said = self.home.say(&["sessions", "verify", "--json"]).await?;
        let unsound = |line: &&str| {
            let line: Value = serde_json::from_str(line).unwrap_or_default();
            line["sound"] != true
        };
        let unsound: Vec<_> = said.out.lines().filter(unsound).collect();
        ensure(said.status.success() && unsound.is_empty(), || {
            format!("verify ended with {}: {unsound:?} {}", said.status, said.err)
        })
    }

    /// Every final card and every answered prompt is in the log as the killed agent has left it.
    fn acknowledged_is_logged(&self) -> Checked<()> {
        let results: HashSet<_> = self
            .logged("tool/result")?
            .into_iter()
            .map(|data| data["callId"].to_string())
            .collect();
        let conversation = self.shown(&self.said);
        for call in conversation.calls().filter(|call| call.card.is_final()) {
            ensure(results.contains(&json!(call.id).to_string()), || {
                format!(
                    "call {} was shown as {}, and its result is lost",
                    call.id, call.card.status
                )
            })?;
        }
        let (expected, found) = (self.turns + answered_runs(&self.said), self.logged("turn/end")?.len());
        ensure(found >= expected, || {
            format!("{expected} turns were answered, and {found} have ended")
        })
    }

    fn log(&self) -> PathBuf {
        self.home.path().join("sessions").join(&self.session).join("log.jsonl")
    }

    /// The data of the session's events of a kind; a session that is not on the disk yet has none.
    fn logged(&self, kind: &str) -> Checked<Vec<Value>> {
        let bytes = match std::fs::read(self.log()) {
            Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
            bytes => bytes?,
        };
        let text = String::from_utf8_lossy(&bytes);
        let events = text
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap_or_default());
        let of_kind = events.filter(|event| event["type"] == kind);
        Ok(of_kind.map(|mut event| event["data"].take()).collect())
    }

    async fn plain_turn(&mut self) -> Checked<()> {
        let asked = prompt(&mut self.agent, &self.session, "plain").await?;
        let answer = self.agent.response(asked).await??;
        ensure(answer["stopReason"] == "end_turn", || {
            format!("a plain prompt came to {answer}")
        })?;
        let said = self.shown(self.agent.rows());
        let last = match said.items.last() {
            Some(Item::Text(text)) if text.from == Speaker::Agent => text.text.as_str(),
            _ => "",
        };
        ensure(last == "All right.", || format!("a plain prompt brought {last:?}"))?;
        self.turns += 1;
        Ok(())
    }

    /// Deletes the session and opens another.
    async fn next_session(&mut self) -> Checked<()> {
        let old = json!({"sessionId": self.session});
        self.agent.request("session/delete", old).await?;
        ensure(!self.log().exists(), || "a deleted session has a log".to_owned())?;
        self.session = open(&mut self.agent, &self.home).await?;
        self.turns = 0;
        Ok(())
    }

    /// The agent ends at the end of its input, and leaves nothing behind.
    async fn end_in_good_order(&mut self) -> Checked<()> {
        let finished = self.agent.finish().await?;
        ensure(finished.exit == Exit::Code(0), || {
            format!("it ended with {}", finished.exit)
        })?;
        ensure(!finished.survivors, || {
            "processes of the agent's group outlive it".to_owned()
        })?;
        ensure(finished.stderr.is_empty(), || {
            format!("its stderr: {}", finished.stderr)
        })
    }

    /// Ends the last agent, and tells what the kills have met.
    pub(crate) async fn finish(mut self) -> Checked<Seen> {
        self.end_in_good_order().await?;
        self.verify().await?;
        Ok(self.seen)
    }
}

/// Whether a row is a whole line of the protocol, and not the part of one that a killed agent has left.
fn is_whole(row: &Row) -> bool {
    !matches!(row, Row::Line { line, .. } if line.is_string())
}

/// How many `run` prompts of a transcript were answered.
fn answered_runs(rows: &[Row]) -> usize {
    let (mut open, mut answered) = (HashSet::new(), 0);
    for row in rows {
        match row {
            Row::Line {
                dir: Direction::Sent,
                line,
            } if line["params"]["prompt"][0]["text"] == RUN => drop(open.insert(line["id"].to_string())),
            Row::Line {
                dir: Direction::Received,
                line,
            } if line["method"].is_null() => answered += usize::from(open.remove(&line["id"].to_string())),
            _ => {}
        }
    }
    answered
}
