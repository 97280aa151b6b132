//! Cutting foreign text down to what a card can show.

use std::fmt::Write;
use std::ops::RangeInclusive;

use unicode_segmentation::UnicodeSegmentation;

/// How much of a script's texts a live card shows, in characters after escaping, the ellipsis included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DisplayLimits {
    text_chars: usize,
    label_chars: usize,
}

impl DisplayLimits {
    /// What both limits may be.
    pub const RANGE: RangeInclusive<usize> = 8..=2_000;

    /// Limits for phases and log lines, and for the labels of members.
    ///
    /// # Errors
    ///
    /// A limit outside [`DisplayLimits::RANGE`].
    pub fn new(text_chars: usize, label_chars: usize) -> Result<Self, DisplayLimitsError> {
        for (limit, value) in [("text_chars", text_chars), ("label_chars", label_chars)] {
            if !Self::RANGE.contains(&value) {
                return Err(DisplayLimitsError { limit, value });
            }
        }
        Ok(Self {
            text_chars,
            label_chars,
        })
    }

    /// Characters of a phase or a log line.
    pub fn text_chars(self) -> usize {
        self.text_chars
    }

    /// Characters of a label.
    pub fn label_chars(self) -> usize {
        self.label_chars
    }
}

impl Default for DisplayLimits {
    /// 200 characters of phases and log lines, 80 of labels.
    fn default() -> Self {
        Self {
            text_chars: 200,
            label_chars: 80,
        }
    }
}

/// A display limit out of range.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("display limit {limit} is {value}, expected {} to {}", DisplayLimits::RANGE.start(), DisplayLimits::RANGE.end())]
pub struct DisplayLimitsError {
    limit: &'static str,
    value: usize,
}

/// A text on one line and at most `max_chars` characters long.
///
/// Line breaks, control characters and those that reorder their neighbours are escaped; a longer text ends with an
/// ellipsis, and what people see as one character stays whole. No more of the text is read than is shown.
pub fn cut_for_display(text: &str, max_chars: usize) -> String {
    // The rule, by far: nothing to cut, nothing to escape, every byte a character.
    if text.len() <= max_chars && text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return text.to_owned();
    }
    let mut shown = String::new();
    let mut chars = 0;
    // Where the text ends if the ellipsis has to follow.
    let mut cut = 0;
    for cluster in first_chars(text, max_chars + LONGEST_CLUSTER).graphemes(true) {
        let before = shown.len();
        cluster.chars().for_each(|c| push_escaped(&mut shown, c));
        chars += shown[before..].chars().count();
        if chars > max_chars {
            shown.truncate(cut);
            shown.push('…');
            return shown;
        }
        if chars < max_chars {
            cut = shown.len();
        }
    }
    shown
}

/// Longer than any sequence that is drawn as one character; piles of combining marks are cut.
const LONGEST_CLUSTER: usize = 32;

fn first_chars(text: &str, count: usize) -> &str {
    text.char_indices().nth(count).map_or(text, |(end, _)| &text[..end])
}

fn push_escaped(out: &mut String, c: char) {
    match c {
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        c if c.is_control() || reorders_or_breaks(c) => {
            write!(out, "\\u{{{:x}}}", u32::from(c)).expect("a string takes everything");
        }
        c => out.push(c),
    }
}

/// Line and paragraph separators, and the marks that change the direction of the text around them.
fn reorders_or_breaks(c: char) -> bool {
    matches!(c, '\u{2028}' | '\u{2029}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests;
