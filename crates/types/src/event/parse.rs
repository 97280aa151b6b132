//! Reading events from JSON, in one pass where the type stands before the data.

use std::fmt;

use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{DeserializeSeed, Error as _, IgnoredAny, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::{Event, EventBody, OtherEvent, UnixMillis};

/// Why JSON is no event of this version.
#[derive(Debug, thiserror::Error)]
pub enum EventParseError {
    /// It is no JSON, or not of the form of its type.
    #[error("failed to read an event: {0}")]
    Malformed(#[source] serde_json::Error),
    /// Its type must be understood, and this version does not know it.
    #[error("failed to read event {seq}: this version does not know its type {kind:?}, and it cannot be passed over")]
    UnknownType {
        /// The event's number.
        seq: u64,
        /// The type.
        kind: String,
    },
}

impl Event {
    /// The largest `seq` and `time`: readers that keep numbers as floating point hold it exactly.
    pub const MAX_NUMBER: u64 = (1 << 53) - 1;

    /// Reads one event. Its fields may stand in any order, white space around it is fine, and further fields are
    /// passed over.
    ///
    /// # Errors
    ///
    /// What is no event, and an event of an unknown type unless it is marked as ignorable, which no type under
    /// `tool-workflow/` can be.
    pub fn from_json(json: &[u8]) -> Result<Self, EventParseError> {
        match serde_json::from_slice(json).map_err(EventParseError::Malformed)? {
            Parsed::Event(event) => Ok(event),
            Parsed::Unknown { seq, kind } => Err(EventParseError::UnknownType { seq, kind }),
        }
    }
}

/// Needs a format that can hold JSON as it is, as `serde_json` does.
impl<'de> Deserialize<'de> for Event {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Parsed::deserialize(deserializer)? {
            Parsed::Event(event) => Ok(event),
            Parsed::Unknown { kind, .. } => Err(D::Error::custom(format_args!(
                "this version does not know the event type {kind:?}, and it cannot be passed over"
            ))),
        }
    }
}

enum Parsed {
    Event(Event),
    Unknown { seq: u64, kind: String },
}

impl<'de> Deserialize<'de> for Parsed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ParsedVisitor)
    }
}

struct ParsedVisitor;

impl<'de> Visitor<'de> for ParsedVisitor {
    type Value = Parsed;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an event: an object of seq, time, type and data")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Parsed, A::Error> {
        let mut fields = Fields::default();
        while let Some(field) = map.next_key()? {
            match field {
                Field::Seq => set(&mut fields.seq, "seq", number("seq", map.next_value()?)?)?,
                Field::Time => set(&mut fields.time, "time", number("time", map.next_value()?)?)?,
                Field::Type => set(&mut fields.kind, "type", map.next_value()?)?,
                Field::Data => {
                    let data = map.next_value_seed(fields.data_seed())?;
                    set(&mut fields.data, "data", data)?;
                }
                Field::Ignorable => set(&mut fields.ignorable, "ignorable", map.next_value()?)?,
                Field::Unknown => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        fields.finish()
    }
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "lowercase")]
enum Field {
    Seq,
    Time,
    Type,
    Data,
    Ignorable,
    #[serde(other)]
    Unknown,
}

fn set<T, E: serde::de::Error>(slot: &mut Option<T>, name: &'static str, value: T) -> Result<(), E> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(E::duplicate_field(name)),
    }
}

fn number<E: serde::de::Error>(name: &str, number: u64) -> Result<u64, E> {
    let max = Event::MAX_NUMBER;
    if number > max {
        return Err(E::custom(format_args!("{name} is {number}, expected at most {max}")));
    }
    Ok(number)
}

/// What has been read of an event.
#[derive(Default)]
struct Fields {
    seq: Option<u64>,
    time: Option<u64>,
    kind: Option<Kind>,
    data: Option<Data>,
    ignorable: Option<bool>,
}

enum Kind {
    Known(&'static str),
    Unknown(String),
}

enum Data {
    /// Of a known type, read.
    Known(EventBody),
    /// Of a type that is unknown, or not known yet.
    Raw(Box<RawValue>),
}

impl Fields {
    fn data_seed(&self) -> DataSeed {
        match self.kind {
            Some(Kind::Known(kind)) => DataSeed::Known(kind),
            Some(Kind::Unknown(_)) | None => DataSeed::Raw,
        }
    }

    fn finish<E: serde::de::Error>(self) -> Result<Parsed, E> {
        let seq = self.seq.ok_or_else(|| E::missing_field("seq"))?;
        let time = UnixMillis(self.time.ok_or_else(|| E::missing_field("time"))?);
        let kind = self.kind.ok_or_else(|| E::missing_field("type"))?;
        let data = self.data.ok_or_else(|| E::missing_field("data"))?;
        let body = match (kind, data) {
            (_, Data::Known(body)) => body,
            (Kind::Known(kind), Data::Raw(data)) => read_body(kind, &*data).map_err(E::custom)?,
            (Kind::Unknown(kind), Data::Raw(data)) => {
                if self.ignorable != Some(true) || !OtherEvent::may_be(&kind) {
                    return Ok(Parsed::Unknown { seq, kind });
                }
                EventBody::Other(OtherEvent::read(kind, data))
            }
        };
        Ok(Parsed::Event(Event { seq, time, body }))
    }
}

impl<'de> Deserialize<'de> for Kind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(KindVisitor)
    }
}

struct KindVisitor;

impl Visitor<'_> for KindVisitor {
    type Value = Kind;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an event type")
    }

    fn visit_str<E>(self, kind: &str) -> Result<Kind, E> {
        let known = EventBody::KINDS.iter().find(|known| **known == kind);
        Ok(known.map_or_else(|| Kind::Unknown(kind.to_owned()), |known| Kind::Known(known)))
    }
}

enum DataSeed {
    Known(&'static str),
    Raw,
}

impl<'de> DeserializeSeed<'de> for DataSeed {
    type Value = Data;

    fn deserialize<D: Deserializer<'de>>(self, data: D) -> Result<Data, D::Error> {
        match self {
            Self::Known(kind) => read_body(kind, data).map(Data::Known),
            Self::Raw => Box::deserialize(data).map(Data::Raw),
        }
    }
}

fn read_body<'de, D: Deserializer<'de>>(kind: &'static str, data: D) -> Result<EventBody, D::Error> {
    let tagged = Tagged {
        kind: Some(kind),
        data: Some(data),
    };
    let body = EventBody::deserialize(MapAccessDeserializer::new(tagged));
    body.map_err(|error| D::Error::custom(format_args!("{kind}: {error}")))
}

/// A map of the type and then the data, which is the order in which [`EventBody`] is read without a copy.
struct Tagged<D> {
    kind: Option<&'static str>,
    data: Option<D>,
}

impl<'de, D: Deserializer<'de>> MapAccess<'de> for Tagged<D> {
    type Error = D::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, D::Error> {
        let key = match self {
            Self { kind: Some(_), .. } => "type",
            Self { data: Some(_), .. } => "data",
            _ => return Ok(None),
        };
        seed.deserialize(StrDeserializer::new(key)).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, D::Error> {
        if let Some(kind) = self.kind.take() {
            return seed.deserialize(kind.into_deserializer());
        }
        seed.deserialize(self.data.take().expect("a value is asked for after its key"))
    }
}
