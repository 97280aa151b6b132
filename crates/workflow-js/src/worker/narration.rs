//! Phases and log lines on their way out, at a bounded rate.
//!
//! A script that narrates faster than allowed is not slowed down: of what comes too fast, the newest phase and the
//! newest line wait until there is room or until the script pauses, and the rest is left out and counted.

use std::time::Instant;

use crate::protocol::FromWorker;

/// One thing a script told.
#[derive(Debug, PartialEq, Eq)]
enum Item {
    Phase(String),
    Log(String),
}

/// What waits to be sent, at most one phase and one line, in the order in which the script told them.
#[derive(Debug)]
pub(super) struct Narration {
    rate: f64,
    /// How many may be sent at once now.
    tokens: f64,
    refilled: Instant,
    waiting: Vec<Item>,
    /// Lines left out since the last one that was sent.
    lines_left_out: u64,
    total: Totals,
}

/// What was left out in all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Totals {
    pub(super) phases: u64,
    pub(super) lines: u64,
}

impl Narration {
    /// Lets through so many a second, and as many in one burst.
    pub(super) fn new(per_second: u32, now: Instant) -> Self {
        Self {
            rate: f64::from(per_second),
            tokens: f64::from(per_second),
            refilled: now,
            waiting: Vec::with_capacity(2),
            lines_left_out: 0,
            total: Totals::default(),
        }
    }

    pub(super) fn phase(&mut self, title: String) {
        if let Some(at) = self.waiting.iter().position(|item| matches!(item, Item::Phase(_))) {
            self.waiting.remove(at);
            self.total.phases += 1;
        }
        self.waiting.push(Item::Phase(title));
    }

    pub(super) fn line(&mut self, message: String) {
        if let Some(at) = self.waiting.iter().position(|item| matches!(item, Item::Log(_))) {
            self.waiting.remove(at);
            self.lines_left_out += 1;
            self.total.lines += 1;
        }
        self.waiting.push(Item::Log(message));
    }

    /// What may be sent now.
    pub(super) fn due(&mut self, now: Instant) -> Vec<FromWorker> {
        let passed = now.saturating_duration_since(self.refilled);
        self.tokens = (self.tokens + passed.as_secs_f64() * self.rate).min(self.rate);
        self.refilled = now;
        if self.tokens >= 1.0 { self.rest() } else { Vec::new() }
    }

    /// All that waits: the script pauses, or something must not overtake it.
    pub(super) fn rest(&mut self) -> Vec<FromWorker> {
        let items = std::mem::take(&mut self.waiting);
        self.tokens = items.iter().fold(self.tokens, |tokens, _| (tokens - 1.0).max(0.0));
        items.into_iter().map(|item| self.message(item)).collect()
    }

    /// What was left out so far.
    pub(super) fn left_out(&self) -> Totals {
        self.total
    }

    fn message(&mut self, item: Item) -> FromWorker {
        match item {
            Item::Phase(title) => FromWorker::Phase { title },
            Item::Log(message) => FromWorker::Log {
                message,
                left_out: std::mem::take(&mut self.lines_left_out),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn texts(messages: Vec<FromWorker>) -> Vec<String> {
        let text = |message| match message {
            FromWorker::Phase { title } => format!("phase {title}"),
            FromWorker::Log { message, left_out } => format!("{message} +{left_out}"),
            other => panic!("{other:?}"),
        };
        messages.into_iter().map(text).collect()
    }

    #[test]
    fn a_burst_passes_and_what_comes_faster_leaves_only_the_newest() {
        let now = Instant::now();
        let mut narration = Narration::new(3, now);
        let mut sent = Vec::new();
        for n in 0..1_000 {
            narration.line(format!("line {n}"));
            sent.extend(texts(narration.due(now)));
        }
        assert_eq!(sent, ["line 0 +0", "line 1 +0", "line 2 +0"]);
        assert_eq!(texts(narration.rest()), ["line 999 +996"]);
        assert_eq!(narration.left_out(), Totals { phases: 0, lines: 996 });
    }

    #[test]
    fn there_is_room_again_as_time_passes() {
        let now = Instant::now();
        let mut narration = Narration::new(2, now);
        let mut sent = 0;
        for step in 0..1_000u32 {
            narration.line(String::new());
            sent += narration.due(now + Duration::from_millis(10) * step).len();
        }
        assert!((20..=24).contains(&sent), "{sent} in ten seconds");
    }

    #[test]
    fn the_newest_phase_and_line_keep_their_order() {
        let now = Instant::now();
        let mut narration = Narration::new(1, now);
        narration.line("first".into());
        assert_eq!(texts(narration.due(now)), ["first +0"]);
        narration.phase("A".into());
        narration.line("in A".into());
        narration.phase("B".into());
        narration.line("in B".into());
        narration.phase("C".into());
        assert_eq!(texts(narration.due(now)), Vec::<String>::new());
        assert_eq!(texts(narration.rest()), ["in B +1", "phase C"]);
        assert_eq!(narration.left_out(), Totals { phases: 2, lines: 1 });
    }
}
