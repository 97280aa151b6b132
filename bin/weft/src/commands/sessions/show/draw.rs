//! A conversation's items as lines for a terminal or a pipe.

use std::time::{Duration, UNIX_EPOCH};

use unicode_width::UnicodeWidthStr as _;
use weft_types::SessionHeader;

use super::fold::{Call, CallStatus, Item, Speaker};
use crate::terminal::{Palette, clip, harmless, one_line, wrap};

/// How things are drawn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Style {
    pub(super) ink: Palette,
    /// The most columns of a row; without it lines are as long as they are.
    pub(super) columns: Option<usize>,
    /// Whether outputs are drawn from end to end.
    pub(super) full: bool,
}

/// Where texts begin.
const MARGIN: usize = 9;
/// How many lines of a call's output are drawn at its start and its end, where it is cut.
const OUTPUT_HEAD: usize = 4;
const OUTPUT_TAIL: usize = 4;

mod run;

impl Style {
    /// The lines above everything.
    pub(super) fn header(&self, header: &SessionHeader, title: Option<&str>, created: &str) -> Vec<String> {
        let Palette { bold, dim, reset, .. } = self.ink;
        let id = one_line(header.id.as_str());
        let mut facts = format!("{} · {created}", one_line(&header.cwd));
        if let Some(parent) = &header.parent {
            let label = one_line(header.label.as_deref().unwrap_or_default());
            facts.push_str(&format!(" · subagent {label} of {}", one_line(parent.as_str())));
        }
        let title = title.map(one_line).filter(|title| !title.is_empty());
        let title = title
            .iter()
            .flat_map(|title| self.rows(title, MARGIN))
            .map(|row| (bold, row));
        let below = title.chain(self.rows(&facts, MARGIN).map(|row| (dim, row)));
        let below = below.map(|(shade, row)| format!("{:MARGIN$}{shade}{row}{reset}", ""));
        std::iter::once(format!("{bold}session{reset}  {id}"))
            .chain(below)
            .collect()
    }

    /// The lines of one item.
    pub(super) fn item(&self, item: &Item) -> Vec<String> {
        match item {
            Item::Turn(at) => {
                let Palette { dim, reset, .. } = self.ink;
                // An empty line parts the turns.
                vec![String::new(), format!("{:MARGIN$}{dim}{}{reset}", "", date(at.0))]
            }
            Item::Said { who, text } => self.said(*who, text),
            Item::Call(call) => self.call(call),
            Item::Note(text) => {
                let Palette { dim, reset, .. } = self.ink;
                let text = one_line(text);
                self.rows(&text, MARGIN)
                    .map(|row| format!("{:MARGIN$}{dim}{row}{reset}", ""))
                    .collect()
            }
            Item::Model(name) => self.label("model", &one_line(name)),
            Item::Run(run) => self.run(run),
        }
    }

    /// A fact that is nobody's words.
    fn label(&self, name: &str, text: &str) -> Vec<String> {
        let Palette { dim, reset, .. } = self.ink;
        let rows = self.rows(text, MARGIN).enumerate();
        let named = rows.map(|(n, row)| (if n == 0 { name } else { "" }, row));
        named
            .map(|(name, row)| format!("{dim}{name:>7}  {row}{reset}"))
            .collect()
    }

    fn said(&self, who: Speaker, text: &str) -> Vec<String> {
        let Palette { bold, dim, reset, .. } = self.ink;
        let (name, shade, end) = match who {
            Speaker::User => ("you", "", ""),
            Speaker::Model => ("weft", "", ""),
            Speaker::Thought => ("thought", dim, reset),
        };
        let text = harmless(text);
        let rows = text.lines().flat_map(|line| self.rows(line, MARGIN));
        let named = rows.enumerate().map(|(n, row)| {
            let name = if n == 0 { name } else { "" };
            format!("{bold}{name:>7}{reset}  {shade}{row}{end}")
        });
        named.map(|row| row.trim_end().to_owned()).collect()
    }

    fn call(&self, call: &Call) -> Vec<String> {
        let Palette { bold, reset, .. } = self.ink;
        let (colour, mark, status) = match call.status {
            CallStatus::Running => (self.ink.cyan, '▶', "running"),
            CallStatus::Completed => (self.ink.green, '✔', "completed"),
            CallStatus::Failed => (self.ink.red, '✘', "failed"),
        };
        let title = one_line(&call.title);
        let exit = call.exit.iter().map(|exit| format!(" · {}", one_line(exit)));
        let status = status.to_owned() + &exit.collect::<String>();
        let room = self.columns.map_or(usize::MAX, |columns| {
            columns.saturating_sub(MARGIN + status.width() + 5)
        });
        let title = clip(&title, room);
        let head = format!(
            "{:MARGIN$}{colour}{mark}{reset} {bold}{title}{reset} · {colour}{status}{reset}",
            ""
        );
        std::iter::once(head).chain(self.output(&call.output)).collect()
    }

    /// A call's output: its start and its end, if it is long and nobody asked for all of it.
    fn output(&self, output: &str) -> Vec<String> {
        let Palette { dim, reset, .. } = self.ink;
        let room = self
            .columns
            .map_or(usize::MAX, |columns| columns.saturating_sub(MARGIN + 2));
        let draw = |line: &str| {
            // All of it is all of each line as well.
            let rows = if self.full {
                wrap(line, room)
            } else {
                vec![clip(line, room).into_owned()]
            };
            rows.into_iter().map(|row| {
                let line = format!("{:MARGIN$}  {dim}{row}{reset}", "");
                line.trim_end().to_owned()
            })
        };
        let output = harmless(output);
        let all: Vec<_> = output.lines().collect();
        let rest = all.len().saturating_sub(OUTPUT_HEAD + OUTPUT_TAIL);
        if self.full || rest <= 1 {
            return all.into_iter().flat_map(draw).collect();
        }
        let head = all[..OUTPUT_HEAD].iter().copied().flat_map(draw);
        let gap = format!("… {rest} more lines (--full shows them)");
        let tail = all[all.len() - OUTPUT_TAIL..].iter().copied().flat_map(draw);
        head.chain(draw(&gap)).chain(tail).collect()
    }

    fn rows<'a>(&self, line: &'a str, margin: usize) -> impl Iterator<Item = String> + use<'a> {
        match self.columns {
            Some(columns) => wrap(line, columns.saturating_sub(margin)).into_iter(),
            None => vec![line.to_owned()].into_iter(),
        }
    }
}

/// A time for people; a number where it is none.
pub(super) fn date(millis: u64) -> String {
    // What a log holds may be any number; the calendar ends with the year 9999.
    const CALENDAR_MILLIS: u64 = 253_402_300_800_000;
    if millis >= CALENDAR_MILLIS {
        return format!("{millis} ms");
    }
    humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_millis(millis)).to_string()
}

#[cfg(test)]
mod tests;
