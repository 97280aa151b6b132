//! What goes on, as compact cards on a terminal: one line for each call that is over, and below them the calls that run.

use std::io;

use weft_tools::{ProgressView, ToolRegistry};
use weft_types::{CallId, Event, EventBody, text_of};

use crate::terminal::{Palette, Redrawn, Size, clip, one_line};

/// How many lines of a running call's report are shown.
const REPORT_LINES: usize = 6;

/// The cards. A terminal that takes no more is no reason to stop.
pub(super) struct Progress {
    out: Redrawn<io::Stderr>,
    running: Vec<Card>,
}

struct Card {
    id: CallId,
    title: String,
    report: Vec<String>,
}

impl Progress {
    pub(super) fn new() -> Self {
        Self {
            out: Redrawn::new(io::stderr()),
            running: Vec::new(),
        }
    }

    /// Takes an event in.
    pub(super) fn event(&mut self, event: &Event, presenter: &ToolRegistry) {
        let Palette {
            red, green, dim, reset, ..
        } = Palette::COLOURED;
        let settled = match &event.body {
            EventBody::ToolCall {
                call_id,
                name,
                arguments,
                ..
            } => {
                self.running.push(Card {
                    id: call_id.clone(),
                    title: one_line(presenter.present_call(name, arguments).title()),
                    report: Vec::new(),
                });
                None
            }
            EventBody::ToolResult { call_id, error, .. } => self.take(call_id).map(|title| match error {
                None => format!("{green}✔{reset} {title}"),
                Some(error) => format!("{red}✘{reset} {title} {dim}· {}{reset}", one_line(&error.message)),
            }),
            EventBody::ModelRetry { attempt, message, .. } => Some(format!(
                "{dim}attempt {attempt} to reach the model failed: {}{reset}",
                one_line(message)
            )),
            _ => return,
        };
        self.paint(settled.as_slice());
    }

    /// Takes a running call's report in.
    pub(super) fn report(&mut self, call: &CallId, view: &ProgressView) {
        let Some(card) = self.running.iter_mut().find(|card| card.id == *call) else {
            return;
        };
        if let Some(title) = &view.title {
            card.title = one_line(title);
        }
        let text = text_of(&view.content);
        let lines: Vec<_> = text.lines().map(one_line).filter(|line| !line.is_empty()).collect();
        card.report = lines[lines.len().saturating_sub(REPORT_LINES)..].to_vec();
        self.paint(&[]);
    }

    /// Says something above the cards.
    pub(super) fn note(&mut self, text: &str) {
        let lines = text.lines().enumerate();
        let lines = lines.map(|(n, line)| format!("{}{}", if n == 0 { "weft: " } else { "" }, one_line(line)));
        self.paint(&lines.collect::<Vec<_>>());
    }

    /// Clears what is not over.
    pub(super) fn end(&mut self) {
        self.running.clear();
        self.paint(&[]);
    }

    fn take(&mut self, id: &CallId) -> Option<String> {
        let at = self.running.iter().position(|card| card.id == *id)?;
        Some(self.running.remove(at).title)
    }

    fn paint(&mut self, settled: &[String]) {
        let Palette { cyan, dim, reset, .. } = Palette::COLOURED;
        let Size { columns, rows } = Size::of_stderr();
        let cards = self.running.iter().flat_map(|card| {
            let head = format!("{cyan}▶{reset} {}", clip(&card.title, columns.saturating_sub(3)));
            let report = card.report.iter();
            let report = report.map(|line| format!("  {dim}{}{reset}", clip(line, columns.saturating_sub(3))));
            std::iter::once(head).chain(report)
        });
        let cards: Vec<_> = cards.collect();
        let settled: Vec<_> = settled.iter().map(|line| clip_coloured(line, columns)).collect();
        // What has left the screen cannot be drawn over.
        let shown = &cards[(cards.len() + 1).saturating_sub(rows)..];
        let _unseen = self.out.paint(&settled, shown);
    }
}

/// The start of a line that fits into the columns; its colours take no room and end with it.
fn clip_coloured(line: &str, columns: usize) -> String {
    let mut codes = 0;
    let mut is_code = false;
    for letter in line.chars() {
        is_code |= letter == '\u{1b}';
        codes += usize::from(is_code && letter != '\u{1b}');
        is_code &= letter != 'm';
    }
    format!(
        "{}{}",
        clip(line, columns.saturating_sub(1) + codes),
        Palette::COLOURED.reset
    )
}
