//! Putting tool calls together from their pieces.

use std::borrow::Cow;

use serde::de::IgnoredAny;
use serde_json::Value;

use crate::draft::{MAX_CALLS, WholeCall};
use crate::json::Json;

/// The tool calls of an answer, in the order in which they began.
#[derive(Debug, Default)]
pub(super) struct Calls {
    calls: Vec<PartialCall>,
}

/// A call, or what has arrived of it.
#[derive(Debug, Default)]
struct PartialCall {
    call: WholeCall,
    /// The endpoint's number for the call: any number, with gaps, or none.
    index: Option<u64>,
}

/// One piece of a call, as an endpoint sends it; absent and empty are the same.
struct Piece<'a> {
    index: Option<u64>,
    id: &'a str,
    name: &'a str,
    arguments: Cow<'a, str>,
    /// What the endpoint wants back; `Null` for nothing.
    extra: Value,
}

/// An answer holds more calls than allowed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooManyCalls;

impl Calls {
    /// Takes one element of `tool_calls`; gives the number of bytes it added.
    pub(super) fn take(&mut self, element: &Json<'_>) -> Result<usize, TooManyCalls> {
        let piece = Piece::read(element);
        let at = match self.find(&piece) {
            Some(at) => at,
            None if self.calls.len() < MAX_CALLS => {
                self.calls.push(PartialCall {
                    index: piece.index,
                    ..PartialCall::default()
                });
                self.calls.len() - 1
            }
            None => return Err(TooManyCalls),
        };
        let call = &mut self.calls[at].call;
        if call.id.is_empty() {
            call.id.push_str(piece.id);
        }
        // Some endpoints repeat the whole name with every piece.
        if call.name != piece.name {
            call.name.push_str(piece.name);
        }
        call.arguments.push_str(&piece.arguments);
        let mut added = piece.id.len() + piece.name.len() + piece.arguments.len();
        if !piece.extra.is_null() {
            added += piece.extra.to_string().len();
            call.extra = piece.extra;
        }
        Ok(added)
    }

    /// The calls, without those of which nothing but a number came.
    pub(super) fn finish(self) -> Vec<WholeCall> {
        let calls = self.calls.into_iter().map(|partial| partial.call);
        calls.filter(|call| *call != WholeCall::default()).collect()
    }

    /// The call that a piece goes on with; `None` if it begins another.
    ///
    /// An id that is known decides, else the index, unless the piece is plainly the beginning of another call:
    /// endpoints are known that number every call 0, and models that give several calls one id. Without either,
    /// a name begins a call and everything else goes on with the last.
    fn find(&self, piece: &Piece<'_>) -> Option<usize> {
        let by_id = self
            .calls
            .iter()
            .rposition(|partial| partial.call.id == piece.id)
            .filter(|_| !piece.id.is_empty());
        if let Some(at) = by_id {
            return (!piece.begins_another(&self.calls[at].call)).then_some(at);
        }
        match piece.index {
            Some(_) => {
                let at = self.calls.iter().rposition(|call| call.index == piece.index)?;
                (!piece.begins_another(&self.calls[at].call)).then_some(at)
            }
            None if piece.name.is_empty() => self.calls.len().checked_sub(1),
            None => None,
        }
    }
}

impl<'a> Piece<'a> {
    fn read(element: &'a Json<'_>) -> Self {
        let text = |value: Option<&'a Json<'_>>| value.and_then(Json::as_str).unwrap_or_default();
        let function = element.get("function").unwrap_or(element);
        let arguments = match function.get("arguments") {
            None | Some(Json::Null) => Cow::Borrowed(""),
            Some(Json::String(text)) => Cow::Borrowed(&**text),
            Some(object) => Cow::Owned(object.to_value().to_string()),
        };
        let index = element
            .get("index")
            .and_then(|index| index.as_u64().or_else(|| index.as_str()?.parse().ok()));
        Self {
            index,
            id: text(element.get("id")),
            name: text(function.get("name")),
            arguments,
            extra: element.get("extra_content").map_or(Value::Null, Json::to_value),
        }
    }

    /// Whether a piece with the id or the index of a call is nevertheless no part of it.
    fn begins_another(&self, call: &WholeCall) -> bool {
        if self.name.is_empty() {
            return false;
        }
        if !self.id.is_empty() && !call.id.is_empty() && self.id != call.id {
            return true;
        }
        let repeats = self.name == call.name && self.arguments.is_empty();
        // The look at the last byte keeps this cheap: most of the time a call is not whole.
        let is_whole =
            || call.arguments.ends_with(['}', ']']) && serde_json::from_str::<IgnoredAny>(&call.arguments).is_ok();
        !repeats && is_whole()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(pieces: &[Value], expected: &[(&str, &str, &str)]) {
        let mut calls = Calls::default();
        for piece in pieces {
            take(&mut calls, piece).expect("few calls");
        }
        let found = calls.finish();
        let found: Vec<_> = found
            .iter()
            .map(|call| (call.id.as_str(), call.name.as_str(), call.arguments.as_str()))
            .collect();
        assert_eq!(found, expected);
    }

    fn take(calls: &mut Calls, piece: &Value) -> Result<usize, TooManyCalls> {
        let text = piece.to_string();
        calls.take(&serde_json::from_str(&text).expect("it is JSON"))
    }

    fn piece(index: u64, id: &str, name: &str, arguments: &str) -> Value {
        json!({ "index": index, "id": id, "type": "function", "function": { "name": name, "arguments": arguments } })
    }

    #[test]
    fn sse_05_interleaved_calls_with_gapped_indexes_are_told_apart() {
        check(
            &[
                piece(2, "x", "read", ""),
                json!({ "index": 2, "function": { "arguments": "{\"a\":" } }),
                piece(7, "y", "list", "{"),
                json!({ "index": 2, "function": { "arguments": "1}" } }),
                json!({ "index": 7, "function": { "arguments": "}" } }),
            ],
            &[("x", "read", "{\"a\":1}"), ("y", "list", "{}")],
        );
    }

    #[test]
    fn sse_07_a_whole_call_without_an_index_stands_for_itself() {
        let whole = |name: &str| json!({ "function": { "name": name, "arguments": "{}" } });
        check(
            &[whole("a"), whole("b"), whole("b")],
            &[("", "a", "{}"), ("", "b", "{}"), ("", "b", "{}")],
        );
    }

    #[test]
    fn pieces_without_index_or_name_go_on_with_the_last_call() {
        check(
            &[
                json!({ "id": "x", "function": { "name": "read" } }),
                json!({ "function": { "arguments": "{\"a\"" } }),
                json!({ "id": "x", "function": { "arguments": ":1}" } }),
            ],
            &[("x", "read", "{\"a\":1}")],
        );
    }

    #[test]
    fn calls_that_are_all_numbered_nought_are_told_apart_by_id() {
        check(
            &[
                piece(0, "x", "read", "{\"a\":1}"),
                piece(0, "y", "read", "{\"a\":2}"),
                piece(0, "x", "", ""),
            ],
            &[("x", "read", "{\"a\":1}"), ("y", "read", "{\"a\":2}")],
        );
    }

    #[test]
    fn whole_calls_that_share_an_id_are_told_apart() {
        for second in [0, 1] {
            check(
                &[
                    piece(0, "x", "read", "{\"a\":1}"),
                    piece(second, "x", "read", "{\"a\":"),
                    piece(second, "x", "read", "2}"),
                    piece(second, "x", "list", "{}"),
                ],
                &[
                    ("x", "read", "{\"a\":1}"),
                    ("x", "read", "{\"a\":2}"),
                    ("x", "list", "{}"),
                ],
            );
        }
    }

    #[test]
    fn calls_that_are_all_numbered_nought_without_ids_are_told_apart_by_being_whole() {
        check(
            &[
                piece(0, "", "read", "{\"a\":1}"),
                piece(0, "", "read", "{\"a\":2}"),
                piece(0, "", "list", ""),
            ],
            &[("", "read", "{\"a\":1}"), ("", "read", "{\"a\":2}"), ("", "list", "")],
        );
    }

    #[test]
    fn sse_18_a_name_in_pieces_is_put_together() {
        check(
            &[piece(0, "x", "re", ""), piece(0, "", "ad", ""), piece(0, "", "", "{}")],
            &[("x", "read", "{}")],
        );
    }

    #[test]
    fn a_name_repeated_with_every_piece_counts_once() {
        check(
            &[
                piece(0, "x", "read", ""),
                piece(0, "x", "read", "{\"a\":"),
                piece(0, "x", "read", "1}"),
            ],
            &[("x", "read", "{\"a\":1}")],
        );
        check(
            &[
                piece(0, "", "read", "{\"a\":"),
                piece(0, "", "read", "1}"),
                piece(0, "", "read", ""),
            ],
            &[("", "read", "{\"a\":1}")],
        );
    }

    #[test]
    fn odd_types_are_understood_where_they_can_only_mean_one_thing() {
        check(
            &[
                json!({ "index": "3", "id": null, "function": { "name": "read", "arguments": { "a": [1] } } }),
                json!({ "index": 4, "name": "flat", "arguments": "{}" }),
                json!({ "index": 5 }),
                json!("rubbish"),
            ],
            &[("", "read", "{\"a\":[1]}"), ("", "flat", "{}")],
        );
    }

    #[test]
    fn the_number_of_calls_is_bounded() {
        let mut calls = Calls::default();
        let taken: Vec<_> = (0..=MAX_CALLS as u64)
            .map(|index| take(&mut calls, &piece(index, "", "a", "")))
            .collect();
        assert_eq!(taken.iter().filter(|taken| taken.is_ok()).count(), MAX_CALLS);
        assert_eq!(taken.last(), Some(&Err(TooManyCalls)));
    }
}
