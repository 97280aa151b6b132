//! When something last happened in an agent.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::time::Instant;
use weft_types::CallId;

/// When something last happened in an agent or in one below it: a piece of an answer, an event, a report of a tool.
///
/// It is an [extension](weft_tools::Extensions) that the agent lends to those below it, so that they are found from
/// above.
#[derive(Debug)]
pub struct Pulse {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    last: Instant,
    /// Whether the user is being asked about a call.
    waits: bool,
    below: Vec<(Option<CallId>, Weak<Pulse>)>,
}

impl Default for Pulse {
    /// Something happens right now.
    fn default() -> Self {
        Self {
            state: Mutex::new(State {
                last: Instant::now(),
                waits: false,
                below: Vec::new(),
            }),
        }
    }
}

impl Pulse {
    /// Something happens right now.
    pub fn beat(&self) {
        self.lock().last = Instant::now();
    }

    /// For how long nothing has happened. Whoever waits for the user's answer to a question is not idle.
    pub fn idle(&self) -> Duration {
        let mut state = self.lock();
        if state.waits {
            state.last = Instant::now();
        }
        let own = state.last.elapsed();
        let below = state.alive().map(|(_, pulse)| pulse).collect::<Vec<_>>();
        drop(state);
        below.iter().map(|pulse| pulse.idle()).fold(own, Duration::min)
    }

    /// Says whether the user is being asked about a call.
    pub(super) fn set_waiting(&self, waits: bool) {
        self.lock().waits = waits;
    }

    /// Takes in an agent that a call of this one has started.
    pub(super) fn attach(&self, call: Option<CallId>, below: &Arc<Self>) {
        let mut state = self.lock();
        state.below.retain(|(_, pulse)| pulse.strong_count() > 0);
        state.below.push((call, Arc::downgrade(below)));
    }

    /// Whether a call waits for an agent below. What such a call reports by itself tells nothing of that agent.
    pub(super) fn is_for_agents(&self, call: &CallId) -> bool {
        self.lock().alive().any(|(of, _)| of.as_ref() == Some(call))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn alive(&self) -> impl Iterator<Item = (&Option<CallId>, Arc<Pulse>)> {
        self.below
            .iter()
            .filter_map(|(call, pulse)| Some((call, pulse.upgrade()?)))
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn an_agent_is_as_busy_as_the_busiest_below_it() {
        let (above, below) = (Arc::<Pulse>::default(), Arc::<Pulse>::default());
        above.attach(Some("c".into()), &below);
        advance(5 * SECOND).await;
        below.beat();
        advance(SECOND).await;
        assert_eq!((above.idle(), below.idle()), (SECOND, SECOND));
        assert!(above.is_for_agents(&"c".into()) && !above.is_for_agents(&"d".into()));
        drop(below);
        assert_eq!(above.idle(), 6 * SECOND);
        assert!(!above.is_for_agents(&"c".into()));
    }

    #[tokio::test(start_paused = true)]
    async fn waiting_for_the_user_is_not_idle_and_the_time_begins_with_the_answer() {
        let pulse = Pulse::default();
        pulse.set_waiting(true);
        advance(60 * SECOND).await;
        assert_eq!(pulse.idle(), Duration::ZERO);
        advance(60 * SECOND).await;
        pulse.beat();
        pulse.set_waiting(false);
        advance(2 * SECOND).await;
        assert_eq!(pulse.idle(), 2 * SECOND);
    }
}
