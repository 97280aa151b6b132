//! A conversation's items as lines for a terminal or a pipe.

use weft_types::SessionHeader;

use super::fold::{Call, CallStatus, Item, Speaker};
use crate::terminal::{Palette, clip, harmless, one_line, wrap};

/// How things are drawn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Style {
    pub(super) ink: Palette,
    /// The most columns of a row; without it lines are as long as they are.
    pub(super) columns: Option<usize>,
}

/// Where texts begin.
const MARGIN: usize = 9;
/// How many lines of a call's output are shown.
const OUTPUT_LINES: usize = 8;

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
            Item::Said { who, text } => self.said(*who, text),
            Item::Call(call) => self.call(call),
            Item::Note(text) => {
                let Palette { dim, reset, .. } = self.ink;
                let text = one_line(text);
                self.rows(&text, MARGIN)
                    .map(|row| format!("{:MARGIN$}{dim}{row}{reset}", ""))
                    .collect()
            }
            Item::Run(run) => self.run(run),
        }
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
        // An empty line before each prompt parts the turns.
        let gap = (who == Speaker::User).then(String::new);
        gap.into_iter()
            .chain(named.map(|row| row.trim_end().to_owned()))
            .collect()
    }

    fn call(&self, call: &Call) -> Vec<String> {
        let Palette { bold, dim, reset, .. } = self.ink;
        let (colour, mark, status) = match call.status {
            CallStatus::Running => (self.ink.cyan, '▶', "running"),
            CallStatus::Completed => (self.ink.green, '✔', "completed"),
            CallStatus::Failed => (self.ink.red, '✘', "failed"),
        };
        let title = one_line(&call.title);
        let room = self
            .columns
            .map_or(usize::MAX, |columns| columns.saturating_sub(MARGIN + status.len() + 5));
        let title = clip(&title, room);
        let mut lines = vec![format!(
            "{:MARGIN$}{colour}{mark}{reset} {bold}{title}{reset} · {colour}{status}{reset}",
            ""
        )];
        let output = harmless(&call.output);
        let all: Vec<_> = output.lines().collect();
        let kept = if all.len() > OUTPUT_LINES + 1 {
            OUTPUT_LINES
        } else {
            all.len()
        };
        let rest = all.len() - kept;
        for line in &all[..kept] {
            let room = self
                .columns
                .map_or(usize::MAX, |columns| columns.saturating_sub(MARGIN + 2));
            let line = format!("{:MARGIN$}  {dim}{}{reset}", "", clip(line, room));
            lines.push(line.trim_end().to_owned());
        }
        if rest > 0 {
            lines.push(format!("{:MARGIN$}  {dim}… {rest} more lines{reset}", ""));
        }
        lines
    }

    fn rows<'a>(&self, line: &'a str, margin: usize) -> impl Iterator<Item = String> + use<'a> {
        match self.columns {
            Some(columns) => wrap(line, columns.saturating_sub(margin)).into_iter(),
            None => vec![line.to_owned()].into_iter(),
        }
    }
}
