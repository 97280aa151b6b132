//! Text for a terminal: colours, rows, and nothing in it that the terminal would obey.

use std::borrow::Cow;
use std::io::{self, IsTerminal as _, Write};

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// The codes that colour text; all of them empty where nothing is coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Palette {
    pub(crate) bold: &'static str,
    pub(crate) dim: &'static str,
    pub(crate) cyan: &'static str,
    pub(crate) green: &'static str,
    pub(crate) red: &'static str,
    pub(crate) yellow: &'static str,
    pub(crate) reset: &'static str,
}

impl Palette {
    pub(crate) const COLOURED: Self = Self {
        bold: "\x1b[1m",
        dim: "\x1b[2m",
        cyan: "\x1b[36m",
        green: "\x1b[32m",
        red: "\x1b[31m",
        yellow: "\x1b[33m",
        reset: "\x1b[0m",
    };
    pub(crate) const PLAIN: Self = Self {
        bold: "",
        dim: "",
        cyan: "",
        green: "",
        red: "",
        yellow: "",
        reset: "",
    };
}

/// Whether stdout is a terminal that may be drawn on and coloured: not with `NO_COLOR` set to anything.
pub(crate) fn is_live() -> bool {
    io::stdout().is_terminal() && may_colour()
}

/// The same of stderr.
pub(crate) fn is_stderr_live() -> bool {
    io::stderr().is_terminal() && may_colour()
}

fn may_colour() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// How large the terminal is, in characters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    pub(crate) columns: usize,
    pub(crate) rows: usize,
}

impl Size {
    /// What stdout's terminal says of itself; 80 by 24 if it says nothing.
    pub(crate) fn of_stdout() -> Self {
        Self::of(io::stdout())
    }

    /// The same of stderr's.
    pub(crate) fn of_stderr() -> Self {
        Self::of(io::stderr())
    }

    fn of(terminal: impl std::os::fd::AsFd) -> Self {
        match rustix::termios::tcgetwinsize(terminal) {
            Ok(size) if size.ws_col > 0 && size.ws_row > 1 => Self {
                columns: size.ws_col.into(),
                rows: size.ws_row.into(),
            },
            _ => Self { columns: 80, rows: 24 },
        }
    }
}

/// Lines that are drawn over their own last state with a few terminal codes.
#[derive(Debug)]
pub(crate) struct Redrawn<W> {
    out: W,
    drawn: usize,
}

impl<W: Write> Redrawn<W> {
    pub(crate) fn new(out: W) -> Self {
        Self { out, drawn: 0 }
    }

    /// How many lines stand there now.
    #[cfg(test)]
    pub(crate) fn drawn(&self) -> usize {
        self.drawn
    }

    /// Draws `settled` where the last picture stood, to stay, and `lines` below as the picture that the next draws over.
    pub(crate) fn paint(&mut self, settled: &[String], lines: &[String]) -> io::Result<()> {
        let mut frame = String::new();
        if self.drawn > 0 {
            frame.push_str(&format!("\x1b[{}A", self.drawn));
        }
        for line in settled.iter().chain(lines) {
            frame.push_str(&format!("\x1b[2K{line}\n"));
        }
        frame.push_str("\x1b[0J");
        self.drawn = lines.len();
        self.out.write_all(frame.as_bytes())?;
        self.out.flush()
    }
}

/// Breaks a line into rows of at most `width` columns, between words where there is a place for it.
pub(crate) fn wrap(line: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    let mut rows = vec![String::new()];
    let mut used = 0;
    for word in line.split_inclusive(' ') {
        if used > 0 && used + word.trim_end().width() > width {
            rows.push(String::new());
            used = 0;
        }
        for letter in word.chars() {
            let wide = letter.width().unwrap_or(0);
            if used + wide > width && letter != ' ' {
                rows.push(String::new());
                used = 0;
            }
            if used + wide <= width || wide > width {
                rows.last_mut().expect("starts with one row").push(letter);
                used += wide;
            }
        }
    }
    rows
}

/// The start of a line that fits into `width` columns, with an ellipsis where something was left out.
pub(crate) fn clip(line: &str, width: usize) -> Cow<'_, str> {
    if line.width() <= width {
        return Cow::Borrowed(line);
    }
    let mut kept = String::new();
    let mut used = 1;
    for letter in line.chars() {
        used += letter.width().unwrap_or(0);
        if used > width {
            break;
        }
        kept.push(letter);
    }
    kept.push('…');
    Cow::Owned(kept)
}

/// Text in which nothing commands the terminal or hides: control characters are shown as their pictures, those that
/// turn the direction of writing as their numbers. Line feeds stay; a tab is four spaces.
pub(crate) fn harmless(text: &str) -> Cow<'_, str> {
    if !text.contains(commands) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\t' => shown.push_str("    "),
            // What a command printed ends its lines so.
            '\r' => {}
            '\x00'..='\x1f' if letter != '\n' => shown.extend(char::from_u32(0x2400 + u32::from(letter))),
            '\x7f' => shown.push('\u{2421}'),
            _ if commands(letter) => shown.extend(letter.escape_unicode()),
            _ => shown.push(letter),
        }
    }
    Cow::Owned(shown)
}

fn commands(letter: char) -> bool {
    let turns =
        matches!(letter, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let breaks = matches!(letter, '\u{2028}' | '\u{2029}');
    turns || breaks || (letter.is_control() && letter != '\n')
}

/// [`harmless`], on one line.
pub(crate) fn one_line(text: &str) -> String {
    harmless(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
