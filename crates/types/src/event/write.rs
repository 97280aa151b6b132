//! Writing events as JSON.

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use super::{Event, EventBody, UnixMillis};

impl Serialize for Event {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Event { seq, time, body } = self;
        let EventBody::Other(other) = body else {
            let (seq, time) = (*seq, *time);
            return Known { seq, time, body }.serialize(serializer);
        };
        let mut fields = serializer.serialize_struct("Event", 5)?;
        fields.serialize_field("seq", seq)?;
        fields.serialize_field("time", time)?;
        fields.serialize_field("type", other.kind())?;
        fields.serialize_field("data", other.data())?;
        fields.serialize_field("ignorable", &true)?;
        fields.end()
    }
}

/// An event of a known type. It names its type and data itself.
#[derive(Serialize)]
struct Known<'a> {
    seq: u64,
    time: UnixMillis,
    #[serde(flatten)]
    body: &'a EventBody,
}
