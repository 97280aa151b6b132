//! The JSON Schema file.

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::{Event, SessionHeader, WorkflowObservation};
use crate::EventBody;

/// The whole file: definitions only, since a log has lines of two kinds.
pub(super) fn file() -> Value {
    let mut generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    generator.subschema_for::<SessionHeader>();
    generator.subschema_for::<Event>();
    generator.subschema_for::<WorkflowObservation>();
    let mut definitions = generator.take_definitions(true);
    let kinds = definitions["Event"]["oneOf"]
        .as_array_mut()
        .expect("an event is of one of the types");
    kinds.push(other());
    definitions.sort_keys();
    definitions.values_mut().for_each(without_null);
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "description": "Generated from the types of weft-types; change those instead. \
            The first line of a session log is a SessionHeader, every other one an Event.",
        "$defs": definitions,
    })
}

/// An event of a type that this version does not know.
fn other() -> Value {
    json!({
        "type": "object",
        "properties": {
            "type": { "type": "string", "pattern": "^(?!tool-workflow/)", "not": { "enum": EventBody::KINDS } },
            "data": true,
            "ignorable": { "const": true },
        },
        "required": ["type", "data", "ignorable"],
        "description": "An event of a later version that a reader may pass over.",
    })
}

/// An optional field is absent or holds a value; the generator would allow null as well.
fn without_null(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(without_null),
        Value::Object(fields) => {
            if let Some(Value::Array(types)) = fields.get_mut("type") {
                types.retain(|kind| kind != "null");
                if let [only] = &types[..] {
                    fields["type"] = only.clone();
                }
            }
            if let Some(Value::Object(only)) = fields.get("anyOf").and_then(beside_null).cloned() {
                fields.remove("anyOf");
                fields.extend(only);
            }
            fields.values_mut().for_each(without_null);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The one alternative besides null.
fn beside_null(alternatives: &Value) -> Option<&Value> {
    match &alternatives.as_array()?[..] {
        [only, null] if null == &json!({ "type": "null" }) => Some(only),
        _ => None,
    }
}

/// The schema of one definition that allows no field beyond those it lists.
pub(super) fn closed(name: &str) -> Value {
    let mut schema = file();
    let definitions = schema["$defs"].as_object_mut().expect("definitions");
    definitions.values_mut().for_each(|definition| close(definition, false));
    schema["$ref"] = format!("#/$defs/{name}").into();
    schema
}

/// Alternatives of an object that has fields besides them are closed together with it.
fn close(schema: &mut Value, within_object: bool) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(|item| close(item, within_object)),
        Value::Object(fields) => {
            let has_fields = fields.contains_key("properties");
            let has_alternatives = has_fields && fields.contains_key("oneOf");
            for (key, value) in fields.iter_mut().filter(|(key, _)| *key != "properties") {
                close(value, has_alternatives && key == "oneOf");
            }
            if let Some(Value::Object(properties)) = fields.get_mut("properties") {
                properties.values_mut().for_each(|property| close(property, false));
            }
            if has_fields && !within_object {
                forbid_others(fields);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn forbid_others(fields: &mut Map<String, Value>) {
    fields.insert("unevaluatedProperties".to_owned(), false.into());
}
