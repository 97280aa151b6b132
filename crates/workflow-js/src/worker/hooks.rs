//! The native half of the hooks.

use std::cell::RefCell;
use std::rc::Rc;

use rquickjs::function::{Func, Opt};
use rquickjs::{Ctx, Error, Function, Object, Promise, Result, Value};
use weft_workflow::RunOrigin;

use super::agent::{Refusal, accept};
use super::calls::{Accepted, Deferred, Failure};
use super::chance::Chance;
use super::kind::kind_of;
use super::prelude::Prelude;
use super::scope::Scope;
use super::session::Session;
use crate::protocol::Call;

/// Installs the script's globals.
pub(super) fn install<'js>(ctx: &Ctx<'js>, session: &Rc<Session<'js>>, origin: RunOrigin) -> Result<()> {
    let host = Object::new(ctx.clone())?;
    set_scope(ctx, session, &host, Scope::default())?;
    host.set("log", log_hook(ctx, session)?)?;
    set_saved(ctx, session, &host)?;
    // Every moment that JavaScript knows is a number that a float holds.
    host.set("startedAt", origin.started_at.0 as f64)?;
    let chance = RefCell::new(Chance::new(origin.seed));
    let random = Function::new(ctx.clone(), move || chance.borrow_mut().next())?;
    host.set("random", random.with_name("random")?)?;
    host.set("maxItems", session.setup.max_items_per_call)?;
    host.set("maxTokens", session.max_tokens.map(float))?;
    let here = Rc::clone(session);
    host.set("spent", Function::new(ctx.clone(), move || float(here.spent.get()))?)?;
    host.set("isBuiltin", Func::from(is_builtin))?;
    let here = Rc::clone(session);
    let check = Function::new(ctx.clone(), move || here.throw_if_cancelled())?;
    host.set("checkCancelled", check)?;
    let here = Rc::clone(session);
    let kind = Function::new(ctx.clone(), move |value: Value<'js>| kind_of(&value, here.prelude()))?;
    host.set("kind", kind)?;
    let here = Rc::clone(session);
    let swallowed = move |hook: String, index: usize, error: Value<'js>| here.swallowed(&hook, index, &error);
    host.set("swallowed", Function::new(ctx.clone(), swallowed)?)?;
    let here = Rc::clone(session);
    let console = Function::new(ctx.clone(), move || here.notes.borrow_mut().console_used())?;
    host.set("consoleUsed", console)?;
    session.set_prelude(Prelude::install(ctx, host)?);
    #[cfg(feature = "escape")]
    super::escape::install(ctx)?;
    Ok(())
}

/// The hooks of which each script of a run has its own.
fn set_scope<'js>(ctx: &Ctx<'js>, session: &Rc<Session<'js>>, hooks: &Object<'js>, scope: Scope) -> Result<()> {
    let scope = Rc::new(scope);
    hooks.set("agent", agent_hook(ctx, session, &scope)?)?;
    hooks.set("phase", phase_hook(ctx, session, &scope)?)
}

/// What `workflow()` is made of.
fn set_saved<'js>(ctx: &Ctx<'js>, session: &Rc<Session<'js>>, host: &Object<'js>) -> Result<()> {
    let here = Rc::clone(session);
    let saved = move |ctx: Ctx<'js>, name: Value<'js>| {
        let (promise, resolve, reject) = ctx.promise()?;
        let deferred = Deferred {
            resolve,
            reject,
            name: String::new(),
        };
        here.want_saved(&name, deferred)?;
        Ok::<Promise<'js>, Error>(promise)
    };
    host.set("saved", Function::new(ctx.clone(), saved)?)?;
    let here = Rc::clone(session);
    let scope = move |ctx: Ctx<'js>, name: String| {
        let hooks = Object::new(ctx.clone())?;
        set_scope(&ctx, &here, &hooks, Scope::saved(name))?;
        Ok::<Object<'js>, Error>(hooks)
    };
    host.set("scope", Function::new(ctx.clone(), scope)?)?;
    let here = Rc::clone(session);
    let copy_args =
        move |ctx: Ctx<'js>, value: Value<'js>| here.copy(&ctx, &value, ("the args of workflow()", "INVALID_ARGUMENT"));
    host.set("copyArgs", Function::new(ctx.clone(), copy_args)?)?;
    let here = Rc::clone(session);
    let copy_value = move |ctx: Ctx<'js>, value: Value<'js>, name: String| {
        let what = format!("what the saved workflow {name:?} returned");
        here.copy(&ctx, &value, (&what, "RESULT_UNSERIALIZABLE"))
    };
    host.set("copyValue", Function::new(ctx.clone(), copy_value)?)?;
    let here = Rc::clone(session);
    let threw = move |name: String, error: Value<'js>| here.saved_threw(&name, &error);
    host.set("savedThrew", Function::new(ctx.clone(), threw)?)
}

/// A count as scripts have it.
#[expect(clippy::cast_precision_loss, reason = "counts of tokens are far below 2^53")]
fn float(count: u64) -> f64 {
    count as f64
}

fn agent_hook<'js>(ctx: &Ctx<'js>, session: &Rc<Session<'js>>, scope: &Rc<Scope>) -> Result<Function<'js>> {
    let (session, scope) = (Rc::clone(session), Rc::clone(scope));
    let hook = move |ctx: Ctx<'js>, prompt: Opt<Value<'js>>, options: Opt<Value<'js>>| {
        let (promise, resolve, reject) = ctx.promise()?;
        let deferred = Deferred {
            resolve,
            reject,
            name: String::new(),
        };
        let undefined = || Value::new_undefined(ctx.clone());
        let prompt = prompt.0.unwrap_or_else(undefined);
        let options = options.0.unwrap_or_else(undefined);
        call_agent((&session, &scope), &prompt, &options, deferred)?;
        Ok::<Promise<'js>, Error>(promise)
    };
    Function::new(ctx.clone(), hook)?.with_name("agent")?.with_length(2)
}

/// Accepts a call or rejects its promise.
fn call_agent<'js>(
    (session, scope): (&Session<'js>, &Scope),
    prompt: &Value<'js>,
    options: &Value<'js>,
    deferred: Deferred<'js>,
) -> Result<()> {
    match accept(session, scope, prompt, options) {
        Ok((mut call, prompt)) => {
            call.line = session.line_of_call();
            let name = name_call(&call);
            let accepted = Accepted {
                call,
                prompt,
                promise: Deferred { name, ..deferred },
            };
            session.calls.borrow_mut().push(accepted);
            session.send_calls()
        }
        Err(Refusal::Failure(failure)) => deferred.reject(session.prelude(), &failure),
        Err(Refusal::Engine(error)) => Err(error),
    }
}

/// How messages call a call.
fn name_call(call: &Call) -> String {
    let label = &call.label;
    match call.line {
        Some(line) => format!("agent {label:?} (line {line})"),
        None => format!("agent {label:?}"),
    }
}

fn phase_hook<'js>(ctx: &Ctx<'js>, session: &Rc<Session<'js>>, scope: &Rc<Scope>) -> Result<Function<'js>> {
    let (session, scope) = (Rc::clone(session), Rc::clone(scope));
    let hook = move |title: Opt<Value<'js>>| {
        session.throw_if_cancelled()?;
        let title = text_argument(&session, "phase", title.0)?;
        if title.is_empty() {
            let failure = Failure::new("INVALID_ARGUMENT", "phase() takes a string that is not empty");
            return Err(session.throw(&failure));
        }
        let title = session.output.borrow_mut().phase(&scope.title(&title));
        scope.phase.replace(Some(title));
        Ok::<(), Error>(())
    };
    Function::new(ctx.clone(), hook)?.with_name("phase")?.with_length(1)
}

fn log_hook<'js>(ctx: &Ctx<'js>, session: &Rc<Session<'js>>) -> Result<Function<'js>> {
    let session = Rc::clone(session);
    let hook = move |message: Opt<Value<'js>>| {
        session.throw_if_cancelled()?;
        let message = text_argument(&session, "log", message.0)?;
        session.output.borrow_mut().line(&message);
        Ok::<(), Error>(())
    };
    Function::new(ctx.clone(), hook)?.with_name("log")?.with_length(1)
}

fn text_argument<'js>(session: &Session<'js>, hook: &str, value: Option<Value<'js>>) -> Result<String> {
    if let Some(string) = value.as_ref().and_then(Value::as_string) {
        return session.prelude().text(string).map(|text| text.value);
    }
    let kind = value.map_or("undefined", |value| kind_of(&value, session.prelude()));
    let message = format!("{hook}() takes a string, not {kind}");
    Err(session.throw(&Failure::new("INVALID_ARGUMENT", message)))
}

/// Whether a global belongs to the language. Not among them: clocks other than `Date`, memory shared between threads,
/// and whatever an engine adds of its own.
#[expect(clippy::needless_pass_by_value, reason = "arguments of a script's calls are owned")]
fn is_builtin(name: String) -> bool {
    const BUILTINS: &[&str] = &[
        "AggregateError",
        "Array",
        "ArrayBuffer",
        "AsyncDisposableStack",
        "BigInt",
        "BigInt64Array",
        "BigUint64Array",
        "Boolean",
        "DataView",
        "Date",
        "DisposableStack",
        "Error",
        "EvalError",
        "FinalizationRegistry",
        "Float16Array",
        "Float32Array",
        "Float64Array",
        "Function",
        "Infinity",
        "Int16Array",
        "Int32Array",
        "Int8Array",
        "InternalError",
        "Iterator",
        "JSON",
        "Map",
        "Math",
        "NaN",
        "Number",
        "Object",
        "Promise",
        "Proxy",
        "RangeError",
        "ReferenceError",
        "Reflect",
        "RegExp",
        "Set",
        "String",
        "SuppressedError",
        "Symbol",
        "SyntaxError",
        "TypeError",
        "URIError",
        "Uint16Array",
        "Uint32Array",
        "Uint8Array",
        "Uint8ClampedArray",
        "WeakMap",
        "WeakRef",
        "WeakSet",
        "decodeURI",
        "decodeURIComponent",
        "encodeURI",
        "encodeURIComponent",
        "escape",
        "eval",
        "globalThis",
        "isFinite",
        "isNaN",
        "parseFloat",
        "parseInt",
        "undefined",
        "unescape",
    ];
    BUILTINS.binary_search(&name.as_str()).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn builtins_are_told_from_additions() {
        for name in ["AggregateError", "unescape", "Date", "eval", "globalThis"] {
            assert!(is_builtin(name.into()), "{name}");
        }
        for name in [
            "Atomics",
            "SharedArrayBuffer",
            "WebAssembly",
            "queueMicrotask",
            "performance",
            "print",
            "",
        ] {
            assert!(!is_builtin(name.into()), "{name}");
        }
    }
}
