//! A conversation as a text that a summary is made of.

use std::fmt::Write as _;

use weft_types::{AssistantBlock, ContentBlock, Message, text_of};

use crate::size::middle_cut;

/// How much is written of what the user or the model said at once, in bytes.
const SAID_BYTES: usize = 8 << 10;

/// How much is written of a call's arguments, or of its result, in bytes.
const CALL_BYTES: usize = 2 << 10;

/// The messages as text of about `bytes` bytes at most. Reasoning is left out, long pieces lose their middle, and if
/// that is not enough, whole messages between the beginning and the end are left out. Every omission says so.
pub(super) fn transcript<'a>(messages: impl IntoIterator<Item = &'a Message>, bytes: usize) -> String {
    let pieces: Vec<String> = messages.into_iter().map(piece).collect();
    let total: usize = pieces.iter().map(String::len).sum();
    if total <= bytes {
        return pieces.concat();
    }
    // The beginning says what it is about, the end where it stands: that matters more.
    let first = fitting(pieces.iter(), bytes / 4);
    let last = fitting(pieces[first..].iter().rev(), bytes - bytes / 4);
    let end = pieces.len() - last;
    let left_out = end - first;
    format!(
        "{}[{left_out} messages are left out here]\n\n{}",
        pieces[..first].concat(),
        pieces[end..].concat()
    )
}

/// How many of the first pieces fit.
fn fitting<'a>(pieces: impl Iterator<Item = &'a String>, bytes: usize) -> usize {
    let sums = pieces.scan(0, |sum: &mut usize, piece| {
        *sum += piece.len();
        Some(*sum)
    });
    sums.take_while(|sum| *sum <= bytes).count()
}

fn piece(message: &Message) -> String {
    let mut text = String::new();
    match message {
        Message::User { content } => section(&mut text, "user", &said(content), SAID_BYTES),
        Message::Assistant { content } => {
            for block in content {
                match block {
                    AssistantBlock::Text { text: said } => section(&mut text, "agent", said, SAID_BYTES),
                    AssistantBlock::Reasoning { .. } => {}
                    AssistantBlock::ToolCall { name, arguments, .. } => {
                        section(&mut text, &format!("call of {name}"), arguments, CALL_BYTES);
                    }
                }
            }
        }
        Message::Tool { content, is_error, .. } => {
            let title = if *is_error { "result, failed" } else { "result" };
            section(&mut text, title, &said(content), CALL_BYTES);
        }
    }
    text
}

fn said(content: &[ContentBlock]) -> String {
    let images = content.iter().filter(|block| block.as_text().is_none()).count();
    let mut text = text_of(content);
    if images > 0 {
        let separator = if text.is_empty() { "" } else { "\n" };
        let _infallible = write!(text, "{separator}[{images} pictures]");
    }
    text
}

fn section(into: &mut String, title: &str, text: &str, bytes: usize) {
    let cut = middle_cut(text, bytes, |left_out| format!("[{left_out} bytes are left out here]"));
    let _infallible = write!(into, "[{title}]\n{}\n\n", cut.as_deref().unwrap_or(text));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(text: &str) -> Message {
        Message::User {
            content: vec![ContentBlock::text(text)],
        }
    }

    #[test]
    fn a_transcript_tells_who_said_what() {
        let answer = Message::Assistant {
            content: vec![
                AssistantBlock::Reasoning {
                    text: "secret".into(),
                    sealed: None,
                },
                AssistantBlock::Text {
                    text: "let me look".into(),
                },
                AssistantBlock::ToolCall {
                    id: "c".into(),
                    name: "read".into(),
                    arguments: "{}".into(),
                },
            ],
        };
        let result = Message::Tool {
            call_id: "c".into(),
            content: vec![ContentBlock::text("no such file")],
            is_error: true,
        };
        assert_eq!(
            transcript(&[user("go"), answer, result], 1_000),
            "[user]\ngo\n\n[agent]\nlet me look\n\n[call of read]\n{}\n\n[result, failed]\nno such file\n\n"
        );
    }

    #[test]
    fn long_pieces_lose_their_middle_and_long_conversations_theirs() {
        let long = transcript(&[user(&"x".repeat(20_000))], 100_000);
        assert!(long.len() < SAID_BYTES + 100, "{}", long.len());
        assert!(long.contains("[11808 bytes are left out here]"), "{long}");
        let messages: Vec<Message> = (0..100).map(|number| user(&format!("message {number:2}"))).collect();
        let cut = transcript(&messages, 400);
        assert!(cut.len() < 450, "{}", cut.len());
        assert!(cut.starts_with("[user]\nmessage  0\n"), "{cut}");
        assert!(cut.ends_with("message 99\n\n"), "{cut}");
        assert!(cut.contains("[80 messages are left out here]"), "{cut}");
    }
}
