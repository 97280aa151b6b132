//! Two ways to show a conversation: a picture that is drawn over itself, and plain lines.

use std::io::{self, Write};
use std::time::Duration;

use super::fold::{Card, Conversation, Item};
use crate::terminal::{Palette, Redrawn, Size, clip, wrap};

/// Where a conversation is shown.
pub(super) trait Screen {
    /// Shows its present state.
    fn draw(&mut self, conversation: &Conversation, elapsed: Duration) -> io::Result<()>;
    /// Shows its last state and how it ended.
    fn end(&mut self, conversation: &Conversation, elapsed: Duration, stop: &str) -> io::Result<()>;
}

/// Draws over its own last picture with a few terminal codes.
pub(super) struct Live<W> {
    out: Redrawn<W>,
    size: fn() -> Size,
}

const INK: Palette = Palette::COLOURED;
const SPINNER: [&str; 8] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧"];

impl<W: Write> Live<W> {
    /// `size` is asked anew for each picture.
    pub(super) fn new(out: W, size: fn() -> Size) -> Self {
        Self {
            out: Redrawn::new(out),
            size,
        }
    }
}

impl<W: Write> Screen for Live<W> {
    fn draw(&mut self, conversation: &Conversation, elapsed: Duration) -> io::Result<()> {
        let Size { columns, rows } = (self.size)();
        let lines = picture(conversation, elapsed, columns);
        // What has left the screen cannot be drawn over: of a long picture only the end is shown until all is over.
        self.out.paint(&[], &lines[(lines.len() + 1).saturating_sub(rows)..])
    }

    fn end(&mut self, conversation: &Conversation, elapsed: Duration, stop: &str) -> io::Result<()> {
        let mut lines = picture(conversation, elapsed, (self.size)().columns);
        let Palette { dim, reset, .. } = INK;
        lines.push(format!("{dim}{}{reset}", last_line(elapsed, stop)));
        self.out.paint(&[], &lines)
    }
}

/// What the last line says: how the turn ended, and when.
fn last_line(elapsed: Duration, stop: &str) -> String {
    let how = if stop == "end_turn" { "done" } else { stop };
    format!("{how} after {:.1} s", elapsed.as_secs_f32())
}

fn picture(conversation: &Conversation, elapsed: Duration, columns: usize) -> Vec<String> {
    let Palette { bold, dim, reset, .. } = INK;
    let mut lines = Vec::new();
    for item in &conversation.items {
        match item {
            Item::Said { who, text } => {
                let style = if *who == "thought" { dim } else { "" };
                for (n, line) in text
                    .lines()
                    .flat_map(|line| wrap(line, columns.saturating_sub(9)))
                    .enumerate()
                {
                    let name = if n == 0 { *who } else { "" };
                    lines.push(format!("{bold}{name:>7}{reset}  {style}{line}{reset}"));
                }
            }
            Item::Card(card) => lines.extend(picture_of_card(card, elapsed, columns)),
        }
    }
    lines
}

fn picture_of_card(card: &Card, elapsed: Duration, columns: usize) -> Vec<String> {
    let frame = usize::try_from(elapsed.as_millis() / 120).unwrap_or(0) % SPINNER.len();
    let Palette { bold, dim, reset, .. } = INK;
    let (colour, mark) = match card.status.as_str() {
        "completed" => (INK.green, "✔"),
        "failed" => (INK.red, "✘"),
        _ => (INK.cyan, SPINNER[frame]),
    };
    let mut lines = vec![format!(
        "{colour}╭{reset} {colour}{mark}{reset} {bold}{}{reset}",
        clip(&card.title, columns.saturating_sub(4))
    )];
    for line in card.text.lines().flat_map(|line| wrap(line, columns.saturating_sub(2))) {
        lines.push(format!("{colour}│{reset} {line}"));
    }
    lines.push(format!(
        "{colour}╰ {}{reset} {dim}{:.1} s{reset}",
        card.status.replace('_', " "),
        elapsed.as_secs_f32()
    ));
    lines
}

/// Writes a line whenever something has changed, for a pipe or a log.
pub(super) struct Plain<W> {
    out: W,
    shown: Vec<Item>,
}

impl<W: Write> Plain<W> {
    pub(super) fn new(out: W) -> Self {
        Self { out, shown: Vec::new() }
    }

    /// Shows what has changed. Speech is shown once it is whole: when something follows it.
    fn show(&mut self, conversation: &Conversation, over: bool) -> io::Result<()> {
        for (at, item) in conversation.items.iter().enumerate() {
            let whole = over || at + 1 < conversation.items.len();
            match item {
                Item::Said { who, text } if whole && self.shown.get(at).is_none() => {
                    for line in text.lines() {
                        writeln!(self.out, "{who}: {line}")?;
                    }
                    self.shown.push(item.clone());
                }
                Item::Card(card) if self.shown.get(at) != Some(item) && self.shown.len() >= at => {
                    write_card(&mut self.out, card)?;
                    self.shown.truncate(at);
                    self.shown.push(item.clone());
                }
                _ => {}
            }
        }
        self.out.flush()
    }
}

fn write_card(out: &mut impl Write, card: &Card) -> io::Result<()> {
    writeln!(out, "[{}] {}", card.status.replace('_', " "), card.title)?;
    for line in card.text.lines() {
        writeln!(out, "    {line}")?;
    }
    Ok(())
}

impl<W: Write> Screen for Plain<W> {
    fn draw(&mut self, conversation: &Conversation, _elapsed: Duration) -> io::Result<()> {
        self.show(conversation, false)
    }

    fn end(&mut self, conversation: &Conversation, elapsed: Duration, stop: &str) -> io::Result<()> {
        self.show(conversation, true)?;
        writeln!(self.out, "{}", last_line(elapsed, stop))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn talk(updates: &[serde_json::Value]) -> Conversation {
        let mut conversation = Conversation::new("go");
        for update in updates {
            conversation.apply(update);
        }
        conversation
    }

    #[test]
    fn plain_lines_show_each_state_of_a_card_once_and_whole_speech() {
        let call = json!({"sessionUpdate": "tool_call", "toolCallId": "1", "title": "t", "status": "in_progress"});
        let done = json!({"sessionUpdate": "tool_call_update", "toolCallId": "1", "status": "completed"});
        let mut out = Vec::new();
        let mut plain = Plain::new(&mut out);
        for updates in [vec![], vec![call.clone()], vec![call.clone()], vec![call, done]] {
            plain.draw(&talk(&updates), Duration::ZERO).expect("written");
        }
        assert_eq!(
            String::from_utf8(out).expect("text"),
            "you: go\n[in progress] t\n[completed] t\n"
        );
    }

    #[test]
    fn the_live_picture_is_drawn_over_itself() {
        let mut out = Vec::new();
        let mut live = Live::new(&mut out, || Size { columns: 80, rows: 24 });
        live.draw(&talk(&[]), Duration::ZERO).expect("written");
        live.draw(&talk(&[]), Duration::ZERO).expect("written");
        let text = String::from_utf8(out).expect("text");
        assert_eq!(text.matches("\x1b[1A").count(), 1, "{text:?}");
    }

    #[test]
    fn no_row_of_a_picture_is_wider_than_the_terminal() {
        let call = json!({"sessionUpdate": "tool_call", "toolCallId": "1", "title": "t".repeat(200)});
        let text = json!({"type": "text", "text": format!("{}\n{}", "words ".repeat(40), "w".repeat(200))});
        let said = json!({"sessionUpdate": "agent_message_chunk", "content": text});
        let shown = json!({"sessionUpdate": "tool_call_update", "toolCallId": "1",
                           "content": [{"type": "content", "content": text}]});
        let codes = [INK.bold, INK.dim, INK.cyan, INK.green, INK.red, INK.reset];
        for columns in [20, 40, 80] {
            for row in picture(
                &talk(&[said.clone(), call.clone(), shown.clone()]),
                Duration::ZERO,
                columns,
            ) {
                let plain = codes.iter().fold(row, |row, code| row.replace(code, ""));
                assert!(plain.chars().count() <= columns, "{columns}: {plain:?}");
            }
        }
    }

    #[test]
    fn a_picture_longer_than_the_terminal_shows_its_end_until_all_is_over() {
        let text = (0..9).map(|n| format!("line {n}\n")).collect::<String>();
        let said = json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}});
        let mut out = Vec::new();
        let mut live = Live::new(&mut out, || Size { columns: 80, rows: 5 });
        let conversation = talk(&[said]);
        live.draw(&conversation, Duration::ZERO).expect("written");
        assert_eq!(live.out.drawn(), 4);
        live.end(&conversation, Duration::ZERO, "end_turn").expect("written");
        assert_eq!(live.out.drawn(), 11);
    }
}
