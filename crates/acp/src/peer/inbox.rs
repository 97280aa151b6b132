//! What an agent of others has said and nobody has taken yet, and what is known of its calls.
//!
//! The reader of its output fills it; the [model](super::model) empties it, in order, while the bodies of its calls look
//! on. Nothing waits in here but by its bounds: text beyond them ends the turn if it cannot be taken because calls are
//! open, and else is left in the pipe.

mod state;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use weft_agent::AgentContext;
use weft_types::{CallId, Usage};

use super::Failure;
use super::card::{Arguments, Card};
use super::config::PeerConfig;
use crate::sdk::schema;
use state::{Piece, Running, Stage, State, Turn};

/// How much may wait before the agent is left waiting itself, in bytes.
const EAGER_BYTES: usize = 256 << 10;
/// How much is kept of lines that are no messages, in bytes.
const NOISE_BYTES: usize = 600;

/// How a turn of an agent ended: for its own reason, or for ours.
pub(super) type TurnOver = Result<schema::StopReason, String>;

pub(super) struct Inbox {
    config: Arc<PeerConfig>,
    state: Mutex<State>,
    /// Told of every change.
    changed: watch::Sender<()>,
}

/// The next piece.
#[derive(Debug)]
pub(super) enum Next {
    Text(String),
    Thought(String),
    /// A call, with its arguments as JSON.
    Call(CallId, String),
    /// Nothing waits, or nothing of what is wanted.
    Nothing,
    /// The turn is over, and all of it was taken.
    Over(TurnOver),
}

/// Where a question about a call is asked.
pub(super) enum Asked {
    /// On the card of `root`, which is the call's own unless that has none yet.
    On { context: Arc<AgentContext>, root: CallId },
    /// Nowhere: the call's place in the log is closed.
    Nowhere,
    /// Nowhere any more: the turn is over.
    TooLate,
}

impl Inbox {
    pub(super) fn new(config: Arc<PeerConfig>) -> Arc<Self> {
        Arc::new(Self {
            config,
            state: Mutex::new(State::new()),
            changed: watch::Sender::new(()),
        })
    }

    /// Tells of every later change.
    pub(super) fn watch(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// A turn begins.
    pub(super) fn begin(&self) {
        self.change(|state| {
            state.turn = Turn::Running;
            state.told = false;
            state.said.clear();
            state.alive = Instant::now();
        });
    }

    /// The turn is over; only the first word on how counts.
    pub(super) fn end(&self, over: TurnOver) {
        self.change(|state| {
            if matches!(state.turn, Turn::Running | Turn::Cancelled) {
                state.turn = Turn::Over(over);
            }
        });
    }

    /// The turn is cancelled; says whether there was one to cancel.
    pub(super) fn cancel(&self) -> bool {
        self.change(|state| {
            let is_running = matches!(state.turn, Turn::Running);
            if is_running {
                state.turn = Turn::Cancelled;
                state.pieces.clear();
                state.bytes = 0;
            }
            is_running
        })
    }

    /// Whether a turn is not over yet, cancelled or not.
    pub(super) fn is_busy(&self) -> bool {
        matches!(self.state().turn, Turn::Running | Turn::Cancelled)
    }

    /// Whether what is said next belongs to a turn that has begun and of which not all was taken.
    pub(super) fn is_in_turn(&self) -> bool {
        let state = self.state();
        match &state.turn {
            Turn::None => false,
            Turn::Running | Turn::Cancelled => true,
            Turn::Over(_) => !state.told,
        }
    }

    /// Whether something waits.
    pub(super) fn has_more(&self) -> bool {
        !self.state().pieces.is_empty()
    }

    /// Resolves when the turn is over or was cancelled.
    pub(super) async fn quiet_or_cancelled(&self) {
        self.until(|state| (!matches!(state.turn, Turn::Running)).then_some(()))
            .await;
    }

    /// Resolves when no turn is under way.
    pub(super) async fn quiet(&self) {
        self.until(|state| (!matches!(state.turn, Turn::Running | Turn::Cancelled)).then_some(()))
            .await;
    }

    /// Takes in what the agent tells.
    pub(super) fn update(&self, update: schema::SessionUpdate) {
        self.change(|state| state.update(update, self.config.limits.output_bytes));
        self.check_bounds();
    }

    /// Takes in what a question says of its call.
    pub(super) fn note(&self, call: schema::ToolCallUpdate) {
        self.change(|state| state.note(call, self.config.limits.output_bytes));
    }

    /// Resolves when more can be taken in.
    pub(super) async fn room(&self) {
        self.until(|state| {
            let waits = state.bytes > EAGER_BYTES && state.running.is_empty() && matches!(state.turn, Turn::Running);
            (!waits).then_some(())
        })
        .await;
    }

    fn check_bounds(&self) {
        let limit = self.config.limits.buffer_bytes;
        if self.state().bytes > limit {
            let name = self.config.name.clone();
            self.end(Err(Failure::TooMuch { name, limit }.with_hint()));
        }
    }

    pub(super) fn alive(&self) {
        self.state().alive = Instant::now();
    }

    /// Remembers the end of what it printed that is no message.
    pub(super) fn noise(&self, line: &[u8]) {
        let noise = &mut self.state().noise;
        noise.extend_from_slice(line);
        noise.push(b' ');
        let surplus = noise.len().saturating_sub(NOISE_BYTES);
        noise.drain(..surplus);
    }

    pub(super) fn printed(&self) -> String {
        let text = String::from_utf8_lossy(&self.state().noise).into_owned();
        text.chars().filter(|c| !c.is_control()).collect()
    }

    /// Resolves when there was no sign of life for so long; an open question stops the clock.
    pub(super) async fn silent_for(&self, limit: Duration) {
        loop {
            self.until(|state| (state.questions == 0).then_some(())).await;
            let deadline = self.state().alive + limit;
            if deadline <= Instant::now() {
                return;
            }
            sleep_until(deadline).await;
        }
    }

    /// Takes the next piece, or only the next call.
    pub(super) fn next(&self, only_calls: bool) -> Next {
        let mut state = self.state();
        let is_wanted = |piece: &Piece| !only_calls || matches!(piece, Piece::Call(_) | Piece::Plan(_));
        let Some(piece) = state.pieces.pop_front_if(|piece| is_wanted(piece)) else {
            let over = match &state.turn {
                Turn::Over(over) if state.pieces.is_empty() => Some(over.clone()),
                _ => None,
            };
            let Some(over) = over else { return Next::Nothing };
            // While calls are awaited the end is only looked at.
            state.told = !only_calls;
            return Next::Over(over);
        };
        let next = match piece {
            Piece::Text(text) => {
                state.bytes -= text.len();
                state.said.push_str(&text);
                Next::Text(text)
            }
            Piece::Thought(text) => {
                state.bytes -= text.len();
                Next::Thought(text)
            }
            Piece::Call(id) => {
                state.said.clear();
                let Some(call) = state.calls.get_mut(&id) else {
                    return Next::Nothing;
                };
                call.stage = Stage::Taken;
                Next::Call(CallId::new(id), call.card.arguments().to_json())
            }
            Piece::Plan(plan) => {
                state.plans += 1;
                let id = CallId::new(format!("plan-{}", state.plans));
                let title = "Plan".to_owned();
                let kind = schema::ToolKind::Think;
                let arguments = Arguments {
                    title,
                    kind,
                    plan,
                    ..Arguments::default()
                };
                Next::Call(id, arguments.to_json())
            }
        };
        drop(state);
        self.changed.send_replace(());
        next
    }

    /// An answer is over, and with it the calls that it named.
    pub(super) fn close_calls(&self) {
        self.change(|state| {
            let taken = state.calls.values_mut().filter(|call| call.stage == Stage::Taken);
            taken.for_each(|call| call.stage = Stage::Closed);
        });
    }

    /// What it said since its last call.
    pub(super) fn said(&self) -> String {
        self.state().said.clone()
    }

    /// The tokens that were not told on yet: by how much its context has grown.
    pub(super) fn take_usage(&self) -> Option<Usage> {
        let input_tokens = std::mem::take(&mut self.state().tokens);
        (input_tokens > 0).then(|| Usage {
            input_tokens,
            ..Usage::default()
        })
    }

    /// The body of a call waits until the guard is dropped.
    pub(super) fn enter(self: &Arc<Self>, call: &str, id: CallId, context: Arc<AgentContext>) -> Entered {
        let running = Running {
            call: call.to_owned(),
            id,
            context,
        };
        self.change(|state| state.running.push(running));
        Entered {
            inbox: Arc::clone(self),
            call: call.to_owned(),
        }
    }

    /// A call as it is now.
    ///
    /// # Errors
    /// The turn is over, and nobody will ever know how the call ended.
    pub(super) fn look(&self, call: &str) -> Result<Card, String> {
        let state = self.state();
        let found = state.calls.get(call).map(|call| call.card.clone());
        match (found, &state.turn) {
            (Some(card), _) if card.is_over() => Ok(card),
            (_, Turn::Over(Err(reason))) => Err(format!("the agent {} {reason}", self.config.name)),
            (Some(card), Turn::Running | Turn::Cancelled) => Ok(card),
            _ => Err("the agent's turn ended without a word on how this call ended".to_owned()),
        }
    }

    /// The call that a question is about, and where the question is asked, as soon as there is a card for it.
    pub(super) async fn place_of(&self, call: &str) -> Asked {
        self.until(|state| {
            if !matches!(state.turn, Turn::Running) {
                return Some(Asked::TooLate);
            }
            let on = |running: &Running| Asked::On {
                context: Arc::clone(&running.context),
                root: running.id.clone(),
            };
            if let Some(own) = state.running.iter().find(|running| running.call == call) {
                return Some(on(own));
            }
            match state.calls.get(call)?.stage {
                Stage::Waiting => state.running.first().map(on),
                Stage::Taken => None,
                Stage::Closed => Some(Asked::Nowhere),
            }
        })
        .await
    }

    /// A call as a question shows it.
    pub(super) fn card(&self, call: &str) -> Option<Card> {
        self.state().calls.get(call).map(|call| call.card.clone())
    }

    /// Counts a question until the guard is dropped.
    pub(super) fn ask(self: &Arc<Self>) -> Asking {
        self.change(|state| state.questions += 1);
        Asking(Arc::clone(self))
    }

    /// Resolves once `look` finds something.
    async fn until<T>(&self, mut look: impl FnMut(&State) -> Option<T>) -> T {
        let mut changed = self.watch();
        loop {
            if let Some(found) = look(&self.state()) {
                return found;
            }
            // The sender lives as long as this.
            drop(changed.changed().await);
        }
    }

    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let changed = change(&mut self.state());
        self.changed.send_replace(());
        changed
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // What a panic half-way leaves is sound: a piece more or less.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A body that waits for a call.
pub(super) struct Entered {
    inbox: Arc<Inbox>,
    call: String,
}

impl Drop for Entered {
    fn drop(&mut self) {
        self.inbox
            .change(|state| state.running.retain(|running| running.call != self.call));
    }
}

/// A question that is open.
pub(super) struct Asking(Arc<Inbox>);

impl Drop for Asking {
    fn drop(&mut self) {
        self.0.change(|state| {
            state.questions -= 1;
            state.alive = Instant::now();
        });
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_clock_of_silence_stands_while_the_user_is_asked() {
        let config = PeerConfig {
            name: "quiet".into(),
            command: "quiet".into(),
            args: Vec::new(),
            environment: Vec::new(),
            secrets: Vec::new(),
            cwd: None,
            auth: None,
            limits: crate::peer::PeerLimits::default(),
        };
        let (inbox, limit) = (Inbox::new(Arc::new(config)), Duration::from_secs(60));
        inbox.begin();
        let open = inbox.ask();
        let mut silent = Box::pin(inbox.silent_for(limit));
        assert_eq!(tokio::time::timeout(100 * limit, &mut silent).await.ok(), None);
        drop(open);
        assert_eq!(silent.as_mut().now_or_never(), None);
        let before = Instant::now();
        silent.await;
        assert_eq!(before.elapsed(), limit);
    }
}
