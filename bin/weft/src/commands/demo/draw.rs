//! Two ways to show a conversation: a picture that is drawn over itself, and plain lines.

use std::io::{self, Write};
use std::time::Duration;

use super::fold::{Card, Conversation, Item};

/// Where a conversation is shown.
pub(super) trait Screen {
    /// Shows its present state.
    fn draw(&mut self, conversation: &Conversation, elapsed: Duration) -> io::Result<()>;
    /// Shows its last state and how it ended.
    fn end(&mut self, conversation: &Conversation, elapsed: Duration, stop: &str) -> io::Result<()>;
}

/// Draws over its own last picture with a few terminal codes.
pub(super) struct Live<W> {
    out: W,
    drawn: usize,
}

const WIDTH: usize = 78;
const BOLD: &str = "\x1b[1m";
const DIM: &str = "\x1b[2m";
const CYAN: &str = "\x1b[36m";
const GREEN: &str = "\x1b[32m";
const RED: &str = "\x1b[31m";
const RESET: &str = "\x1b[0m";
const SPINNER: [&str; 8] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧"];

impl<W: Write> Live<W> {
    pub(super) fn new(out: W) -> Self {
        Self { out, drawn: 0 }
    }

    fn paint(&mut self, lines: &[String]) -> io::Result<()> {
        let mut frame = String::new();
        if self.drawn > 0 {
            frame.push_str(&format!("\x1b[{}A", self.drawn));
        }
        for line in lines {
            frame.push_str(&format!("\x1b[2K{line}\n"));
        }
        frame.push_str("\x1b[0J");
        self.drawn = lines.len();
        self.out.write_all(frame.as_bytes())?;
        self.out.flush()
    }
}

impl<W: Write> Screen for Live<W> {
    fn draw(&mut self, conversation: &Conversation, elapsed: Duration) -> io::Result<()> {
        self.paint(&picture(conversation, elapsed))
    }

    fn end(&mut self, conversation: &Conversation, elapsed: Duration, stop: &str) -> io::Result<()> {
        let mut lines = picture(conversation, elapsed);
        lines.push(format!("{DIM}{stop} after {:.1} s{RESET}", elapsed.as_secs_f32()));
        self.paint(&lines)
    }
}

fn picture(conversation: &Conversation, elapsed: Duration) -> Vec<String> {
    let mut lines = Vec::new();
    for item in &conversation.items {
        match item {
            Item::Said { who, text } => {
                let style = if *who == "thought" { DIM } else { "" };
                for (n, line) in text.lines().flat_map(wrap).enumerate() {
                    let name = if n == 0 { *who } else { "" };
                    lines.push(format!("{BOLD}{name:>7}{RESET}  {style}{line}{RESET}"));
                }
            }
            Item::Card(card) => lines.extend(picture_of_card(card, elapsed)),
        }
    }
    lines
}

fn picture_of_card(card: &Card, elapsed: Duration) -> Vec<String> {
    let frame = usize::try_from(elapsed.as_millis() / 120).unwrap_or(0) % SPINNER.len();
    let (colour, mark) = match card.status.as_str() {
        "completed" => (GREEN, "✔"),
        "failed" => (RED, "✘"),
        _ => (CYAN, SPINNER[frame]),
    };
    let mut lines = vec![format!(
        "{colour}╭{RESET} {colour}{mark}{RESET} {BOLD}{}{RESET}",
        cut(&card.title)
    )];
    for line in card.text.lines().flat_map(wrap) {
        lines.push(format!("{colour}│{RESET} {line}"));
    }
    lines.push(format!(
        "{colour}╰ {}{RESET} {DIM}{:.1} s{RESET}",
        card.status.replace('_', " "),
        elapsed.as_secs_f32()
    ));
    lines
}

fn cut(text: &str) -> String {
    text.chars().take(WIDTH).collect()
}

fn wrap(line: &str) -> Vec<String> {
    let mut rows = vec![String::new()];
    let mut width = 0;
    for word in line.split_inclusive(' ') {
        let long = word.chars().count();
        if width > 0 && width + long > WIDTH {
            rows.push(String::new());
            width = 0;
        }
        width += long;
        if let Some(row) = rows.last_mut() {
            row.push_str(word);
        }
    }
    rows
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
        writeln!(self.out, "{stop} after {:.1} s", elapsed.as_secs_f32())
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
        let mut live = Live::new(&mut out);
        live.draw(&talk(&[]), Duration::ZERO).expect("written");
        live.draw(&talk(&[]), Duration::ZERO).expect("written");
        let text = String::from_utf8(out).expect("text");
        assert_eq!(text.matches("\x1b[1A").count(), 1, "{text:?}");
    }

    #[test]
    fn long_lines_wrap_between_words() {
        let rows = wrap(&"word ".repeat(40));
        assert!(
            rows.len() > 2 && rows.iter().all(|row| row.chars().count() <= WIDTH),
            "{rows:?}"
        );
    }
}
