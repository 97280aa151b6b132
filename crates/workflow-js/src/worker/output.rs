//! The worker's messages to its parent.

use std::time::Instant;

use super::narration::{Narration, Totals};
use super::pipe::Pipe;
use crate::frames::{FrameError, encode};
use crate::protocol::{FromWorker, Setup};
use crate::text::{cut_bytes, cut_chars};

/// Stdout, and the narration that waits for it.
#[derive(Debug)]
pub(super) struct Output {
    max_frame_bytes: usize,
    max_log_bytes: usize,
    max_phase_chars: usize,
    narration: Narration,
    pipe: Pipe,
}

impl Output {
    pub(super) fn new(setup: &Setup, pipe: Pipe) -> Self {
        Self {
            max_frame_bytes: setup.max_frame_bytes,
            max_log_bytes: setup.max_log_bytes,
            max_phase_chars: setup.max_phase_chars,
            narration: Narration::new(setup.max_narration_per_second, Instant::now()),
            pipe,
        }
    }

    /// Sends a message, and before it the narration that waits.
    ///
    /// # Errors
    ///
    /// It does not fit into a frame; nothing was sent.
    pub(super) fn send(&mut self, message: &FromWorker) -> Result<(), FrameError> {
        let frame = encode(message, self.max_frame_bytes)?;
        self.flush();
        self.pipe.write(&frame);
        Ok(())
    }

    /// Tells a phase and returns it as told, cut to its limit.
    pub(super) fn phase(&mut self, title: &str) -> String {
        let title = self.cut_phase(title);
        self.narration.phase(title.clone());
        self.send_due();
        title
    }

    pub(super) fn cut_phase(&self, title: &str) -> String {
        cut_chars(title, self.max_phase_chars)
    }

    /// Tells a line.
    pub(super) fn line(&mut self, message: &str) {
        self.narration.line(cut_bytes(message, self.max_log_bytes));
        self.send_due();
    }

    /// Sends all narration that waits.
    pub(super) fn flush(&mut self) {
        let rest = self.narration.rest();
        self.tell(&rest);
    }

    pub(super) fn left_out(&self) -> Totals {
        self.narration.left_out()
    }

    fn send_due(&mut self) {
        let due = self.narration.due(Instant::now());
        self.tell(&due);
    }

    /// Blocks while the parent is busy: a script that tells much waits for its listeners.
    fn tell(&self, messages: &[FromWorker]) {
        for message in messages {
            let frame = encode(message, self.max_frame_bytes);
            self.pipe
                .tell(&frame.expect("phases and lines are cut to far less than a frame"));
        }
    }
}
