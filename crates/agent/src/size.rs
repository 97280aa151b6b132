//! How large messages are, as far as that can be told without the model's own count.

use weft_types::{AssistantBlock, ContentBlock, Message};

/// How many bytes of text a token is taken for.
const BYTES_PER_TOKEN: usize = 4;

/// What a picture counts for: providers count by its size in pixels, about as much as this text.
const IMAGE_BYTES: usize = 6_000;

/// What a message counts for by itself.
const MESSAGE_BYTES: usize = 16;

/// An estimate of the tokens of so much text.
pub(crate) fn estimated_tokens(bytes: usize) -> u64 {
    bytes.div_ceil(BYTES_PER_TOKEN) as u64
}

/// The text that so many tokens are an estimate of.
pub(crate) fn bytes_of_tokens(tokens: u64) -> usize {
    usize::try_from(tokens)
        .unwrap_or(usize::MAX)
        .saturating_mul(BYTES_PER_TOKEN)
}

/// What a message counts for.
pub(crate) fn bytes_of_message(message: &Message) -> usize {
    let content = match message {
        Message::User { content } | Message::Tool { content, .. } => bytes_of(content),
        Message::Assistant { content } => content.iter().map(bytes_of_block).sum(),
    };
    MESSAGE_BYTES + content
}

/// What content counts for.
pub(crate) fn bytes_of(content: &[ContentBlock]) -> usize {
    let blocks = content.iter().map(|block| match block {
        ContentBlock::Text { text } => text.len(),
        ContentBlock::Image { .. } => IMAGE_BYTES,
    });
    blocks.sum()
}

fn bytes_of_block(block: &AssistantBlock) -> usize {
    match block {
        AssistantBlock::Text { text } => text.len(),
        // What is sealed is sent back too and may be longer than what is shown.
        AssistantBlock::Reasoning { text, sealed } => {
            text.len() + sealed.as_ref().map_or(0, |sealed| sealed.to_string().len())
        }
        AssistantBlock::ToolCall { id, name, arguments } => id.as_str().len() + name.len() + arguments.len(),
    }
}

/// The longest beginning of a text within so many bytes that ends between two characters.
pub(crate) fn head(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

/// The longest end of a text within so many bytes that begins between two characters.
pub(crate) fn tail(text: &str, bytes: usize) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(bytes))..]
}

/// A text of at most so many bytes, or its beginning and its end with a note between them, which comes on top.
pub(crate) fn middle_cut(text: &str, bytes: usize, note: impl FnOnce(usize) -> String) -> Option<String> {
    if text.len() <= bytes {
        return None;
    }
    let (head, tail) = (head(text, bytes - bytes / 4), tail(text, bytes / 4));
    let left_out = text.len() - head.len() - tail.len();
    Some(format!("{head}\n{}\n{tail}", note(left_out)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_characters_and_the_note_tells_how_much_is_missing() {
        let note = |left_out| format!("[{left_out} bytes]");
        assert_eq!(middle_cut("abcdefgh", 8, note), None);
        assert_eq!(middle_cut("abcdefgh", 4, note).as_deref(), Some("abc\n[4 bytes]\nh"));
        assert_eq!(middle_cut("ääää", 4, note).as_deref(), Some("ä\n[6 bytes]\n"));
        assert_eq!((head("ää", 3), tail("ää", 3)), ("ä", "ä"));
    }

    #[test]
    fn pictures_count_for_what_a_model_sees_of_them() {
        let image = ContentBlock::Image {
            mime_type: "image/png".into(),
            data: "A".repeat(1_000_000),
        };
        assert_eq!(bytes_of(&[image, ContentBlock::text("four")]), IMAGE_BYTES + 4);
    }
}
