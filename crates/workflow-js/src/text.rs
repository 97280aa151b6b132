//! Cutting texts to their limits.

const MARK: char = '…';

/// A text of at most `max` characters; a longer one is one character shorter than that, then an ellipsis.
pub(crate) fn cut_chars(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        None => text.to_owned(),
        Some(_) => text.chars().take(max.saturating_sub(1)).chain([MARK]).collect(),
    }
}

/// A text of at most `max` bytes, ended at a whole character and marked with an ellipsis if anything was cut.
pub(crate) fn cut_bytes(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(max.saturating_sub(MARK.len_utf8()));
    format!("{}{MARK}", &text[..end])
}

/// The label a member has without one of its own: the first line of what it is asked.
pub(crate) fn first_line(prompt: &str) -> &str {
    prompt.trim().lines().next().unwrap_or_default().trim_end()
}

/// A label of at most 48 characters.
pub(crate) fn cut_label(label: &str) -> String {
    cut_chars(label, 48)
}

/// A few names, quoted, and how many more there are.
pub(crate) fn name_list(names: &[String], total: u64) -> String {
    const SHOWN: usize = 5;
    let shown: Vec<_> = names.iter().take(SHOWN).map(|name| format!("{name:?}")).collect();
    match total.saturating_sub(shown.len() as u64) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_at_whole_characters_and_marked() {
        assert_eq!(cut_chars("äöü", 3), "äöü");
        assert_eq!(cut_chars("äöüß", 3), "äö…");
        assert_eq!(cut_bytes("aäöü", 7), "aäöü");
        assert_eq!(cut_bytes("aäöüß", 8), "aäö…");
        assert_eq!(cut_bytes("🧪🧪", 7), "🧪…");
        assert_eq!(cut_bytes("abc", 0), "…");
    }

    #[test]
    fn a_label_of_49_characters_is_cut_to_47_and_an_ellipsis() {
        let exact = "x".repeat(48);
        assert_eq!(cut_label(&exact), exact);
        assert_eq!(cut_label(&"x".repeat(49)), format!("{}…", "x".repeat(47)));
    }

    #[test]
    fn a_prompt_is_labelled_by_its_first_line_that_says_anything() {
        assert_eq!(first_line("read it\nand tell"), "read it");
        assert_eq!(first_line("\n   Read it \r\n  and tell"), "Read it");
        assert_eq!(first_line(" \n "), "");
    }

    #[test]
    fn long_lists_of_names_end_in_a_count() {
        let names: Vec<_> = (1..=5).map(|n| n.to_string()).collect();
        assert_eq!(name_list(&names[..2], 2), r#""1", "2""#);
        assert_eq!(name_list(&names, 9), r#""1", "2", "3", "4", "5" and 4 more"#);
    }
}
