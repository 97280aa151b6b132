//! The way of frames between the threads of the transport and the SDK.

use std::sync::{Mutex, MutexGuard, PoisonError};

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

/// Lines that are to leave directly behind the answer to a request.
#[derive(Debug, Default)]
pub(super) struct Behind {
    waiting: Mutex<Vec<(RawJsonRpcId, Vec<u8>)>>,
}

impl Behind {
    /// Has whole lines follow the answer, which is not given yet.
    pub(super) fn put(&self, id: &RawJsonRpcId, lines: Vec<u8>) {
        if !lines.is_empty() {
            self.waiting().push((id.clone(), lines));
        }
    }

    fn take(&self, id: &RawJsonRpcId) -> Vec<u8> {
        let mut waiting = self.waiting();
        let at = waiting.iter().position(|(of, _)| of == id);
        at.map(|at| waiting.swap_remove(at).1).unwrap_or_default()
    }

    fn waiting(&self) -> MutexGuard<'_, Vec<(RawJsonRpcId, Vec<u8>)>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
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

/// Hands what the SDK says to the outbox, with what stands behind it, until it has said everything.
pub(super) async fn drain(
    mut from: UnboundedReceiver<TransportFrame>,
    (gate, behind): (&Gate, &Behind),
    outbox: &Outbox,
) {
    while let Some(frame) = from.next().await {
        let TransportFrame::Single(mut message) = frame else {
            debug_assert!(false, "the SDK relays malformed frames only between others");
            continue;
        };
        if let RawJsonRpcMessage::Response(RawJsonRpcResponse::Error { error, .. }) = &mut message {
            strip_input(error);
        }
        let mut lines = Vec::new();
        wire::write_message(&mut lines, &message);
        let answered = message.response_id();
        if let Some(id) = answered {
            lines.extend(behind.take(id));
        }
        outbox.message(&lines);
        if let Some(id) = answered {
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
    use std::future::poll_fn;
    use std::pin::pin;
    use std::task::Poll;

    use super::*;

    fn call(method: &str, id: i64) -> Inbound {
        Inbound::Message(RawJsonRpcMessage::request(method.into(), json!({}), id).expect("the params are an object"))
    }

    #[tokio::test]
    async fn frm07_what_comes_behind_initialize_waits_for_its_answer() {
        let input = Input::of(vec![call("initialize", 1), call("session/new", 2)]);
        let outbox = Outbox::start(std::io::sink(), crate::OutboxBytes::default()).unwrap();
        let (to, mut frames) = futures::channel::mpsc::unbounded();
        let gate = Gate::default();
        let mut feeding = pin!(feed(input, to, &gate, &outbox, StallTimeout::default()));
        let mut poll_often = async || {
            for _ in 0..10 {
                let poll = poll_fn(|context| Poll::Ready(feeding.as_mut().poll(context))).await;
                if poll.is_ready() {
                    break;
                }
            }
        };
        poll_often().await;
        assert!(frames.try_recv().is_ok(), "initialize goes through");
        assert!(frames.try_recv().is_err(), "and nothing behind it");
        gate.answered(&RawJsonRpcId::Number(2));
        poll_often().await;
        assert!(frames.try_recv().is_err(), "the answer to something else opens nothing");
        gate.answered(&RawJsonRpcId::Number(1));
        poll_often().await;
        assert!(frames.try_recv().is_ok());
        outbox.close();
    }

    /// A client that does not read, until the sender is dropped.
    struct Stalled(std::sync::mpsc::Receiver<()>);

    impl std::io::Write for Stalled {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            self.0.recv().map_err(|_| std::io::ErrorKind::BrokenPipe)?;
            Err(std::io::ErrorKind::BrokenPipe.into())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_asks_on_without_reading_is_given_up() {
        let (_stall, stalled) = std::sync::mpsc::channel();
        let bound = crate::OutboxBytes::new(4 << 10).unwrap();
        let outbox = Outbox::start(Stalled(stalled), bound).unwrap();
        for _ in 0..3 {
            outbox.message(&vec![b'x'; 64 << 10]);
        }
        let (to, mut frames) = futures::channel::mpsc::unbounded();
        let gate = Gate::default();
        let cancel = RawJsonRpcMessage::notification("session/cancel".into(), json!({})).unwrap();
        let input = Input::of(vec![Inbound::Message(cancel), call("session/prompt", 1)]);
        let began = tokio::time::Instant::now();
        feed(input, to, &gate, &outbox, StallTimeout::default()).await;
        assert_eq!(began.elapsed(), StallTimeout::default().get());
        assert!(outbox.is_broken());
        assert!(
            frames.try_recv().is_ok(),
            "a notification makes no answer, so it passes"
        );
        assert!(frames.try_recv().is_err(), "the request was not taken up");
    }

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
