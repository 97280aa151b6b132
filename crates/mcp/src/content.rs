//! What a server answered, as content for a model.
//!
//! It is read from JSON and not from the SDK's types, so that a block of a kind that they do not know costs this block
//! only.

use serde_json::Value;
use weft_types::ContentBlock;

/// The kinds of pictures that endpoints take.
const IMAGES: &[&str] = &["image/png", "image/jpeg", "image/gif", "image/webp"];
/// The largest picture that a model is given, in bytes of its base64 form.
const IMAGE_BYTES: usize = 7 << 20;
/// The most blocks of one result.
const BLOCKS: usize = 100;

/// A result, bounded.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) content: Vec<ContentBlock>,
    pub(crate) is_error: bool,
}

impl Answer {
    /// Reads a `CallToolResult`. Of its text `limit` characters are kept; what is left out is said.
    pub(crate) fn read(result: &Value, limit: usize) -> Self {
        let mut made = Made {
            blocks: Vec::new(),
            left: limit,
            cut: 0,
            limit,
        };
        let given = result
            .get("content")
            .and_then(Value::as_array)
            .map_or(&[][..], Vec::as_slice);
        for block in given.iter().take(BLOCKS) {
            made.block(block);
        }
        if given.len() > BLOCKS {
            made.note(format!(
                "[{} more blocks of content are left out]",
                given.len() - BLOCKS
            ));
        }
        if let Some(structured) = result.get("structuredContent").filter(|value| !value.is_null())
            && !says(given, structured)
        {
            made.text(&structured.to_string());
        }
        Self {
            is_error: result.get("isError").and_then(Value::as_bool).unwrap_or(false),
            content: made.finish(),
        }
    }
}

/// Whether one of the texts is this very value: servers give structured content as text too.
fn says(content: &[Value], structured: &Value) -> bool {
    let mut texts = content.iter().filter_map(|block| block.get("text")?.as_str());
    texts.any(|text| serde_json::from_str::<Value>(text).is_ok_and(|value| value == *structured))
}

struct Made {
    blocks: Vec<ContentBlock>,
    /// How many characters of text still fit.
    left: usize,
    /// How many were left out.
    cut: usize,
    limit: usize,
}

impl Made {
    fn block(&mut self, block: &Value) {
        let field = |name: &str| block.get(name).and_then(Value::as_str);
        match field("type") {
            Some("text") => self.text(field("text").unwrap_or_default()),
            Some("image") => self.image(field("mimeType"), field("data")),
            Some("audio") => {
                let bytes = field("data").map_or(0, decoded);
                self.note(format!("[audio, {}, {bytes} bytes: left out]", kind(field("mimeType"))));
            }
            Some("resource") => self.resource(block.get("resource").unwrap_or(&Value::Null)),
            Some("resource_link") => {
                let title = field("title").or_else(|| field("name")).unwrap_or_default();
                let about = field("description").map_or_else(String::new, |text| format!(": {text}"));
                let link = format!("[resource {title} at {}{about}]", field("uri").unwrap_or_default());
                self.text(&link);
            }
            other => {
                let named = other.unwrap_or("without a type");
                self.note(format!("[content of an unknown kind, {}: left out]", short(named)));
            }
        }
    }

    fn resource(&mut self, resource: &Value) {
        let field = |name: &str| resource.get(name).and_then(Value::as_str);
        let uri = short(field("uri").unwrap_or("without an address"));
        if let Some(text) = field("text") {
            self.text(&format!("[resource {uri}]\n{text}"));
        } else if field("mimeType").is_some_and(|kind| IMAGES.contains(&kind)) {
            self.note(format!("[resource {uri}]"));
            self.image(field("mimeType"), field("blob"));
        } else {
            let bytes = field("blob").map_or(0, decoded);
            self.note(format!(
                "[resource {uri}, {}, {bytes} bytes: left out]",
                kind(field("mimeType"))
            ));
        }
    }

    fn image(&mut self, mime_type: Option<&str>, data: Option<&str>) {
        let data = data.unwrap_or_default();
        match mime_type.filter(|kind| IMAGES.contains(kind)) {
            Some(mime_type) if data.len() <= IMAGE_BYTES && is_base64(data) => self.blocks.push(ContentBlock::Image {
                mime_type: mime_type.to_owned(),
                data: data.to_owned(),
            }),
            _ => self.note(format!(
                "[picture, {}, {} bytes: left out]",
                kind(mime_type),
                decoded(data)
            )),
        }
    }

    fn text(&mut self, text: &str) {
        if self.left == 0 {
            self.cut += text.chars().count();
            return;
        }
        let end = text.char_indices().nth(self.left).map_or(text.len(), |(at, _)| at);
        let (kept, cut) = text.split_at(end);
        self.left -= kept.chars().count();
        self.cut += cut.chars().count();
        self.blocks.push(ContentBlock::text(kept));
    }

    /// A short text of our own, which is not counted.
    fn note(&mut self, note: String) {
        self.blocks.push(ContentBlock::text(note));
    }

    fn finish(mut self) -> Vec<ContentBlock> {
        if self.cut > 0 {
            let note = format!(
                "[{} more characters are left out; mcp.max_output_chars is {}. Ask for less at a time.]",
                self.cut, self.limit
            );
            self.note(note);
        }
        if self.blocks.is_empty() {
            self.note("[the tool answered without content]".to_owned());
        }
        self.blocks
    }
}

fn kind(mime_type: Option<&str>) -> String {
    short(mime_type.unwrap_or("of an unknown type"))
}

/// A name of a stranger's, fit to stand within a line.
fn short(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(200).collect()
}

/// How many bytes a base64 text stands for.
fn decoded(base64: &str) -> usize {
    base64.trim_end_matches('=').len() * 3 / 4
}

fn is_base64(text: &str) -> bool {
    let bare = text.trim_end_matches('=');
    !bare.is_empty()
        && text.len().is_multiple_of(4)
        && text.len() - bare.len() <= 2
        && bare
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/')
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(result: &Value, expected: &[&str]) {
        let answer = Answer::read(result, 1_000);
        let texts: Vec<&str> = answer
            .content
            .iter()
            .map(|block| block.as_text().unwrap_or("<image>"))
            .collect();
        assert_eq!(texts, expected);
    }

    #[test]
    fn every_kind_of_content_becomes_a_block() {
        let content = json!([
            {"type": "text", "text": "hello"},
            {"type": "image", "mimeType": "image/png", "data": "aGVsbG8="},
            {"type": "audio", "mimeType": "audio/wav", "data": "aGVsbG8="},
            {"type": "resource", "resource": {"uri": "file:///a", "text": "inside"}},
            {"type": "resource", "resource": {"uri": "file:///b", "mimeType": "image/gif", "blob": "aGVsbG8="}},
            {"type": "resource", "resource": {"uri": "file:///c", "mimeType": "application/zip", "blob": "aGVsbG8="}},
            {"type": "resource_link", "uri": "file:///d", "name": "d", "description": "the d"},
            {"type": "hologram", "beam": 1},
            {},
        ]);
        let expected = [
            "hello",
            "<image>",
            "[audio, audio/wav, 5 bytes: left out]",
            "[resource file:///a]\ninside",
            "[resource file:///b]",
            "<image>",
            "[resource file:///c, application/zip, 5 bytes: left out]",
            "[resource d at file:///d: the d]",
            "[content of an unknown kind, hologram: left out]",
            "[content of an unknown kind, without a type: left out]",
        ];
        check(&json!({ "content": content }), &expected);
    }

    #[test]
    fn pictures_that_no_endpoint_takes_are_left_out() {
        check(
            &json!({"content": [{"type": "image", "mimeType": "image/tiff", "data": "aGVsbG8="}]}),
            &["[picture, image/tiff, 5 bytes: left out]"],
        );
        check(
            &json!({"content": [{"type": "image", "mimeType": "image/png", "data": "no base64!"}]}),
            &["[picture, image/png, 7 bytes: left out]"],
        );
    }

    #[test]
    fn structured_content_is_given_once() {
        let structured = json!({"a": [1, 2]});
        check(
            &json!({"content": [], "structuredContent": structured}),
            &[r#"{"a":[1,2]}"#],
        );
        let text = json!([{"type": "text", "text": "{ \"a\": [1, 2] }"}]);
        check(
            &json!({"content": text, "structuredContent": structured}),
            &["{ \"a\": [1, 2] }"],
        );
    }

    #[test]
    fn what_exceeds_the_limit_is_announced() {
        let content = json!([{"type": "text", "text": "ä".repeat(900)}, {"type": "text", "text": "b".repeat(300)},
            {"type": "text", "text": "c"}]);
        let answer = Answer::read(&json!({ "content": content }), 1_000);
        let texts: Vec<&str> = answer.content.iter().filter_map(ContentBlock::as_text).collect();
        assert_eq!(texts[1].len(), 100);
        assert!(
            texts[2].starts_with("[201 more characters are left out; mcp.max_output_chars is 1000."),
            "{texts:?}"
        );
        assert_eq!(texts.len(), 3);
    }

    #[test]
    fn an_empty_answer_says_so_and_an_error_is_one() {
        check(&json!({}), &["[the tool answered without content]"]);
        check(&json!("odd"), &["[the tool answered without content]"]);
        let failed = json!({"isError": true, "content": [{"type": "text", "text": "no"}]});
        assert!(Answer::read(&failed, 10).is_error);
    }
}
