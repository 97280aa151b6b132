//! The way of frames between the threads of the transport and the SDK.

use std::sync::{Mutex, PoisonError};

use agent_client_protocol::TransportFrame;
use agent_client_protocol::schema::MaybeUndefined;
use futures::StreamExt as _;
use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender};
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::{RawJsonRpcError, RawJsonRpcId, RawJsonRpcMessage, RawJsonRpcResponse};
use crate::StallTimeout;
use crate::outbox::Outbox;
use crate::transport::{Inbound, Input, Refusal};
use crate::wire;

const INVALID_PARAMS: i32 = -32602;

/// Holds back what comes behind `initialize` until its answer has left.
///
/// Clients that are a shell pipe send everything at once, and the SDK refuses what it sees before it has
/// answered.
#[derive(Debug, Default)]
pub(super) struct Gate {
    awaited: Mutex<Option<(RawJsonRpcId, oneshot::Sender<()>)>>,
}

impl Gate {
    /// What to wait for after `message`.
    fn close_behind(&self, message: &RawJsonRpcMessage) -> Option<oneshot::Receiver<()>> {
        let RawJsonRpcMessage::Request(request) = message else {
            return None;
        };
        if &*request.method != "initialize" {
            return None;
        }
        let (opened, opening) = oneshot::channel();
        *self.awaited.lock().unwrap_or_else(PoisonError::into_inner) = Some((request.id.clone(), opened));
        Some(opening)
    }

    fn answered(&self, id: &RawJsonRpcId) {
        let mut awaited = self.awaited.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, opened)) = awaited.take_if(|(awaited, _)| awaited == id) {
            // Nobody waits any more when the connection is ending.
            opened.send(()).ok();
        }
    }
}

/// Hands the client's messages to the SDK, until its input ends.
///
/// One message at a time, so that the queue inside the SDK stays short. A request waits while the client does
/// not read what it has been sent. If that takes longer than `stall`, the client is given up: what it sent
/// behind the request, the end of its input included, could not be seen.
pub(super) async fn feed(
    mut input: Input,
    to: UnboundedSender<TransportFrame>,
    gate: &Gate,
    outbox: &Outbox,
    stall: StallTimeout,
) {
    while let Some(inbound) = input.next().await {
        let message = match inbound {
            Inbound::Message(message) => message,
            Inbound::Refused(refusal) => {
                send(outbox, &refused(refusal));
                continue;
            }
        };
        if matches!(message, RawJsonRpcMessage::Request(_))
            && timeout(stall.get(), outbox.below_ceiling()).await.is_err()
        {
            tracing::warn!(
                limit = "acp.stall_timeout",
                "the client does not read; the connection is over"
            );
            outbox.give_up();
            return;
        }
        let opening = gate.close_behind(&message);
        if to.unbounded_send(TransportFrame::Single(message)).is_err() {
            return;
        }
        match opening {
            // An error means that the connection is ending, which the next send will find out.
            Some(opening) => drop(opening.await),
            None => tokio::task::yield_now().await,
        }
    }
}

/// Hands what the SDK says to the outbox, until it has said everything.
pub(super) async fn drain(mut from: UnboundedReceiver<TransportFrame>, gate: &Gate, outbox: &Outbox) {
    while let Some(frame) = from.next().await {
        let TransportFrame::Single(mut message) = frame else {
            debug_assert!(false, "the SDK relays malformed frames only between others");
            continue;
        };
        if let RawJsonRpcMessage::Response(RawJsonRpcResponse::Error { error, .. }) = &mut message {
            strip_input(error);
        }
        send(outbox, &message);
        if let Some(id) = message.response_id() {
            gate.answered(id);
        }
    }
}

fn send(outbox: &Outbox, message: &RawJsonRpcMessage) {
    let mut line = Vec::new();
    wire::write_message(&mut line, message);
    outbox.message(&line);
}

fn refused(refusal: Refusal) -> RawJsonRpcMessage {
    let error = RawJsonRpcError::new(refusal.code, refusal.message);
    RawJsonRpcMessage::Response(RawJsonRpcResponse::new(refusal.id, Err(Box::new(error))))
}

/// The SDK answers params that do not fit with the params themselves, which may hold secrets. What was
/// expected of them is worth keeping.
fn strip_input(error: &mut RawJsonRpcError) {
    let MaybeUndefined::Value(data) = &error.data else {
        return;
    };
    if error.code != INVALID_PARAMS || data.get("json").is_none() {
        return;
    }
    let reason = data.get("error").and_then(Value::as_str).unwrap_or_default();
    error.data = match expectation(reason) {
        Some(expected) => MaybeUndefined::Value(json!({ "expected": expected })),
        None => MaybeUndefined::Undefined,
    };
}

/// The part of a deserialisation error that holds none of the input.
fn expectation(reason: &str) -> Option<&str> {
    if reason.starts_with("missing field") {
        return Some(reason);
    }
    // The last one: what stands before it may quote the input, and the input may hold these words.
    reason.rsplit_once(", expected ").map(|(_, expected)| expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_to_unfit_params_hold_none_of_them() {
        let cases = [
            (
                json!({ "error": "invalid type: string \"secret, expected x\", expected a map", "json": { "a": "secret" }, "phase": "p" }),
                Some(json!({ "expected": "a map" })),
            ),
            (
                json!({ "error": "missing field `cwd`", "json": {} }),
                Some(json!({ "expected": "missing field `cwd`" })),
            ),
            (json!({ "error": "secret", "json": {} }), None),
            (json!({ "json": "secret" }), None),
        ];
        for (data, expected) in cases {
            let mut error = RawJsonRpcError::new(INVALID_PARAMS, "Invalid params").data(data);
            strip_input(&mut error);
            assert_eq!(error.data.value().cloned(), expected);
        }
    }

    #[test]
    fn data_of_our_own_is_left_alone() {
        for (code, data) in [
            (-32002, json!({ "sessionId": "s" })),
            (INVALID_PARAMS, json!({ "hint": "h" })),
        ] {
            let mut error = RawJsonRpcError::new(code, "m").data(data.clone());
            strip_input(&mut error);
            assert_eq!(error.data.value(), Some(&data));
        }
    }
}
