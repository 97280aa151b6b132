//! A conversation drawn as it is read.

use std::io::{self, BufWriter, Write};
use std::sync::Arc;

use weft_session::Damage;
use weft_types::{Event, EventBody, SessionHeader};

use super::View;
use super::draw::{Style, date};
use super::fold::{Conversation, Item};
use crate::terminal::{Palette, Redrawn, Size};

/// Draws what is settled as soon as it is. On a terminal where the session is followed, what is not settled yet stands
/// below and is drawn over.
pub(super) struct Drawing<W: Write> {
    out: Out<W>,
    conversation: Conversation,
    /// Whether outputs are drawn from end to end.
    full: bool,
    damage: Option<Damage>,
}

/// Where it is drawn. Where there is a size, it is asked for anew with each picture.
pub(super) enum Out<W: Write> {
    /// A pipe or a file.
    Plain(BufWriter<W>),
    /// A terminal.
    Coloured(BufWriter<W>, fn() -> Size),
    /// A terminal that shows what happens now.
    Live(Redrawn<W>, fn() -> Size),
}

impl<W: Write> Drawing<W> {
    pub(super) fn new(out: Out<W>, conversation: Conversation) -> Self {
        Self {
            out,
            conversation,
            full: false,
            damage: None,
        }
    }

    /// Draws outputs from end to end, if told so.
    pub(super) fn full(self, full: bool) -> Self {
        Self { full, ..self }
    }

    fn style(&self) -> Style {
        let full = self.full;
        match &self.out {
            Out::Plain(_) => Style {
                ink: Palette::PLAIN,
                columns: None,
                full,
            },
            Out::Coloured(_, size) | Out::Live(_, size) => Style {
                ink: Palette::COLOURED,
                columns: Some(size().columns),
                full,
            },
        }
    }

    fn draw_settled(&mut self) -> io::Result<()> {
        let style = self.style();
        let settled = self.conversation.take_settled();
        let lines: Vec<_> = settled.iter().flat_map(|item| style.item(item)).collect();
        self.out.print(&lines)
    }

    fn draw_pending(&mut self) -> io::Result<()> {
        let Out::Live(out, size) = &mut self.out else {
            return self.out.flush();
        };
        let Size { columns, rows } = size();
        let style = Style {
            ink: Palette::COLOURED,
            columns: Some(columns),
            full: self.full,
        };
        let lines: Vec<_> = self
            .conversation
            .pending()
            .iter()
            .flat_map(|item| style.item(item))
            .collect();
        // What has left the screen cannot be drawn over: of a long picture only the end is shown.
        out.paint(&[], &lines[(lines.len() + 1).saturating_sub(rows)..])
    }
}

impl<W: Write> Out<W> {
    /// Lines that stay.
    fn print(&mut self, lines: &[String]) -> io::Result<()> {
        match self {
            Self::Plain(out) | Self::Coloured(out, _) => lines.iter().try_for_each(|line| writeln!(out, "{line}")),
            Self::Live(out, _) if lines.is_empty() => Ok(()),
            Self::Live(out, _) => out.paint(lines, &[]),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(out) | Self::Coloured(out, _) => out.flush(),
            Self::Live(..) => Ok(()),
        }
    }
}

impl<W: Write> View for Drawing<W> {
    fn header(&mut self, header: &SessionHeader, title: Option<&str>) -> anyhow::Result<()> {
        let lines = self.style().header(header, title, &date(header.created_at.0));
        self.out.print(&lines)?;
        Ok(())
    }

    fn events(&mut self, events: &[Arc<Event>]) -> anyhow::Result<()> {
        for event in events {
            self.conversation.apply(event)?;
            if matches!(event.body, EventBody::TurnEnd { .. }) {
                self.draw_settled()?;
            }
        }
        self.draw_settled()?;
        Ok(self.draw_pending()?)
    }

    fn damaged(&mut self, damage: &Damage) {
        self.conversation.ends_at(damage.seq);
        self.damage = Some(damage.clone());
    }

    fn end(&mut self, header: &SessionHeader) -> anyhow::Result<()> {
        let style = self.style();
        let lines: Vec<_> = self
            .conversation
            .pending()
            .iter()
            .flat_map(|item| style.item(item))
            .collect();
        self.out.print(&lines)?;
        if let Some(Damage { seq, line, offset, .. }) = self.damage {
            let text = format!(
                "the log is damaged from here on (event {seq}, line {line}, byte {offset}); weft sessions export {} > \
                 sound.jsonl saves what is above",
                header.id
            );
            self.out.print(&style.item(&Item::Note(text)))?;
        }
        Ok(self.out.flush()?)
    }
}

#[cfg(test)]
mod tests;
