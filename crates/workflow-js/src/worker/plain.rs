//! From values of a script to plain JSON.
//!
//! Plain are `null`, booleans, finite numbers (`-0` is `0`), strings, arrays without holes or extra properties, and
//! objects whose prototype is `Object.prototype` or none, up to [`MAX_DEPTH`] levels. Getters count by their value,
//! properties that are not enumerable do not count. Half a surrogate pair becomes U+FFFD. Everything else is a problem
//! with a path; the walk goes on, so that all problems are found at once and the rest of the value is at hand.

use rquickjs::{Array, Atom, Ctx, Error, Filter, Object, Value};

use super::control::Control;
use super::kind::kind_of;
use super::prelude::Prelude;

mod path;
mod writer;

use path::{Path, Step};
use writer::Writer;

/// How many arrays and objects may be inside each other: as many as serde_json reads.
pub(super) const MAX_DEPTH: usize = 127;
/// How many problems are told one by one.
const MAX_PROBLEMS: usize = 6;
/// How far a value that is cut is measured.
const MAX_MEASURED: u64 = 1 << 30;

/// What to make of a value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    /// What paths begin with.
    pub(super) root: &'static str,
    /// How many bytes of JSON to keep.
    pub(super) limit: usize,
    /// Whether fields that are `undefined` are left out rather than refused.
    pub(super) skip_undefined: bool,
}

/// A value as JSON.
#[derive(Debug, Default)]
pub(super) struct Plain {
    /// The JSON, with `null` for each problem. With `size` above the limit, only as much as fits: arrays and objects
    /// end early, a string that is cut ends in an ellipsis.
    pub(super) json: String,
    /// How many bytes all of it has, about.
    pub(super) size: u64,
    /// Whether not all of it is in `json`.
    pub(super) cut: bool,
    /// What is not plain, with paths: the first few.
    pub(super) problems: Vec<String>,
    /// How much is not plain.
    pub(super) problem_count: u64,
    /// Where the first string was that held half a surrogate pair.
    pub(super) repaired: Option<String>,
}

/// Why a walk ended early.
#[derive(Debug)]
pub(super) enum Halt {
    /// The script's time is over.
    Stopped,
    /// The engine failed, for want of memory as a rule.
    Engine(Error),
}

impl From<Error> for Halt {
    fn from(error: Error) -> Self {
        Self::Engine(error)
    }
}

/// Turns a value into JSON. Getters of the script run meanwhile, within its present slice.
pub(super) fn to_plain<'js>(
    value: &Value<'js>,
    rules: Rules,
    prelude: &Prelude<'js>,
    control: &Control,
) -> Result<Plain, Halt> {
    let mut walk = Walk {
        ctx: value.ctx().clone(),
        rules,
        prelude,
        control,
        path: Path::new(rules.root),
        above: Vec::new(),
        writer: Writer::new(rules.limit),
        found: Plain::default(),
        nodes: 0,
    };
    walk.value(value)?;
    let Walk { writer, found, .. } = walk;
    Ok(Plain {
        size: writer.size(),
        cut: writer.is_full(),
        json: writer.finish(),
        ..found
    })
}

struct Walk<'a, 'js> {
    ctx: Ctx<'js>,
    rules: Rules,
    prelude: &'a Prelude<'js>,
    control: &'a Control,
    path: Path,
    /// The arrays and objects that the walk is inside of.
    above: Vec<Value<'js>>,
    writer: Writer,
    found: Plain,
    nodes: u64,
}

impl<'js> Walk<'_, 'js> {
    fn value(&mut self, value: &Value<'js>) -> Result<(), Halt> {
        self.check_time()?;
        if value.is_null() {
            self.writer.scalar("null");
        } else if let Some(truth) = value.as_bool() {
            self.writer.scalar(if truth { "true" } else { "false" });
        } else if let Some(number) = value.as_number() {
            self.number(number);
        } else if let Some(string) = value.as_string() {
            let text = self.prelude.text(string)?;
            if text.repaired && self.found.repaired.is_none() {
                self.found.repaired = Some(self.path.to_string());
            }
            self.writer.string(&text.value);
        } else if value.is_object() {
            self.object(value)?;
        } else {
            self.refuse_kind(value);
        }
        Ok(())
    }

    fn check_time(&mut self) -> Result<(), Halt> {
        const EVERY: u64 = 512;
        self.nodes += 1;
        if self.nodes.is_multiple_of(EVERY) && self.control.must_stop() {
            return Err(Halt::Stopped);
        }
        Ok(())
    }

    fn number(&mut self, number: f64) {
        if number.is_nan() {
            self.refuse("is NaN");
        } else if number.is_infinite() {
            self.refuse(if number > 0.0 { "is Infinity" } else { "is -Infinity" });
        } else {
            self.writer.scalar(&number_text(number));
        }
    }

    fn object(&mut self, value: &Value<'js>) -> Result<(), Halt> {
        let Some(object) = self.plain_object(value) else {
            self.refuse_kind(value);
            return Ok(());
        };
        if let Some(level) = self.above.iter().position(|above| above == value) {
            let target = self.path.upto(level);
            self.refuse(&format!("refers back to {target}: a circular structure"));
            return Ok(());
        }
        if self.above.len() == MAX_DEPTH {
            self.refuse(&format!("is nested more than {MAX_DEPTH} levels deep"));
            return Ok(());
        }
        let mut symbols = object.own_keys::<Atom<'js>>(Filter::new().symbol().enum_only());
        if symbols.next().transpose()?.is_some() {
            self.refuse("has a symbol as a key");
            return Ok(());
        }
        self.above.push(value.clone());
        let result = match value.clone().into_array() {
            Some(array) => self.array(&array),
            None => self.fields(&object),
        };
        self.above.pop();
        result
    }

    /// The value as an object or array of the plain kind.
    fn plain_object(&self, value: &Value<'js>) -> Option<Object<'js>> {
        if value.is_proxy() || value.is_function() || value.is_promise() || value.is_error() {
            return None;
        }
        let object = value.as_object()?;
        let prototype = object.get_prototype();
        let is_plain = match prototype {
            None => !value.is_array(),
            Some(prototype) => self.prelude.is_plain(&prototype),
        };
        is_plain.then(|| object.clone())
    }

    fn array(&mut self, array: &Array<'js>) -> Result<(), Halt> {
        // The binding's own length of an array is not made for those of more than 2^31 items.
        let length: f64 = array.as_object().get("length")?;
        let keys = array.as_object().own_keys::<Atom<'js>>(Filter::default()).len();
        #[expect(clippy::cast_precision_loss, reason = "there are fewer than 2^32 keys")]
        let excess = keys as f64 - length;
        if excess != 0.0 {
            let what = if excess < 0.0 { "holes" } else { "extra properties" };
            self.refuse(&format!("is an array with {what}"));
            return Ok(());
        }
        let open = self.writer.open('[');
        for index in 0..keys {
            if self.is_measured() {
                break;
            }
            let before = self.writer.item(index == 0);
            self.path.push(Step::Index(index));
            match array.get::<Value<'js>>(index) {
                Ok(item) => self.value(&item)?,
                Err(error) => self.refuse_getter(error)?,
            }
            self.path.pop();
            self.writer.end_item(before);
        }
        self.writer.close(open, ']');
        Ok(())
    }

    fn fields(&mut self, object: &Object<'js>) -> Result<(), Halt> {
        let open = self.writer.open('{');
        let mut first = true;
        for key in object.own_keys::<Atom<'js>>(Filter::default()) {
            if self.is_measured() {
                break;
            }
            let key = key?;
            let name = self.prelude.text(&key.to_js_string()?)?.value;
            let item = object.get::<_, Value<'js>>(key);
            if self.rules.skip_undefined && item.as_ref().is_ok_and(Value::is_undefined) {
                continue;
            }
            let before = self.writer.item(first);
            self.writer.key(&name);
            self.path.push(Step::Key(name));
            match item {
                Ok(item) => self.value(&item)?,
                Err(error) => self.refuse_getter(error)?,
            }
            self.path.pop();
            self.writer.end_item(before);
            first = false;
        }
        self.writer.close(open, '}');
        Ok(())
    }

    /// Whether a value that is cut anyway was measured for long enough.
    fn is_measured(&self) -> bool {
        self.writer.is_full() && self.writer.size() > MAX_MEASURED
    }

    /// A getter threw, or the engine is at its end.
    fn refuse_getter(&mut self, error: Error) -> Result<(), Halt> {
        if self.control.must_stop() {
            return Err(Halt::Stopped);
        }
        if !matches!(error, Error::Exception) {
            return Err(Halt::Engine(error));
        }
        let thrown = self.ctx.catch();
        let kind = kind_of(&thrown, self.prelude);
        self.refuse(&format!("has a getter that threw {kind}"));
        Ok(())
    }

    fn refuse_kind(&mut self, value: &Value<'js>) {
        let kind = kind_of(value, self.prelude);
        let hint = match kind {
            "undefined" if self.above.is_empty() => "",
            "undefined" => " (an await may be missing)",
            "a promise" => " (an await is missing)",
            _ => "",
        };
        self.refuse(&format!("is {kind}{hint}"));
    }

    fn refuse(&mut self, problem: &str) {
        self.found.problem_count += 1;
        if self.found.problems.len() < MAX_PROBLEMS {
            self.found.problems.push(format!("{} {problem}", self.path));
        }
        self.writer.scalar("null");
    }
}

/// A finite number as JSON writes it. Whole numbers have neither a fraction nor an exponent as long as JavaScript
/// prints them so.
fn number_text(number: f64) -> String {
    if number == 0.0 {
        "0".to_owned()
    } else if number.abs() < 1e21 && number.abs() >= 1e-7 {
        number.to_string()
    } else {
        format!("{number:e}")
    }
}

#[cfg(test)]
mod tests;
