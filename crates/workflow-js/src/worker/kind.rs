//! What kind of thing a value is, in words, without running script.

use rquickjs::{Type, Value};

use super::prelude::Prelude;

/// A value's kind with its article: `a string`, `a Date`.
///
/// Nothing of the value's own is run, so that this is safe for any value at any time.
pub(super) fn kind_of<'js>(value: &Value<'js>, prelude: &Prelude<'js>) -> &'static str {
    match value.type_of() {
        Type::Undefined | Type::Uninitialized => "undefined",
        Type::Null => "null",
        Type::Bool => "a boolean",
        Type::Int | Type::Float => "a number",
        Type::String => "a string",
        Type::Symbol => "a symbol",
        Type::BigInt => "a BigInt",
        Type::Array => "an array",
        Type::Constructor | Type::Function => "a function",
        Type::Promise => "a promise",
        Type::Exception => "an Error",
        Type::Proxy => "a Proxy",
        _ => object_kind(value, prelude),
    }
}

fn object_kind<'js>(value: &Value<'js>, prelude: &Prelude<'js>) -> &'static str {
    let Some(object) = value.as_object() else {
        return "a value of unknown kind";
    };
    let mut prototype = object.get_prototype();
    if prototype.as_ref().is_none_or(|prototype| prelude.is_plain(prototype)) {
        return "an object";
    }
    while let Some(found) = prototype.filter(|found| !found.is_proxy()) {
        if let Some(kind) = prelude.exotic_kind(&found) {
            return kind;
        }
        prototype = found.get_prototype();
    }
    "an instance of a class"
}
