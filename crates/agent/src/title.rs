//! The title of a user's session: what its first prompt begins with.

use unicode_segmentation::UnicodeSegmentation;
use weft_types::{ContentBlock, text_of};

/// How many characters a title may have, the ellipsis included.
const TITLE_CHARS: usize = 80;

/// Longer than any sequence that is drawn as one character; piles of combining marks are cut.
const LONGEST_CLUSTER: usize = 32;

/// The first line of a prompt that shows anything, each run of blanks in it as one space. A long one is cut, what people
/// see as one character staying whole, and ends with an ellipsis. Control characters count as blanks and those that
/// would reorder what stands beside the title are left out. None if the prompt shows nothing.
pub(crate) fn title_of(prompt: &[ContentBlock]) -> Option<String> {
    first_line(&text_of(prompt), TITLE_CHARS)
}

/// The same of any text, at most `chars` characters of it.
pub(crate) fn first_line(text: &str, chars: usize) -> Option<String> {
    lines(text).find_map(|line| shown(line, chars))
}

/// The last line that shows anything.
pub(crate) fn last_line(text: &str, chars: usize) -> Option<String> {
    let all: Vec<&str> = lines(text).collect();
    all.iter().rev().find_map(|line| shown(line, chars))
}

fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.split(['\n', '\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}'])
}

fn shown(line: &str, chars: usize) -> Option<String> {
    let line = tidied(line, chars);
    (!line.is_empty()).then(|| cut(line, chars))
}

/// The line without superfluous blanks, as far as `most` characters of it can need it.
fn tidied(line: &str, most: usize) -> String {
    let (mut tidied, mut chars, mut blank) = (String::new(), 0, false);
    for c in line.chars().filter(|c| !reorders(*c)) {
        if c.is_whitespace() || c.is_control() {
            blank = !tidied.is_empty();
            continue;
        }
        if std::mem::take(&mut blank) {
            tidied.push(' ');
            chars += 1;
        }
        tidied.push(c);
        chars += 1;
        if chars > most + LONGEST_CLUSTER {
            break;
        }
    }
    tidied
}

fn cut(mut line: String, most: usize) -> String {
    if line.chars().count() <= most {
        return line;
    }
    let (mut end, mut chars) = (0, 0);
    for (start, cluster) in line.grapheme_indices(true) {
        chars += cluster.chars().count();
        if chars >= most {
            break;
        }
        end = start + cluster.len();
    }
    line.truncate(line[..end].trim_end().len());
    line.push('…');
    line
}

/// Marks whose effect goes on after the title if it is cut before their counterpart.
fn reorders(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(prompt: &str, expected: &str) {
        let title = title_of(&[ContentBlock::text(prompt)]);
        assert_eq!(title.as_deref().unwrap_or("(none)"), expected);
    }

    #[test]
    fn a_title_is_the_first_line_that_shows_anything() {
        check("fix the build", "fix the build");
        check("\n \t\r\n  fix\tthe \u{a0} build  \nplease", "fix the build");
        check("\u{2028}one\u{2028}two", "one");
        check("\u{1b}[31mred\u{7}", "[31mred");
        check("\u{202e}evil\u{2066}", "evil");
        check("\u{200f}שלום", "\u{200f}שלום");
        check("\u{0}\n\u{202e}", "(none)");
        check("", "(none)");
    }

    #[test]
    fn the_blocks_of_a_prompt_are_one_text() {
        let blocks = ["look at ", "a.rs", " first\nthen"].map(ContentBlock::text);
        assert_eq!(title_of(&blocks).as_deref(), Some("look at a.rs first"));
    }

    #[test]
    fn a_long_title_is_cut_between_whole_characters_and_says_so() {
        check(&"x".repeat(80), &"x".repeat(80));
        check(&"x".repeat(81), &("x".repeat(79) + "…"));
        check(&("x".repeat(78) + " y and more"), &("x".repeat(78) + "…"));
        let family = "👩‍👩‍👧‍👦";
        check(&("x".repeat(73) + family), &("x".repeat(73) + family));
        check(&("x".repeat(73) + family + "y"), &("x".repeat(73) + "…"));
        check(&("x".repeat(72) + family + "y"), &("x".repeat(72) + family + "y"));
    }

    #[test]
    fn however_long_a_line_is_no_more_of_it_is_kept_than_a_title_needs() {
        check(&("e".to_owned() + &"\u{301}".repeat(1_000_000)), "…");
        let title = title_of(&[ContentBlock::text("ab ".repeat(1_000_000))]).expect("it shows something");
        assert_eq!(title.chars().count(), 80);
    }
}
