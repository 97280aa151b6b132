//! What an agent is doing, folded from its log.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use weft_observe::Subscription;
use weft_session::SessionUpdate;
use weft_tools::ToolRegistry;
use weft_types::{AssistantBlock, CallId, Event, EventBody};

use super::Pulse;
use crate::Agent;
use crate::title::{first_line, last_line};

/// How many characters of a call's title are kept.
const TITLE_CHARS: usize = 120;

/// How many characters of what the agent said are kept.
const SAID_CHARS: usize = 200;

/// What an agent does right now and has done so far.
///
/// Its size depends on the calls that are open, not on how long the agent works.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Activity {
    open: Vec<OpenCall>,
    last: Option<(String, bool)>,
    said: Option<String>,
    calls: u64,
    tokens: u64,
}

/// A call that has no result yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenCall {
    id: CallId,
    /// The title of its card, on one line and cut.
    pub title: String,
    /// Whether the user is being asked whether it may run.
    pub waits: bool,
}

impl Activity {
    /// The calls that have no result yet, in the order in which they were made.
    pub fn open(&self) -> &[OpenCall] {
        &self.open
    }

    /// The title of the call that ended last, and whether it failed.
    pub fn last(&self) -> Option<(&str, bool)> {
        self.last.as_ref().map(|(title, failed)| (title.as_str(), *failed))
    }

    /// The last line of what the agent said last, cut.
    pub fn said(&self) -> Option<&str> {
        self.said.as_deref()
    }

    /// Whether the user is being asked whether a call may run.
    pub fn waits(&self) -> bool {
        self.open.iter().any(|call| call.waits)
    }

    /// How many calls it has made.
    pub fn calls(&self) -> u64 {
        self.calls
    }

    /// How many tokens its requests and answers had, as far as the provider told.
    pub fn tokens(&self) -> u64 {
        self.tokens
    }

    /// What it does right now, in a few words: its open call and how many there are besides; absent while there is none.
    pub fn now(&self) -> Option<String> {
        let first = self.open.iter().find(|call| call.waits).or(self.open.first())?;
        let mut now = if first.waits {
            format!("waiting for permission: {}", first.title)
        } else {
            first.title.clone()
        };
        if self.open.len() > 1 {
            now.push_str(&format!(" and {} more", self.open.len() - 1));
        }
        Some(now)
    }

    /// How much it has done, such as `3 calls, 12.3k tokens, 41 s`; absent if that is nothing.
    pub fn counts(&self, elapsed: Duration) -> Option<String> {
        let calls = match self.calls {
            0 => None,
            1 => Some("1 call".to_owned()),
            calls => Some(format!("{calls} calls")),
        };
        let tokens = (self.tokens > 0).then(|| format!("{} tokens", short_number(self.tokens)));
        let time = (elapsed.as_secs() > 0).then(|| short_time(elapsed));
        let counts: Vec<String> = [calls, tokens, time].into_iter().flatten().collect();
        (!counts.is_empty()).then(|| counts.join(", "))
    }

    /// Takes in what happened next; says whether anything of it is visible here.
    fn apply(&mut self, event: &Event, tools: &ToolRegistry) -> bool {
        match &event.body {
            EventBody::AssistantMessage { content, usage, .. } => {
                if let Some(usage) = usage {
                    self.tokens = self.tokens.saturating_add(usage.input_tokens + usage.output_tokens);
                }
                let said = content.iter().rev().find_map(|block| match block {
                    AssistantBlock::Text { text } => last_line(text, SAID_CHARS),
                    _ => None,
                });
                let is_new = said.is_some() && said != self.said;
                self.said = said.or(self.said.take());
                is_new
            }
            EventBody::ToolCall {
                call_id,
                name,
                arguments,
                needs_approval,
                ..
            } => {
                let title = tools.present_call(name, arguments).title().to_owned();
                self.calls += 1;
                self.open.push(OpenCall {
                    id: call_id.clone(),
                    title: first_line(&title, TITLE_CHARS).unwrap_or_else(|| name.clone()),
                    waits: *needs_approval,
                });
                true
            }
            EventBody::ToolResult { call_id, error, .. } => {
                let Some(index) = self.open.iter().position(|call| call.id == *call_id) else {
                    return false;
                };
                self.last = Some((self.open.remove(index).title, error.is_some()));
                true
            }
            _ => false,
        }
    }

    /// The body of a call has started, so that nobody is asked about it any more.
    fn started(&mut self, call: &CallId) -> bool {
        let asked = self.open.iter_mut().find(|open| open.id == *call && open.waits);
        asked.is_some_and(|open| std::mem::replace(&mut open.waits, false))
    }
}

/// A number as a card shows it: `999`, `12.3k`, `4.5M`.
pub fn short_number(number: u64) -> String {
    match number {
        0..1_000 => number.to_string(),
        1_000..1_000_000 => format!("{}.{}k", number / 1_000, number % 1_000 / 100),
        _ => format!("{}.{}M", number / 1_000_000, number % 1_000_000 / 100_000),
    }
}

/// A time as a card shows it: `41 s`, `12 min`.
pub fn short_time(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds => format!("{} min", seconds / 60),
    }
}

/// Who is told of an agent's [`Activity`] whenever it has changed.
///
/// It is called within the agent's own appends, one call at a time, so it must be quick, and it must neither append to
/// the agent's session nor wait for the agent.
#[derive(Clone)]
pub struct ActivityFeed {
    feed: Arc<dyn Fn(&Activity) + Send + Sync>,
    pulse: Arc<Pulse>,
}

impl ActivityFeed {
    /// A feed into a function.
    pub fn new(feed: impl Fn(&Activity) + Send + Sync + 'static) -> Self {
        Self {
            feed: Arc::new(feed),
            pulse: Arc::default(),
        }
    }

    /// When something last happened in the agent, visible or not.
    pub fn pulse(&self) -> Arc<Pulse> {
        Arc::clone(&self.pulse)
    }

    /// Tells what an agent does now.
    pub fn tell(&self, activity: &Activity) {
        self.pulse.beat();
        self.pulse.set_waiting(activity.waits());
        (self.feed)(activity);
    }

    /// Feeds what an agent does, as long as the subscriptions are kept.
    pub(super) fn follow(self, agent: &Agent) -> [Subscription; 3] {
        let state = Arc::new(Mutex::new(Activity::default()));
        let (tools, of_log, of_calls, feed) = (agent.tools().clone(), Arc::clone(&state), state, self.clone());
        let pulse = self.pulse();
        [
            agent.session().observe(move |update| {
                feed.pulse.beat();
                let SessionUpdate::Event(event) = update else { return };
                let mut activity = lock(&of_log);
                if activity.apply(event, &tools) {
                    feed.tell(&activity);
                }
            }),
            agent.tools().progress().subscribe(Some(agent.id()), move |report| {
                if !pulse.is_for_agents(&report.root_call_id) {
                    pulse.beat();
                }
            }),
            agent.tools().started().subscribe(Some(agent.id()), move |start| {
                let mut activity = lock(&of_calls);
                if !start.nested && activity.started(&start.call_id) {
                    self.tell(&activity);
                }
            }),
        ]
    }
}

fn lock(activity: &Mutex<Activity>) -> MutexGuard<'_, Activity> {
    // Whatever a panic half-way leaves is a sound value, and the next event goes on from it.
    activity.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for ActivityFeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ActivityFeed")
    }
}

#[cfg(test)]
mod tests;
