//! For the tests of the sandbox only: a way out of the engine, by which a script makes any call to the system.

use std::ffi::CString;
use std::sync::OnceLock;

use rquickjs::function::Rest;
use rquickjs::{Ctx, Function, Result, Value};

/// Makes a system call: its number and its arguments; an error is its number below 0.
pub(crate) type SystemCall = fn(i64, [u64; 6]) -> i64;

static SYSTEM_CALL: OnceLock<SystemCall> = OnceLock::new();

/// Chooses what makes the calls, before the worker runs.
pub(crate) fn open(call: SystemCall) {
    // There is one worker in a process, and it is opened once.
    SYSTEM_CALL.get_or_init(|| call);
}

/// Gives the script a function `syscall(number, ...arguments)`, if there is a way out.
///
/// An argument is a number, or a text, of which the call gets the address of its bytes with a NUL behind them.
pub(super) fn install(ctx: &Ctx<'_>) -> Result<()> {
    let Some(call) = SYSTEM_CALL.get() else { return Ok(()) };
    let hook = move |number: i64, arguments: Rest<Value<'_>>| {
        let mut words = [0; 6];
        for (word, argument) in words.iter_mut().zip(&*arguments) {
            *word = word_of(argument);
        }
        call(number, words) as f64
    };
    ctx.globals().set("syscall", Function::new(ctx.clone(), hook)?)
}

fn word_of(argument: &Value<'_>) -> u64 {
    let text = argument.as_string().and_then(|text| text.to_string().ok());
    match text.and_then(|text| CString::new(text).ok()) {
        // It is never freed: the call may do anything with it.
        Some(text) => text.into_raw().expose_provenance() as u64,
        None => (argument.as_number().unwrap_or(0.0) as i64).cast_unsigned(),
    }
}
