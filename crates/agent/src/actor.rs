//! The task that owns an agent's turns.

use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use weft_types::{AgentId, ContentBlock, TurnEnd};

use crate::AgentOptions;
use crate::slot::{Slot, TurnCancel};
use crate::turn::Turns;

/// A prompt whose place is reserved.
pub(crate) struct Prompt {
    pub(crate) content: Vec<ContentBlock>,
    pub(crate) cancel: Arc<TurnCancel>,
    pub(crate) ended: oneshot::Sender<TurnEnd>,
}

/// What ties an actor to its handles.
pub(crate) struct Lifeline {
    pub(crate) slot: Arc<Slot>,
    pub(crate) inbox: mpsc::Receiver<Prompt>,
    pub(crate) stop: CancellationToken,
    pub(crate) stopped: CancellationToken,
}

/// Runs until a handle closes the agent or the last one is dropped.
pub(crate) async fn run(id: AgentId, options: AgentOptions, mut lifeline: Lifeline) {
    // Fires however this task ends, so that nobody waits for a dead actor.
    let _stopped = lifeline.stopped.clone().drop_guard();
    let mut turns = Turns::new(id, options);
    loop {
        let prompt = tokio::select! {
            // A prompt that was accepted before the close has an end to be told.
            biased;
            prompt = lifeline.inbox.recv() => prompt,
            () = lifeline.stop.cancelled() => None,
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
