//! What a client may put into a prompt.

use weft_types::ContentBlock;

use crate::ImageBytes;
use crate::refusal::RequestError;
use crate::sdk::schema;

/// The pictures that models take, by their media types.
const IMAGES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// The prompt's content: text as it is, in order, each resource on lines of its own, and pictures where they stand.
///
/// A binary resource that is no picture is named, for a model could not read it. Audio is refused, for the client was
/// told that it is not taken; so are pictures that are too large or none at all, and a prompt without anything to
/// answer.
pub(crate) fn prompt_content(
    blocks: Vec<schema::ContentBlock>,
    limit: ImageBytes,
) -> Result<Vec<ContentBlock>, RequestError> {
    let mut content = Content {
        blocks: Vec::new(),
        text: String::new(),
        limit,
    };
    for block in blocks {
        content.push(block)?;
    }
    content.end()
}

struct Content {
    blocks: Vec<ContentBlock>,
    /// The text since the last picture.
    text: String,
    limit: ImageBytes,
}

impl Content {
    fn push(&mut self, block: schema::ContentBlock) -> Result<(), RequestError> {
        match block {
            schema::ContentBlock::Text(block) => self.text.push_str(&block.text),
            schema::ContentBlock::ResourceLink(link) => {
                self.lines(&format!("[resource {}: {}]", link.name, link.uri));
            }
            schema::ContentBlock::Resource(resource) => self.resource(resource.resource)?,
            schema::ContentBlock::Image(image) => self.image(&image.mime_type, image.data)?,
            schema::ContentBlock::Audio(_) => return Err(unsupported("audio is")),
            _ => return Err(unsupported("content blocks of this type are")),
        }
        Ok(())
    }

    fn resource(&mut self, resource: schema::EmbeddedResourceResource) -> Result<(), RequestError> {
        match resource {
            schema::EmbeddedResourceResource::TextResourceContents(contents) => self.lines(&format!(
                "[resource {}]\n{}\n[end of resource]",
                contents.uri,
                contents.text.trim_end_matches('\n')
            )),
            schema::EmbeddedResourceResource::BlobResourceContents(contents) => {
                let media = contents.mime_type.unwrap_or_default();
                if IMAGES.contains(&media.as_str()) {
                    self.lines(&format!("[resource {}]", contents.uri));
                    return self.image(&media, contents.blob);
                }
                let bytes = decoded_len(&contents.blob).ok_or_else(|| not_base64("blob"))?;
                let media = if media.is_empty() {
                    "unknown type"
                } else {
                    media.as_str()
                };
                self.lines(&format!(
                    "[resource {}: binary, {media}, {bytes} bytes, not shown]",
                    contents.uri
                ));
            }
            _ => return Err(unsupported("resources of this type are")),
        }
        Ok(())
    }

    fn image(&mut self, media: &str, data: String) -> Result<(), RequestError> {
        if !IMAGES.contains(&media) {
            return Err(RequestError::invalid(format!(
                "pictures of this `mimeType` are not supported in prompts; send one of {}",
                IMAGES.join(", ")
            )));
        }
        let bytes = decoded_len(&data)
            .filter(|bytes| *bytes > 0)
            .ok_or_else(|| not_base64("data"))?;
        if bytes > self.limit.get() {
            return Err(RequestError::invalid(format!(
                "a picture of the prompt has {bytes} bytes, and acp.image_bytes allows {}; send a smaller one",
                self.limit.get()
            )));
        }
        self.end_text();
        self.blocks.push(ContentBlock::Image {
            mime_type: media.to_owned(),
            data,
        });
        Ok(())
    }

    fn lines(&mut self, lines: &str) {
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
        self.text.push_str(lines);
        self.text.push('\n');
    }

    fn end_text(&mut self) {
        if !self.text.is_empty() {
            let text = std::mem::take(&mut self.text);
            self.blocks.push(ContentBlock::Text { text });
        }
    }

    fn end(mut self) -> Result<Vec<ContentBlock>, RequestError> {
        self.end_text();
        let is_blank = |block: &ContentBlock| block.as_text().is_some_and(|text| text.trim().is_empty());
        if self.blocks.iter().all(is_blank) {
            return Err(RequestError::invalid("the prompt is blank"));
        }
        Ok(self.blocks)
    }
}

/// How many bytes a base64 text stands for; `None` if it is none: the standard alphabet, padded.
fn decoded_len(text: &str) -> Option<usize> {
    let padding = text.bytes().rev().take_while(|byte| *byte == b'=').count();
    let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    let digits = &text.as_bytes()[..text.len() - padding];
    let is_base64 = text.len().is_multiple_of(4) && padding <= 2 && digits.iter().copied().all(is_digit);
    is_base64.then(|| text.len() / 4 * 3 - padding)
}

fn not_base64(field: &str) -> RequestError {
    RequestError::invalid(format!(
        "`{field}` is not base64; send the bytes in its standard alphabet, padded"
    ))
}

fn unsupported(what: &str) -> RequestError {
    RequestError::invalid(format!(
        "{what} not supported in prompts; send text, a picture or a resource"
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn blocks(blocks: Value) -> Result<Vec<ContentBlock>, String> {
        let blocks = serde_json::from_value(blocks).unwrap();
        prompt_content(blocks, ImageBytes::new(1024).unwrap()).map_err(|error| error.to_string())
    }

    fn content(of: Value) -> Result<String, String> {
        blocks(of).map(|content| weft_types::text_of(&content))
    }

    fn text(text: &str) -> Value {
        json!({ "type": "text", "text": text })
    }

    fn image(media: &str, data: &str) -> Value {
        json!({ "type": "image", "mimeType": media, "data": data })
    }

    #[test]
    fn texts_are_joined_and_resources_stand_on_lines_of_their_own() {
        let link = json!({ "type": "resource_link", "uri": "file:///etc/hostname", "name": "hostname" });
        assert_eq!(content(json!([text("a "), text("b")])).unwrap(), "a b");
        assert_eq!(
            content(json!([text("see"), link, text("and")])).unwrap(),
            "see\n[resource hostname: file:///etc/hostname]\nand"
        );
        let resource = json!({ "type": "resource", "resource": { "uri": "file:///x.txt", "mimeType": "text/plain", "text": "hi\n\n" } });
        assert_eq!(
            content(json!([resource, text("what is this?")])).unwrap(),
            "[resource file:///x.txt]\nhi\n[end of resource]\nwhat is this?"
        );
        assert!(content(json!([link])).is_ok());
    }

    #[test]
    fn pictures_stand_where_they_were_put_and_are_a_prompt_by_themselves() {
        let shown = |mime_type: &str| ContentBlock::Image {
            mime_type: mime_type.into(),
            data: "AAAA".into(),
        };
        assert_eq!(
            blocks(json!([text("what"), image("image/png", "AAAA"), text("is it?")])).unwrap(),
            [
                ContentBlock::text("what"),
                shown("image/png"),
                ContentBlock::text("is it?")
            ]
        );
        assert_eq!(
            blocks(json!([image("image/webp", "AAAA")])).unwrap(),
            [shown("image/webp")]
        );
    }

    #[test]
    fn a_blob_is_shown_if_it_is_a_picture_and_named_otherwise() {
        let blob = |mime: Value| json!({ "type": "resource", "resource": { "uri": "file:///x", "mimeType": mime, "blob": "AAA=" } });
        let shown = blocks(json!([blob(json!("image/gif"))])).unwrap();
        assert_eq!(shown.len(), 2);
        assert_eq!(shown[0], ContentBlock::text("[resource file:///x]\n"));
        assert_eq!(
            content(json!([blob(json!("application/pdf"))])).unwrap(),
            "[resource file:///x: binary, application/pdf, 2 bytes, not shown]\n"
        );
        assert_eq!(
            content(json!([blob(json!(null))])).unwrap(),
            "[resource file:///x: binary, unknown type, 2 bytes, not shown]\n"
        );
    }

    #[test]
    fn what_cannot_be_answered_is_refused() {
        let blob = json!({ "type": "resource", "resource": { "uri": "file:///x", "blob": "A" } });
        let large = "A".repeat(1368);
        let cases = [
            (json!([]), "blank"),
            (json!([text(" \n\u{3000}")]), "blank"),
            (json!([image("image/png", "")]), "base64"),
            (json!([image("image/png", "AAA")]), "base64"),
            (json!([image("image/png", "A===")]), "base64"),
            (json!([image("image/png", "AA\nA")]), "base64"),
            (json!([image("image/png", "AA-_")]), "base64"),
            (json!([image("image/png", "A=AA")]), "base64"),
            (json!([image("image/bmp", "AAAA")]), "image/webp"),
            (json!([image("image/png", &large)]), "acp.image_bytes allows 1024"),
            (
                json!([{ "type": "audio", "mimeType": "audio/wav", "data": "" }]),
                "audio",
            ),
            (json!([text("a"), blob]), "base64"),
        ];
        for (blocks, word) in cases {
            let error = content(blocks).unwrap_err();
            assert!(error.starts_with("invalid params: ") && error.contains(word), "{error}");
        }
    }

    #[test]
    fn a_picture_may_be_as_large_as_the_limit() {
        let fits = "A".repeat(1368 - 4) + "AA==";
        assert_eq!(decoded_len(&fits), Some(1024));
        assert!(content(json!([image("image/jpeg", &fits)])).is_ok());
    }
}
