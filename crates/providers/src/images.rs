//! Pictures in a conversation, and conversations for models that take none.

use weft_model::Messages;
use weft_types::{ContentBlock, Message};

/// Whether there is a picture among some blocks.
pub(crate) fn has_image(content: &[ContentBlock]) -> bool {
    content.iter().any(|block| matches!(block, ContentBlock::Image { .. }))
}

/// A picture as a URL that holds it.
pub(crate) fn data_url(mime_type: &str, data: &str) -> String {
    format!("data:{mime_type};base64,{data}")
}

/// Puts a text into the place of every picture, so that the model knows that there was one.
pub(crate) fn without_images(messages: &mut Messages, model: &str) {
    for at in 0..messages.len() {
        // A message that is shared is copied only if something in it changes.
        let (Message::User { content } | Message::Tool { content, .. }) = &messages[at] else {
            continue;
        };
        if !has_image(content) {
            continue;
        }
        let (Message::User { content } | Message::Tool { content, .. }) = &mut messages[at] else {
            continue;
        };
        for block in content {
            if let ContentBlock::Image { mime_type, .. } = block {
                *block = ContentBlock::text(format!("[image {mime_type} left out: {model} takes no images]"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use weft_types::CallId;

    use super::*;

    #[test]
    fn a_picture_is_replaced_by_a_word_about_it() {
        let image = || ContentBlock::Image {
            mime_type: "image/png".into(),
            data: "AAAA".into(),
        };
        let mut messages = Messages::from(vec![
            Message::User {
                content: vec![ContentBlock::text("look"), image()],
            },
            Message::Tool {
                call_id: CallId::new("x"),
                content: vec![image()],
                is_error: false,
            },
        ]);
        without_images(&mut messages, "m");
        let left_out = ContentBlock::text("[image image/png left out: m takes no images]");
        let expected = [
            Message::User {
                content: vec![ContentBlock::text("look"), left_out.clone()],
            },
            Message::Tool {
                call_id: CallId::new("x"),
                content: vec![left_out],
                is_error: false,
            },
        ];
        assert_eq!(messages, expected);
    }
}
