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

/// How large the terminal is, in characters.
#[derive(Clone, Copy)]
pub(super) struct Size {
    columns: usize,
    rows: usize,
}

impl Size {
    /// What stdout's terminal says of itself; 80 by 24 if it says nothing.
    pub(super) fn of_stdout() -> Self {
        match rustix::termios::tcgetwinsize(io::stdout()) {
            Ok(size) if size.ws_col > 0 && size.ws_row > 1 => Self {
                columns: size.ws_col.into(),
                rows: size.ws_row.into(),
            },
            _ => Self { columns: 80, rows: 24 },
        }
    }
}

/// Draws over its own last picture with a few terminal codes.
pub(super) struct Live<W> {
    out: W,
    size: fn() -> Size,
    drawn: usize,
}

const BOLD: &str = "\x1b[1m";
const DIM: &str = "\x1b[2m";
const CYAN: &str = "\x1b[36m";
const GREEN: &str = "\x1b[32m";
const RED: &str = "\x1b[31m";
const RESET: &str = "\x1b[0m";
const SPINNER: [&str; 8] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧"];

impl<W: Write> Live<W> {
    /// `size` is asked anew for each picture.
    pub(super) fn new(out: W, size: fn() -> Size) -> Self {
        Self { out, size, drawn: 0 }
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
        let Size { columns, rows } = (self.size)();
        let lines = picture(conversation, elapsed, columns);
        // What has left the screen cannot be drawn over: of a long picture only the end is shown until all is over.
        self.paint(&lines[(lines.len() + 1).saturating_sub(rows)..])
    }

    fn end(&mut self, conversation: &Conversation, elapsed: Duration, stop: &str) -> io::Result<()> {
        let mut lines = picture(conversation, elapsed, (self.size)().columns);
        lines.push(format!("{DIM}{}{RESET}", last_line(elapsed, stop)));
        self.paint(&lines)
    }
}

/// What the last line says: how the turn ended, and when.
fn last_line(elapsed: Duration, stop: &str) -> String {
    let how = if stop == "end_turn" { "done" } else { stop };
    format!("{how} after {:.1} s", elapsed.as_secs_f32())
}

fn picture(conversation: &Conversation, elapsed: Duration, columns: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for item in &conversation.items {
        match item {
            Item::Said { who, text } => {
                let style = if *who == "thought" { DIM } else { "" };
                for (n, line) in text
                    .lines()
                    .flat_map(|line| wrap(line, columns.saturating_sub(9)))
                    .enumerate()
                {
                    let name = if n == 0 { *who } else { "" };
                    lines.push(format!("{BOLD}{name:>7}{RESET}  {style}{line}{RESET}"));
                }
            }
            Item::Card(card) => lines.extend(picture_of_card(card, elapsed, columns)),
        }
    }
    lines
}

fn picture_of_card(card: &Card, elapsed: Duration, columns: usize) -> Vec<String> {
    let frame = usize::try_from(elapsed.as_millis() / 120).unwrap_or(0) % SPINNER.len();
    let (colour, mark) = match card.status.as_str() {
        "completed" => (GREEN, "✔"),
        "failed" => (RED, "✘"),
        _ => (CYAN, SPINNER[frame]),
    };
    let mut lines = vec![format!(
        "{colour}╭{RESET} {colour}{mark}{RESET} {BOLD}{}{RESET}",
        card.title.chars().take(columns.saturating_sub(4)).collect::<String>()
    )];
    for line in card.text.lines().flat_map(|line| wrap(line, columns.saturating_sub(2))) {
        lines.push(format!("{colour}│{RESET} {line}"));
    }
    lines.push(format!(
        "{colour}╰ {}{RESET} {DIM}{:.1} s{RESET}",
        card.status.replace('_', " "),
        elapsed.as_secs_f32()
    ));
    lines
}

/// Breaks a line into rows of at most `width` characters, between words where there is a place for it.
fn wrap(line: &str, width: usize) -> Vec<String> {
    let mut rows = vec![String::new()];
    let mut used = 0;
    for word in line.split_inclusive(' ') {
        if used > 0 && used + word.trim_end().chars().count() > width {
            rows.push(String::new());
            used = 0;
        }
        for letter in word.chars() {
            if used >= width.max(1) && letter != ' ' {
                rows.push(String::new());
                used = 0;
            }
            if used < width.max(1) {
                rows.last_mut().expect("starts with one row").push(letter);
                used += 1;
            }
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
        let codes = [BOLD, DIM, CYAN, GREEN, RED, RESET];
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
        assert_eq!(live.drawn, 4);
        live.end(&conversation, Duration::ZERO, "end_turn").expect("written");
        assert_eq!(live.drawn, 11);
    }

    #[test]
    fn lines_wrap_between_words_and_long_words_anywhere() {
        assert_eq!(wrap("one two three", 8), ["one two ", "three"]);
        assert_eq!(wrap("one two", 3), ["one", "two"]);
        assert_eq!(wrap("abcdefgh", 3), ["abc", "def", "gh"]);
        assert_eq!(wrap("", 3), [""]);
    }
}
