//! What sets one protocol apart from another: the body of a request, and how its answer is read.

use std::collections::VecDeque;
use std::sync::Arc;

use weft_model::{ModelError, ModelEvent, ModelRequest};

use crate::endpoint::Endpoint;
use crate::sse::SseEvent;

/// Events that wait to be taken by the caller.
pub(crate) type Events = VecDeque<ModelEvent>;

/// One protocol, spoken to one endpoint.
pub(crate) trait Dialect: Send + Sync + 'static {
    /// Reads one answer.
    type Answer: Answer;

    fn endpoint(&self) -> &Arc<Endpoint>;

    /// The JSON text that is posted.
    fn body(&self, request: &ModelRequest) -> Vec<u8>;

    /// Whether the same request is worth sending once more, in the body that it has from here on: the endpoint refused
    /// something of it that can be left out.
    fn adapts_to(&self, _refusal: &ModelError) -> bool {
        false
    }

    /// The answer to a request, before anything of it has come.
    fn answer(&self, request: &ModelRequest) -> Self::Answer;
}

/// An answer while it arrives.
pub(crate) trait Answer: Send + 'static {
    /// Whether the end marker came: nothing that follows counts.
    fn has_ended(&self) -> bool;

    /// Whether the answer says of itself that it is whole; only trifles may still come.
    fn is_whole(&self) -> bool;

    /// Takes one event of a stream.
    fn take_event(&mut self, event: &SseEvent, events: &mut Events) -> Result<(), ModelError>;

    /// Takes an answer that came in one piece, though a stream was asked for.
    fn take_whole(&mut self, text: &[u8], events: &mut Events) -> Result<(), ModelError>;

    /// Appends the events that end the answer: its calls, its usage, and why it stopped. Called once, when
    /// nothing more will come.
    fn finish(&mut self, events: &mut Events) -> Result<(), ModelError>;
}
