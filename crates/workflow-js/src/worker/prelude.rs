//! The part of the hooks that is JavaScript, and what the worker needs of the script's realm.

use rquickjs::context::EvalOptions;
use rquickjs::{Ctx, Error, Function, Object, Result, String as JsString, Value};

const SOURCE: &str = include_str!("prelude.js");

/// The classes whose instances are plain JSON.
const PLAIN: [(&str, &str); 2] = [("Object", "an object"), ("Array", "an array")];
/// Other classes of the language, and what an instance is called.
const EXOTIC: [(&str, &str); 9] = [
    ("Date", "a Date"),
    ("Map", "a Map"),
    ("Set", "a Set"),
    ("WeakMap", "a WeakMap"),
    ("WeakSet", "a WeakSet"),
    ("RegExp", "a regular expression"),
    ("ArrayBuffer", "an ArrayBuffer"),
    ("DataView", "a DataView"),
    ("Iterator", "an iterator"),
];

/// Everything that a worker later uses of the script's realm, captured before the script runs.
pub(super) struct Prelude<'js> {
    fail: Function<'js>,
    code_of: Function<'js>,
    site: Function<'js>,
    well_formed: Function<'js>,
    plain: Vec<(&'static str, Object<'js>)>,
    exotic: Vec<(&'static str, Object<'js>)>,
}

impl<'js> Prelude<'js> {
    /// Installs the globals; `host` holds the functions that are native.
    pub(super) fn install(ctx: &Ctx<'js>, host: Object<'js>) -> Result<Self> {
        let mut options = EvalOptions::default();
        options.filename = Some("weft:hooks".to_owned());
        let install: Function<'js> = ctx.eval_with_options(SOURCE, options)?;
        let parts: Object<'js> = install.call((host,))?;
        let prototype = |(class, kind)| {
            let class: Object<'js> = ctx.globals().get(class)?;
            Ok((kind, class.get("prototype")?))
        };
        let mut exotic: Vec<_> = EXOTIC.into_iter().map(prototype).collect::<Result<_>>()?;
        let (_, bytes): (_, Object<'js>) = prototype(("Uint8Array", ""))?;
        exotic.extend(bytes.get_prototype().map(|all| ("a typed array", all)));
        Ok(Self {
            fail: parts.get("fail")?,
            code_of: parts.get("codeOf")?,
            site: parts.get("site")?,
            well_formed: parts.get("wellFormed")?,
            plain: PLAIN.into_iter().map(prototype).collect::<Result<_>>()?,
            exotic,
        })
    }

    /// A fatal error, as scripts see it.
    pub(super) fn error(&self, code: &str, message: &str) -> Result<Value<'js>> {
        self.fail.call((code, message))
    }

    /// The code of a fatal error; absent for anything else.
    pub(super) fn code_of(&self, value: &Value<'js>) -> Option<String> {
        let code: String = self.code_of.call((value.clone(),)).ok()?;
        (!code.is_empty()).then_some(code)
    }

    /// The stack trace of where the script is; absent if the script made it something else.
    pub(super) fn call_site(&self) -> Option<String> {
        let stack: Value<'js> = self.site.call(()).ok()?;
        self.text(stack.as_string()?).ok().map(|text| text.value)
    }

    /// A string as UTF-8.
    pub(super) fn text(&self, string: &JsString<'js>) -> Result<Text> {
        match string.to_string() {
            Ok(value) => Ok(Text { value, repaired: false }),
            Err(Error::Utf8(_)) => {
                let repaired: JsString<'js> = self.well_formed.call((string.clone(),))?;
                let value = repaired.to_string()?;
                Ok(Text { value, repaired: true })
            }
            Err(error) => Err(error),
        }
    }

    /// Whether this is the prototype of ordinary objects or arrays.
    pub(super) fn is_plain(&self, prototype: &Object<'js>) -> bool {
        self.plain.iter().any(|(_, known)| known == prototype)
    }

    /// The name for instances of this prototype of a built-in class.
    pub(super) fn exotic_kind(&self, prototype: &Object<'js>) -> Option<&'static str> {
        let found = self.exotic.iter().find(|(_, known)| known == prototype);
        found.map(|(name, _)| *name)
    }
}

/// A string that came out of a script.
#[derive(Debug)]
pub(super) struct Text {
    pub(super) value: String,
    /// Whether halves of surrogate pairs, which UTF-8 cannot hold, were replaced by U+FFFD.
    pub(super) repaired: bool,
}
