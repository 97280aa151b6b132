//! Events of types that this version does not know.

use serde_json::value::RawValue;

use super::EventBody;

/// What records of workflow runs are called. No such event may be passed over: without it, their run would be
/// shown wrongly.
const NEVER_OTHER: &str = "tool-workflow/";

/// In how many levels the data of a new event may be nested. Readers commonly stop at 128.
const MAX_DEPTH: usize = 120;

/// An event of a type that this version does not know and that its writer marked `"ignorable": true`.
///
/// It is kept, and written back as it was read.
#[derive(Clone, Debug)]
pub struct OtherEvent {
    kind: String,
    data: Box<RawValue>,
}

impl OtherEvent {
    /// An event of this type with these data. Line breaks between the data's parts are dropped, since an event is
    /// one line of a log.
    ///
    /// # Errors
    ///
    /// The type is known to this version or is one of `tool-workflow/`, or the data are nested too deeply.
    pub fn new(kind: impl Into<String>, data: Box<RawValue>) -> Result<Self, OtherEventError> {
        let kind = kind.into();
        if !Self::may_be(&kind) {
            return Err(OtherEventError::Kind { kind });
        }
        if depth(data.get()) > MAX_DEPTH {
            return Err(OtherEventError::Depth { kind });
        }
        Ok(Self::read(kind, data))
    }

    /// One that was read, of a type that may be passed over. It is nested as its writer saw fit: nobody here looks into it.
    pub(crate) fn read(kind: String, data: Box<RawValue>) -> Self {
        let data = on_one_line(data);
        Self { kind, data }
    }

    /// Whether an event of this type may be passed over.
    pub(crate) fn may_be(kind: &str) -> bool {
        !EventBody::KINDS.contains(&kind) && !kind.starts_with(NEVER_OTHER)
    }

    /// Its type.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// Its data, as JSON on one line.
    pub fn data(&self) -> &RawValue {
        &self.data
    }
}

/// By the text of the data: equal values that are written differently are not equal.
impl PartialEq for OtherEvent {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind && self.data.get() == other.data.get()
    }
}

/// Why something is no event to be passed over.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OtherEventError {
    /// Its type must be understood.
    #[error("events of the type {kind:?} cannot be passed over")]
    Kind {
        /// The type.
        kind: String,
    },
    /// Other readers would not get through it.
    #[error("the data of {kind:?} are nested more than {MAX_DEPTH} levels deep")]
    Depth {
        /// The type.
        kind: String,
    },
}

/// The JSON without line breaks. In valid JSON they stand between tokens only: within a text they are escaped.
fn on_one_line(json: Box<RawValue>) -> Box<RawValue> {
    if !json.get().contains(['\n', '\r']) {
        return json;
    }
    let line = json.get().replace(['\n', '\r'], "");
    RawValue::from_string(line).expect("JSON without white space between its tokens is JSON")
}

/// How deep valid JSON is nested; 0 for what is neither object nor array.
fn depth(json: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let mut bytes = json.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'{' | b'[' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => skip_text(&mut bytes),
            _ => {}
        }
    }
    deepest
}

/// Goes on behind the closing quote.
fn skip_text(bytes: &mut std::str::Bytes<'_>) {
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => return,
            b'\\' => drop(bytes.next()),
            _ => {}
        }
    }
}
