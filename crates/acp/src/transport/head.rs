//! What can be learnt of a message whose line cannot be read as a whole.

use std::fmt;

use serde::de::{Deserializer as _, IgnoredAny, MapAccess, Visitor};

use crate::sdk::RawJsonRpcId;

/// The envelope as far as it could be read.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Head {
    /// The id, if it stands before the place where reading ended.
    pub(super) id: Option<RawJsonRpcId>,
    /// Whether the message is a reply. A reply is never replied to.
    pub(super) is_reply: bool,
}

/// Reads an envelope's members up to the end of `bytes` or the first error in them.
pub(super) fn read_head(bytes: &[u8]) -> Head {
    let mut head = Head::default();
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    // An error is where reading ends, and that is expected here.
    deserializer.deserialize_map(Members(&mut head)).ok();
    head
}

struct Members<'a>(&'a mut Head);

impl<'de> Visitor<'de> for Members<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON-RPC message")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        while let Some(name) = members.next_key::<String>()? {
            match name.as_str() {
                "id" => self.0.id = Some(members.next_value()?),
                "result" | "error" => {
                    self.0.is_reply = true;
                    members.next_value::<IgnoredAny>()?;
                }
                _ => {
                    members.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bytes: &str, id: Option<RawJsonRpcId>, is_reply: bool) {
        assert_eq!(read_head(bytes.as_bytes()), Head { id, is_reply });
    }

    #[test]
    fn the_id_is_found_before_the_place_where_the_line_breaks() {
        let number = Some(RawJsonRpcId::Number(7));
        check(
            r#"{"jsonrpc":"2.0","id":7,"method":"m","params":{"t":"aaa"#,
            number.clone(),
            false,
        );
        check(
            r#" { "id" : "é\"1" , "params":[[["#,
            Some(RawJsonRpcId::Str("é\"1".into())),
            false,
        );
        check(r#"{"id":7,"result":{"content":"aaa"#, number, true);
        check(r#"{"error":"#, None, true);
    }

    #[test]
    fn an_id_of_another_object_or_an_unfit_one_is_not_taken() {
        check(r#"{"params":{"id":7,"text":"aaa"#, None, false);
        check(r#"{"method":"m","id":1.5,"#, None, false);
        check(r#"[{"id":7}"#, None, false);
        check("nope", None, false);
        check("", None, false);
    }
}
