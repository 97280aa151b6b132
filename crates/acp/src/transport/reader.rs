//! The thread that reads the input.

use std::io::{self, BufReader, Read};
use std::thread;

use tokio::sync::mpsc;

use super::frame::{Inbound, read_frame, read_too_long};
use super::line::{Line, next_line};
use crate::settings::LineLimit;

/// How many lines may wait for the protocol; beyond them the client waits, in its pipe.
const WAITING_LINES: usize = 16;

/// What a line's buffer may keep for the next one.
const KEPT_BUFFER_BYTES: usize = 1 << 20;

/// The messages of the client, in order.
#[derive(Debug)]
pub(crate) struct Input {
    lines: mpsc::Receiver<Inbound>,
}

impl Input {
    /// An input that has been read already.
    #[cfg(test)]
    pub(crate) fn of(messages: Vec<Inbound>) -> Self {
        let (sender, lines) = mpsc::channel(messages.len().max(1));
        for message in messages {
            sender.try_send(message).expect("there is room for all");
        }
        Self { lines }
    }

    /// The next message; `None` at the end of the input, be it clean or not.
    pub(crate) async fn next(&mut self) -> Option<Inbound> {
        self.lines.recv().await
    }
}

/// Starts the thread that reads `input`.
///
/// It ends at the end of the input, at a read error, or when the [`Input`] has been dropped and one more
/// line arrives. A read that waits cannot be interrupted: after a shutdown by signal the thread holds the
/// input, and nothing else, until the client closes it or the process exits.
pub(crate) fn spawn_reader(input: impl Read + Send + 'static, limit: LineLimit) -> io::Result<Input> {
    let (sender, lines) = mpsc::channel(WAITING_LINES);
    thread::Builder::new().name("weft-acp-reader".into()).spawn(move || {
        if let Err(error) = read_all(input, limit.get(), &sender) {
            tracing::warn!(%error, "reading from the client failed; its input counts as ended");
        }
    })?;
    Ok(Input { lines })
}

fn read_all(input: impl Read, limit: usize, sender: &mpsc::Sender<Inbound>) -> io::Result<()> {
    let mut input = BufReader::with_capacity(64 << 10, input);
    let mut buffer = Vec::new();
    while let Some(line) = next_line(&mut input, limit, &mut buffer)? {
        let inbound = match line {
            Line::Whole => read_frame(&buffer),
            Line::TooLong => read_too_long(&buffer, limit),
        };
        if buffer.capacity() > KEPT_BUFFER_BYTES {
            buffer = Vec::new();
        }
        if let Some(inbound) = inbound
            && sender.blocking_send(inbound).is_err()
        {
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sdk::{RawJsonRpcId, RawJsonRpcMessage};
    use crate::transport::Refusal;

    fn ids(inbound: &Inbound) -> Option<RawJsonRpcId> {
        match inbound {
            Inbound::Message(RawJsonRpcMessage::Request(request)) => Some(request.id.clone()),
            Inbound::Message(_) => None,
            Inbound::Refused(refusal) => Some(refusal.id.clone()),
        }
    }

    #[tokio::test]
    async fn frm07_the_last_line_needs_no_newline() {
        let lines =
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"}\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"b\"}";
        let mut input = spawn_reader(lines.as_bytes(), LineLimit::default()).unwrap();
        let mut found = Vec::new();
        while let Some(inbound) = input.next().await {
            found.push(ids(&inbound));
        }
        assert_eq!(found, [Some(RawJsonRpcId::Number(1)), Some(RawJsonRpcId::Number(2))]);
    }

    #[tokio::test]
    async fn frm01_the_line_after_an_over_long_one_is_read() {
        let long = "a".repeat(5000);
        let lines = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"params\":{{\"t\":\"{long}\"}}}}\n{{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"b\"}}\n"
        );
        let input = io::Cursor::new(lines);
        let mut input = spawn_reader(input, LineLimit::new(4096).unwrap()).unwrap();
        assert!(matches!(
            input.next().await,
            Some(Inbound::Refused(Refusal {
                id: RawJsonRpcId::Number(1),
                ..
            }))
        ));
        assert!(matches!(input.next().await, Some(Inbound::Message(_))));
        assert_eq!(input.next().await, None);
    }

    #[tokio::test]
    async fn a_flood_waits_in_the_pipe() {
        let (reader, writer) = io::pipe().unwrap();
        let mut input = spawn_reader(reader, LineLimit::default()).unwrap();
        let writer = thread::spawn(move || {
            use std::io::Write as _;
            let mut writer = writer;
            for id in 0..20_000 {
                writeln!(writer, "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"a\"}}").unwrap();
            }
        });
        let mut expected = 0;
        while let Some(inbound) = input.next().await {
            assert_eq!(ids(&inbound), Some(RawJsonRpcId::Number(expected)));
            assert!(input.lines.len() <= WAITING_LINES);
            expected += 1;
        }
        assert_eq!(expected, 20_000);
        writer.join().unwrap();
    }

    #[tokio::test]
    async fn a_failing_read_is_the_end() {
        struct Fails;
        impl Read for Fails {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("gone"))
            }
        }
        let mut input = spawn_reader(Fails, LineLimit::default()).unwrap();
        assert_eq!(input.next().await, None);
    }
}
