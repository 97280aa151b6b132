//! What a client may put into a prompt.

use weft_types::ContentBlock;

use crate::refusal::RequestError;
use crate::sdk::schema;

/// The prompt as one text: text blocks as they are, in order, and each resource on lines of its own.
///
/// Images, audio and binary resources are refused, for the client was told that they are not taken; so is a
/// prompt without anything to answer.
pub(crate) fn prompt_content(blocks: Vec<schema::ContentBlock>) -> Result<Vec<ContentBlock>, RequestError> {
    let mut text = String::new();
    for block in blocks {
        match block {
            schema::ContentBlock::Text(block) => text.push_str(&block.text),
            schema::ContentBlock::ResourceLink(link) => {
                push_lines(&mut text, &format!("[resource {}: {}]", link.name, link.uri));
            }
            schema::ContentBlock::Resource(resource) => push_lines(&mut text, &embedded(resource)?),
            schema::ContentBlock::Image(_) => return Err(unsupported("images")),
            schema::ContentBlock::Audio(_) => return Err(unsupported("audio")),
            _ => return Err(unsupported("content blocks of this type")),
        }
    }
    if text.trim().is_empty() {
        return Err(RequestError::invalid("the prompt is blank"));
    }
    Ok(vec![ContentBlock::Text { text }])
}

fn embedded(resource: schema::EmbeddedResource) -> Result<String, RequestError> {
    match resource.resource {
        schema::EmbeddedResourceResource::TextResourceContents(contents) => Ok(format!(
            "[resource {}]\n{}\n[end of resource]",
            contents.uri,
            contents.text.trim_end_matches('\n')
        )),
        _ => Err(unsupported("binary resources")),
    }
}

fn push_lines(text: &mut String, lines: &str) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(lines);
    text.push('\n');
}

fn unsupported(what: &str) -> RequestError {
    RequestError::invalid(format!(
        "{what} are not supported in prompts; send text or a resource link"
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn content(blocks: Value) -> Result<String, String> {
        let blocks = serde_json::from_value(blocks).unwrap();
        match prompt_content(blocks) {
            Ok(content) => Ok(weft_types::text_of(&content)),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn texts_are_joined_and_resources_stand_on_lines_of_their_own() {
        let text = |text: &str| json!({ "type": "text", "text": text });
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
    fn what_cannot_be_answered_is_refused() {
        let blob = json!({ "type": "resource", "resource": { "uri": "file:///x", "blob": "AAAA" } });
        let cases = [
            (json!([]), "blank"),
            (json!([{ "type": "text", "text": " \n\u{3000}" }]), "blank"),
            (
                json!([{ "type": "image", "mimeType": "image/png", "data": "" }]),
                "images",
            ),
            (
                json!([{ "type": "audio", "mimeType": "audio/wav", "data": "" }]),
                "audio",
            ),
            (json!([{ "type": "text", "text": "a" }, blob]), "binary resources"),
        ];
        for (blocks, word) in cases {
            let error = content(blocks).unwrap_err();
            assert!(error.starts_with("invalid params: ") && error.contains(word), "{error}");
        }
    }
}
