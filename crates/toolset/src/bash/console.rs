//! Reads a command's output as it comes, keeps what is kept of it, and shows the latest.

use std::future::Future;
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::time::{Instant, sleep_until};
use weft_tools::{InvalidView, Memory, ProgressView, ToolExecution};
use weft_types::ContentBlock;

use super::config::BashConfig;
use super::decode::Decoder;
use super::fence;
use super::output::Output;
use super::spill::Spill;
use crate::scratch::Scratch;

/// How much is read at a time: what a pipe holds.
const READ_BYTES: usize = 64 * 1024;

/// The reading end of a command's output.
#[derive(Debug)]
pub(super) struct Console {
    pipe: pipe::Receiver,
    buffer: Vec<u8>,
    ended: bool,
    decoder: Decoder,
    output: Output,
    live: Live,
}

impl Console {
    /// Reads from the pipe and reports to the execution's card.
    pub(super) fn new(pipe: pipe::Receiver, config: &BashConfig, execution: ToolExecution) -> Self {
        let scratch = execution.extension::<Memory>().map(|memory| memory.of::<Scratch>());
        let spill = scratch.map(|scratch| Spill::new(scratch, config.spill_bytes));
        Self {
            pipe,
            buffer: vec![0; READ_BYTES],
            ended: false,
            decoder: Decoder::default(),
            output: Output::new(config.max_output_chars, spill),
            live: Live {
                execution,
                bytes: config.live_tail_bytes,
                interval: config.report_interval,
                due: None,
                earliest: None,
                refused: None,
            },
        }
    }

    /// Reads until the event has happened.
    pub(super) async fn read_until<T>(&mut self, event: impl Future<Output = T>) -> T {
        tokio::pin!(event);
        loop {
            tokio::select! {
                biased;
                value = &mut event => return value,
                () = self.step(), if self.has_work() => {}
            }
        }
    }

    /// Reads until every process that holds the writing end has ended or closed it.
    pub(super) async fn read_to_end(&mut self) {
        while !self.ended {
            self.step().await;
        }
    }

    /// What is kept of the output; or why the card refused a report, which is a bug of ours.
    pub(super) fn finish(mut self) -> Result<String, InvalidView> {
        let mut rest = String::new();
        self.decoder.finish(&mut rest);
        self.output.push(&rest);
        match self.live.refused {
            Some(refused) => Err(refused),
            None => Ok(self.output.into_text()),
        }
    }

    fn has_work(&self) -> bool {
        !self.ended || self.live.due.is_some()
    }

    /// Takes one piece of output or makes one report. Loses nothing when it is dropped half-way.
    async fn step(&mut self) {
        let due = self.live.due;
        tokio::select! {
            biased;
            () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => self.live.report(&self.output),
            read = self.pipe.read(&mut self.buffer), if !self.ended => self.take(read),
        }
    }

    fn take(&mut self, read: std::io::Result<usize>) {
        let length = read.unwrap_or_else(|error| {
            tracing::warn!(%error, "failed to read a command's output");
            0
        });
        if length == 0 {
            self.ended = true;
            return;
        }
        let mut text = String::new();
        self.decoder.push(&self.buffer[..length], &mut text);
        if !text.is_empty() {
            self.output.push(&text);
            self.live.changed();
        }
    }
}

/// The card of the running call: it shows the latest output, but not too often.
#[derive(Debug)]
struct Live {
    execution: ToolExecution,
    bytes: usize,
    interval: Duration,
    /// When the next report is due, if there is something new to show.
    due: Option<Instant>,
    /// Before which time none may leave; absent before the first.
    earliest: Option<Instant>,
    refused: Option<InvalidView>,
}

impl Live {
    fn changed(&mut self) {
        if self.due.is_none() && self.refused.is_none() {
            let now = Instant::now();
            self.due = Some(self.earliest.map_or(now, |earliest| earliest.max(now)));
        }
    }

    fn report(&mut self, output: &Output) {
        self.due = None;
        self.earliest = Some(Instant::now() + self.interval);
        let text = fence::console(&output.latest(self.bytes));
        let view = ProgressView {
            title: None,
            content: vec![ContentBlock::text(text)],
        };
        // Whether it came in time or too late makes no difference to the command.
        if let Err(refused) = self.execution.report_progress(view) {
            self.refused = Some(refused);
        }
    }
}
