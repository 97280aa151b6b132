//! What is kept of a command's output: its beginning and its end, within a fixed number of characters.

use super::spill::Spill;

/// Output so far, in bounded memory however much there is.
#[derive(Debug)]
pub(super) struct Output {
    /// How many characters each of the two parts keeps.
    part: usize,
    head: String,
    head_chars: usize,
    /// The latest output after the head: up to twice what is kept, so that it is seldom moved.
    tail: String,
    tail_chars: usize,
    dropped: Dropped,
    spill: Option<Spill>,
}

/// What was between the head and the tail.
#[derive(Clone, Copy, Debug, Default)]
struct Dropped {
    chars: usize,
    newlines: usize,
}

impl Output {
    /// Keeps at most `limit` characters, half of them from the beginning and half from the end.
    ///
    /// What is longer goes whole to the `spill`, if there is one.
    pub(super) fn new(limit: usize, spill: Option<Spill>) -> Self {
        Self {
            part: limit / 2,
            head: String::new(),
            head_chars: 0,
            tail: String::new(),
            tail_chars: 0,
            dropped: Dropped::default(),
            spill,
        }
    }

    /// Takes the next piece.
    pub(super) fn push(&mut self, text: &str) {
        let room = self.part - self.head_chars;
        let (first, rest) = text.split_at(byte_of_char(text, room));
        self.head.push_str(first);
        self.head_chars += first.chars().count();
        self.tail.push_str(rest);
        self.tail_chars += rest.chars().count();
        if let Some(spill) = self.spill.as_mut().filter(|spill| spill.has_begun()) {
            spill.push(text);
        }
        if self.tail_chars > 2 * self.part {
            self.shorten();
        }
    }

    /// Drops what the tail holds beyond its part.
    fn shorten(&mut self) {
        let excess = self.tail_chars.saturating_sub(self.part);
        // Before the first piece goes, what is kept is all there was.
        if excess > 0
            && let Some(spill) = self.spill.as_mut().filter(|spill| !spill.has_begun())
        {
            spill.push(&self.head);
            spill.push(&self.tail);
        }
        let end = byte_of_char(&self.tail, excess);
        self.dropped.chars += excess;
        self.dropped.newlines += newlines(&self.tail.as_bytes()[..end]);
        self.tail.drain(..end);
        self.tail_chars -= excess;
    }

    /// All that is kept, with a line where something was left out.
    pub(super) fn into_text(mut self) -> String {
        self.shorten();
        let Self {
            mut head,
            tail,
            dropped,
            spill,
            ..
        } = self;
        if dropped.chars > 0 {
            if !head.ends_with('\n') {
                head.push('\n');
            }
            let whole = spill.as_ref().and_then(Spill::told);
            let whole = whole.map(|told| format!("; {told}")).unwrap_or_default();
            head += &format!(
                "[… {} characters in {} lines left out{whole} …]\n",
                dropped.chars,
                dropped.newlines + 1
            );
        }
        head + &tail
    }

    /// The latest output in at most about `max_bytes` bytes, whole lines if they fit, without the last
    /// line end. What is left out is said on a line of its own.
    pub(super) fn latest(&self, max_bytes: usize) -> String {
        let whole = if self.dropped.chars > 0 {
            self.tail.clone()
        } else {
            format!("{}{}", self.head, self.tail)
        };
        let text = whole.trim_end_matches('\n');
        let mut start = text.ceil_char_boundary(text.len().saturating_sub(max_bytes));
        if start == 0 && self.dropped.chars == 0 {
            return text.to_owned();
        }
        if !text[..start].ends_with('\n') {
            start += text[start..].find('\n').map_or(0, |end| end + 1);
        }
        format!("[… earlier output left out …]\n{}", &text[start..])
    }
}

/// How many newlines there are, counted without a branch for each byte.
fn newlines(text: &[u8]) -> usize {
    let blocks = text.chunks(usize::from(u8::MAX));
    let counts = blocks.map(|block| block.iter().fold(0_u8, |count, byte| count + u8::from(*byte == b'\n')));
    counts.map(usize::from).sum()
}

/// Where the character with that number begins, or the end of a shorter text.
fn byte_of_char(text: &str, number: usize) -> usize {
    let mut chars = text.chars();
    if let Some(last) = number.checked_sub(1) {
        // Quicker than by `char_indices`, which stops at every character.
        chars.nth(last);
    }
    text.len() - chars.as_str().len()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn output_that_is_too_long_is_whole_in_the_file_however_it_arrived() {
        let all: String = (0..100).map(|n| format!("line {n} é\n")).collect();
        for size in [1, 7, 99, all.len()] {
            let scratch = Arc::new(crate::scratch::Scratch::default());
            let mut output = Output::new(100, Some(Spill::new(Arc::clone(&scratch), 1 << 20)));
            let chars: Vec<char> = all.chars().collect();
            chars
                .chunks(size)
                .for_each(|piece| output.push(&piece.iter().collect::<String>()));
            let text = output.into_text();
            assert!(text.contains(" left out; the whole output is in /"), "{text}");
            let folder = scratch.made().expect("it was needed");
            let file = std::fs::read_dir(folder)
                .expect("a folder")
                .next()
                .expect("one file")
                .expect("readable");
            assert_eq!(
                std::fs::read_to_string(file.path()).expect("text"),
                all,
                "in pieces of {size}"
            );
        }
    }

    #[test]
    fn output_within_the_limit_makes_no_file() {
        let scratch = Arc::new(crate::scratch::Scratch::default());
        let mut output = Output::new(8, Some(Spill::new(Arc::clone(&scratch), 1 << 20)));
        output.push("12345678");
        assert_eq!(output.into_text(), "12345678");
        assert_eq!(scratch.made(), None);
    }

    fn of(limit: usize, pieces: &[&str]) -> Output {
        let mut output = Output::new(limit, None);
        pieces.iter().for_each(|piece| output.push(piece));
        output
    }

    #[test]
    fn output_within_the_limit_is_kept_whole() {
        assert_eq!(of(8, &["ab\n", "cd中é"]).into_text(), "ab\ncd中é");
        assert_eq!(of(8, &[]).into_text(), "");
    }

    #[test]
    fn output_beyond_the_limit_keeps_its_beginning_and_its_end_with_a_count() {
        let text = of(8, &["1234", "5\n6\n78", "中🧪éz"]).into_text();
        assert_eq!(text, "1234\n[… 6 characters in 3 lines left out …]\n中🧪éz");
    }

    #[test]
    fn the_count_does_not_depend_on_how_the_output_arrived() {
        let all: String = (0..1000).map(|n| format!("line {n} é\n")).collect();
        let whole = of(100, &[&all]).into_text();
        for size in [1, 7, 99, 1000] {
            let mut output = Output::new(100, None);
            let chars: Vec<char> = all.chars().collect();
            chars
                .chunks(size)
                .for_each(|piece| output.push(&piece.iter().collect::<String>()));
            assert_eq!(output.into_text(), whole, "in pieces of {size} characters");
        }
    }

    #[test]
    fn lines_left_out_are_counted_however_many_there_are() {
        let text = of(2, &[&"\n".repeat(1_000)]).into_text();
        assert_eq!(text, "\n[… 998 characters in 999 lines left out …]\n\n");
    }

    #[test]
    fn endless_output_is_held_in_bounded_memory() {
        let mut output = Output::new(1000, None);
        for _ in 0..10_000 {
            output.push(&"yes\n".repeat(256));
            assert!(output.head.len() + output.tail.len() <= 3 * 1000 + 1024);
        }
    }

    #[test]
    fn the_latest_output_begins_with_a_whole_line_if_one_fits() {
        let output = of(1000, &["first\nsecond\nthird\n"]);
        assert_eq!(output.latest(1000), "first\nsecond\nthird");
        assert_eq!(output.latest(11), "[… earlier output left out …]\nthird");
        assert_eq!(output.latest(12), "[… earlier output left out …]\nsecond\nthird");
        assert_eq!(output.latest(3), "[… earlier output left out …]\nird");
    }

    #[test]
    fn the_latest_output_is_never_cut_inside_a_character() {
        let output = of(1000, &["中🧪é中🧪é"]);
        for bytes in 2..20 {
            let shown = output.latest(bytes);
            let last = shown.lines().next_back().expect("two bytes hold a character");
            assert!("中🧪é中🧪é".ends_with(last), "{bytes} bytes: {last}");
        }
    }

    #[test]
    fn the_latest_output_leaves_no_gap_unsaid() {
        let output = of(8, &["0123456789\nabc"]);
        assert_eq!(output.latest(1000), "[… earlier output left out …]\nabc");
    }
}
