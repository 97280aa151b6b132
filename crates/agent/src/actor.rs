//! The task that owns an agent's turns.

use std::sync::Arc;

use futures::future::join_all;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use weft_types::{ContentBlock, TurnEnd};

use crate::slot::{Slot, TurnCancel};
use crate::turn::Turns;

/// A prompt whose place is reserved.
pub(crate) struct Prompt {
    pub(crate) content: Vec<ContentBlock>,
    pub(crate) cancel: Arc<TurnCancel>,
    pub(crate) ended: oneshot::Sender<TurnEnd>,
}

/// What ties an actor to its handles. Dropped with the actor's task, however that ends, it closes the
/// agent, so that nobody waits for a dead one.
pub(crate) struct Lifeline {
    pub(crate) slot: Arc<Slot>,
    /// Asks the actor to end.
    pub(crate) stop: CancellationToken,
    /// Fires when it has.
    pub(crate) stopped: CancellationToken,
}

impl Drop for Lifeline {
    fn drop(&mut self) {
        self.slot.close();
        self.slot.free();
        self.stopped.cancel();
    }
}

/// Runs until a handle closes the agent or the last one is dropped, and then ends the agent's companions.
///
/// The lifeline is the first parameter and therefore the last to be dropped: all else is gone by then.
pub(crate) async fn run(lifeline: Lifeline, mut inbox: mpsc::Receiver<Prompt>, mut turns: Turns) {
    take_turns(&lifeline, &mut inbox, &mut turns).await;
    join_all(turns.options.companions.iter().map(|companion| companion.end())).await;
}

async fn take_turns(lifeline: &Lifeline, inbox: &mut mpsc::Receiver<Prompt>, turns: &mut Turns) {
    loop {
        let prompt = tokio::select! {
            prompt = inbox.recv() => prompt,
            // A prompt that was accepted before the close has an end to be told.
            () = lifeline.stop.cancelled() => inbox.try_recv().ok(),
        };
        let Some(Prompt { content, cancel, ended }) = prompt else {
            return;
        };
        let end = turns.run(content, &cancel).await;
        lifeline.slot.free();
        // Nobody needs to be waiting for it.
        let _unheard = ended.send(end);
    }
}
