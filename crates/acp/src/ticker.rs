//! The one timer of a connection: when progress that was held back is due.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};
use weft_types::CallId;

use crate::view::SessionView;

/// Reports that wait for their time; clones share one list. A call waits at most once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ticker {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    waiting: Mutex<Waiting>,
    /// Notified when something is due before everything else.
    sooner: Notify,
}

#[derive(Debug, Default)]
struct Waiting {
    next: u64,
    due: BTreeMap<(Instant, u64), (Weak<SessionView>, CallId)>,
}

impl Ticker {
    /// Has the view told when it is time to send what it holds of a call.
    pub(crate) fn schedule(&self, at: Instant, view: Weak<SessionView>, call: CallId) {
        let mut waiting = self.lock();
        let number = waiting.next;
        waiting.next += 1;
        waiting.due.insert((at, number), (view, call));
        let first = waiting
            .due
            .first_key_value()
            .is_some_and(|(key, _)| *key == (at, number));
        drop(waiting);
        if first {
            self.shared.sooner.notify_one();
        }
    }

    /// Tells views, for ever.
    pub(crate) async fn run(&self) -> Infallible {
        loop {
            let next = self.lock().due.first_key_value().map(|((at, _), _)| *at);
            match next {
                Some(at) => tokio::select! {
                    () = sleep_until(at) => self.tell(Instant::now()),
                    () = self.shared.sooner.notified() => {}
                },
                None => self.shared.sooner.notified().await,
            }
        }
    }

    fn tell(&self, now: Instant) {
        let due = {
            let mut waiting = self.lock();
            let later = waiting.due.split_off(&(now, u64::MAX));
            std::mem::replace(&mut waiting.due, later)
        };
        for (view, call) in due.into_values() {
            if let Some(view) = view.upgrade() {
                view.due(&call);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.shared.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
