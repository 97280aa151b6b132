//! Saved workflows that a script runs by name: from the name to a function in the script's realm.

use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

use rquickjs::{Ctx, Function, Result, Value};

use super::calls::{Deferred, Failure};
use super::kind::kind_of;
use super::load::load_saved;
use super::plain::{Halt, Rules, to_plain};
use super::render::{Source, describe_briefly};
use super::session::Session;
use crate::protocol::{FromWorker, Load, Saved};
use crate::rejection::explain;
use crate::script::SAVED_HEAD;
use crate::text::cut_bytes;

/// The longest name that is asked for, in bytes.
pub(crate) const MAX_NAME_BYTES: usize = 256;

/// What every error about a saved workflow that cannot be had has for its code.
const CODE: &str = "SAVED_WORKFLOW";

/// The saved workflows of one run. Each is asked for once, so that it is the same text for the whole of the run, and one
/// after the other, so that the parent never has more than one question to answer.
#[derive(Default)]
pub(super) struct SavedScripts<'js> {
    loaded: HashMap<String, Loaded<'js>>,
    waiting: VecDeque<(String, Deferred<'js>)>,
    /// The name that the parent was asked for.
    asked: Option<String>,
}

#[derive(Clone)]
struct Loaded<'js> {
    script: Rc<Load>,
    function: Function<'js>,
}

impl<'js> SavedScripts<'js> {
    /// Whether an answer is still to come.
    pub(super) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Takes all promises.
    pub(super) fn abandon(&mut self) -> Vec<Deferred<'js>> {
        self.waiting.drain(..).map(|(_, promise)| promise).collect()
    }

    fn take(&mut self, name: &str) -> Vec<Deferred<'js>> {
        let waiting = std::mem::take(&mut self.waiting);
        let (found, others): (Vec<_>, Vec<_>) = waiting.into_iter().partition(|(wanted, _)| wanted == name);
        self.waiting = others.into();
        found.into_iter().map(|(_, promise)| promise).collect()
    }
}

impl<'js> Session<'js> {
    /// Settles a promise with the function of a saved workflow, at once or when the parent has answered.
    pub(super) fn want_saved(&self, name: &Value<'js>, promise: Deferred<'js>) -> Result<()> {
        let name = match self.saved_name(name) {
            Ok(name) => name,
            Err(failure) => return promise.reject(self.prelude(), &failure),
        };
        let known = self.saved.borrow().loaded.get(&name).cloned();
        if let Some(known) = known {
            return promise.resolve.call((known.function,));
        }
        self.saved.borrow_mut().waiting.push_back((name, promise));
        self.ask_for_saved()
    }

    fn saved_name(&self, value: &Value<'js>) -> std::result::Result<String, Failure> {
        self.check_cancelled()?;
        let invalid = |message: String| Failure::new("INVALID_ARGUMENT", message);
        let Some(string) = value.as_string() else {
            let kind = kind_of(value, self.prelude());
            return Err(invalid(format!(
                "workflow() takes the name of a saved workflow, a string, not {kind}; a script that is not saved, or one \
                 at a path (`scriptPath`), is not supported"
            )));
        };
        let name = self.prelude().text(string).map(|text| text.value).unwrap_or_default();
        match name.len() {
            0 => Err(invalid(
                "workflow() takes the name of a saved workflow, a string that is not empty".to_owned(),
            )),
            bytes if bytes > MAX_NAME_BYTES => {
                let name = cut_bytes(&name, 80);
                Err(Failure::new(CODE, format!("there is no saved workflow {name:?}")))
            }
            _ => Ok(name),
        }
    }

    fn ask_for_saved(&self) -> Result<()> {
        let name = {
            let mut saved = self.saved.borrow_mut();
            let Some((name, _)) = saved.waiting.front().filter(|_| saved.asked.is_none()) else {
                return Ok(());
            };
            let name = name.clone();
            saved.asked = Some(name.clone());
            name
        };
        // A name of this length fits into any frame.
        drop(self.output.borrow_mut().send(&FromWorker::Saved { name }));
        Ok(())
    }

    /// Takes the parent's answer.
    pub(super) fn got_saved(&self, answer: Saved) -> Result<()> {
        let Some(name) = self.saved.borrow_mut().asked.take() else {
            return Ok(());
        };
        let loaded = match answer {
            Saved::Script(script) => self.load(&name, script),
            Saved::Refused(why) => Err(why),
        };
        let promises = self.saved.borrow_mut().take(&name);
        match loaded {
            Ok(loaded) => {
                self.saved.borrow_mut().loaded.insert(name, loaded.clone());
                for promise in promises {
                    promise.resolve.call::<_, ()>((loaded.function.clone(),))?;
                }
            }
            Err(why) => {
                let failure = Failure::new(CODE, why);
                promises
                    .iter()
                    .try_for_each(|promise| promise.reject(self.prelude(), &failure))?;
            }
        }
        self.ask_for_saved()
    }

    fn load(&self, name: &str, script: Load) -> std::result::Result<Loaded<'js>, String> {
        let function = load_saved(&self.ctx, &script).map_err(|rejection| {
            format!(
                "the saved workflow {name:?} cannot be used: {}",
                explain(&rejection, &script.body)
            )
        })?;
        let script = Rc::new(script);
        Ok(Loaded { script, function })
    }

    /// Tells where a saved workflow threw: the error itself only knows where in which file.
    pub(super) fn saved_threw(&self, name: &str, error: &Value<'js>) {
        let script = self
            .saved
            .borrow()
            .loaded
            .get(name)
            .map(|loaded| Rc::clone(&loaded.script));
        let Some(script) = script.filter(|_| !self.control.is_cancelled()) else {
            return;
        };
        let source = Source {
            file: &script.file,
            body: &script.body,
            head: SAVED_HEAD,
        };
        let text = describe_briefly(error, source, self.prelude(), &self.control);
        self.notes
            .borrow_mut()
            .add(&format!("the saved workflow {name:?} threw: {text}"));
    }

    /// A copy of a value as plain JSON, so that a saved workflow and the script that runs it share nothing.
    pub(super) fn copy(
        &self,
        ctx: &Ctx<'js>,
        value: &Value<'js>,
        (what, code): (&str, &'static str),
    ) -> Result<Value<'js>> {
        let (root, limit, setting) = match code {
            "INVALID_ARGUMENT" => ("args", self.setup.max_args_bytes, "max_args_bytes"),
            _ => ("value", self.setup.max_result_bytes, "max_result_bytes"),
        };
        if value.is_undefined() {
            // As a run of its own has it: no `args` are undefined, no value is null.
            let is_args = code == "INVALID_ARGUMENT";
            return Ok(if is_args {
                value.clone()
            } else {
                Value::new_null(ctx.clone())
            });
        }
        let rules = Rules {
            root,
            limit,
            skip_undefined: false,
        };
        let failed = |message: String| self.throw(&Failure::new(code, message));
        let plain = match to_plain(value, rules, self.prelude(), &self.control) {
            Ok(plain) => plain,
            Err(Halt::Engine(error)) => return Err(error),
            // The interpreter notices by itself as soon as it goes on.
            Err(Halt::Stopped) => return Err(failed(format!("{what} takes too long to read"))),
        };
        if !plain.problems.is_empty() {
            let problems = plain.problems.join("; ");
            return Err(failed(format!("{what} must be plain JSON: {problems}")));
        }
        if plain.cut {
            return Err(failed(format!(
                "{what} has about {} bytes of JSON, more than the limit of {limit} ({setting})",
                plain.size
            )));
        }
        ctx.json_parse(plain.json)
    }
}
