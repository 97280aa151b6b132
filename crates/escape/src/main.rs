//! A workflow worker like the real one, but that its scripts can make any call to the system: as if somebody had broken
//! out of the JavaScript engine. The tests of this crate run scripts in it, and nothing else has a use for it.

use std::process::ExitCode;

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    weft_workflow_js::run_worker_that_escapes(system_call)
}

/// Makes the call; an error is its number below 0.
#[cfg(target_os = "linux")]
#[expect(
    unsafe_code,
    reason = "this is what a broken engine could do, and the process may well die of it"
)]
fn system_call(number: i64, [a, b, c, d, e, f]: [u64; 6]) -> i64 {
    // SAFETY: none is claimed. The process is shut in and thrown away, which is what is being tested.
    let result = unsafe { libc::syscall(number, a, b, c, d, e, f) };
    if result == -1 {
        let error = std::io::Error::last_os_error().raw_os_error();
        -i64::from(error.unwrap_or(0))
    } else {
        result
    }
}

#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    weft_workflow_js::run_worker()
}
