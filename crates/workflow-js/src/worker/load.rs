//! Turning the text of a script into a function, without running any of it.

use rquickjs::context::EvalOptions;
use rquickjs::{CatchResultExt, CaughtError, Ctx, Function, Value};

use crate::protocol::{Load, Rejection};
use crate::script::{HEAD, Position, SAVED_HEAD, SAVED_TAIL, TAIL};

/// Makes evaluation end before the first statement of what follows. All of a text is parsed before any is evaluated,
/// so that this is a check of the whole of it.
const GUARD: &str = "throw 0;";
/// A second wrapping, in which a body does not parse that closes the real one and goes on after it: the body of an
/// arrow function in parentheses is followed by `)` or `,`, and with neither can a statement begin. The block keeps the
/// name out of the script's globals.
const DECLARATION: &str = "{async function body() {";
const DECLARATION_END: &str = "\n}}";

/// The script's function.
///
/// # Errors
///
/// It does not parse, or is more than the body of a function.
pub(super) fn load<'js>(ctx: &Ctx<'js>, script: &Load) -> Result<Function<'js>, Rejection> {
    load_between(ctx, script, (HEAD, TAIL))
}

/// The function of a saved workflow that another one runs. It takes `args` and the hooks, and gives a promise.
///
/// # Errors
///
/// It does not parse, or is more than the body of a function.
pub(super) fn load_saved<'js>(ctx: &Ctx<'js>, script: &Load) -> Result<Function<'js>, Rejection> {
    load_between(ctx, script, (SAVED_HEAD, SAVED_TAIL))
}

fn load_between<'js>(ctx: &Ctx<'js>, script: &Load, (head, tail): (&str, &str)) -> Result<Function<'js>, Rejection> {
    let body = script.body.as_str();
    if let Some(byte) = body.find('\0') {
        return Err(Rejection {
            message: "Invalid or unexpected token (a NUL character)".to_owned(),
            position: Some(Position::of_byte(body, byte)),
        });
    }
    let evaluate = |text: String| {
        let mut options = EvalOptions::default();
        options.strict = false;
        options.filename = Some(script.file.clone());
        ctx.eval_with_options::<Value<'js>, _>(text, options).catch(ctx)
    };
    match evaluate([GUARD, DECLARATION, body, DECLARATION_END].concat()) {
        Err(CaughtError::Value(value)) if value.as_int() == Some(0) => {}
        other => return Err(rejection(other.err(), body, GUARD.len() + DECLARATION.len())),
    }
    match evaluate([head, body, tail].concat()) {
        Ok(value) => value.into_function().ok_or_else(|| rejection(None, body, head.len())),
        Err(error) => Err(rejection(Some(error), body, head.len())),
    }
}

/// What the engine said, and the place it meant in the body, before whose first line `head` bytes were put.
fn rejection(error: Option<CaughtError<'_>>, body: &str, head: usize) -> Rejection {
    let Some(CaughtError::Exception(exception)) = error else {
        return Rejection {
            message: "the parser ran out of memory".to_owned(),
            position: None,
        };
    };
    let message = exception.message().unwrap_or_default();
    let place = exception.stack().and_then(|stack| place_in(&stack));
    let position = place.map(|(line, byte)| {
        let before = if line == 1 { head } else { 0 };
        let text = body.split('\n').nth(line - 1).unwrap_or_default();
        let end = text.floor_char_boundary((byte - 1).saturating_sub(before));
        let column = text[..end].chars().count() + 1;
        Position { line, column }
    });
    Rejection { message, position }
}

/// The line, and the byte within it from 1, that the first line of a stack trace ends in.
fn place_in(stack: &str) -> Option<(usize, usize)> {
    let mut parts = stack.lines().next()?.trim_end().trim_end_matches(')').rsplit(':');
    let byte = parts.next()?.parse().ok()?;
    let line = parts.next()?.parse().ok()?;
    (line > 0 && byte > 0).then_some((line, byte))
}
