//! Where a conversation is cut when it is summed up.

use weft_types::Message;

use crate::history::Entry;
use crate::size::bytes_of_message;

/// How many of the entries a summary is to stand for; the rest is kept as it is. None if there is nothing that a
/// summary could stand for.
///
/// What is kept has at most so many bytes and begins at a user's message or an answer, so that every call in it
/// has its result. What the model has not answered yet is always kept.
pub(super) fn cut(entries: &[Entry], has_summary: bool, keep_bytes: usize) -> Option<usize> {
    let unanswered = entries
        .iter()
        .rposition(|entry| !matches!(*entry.message, Message::User { .. }))
        .map_or(0, |last| last + 1);
    let mut kept_from = unanswered;
    let mut bytes: usize = entries[unanswered..].iter().map(size).sum();
    for (at, entry) in entries[..unanswered].iter().enumerate().rev() {
        bytes += size(entry);
        if bytes > keep_bytes {
            break;
        }
        if !matches!(*entry.message, Message::Tool { .. }) {
            kept_from = at;
        }
    }
    // A summary of nothing but a summary makes no room.
    (kept_from > usize::from(has_summary)).then_some(kept_from)
}

fn size(entry: &Entry) -> usize {
    bytes_of_message(&entry.message)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use weft_types::{AssistantBlock, ContentBlock};

    use super::*;

    /// Messages by letters, each of 100 bytes: `u`ser, `a`nswer, `t`ool result.
    fn entries(letters: &str) -> Vec<Entry> {
        let text = "x".repeat(84);
        let message = |letter| match letter {
            'u' => Message::User {
                content: vec![ContentBlock::text(&text)],
            },
            'a' => Message::Assistant {
                content: vec![AssistantBlock::Text { text: text.clone() }],
            },
            _ => Message::Tool {
                call_id: "c".into(),
                content: vec![ContentBlock::text(&text)],
                is_error: false,
            },
        };
        let numbered = letters.chars().zip(0..);
        numbered
            .map(|(letter, seq)| Entry {
                seq,
                message: Arc::new(message(letter)),
                is_prompt: letter == 'u',
                is_summary: false,
            })
            .collect()
    }

    #[track_caller]
    fn check(letters: &str, has_summary: bool, keep_bytes: usize, expected: Option<&str>) {
        let kept = cut(&entries(letters), has_summary, keep_bytes).map(|at| &letters[at..]);
        assert_eq!(kept, expected, "{letters}, {keep_bytes}");
    }

    #[test]
    fn what_is_kept_fits_and_begins_with_a_whole_answer_or_a_prompt() {
        check("uattatu", false, 100, Some("u"));
        check("uattatu", false, 300, Some("atu"));
        check("uattatu", false, 599, Some("atu"));
        check("uattatu", false, 600, Some("attatu"));
        check("uatt", false, 200, Some(""));
        check("uatt", false, 300, Some("att"));
    }

    #[test]
    fn what_is_not_answered_is_kept_however_large_it_is() {
        check("uauu", false, 0, Some("uu"));
        check("uu", false, 0, None);
        check("", false, 1_000, None);
    }

    #[test]
    fn there_must_be_something_to_sum_up() {
        check("ua", false, 1_000, None);
        check("uu", true, 0, None);
        check("uau", true, 0, Some("u"));
    }
}
