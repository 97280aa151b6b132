//! What happens in a session while a weft has it open.

use std::time::Duration;

use weft_session::FileStore;
use weft_types::SessionId;

use super::View;

/// How often it is asked whether the session is still open.
const LOOK: Duration = Duration::from_millis(500);

/// How following ended.
pub(super) enum Followed {
    /// Nobody has the session open any more. What it wrote last, from this number on, has not been shown.
    Closed(u64),
    /// The user interrupted.
    Interrupted,
}

/// Shows events from number `next` on.
pub(super) fn run(store: &FileStore, id: &SessionId, next: u64, view: &mut dyn View) -> anyhow::Result<Followed> {
    crate::in_runtime(async {
        tokio::select! {
            next = follow(store, id, next, view) => Ok(Followed::Closed(next?)),
            interrupted = tokio::signal::ctrl_c() => {
                interrupted?;
                Ok(Followed::Interrupted)
            }
        }
    })
}

async fn follow(store: &FileStore, id: &SessionId, mut next: u64, view: &mut dyn View) -> anyhow::Result<u64> {
    let mut follower = store.follow(id, next)?;
    let mut look = tokio::time::interval(LOOK);
    look.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            events = follower.next() => {
                let events = events?;
                next = events.last().map_or(next, |event| event.seq + 1);
                view.events(&events)?;
            }
            _ = look.tick() => {
                if !follower.running() {
                    return Ok(next);
                }
            }
        }
    }
}
