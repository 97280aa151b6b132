//! What a server offers.
//!
//! Each tool is read by itself and from JSON, so that one that is odd costs itself only.

use rmcp::model::{ClientRequest, ListToolsRequest, PaginatedRequestParams, ServerResult};
use rmcp::service::{Peer, RoleClient, ServiceError};
use serde_json::{Map, Value};

/// The most pages that a listing may have.
const PAGES: usize = 100;
/// The longest description of a tool that a model is given, in characters.
const DESCRIPTION_CHARS: usize = 8_000;
/// The longest schema of a tool's arguments, in bytes.
const SCHEMA_BYTES: usize = 64 << 10;

/// A tool as its server describes it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Offered {
    pub(crate) name: String,
    pub(crate) description: String,
    /// A schema of an object.
    pub(crate) parameters: Value,
    /// Its server says that it changes nothing.
    pub(crate) says_read_only: bool,
    /// Its server says that it reaches beyond the server.
    pub(crate) says_open_world: bool,
}

/// All tools of a server, by name, and why some are left out.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Listing {
    pub(crate) tools: Vec<Offered>,
    pub(crate) notes: Vec<String>,
}

impl Listing {
    /// Asks for all pages.
    pub(crate) async fn of(peer: &Peer<RoleClient>) -> Result<Self, ServiceError> {
        let mut given = Vec::new();
        let mut cursor = None;
        for _ in 0..PAGES {
            let params = cursor.map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor)));
            let request = ListToolsRequest {
                params,
                ..ListToolsRequest::default()
            };
            let page = match peer.send_request(ClientRequest::ListToolsRequest(request)).await? {
                ServerResult::ListToolsResult(page) => serde_json::to_value(page).unwrap_or_default(),
                ServerResult::CustomResult(page) => page.0,
                _ => return Err(ServiceError::UnexpectedResponse),
            };
            let Some(tools) = page.get("tools").and_then(Value::as_array) else {
                return Err(ServiceError::UnexpectedResponse);
            };
            given.extend_from_slice(tools);
            cursor = page.get("nextCursor").and_then(Value::as_str).map(str::to_owned);
            if cursor.is_none() {
                break;
            }
        }
        Ok(Self::read(&given))
    }

    fn read(given: &[Value]) -> Self {
        let mut listing = Self::default();
        for tool in given {
            match Offered::read(tool) {
                Ok(tool) => listing.tools.push(tool),
                Err(reason) => listing.notes.push(reason),
            }
        }
        // Servers list in whatever order; what a model is told is to stay the same from one start to the next.
        listing.tools.sort_by(|one, other| one.name.cmp(&other.name));
        listing.tools.dedup_by(|one, other| one.name == other.name);
        listing
    }
}

impl Offered {
    fn read(tool: &Value) -> Result<Self, String> {
        let Some(name) = tool.get("name").and_then(Value::as_str).filter(|name| !name.is_empty()) else {
            return Err("a tool without a name is left out".to_owned());
        };
        let shown: String = name.chars().filter(|c| !c.is_control()).take(100).collect();
        let parameters = match tool.get("inputSchema") {
            None | Some(Value::Null) => Map::new(),
            Some(Value::Object(schema)) => schema.clone(),
            Some(_) => return Err(format!("its tool \"{shown}\" is left out: its schema is not an object")),
        };
        let parameters = of_object(parameters);
        let bytes = parameters.to_string().len();
        if bytes > SCHEMA_BYTES {
            return Err(format!(
                "its tool \"{shown}\" is left out: its schema has {bytes} bytes, more than {SCHEMA_BYTES}"
            ));
        }
        let text = |key: &str| tool.get(key).and_then(Value::as_str);
        let hint = |key: &str| tool.pointer(&format!("/annotations/{key}")) == Some(&Value::Bool(true));
        let description = text("description").or_else(|| text("title")).unwrap_or_default();
        Ok(Self {
            name: name.to_owned(),
            description: bounded(description),
            parameters,
            says_read_only: hint("readOnlyHint"),
            says_open_world: hint("openWorldHint"),
        })
    }
}

/// The schema with what endpoints insist on where servers leave it to be understood.
fn of_object(mut schema: Map<String, Value>) -> Value {
    schema.entry("type").or_insert_with(|| "object".into());
    schema.entry("properties").or_insert_with(|| Value::Object(Map::new()));
    Value::Object(schema)
}

fn bounded(text: &str) -> String {
    match text.char_indices().nth(DESCRIPTION_CHARS) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tools_are_listed_by_name_once_and_whole() {
        let given = [
            json!({"name": "b", "description": "the b", "inputSchema": {"type": "object", "properties": {"x": {}}},
                "annotations": {"readOnlyHint": true, "openWorldHint": false}}),
            json!({"name": "a", "title": "The A"}),
            json!({"name": "b"}),
        ];
        let listing = Listing::read(&given);
        let names: Vec<&str> = listing.tools.iter().map(|tool| &*tool.name).collect();
        assert_eq!(names, ["a", "b"]);
        let (a, b) = (&listing.tools[0], &listing.tools[1]);
        assert_eq!(a.parameters, json!({"type": "object", "properties": {}}));
        assert_eq!(a.description, "The A");
        assert_eq!(b.description, "the b");
        assert!(b.says_read_only && !b.says_open_world && !a.says_read_only);
        assert!(listing.notes.is_empty());
    }

    #[test]
    fn an_odd_tool_costs_itself_only() {
        let given = [
            json!({"name": "good"}),
            json!({"name": ""}),
            json!(7),
            json!({"name": "odd\n", "inputSchema": "text"}),
            json!({"name": "huge", "inputSchema": {"description": "x".repeat(SCHEMA_BYTES)}}),
        ];
        let listing = Listing::read(&given);
        assert_eq!(listing.tools.len(), 1);
        assert_eq!(listing.notes[..2], ["a tool without a name is left out"; 2]);
        assert_eq!(
            listing.notes[2],
            "its tool \"odd\" is left out: its schema is not an object"
        );
        assert!(
            listing.notes[3].starts_with("its tool \"huge\" is left out: its schema has "),
            "{:?}",
            listing.notes
        );
    }

    #[test]
    fn a_long_description_is_cut() {
        let listing = Listing::read(&[json!({"name": "a", "description": "ü".repeat(20_000)})]);
        assert_eq!(listing.tools[0].description.chars().count(), DESCRIPTION_CHARS + 1);
    }
}
