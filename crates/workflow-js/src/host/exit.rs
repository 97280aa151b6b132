//! How a process ended, in words.

use std::fmt;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use rustix::process::Signal;

use crate::EngineConfig;
use crate::protocol::EXIT_STUCK;
use crate::text::cut_bytes;

/// The exit of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exit {
    Code(i32),
    Signal(i32),
}

const SIGKILL: i32 = Signal::KILL.as_raw();
const SIGABRT: i32 = Signal::ABORT.as_raw();
const SIGSYS: i32 = Signal::SYS.as_raw();
const SIGXCPU: i32 = Signal::XCPU.as_raw();

const NAMES: [(i32, &str); 11] = [
    (SIGABRT, "SIGABRT"),
    (Signal::BUS.as_raw(), "SIGBUS"),
    (Signal::FPE.as_raw(), "SIGFPE"),
    (Signal::ILL.as_raw(), "SIGILL"),
    (SIGKILL, "SIGKILL"),
    (Signal::SEGV.as_raw(), "SIGSEGV"),
    (SIGSYS, "SIGSYS"),
    (Signal::TERM.as_raw(), "SIGTERM"),
    (Signal::TRAP.as_raw(), "SIGTRAP"),
    (SIGXCPU, "SIGXCPU"),
    (Signal::XFSZ.as_raw(), "SIGXFSZ"),
];

impl Exit {
    pub(super) fn of(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (Some(code), _) => Self::Code(code),
            (None, signal) => Self::Signal(signal.unwrap_or_default()),
        }
    }

    /// Why a run failed whose worker ended like this before it was done, having said this on stderr.
    pub(super) fn explain(self, said: &[u8], config: &EngineConfig) -> String {
        let said = last_line(said);
        match self {
            Self::Code(code) if code == i32::from(EXIT_STUCK) => format!(
                "the script used {:?} of CPU time in a built-in function that cannot be interrupted, which is the limit \
                 (max_slice)",
                config.max_slice
            ),
            Self::Signal(SIGXCPU) => {
                format!(
                    "the script used {:?} of CPU time in all, which is the limit (max_cpu)",
                    config.max_cpu
                )
            }
            Self::Signal(SIGABRT) if said.as_deref().is_some_and(|said| said.contains("memory allocation")) => format!(
                "the worker process ran out of memory: it is limited to {} bytes (max_address_space_bytes)",
                config.max_address_space_bytes
            ),
            Self::Signal(SIGSYS) => format!(
                "the worker process asked the system for something that no script has a way to, and was ended for it \
                 ({self}): something broke out of the JavaScript engine, or else this system and the sandbox do not go \
                 together (workflow.sandbox)"
            ),
            Self::Signal(SIGKILL) if said.is_none() => {
                format!("the worker process died ({self}), killed by somebody or by a system that is short of memory")
            }
            exit => {
                let said = said.map(|line| format!(": {line}")).unwrap_or_default();
                format!("the worker process died ({exit}){said}")
            }
        }
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let signal = match self {
            Self::Code(code) => return write!(f, "exit status {code}"),
            Self::Signal(signal) => *signal,
        };
        match NAMES.iter().find(|(number, _)| *number == signal) {
            Some((_, name)) => write!(f, "signal {signal} {name}"),
            None => write!(f, "signal {signal}"),
        }
    }
}

/// The last line that says anything; what Rust says on how to get a backtrace does not.
pub(super) fn last_line(said: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(said);
    let says = |line: &&str| !line.trim().is_empty() && !line.starts_with("note: run with");
    let line = text.lines().rev().find(says)?;
    Some(cut_bytes(line.trim(), 500))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn explains(exit: Exit, said: &str, expected: &str) {
        assert_eq!(exit.explain(said.as_bytes(), &EngineConfig::default()), expected);
    }

    #[test]
    fn limits_are_called_by_their_names() {
        explains(
            Exit::Code(70),
            "",
            "the script used 5s of CPU time in a built-in function that cannot be interrupted, which is the limit (max_slice)",
        );
        explains(
            Exit::Signal(24),
            "",
            "the script used 600s of CPU time in all, which is the limit (max_cpu)",
        );
        explains(
            Exit::Signal(6),
            "memory allocation of 99 bytes failed\nnote: run with `RUST_BACKTRACE=1`\n",
            "the worker process ran out of memory: it is limited to 1073741824 bytes (max_address_space_bytes)",
        );
    }

    #[test]
    fn an_end_by_the_sandbox_or_by_force_is_called_so() {
        explains(
            Exit::Signal(31),
            "",
            "the worker process asked the system for something that no script has a way to, and was ended for it (signal \
             31 SIGSYS): something broke out of the JavaScript engine, or else this system and the sandbox do not go \
             together (workflow.sandbox)",
        );
        explains(
            Exit::Signal(9),
            "",
            "the worker process died (signal 9 SIGKILL), killed by somebody or by a system that is short of memory",
        );
    }

    #[test]
    fn any_other_end_is_told_with_its_last_words() {
        explains(Exit::Signal(11), "", "the worker process died (signal 11 SIGSEGV)");
        explains(
            Exit::Code(3),
            "a\n last words \n\n",
            "the worker process died (exit status 3): last words",
        );
        explains(
            Exit::Signal(6),
            "assertion failed",
            "the worker process died (signal 6 SIGABRT): assertion failed",
        );
    }

    #[test]
    fn last_words_may_be_anything() {
        assert_eq!(last_line(b""), None);
        assert_eq!(last_line(b" \n\t\n"), None);
        assert_eq!(last_line(b"\xff\xfe").as_deref(), Some("\u{fffd}\u{fffd}"));
        assert!(last_line(&[b'x'; 10_000]).is_some_and(|line| line.len() <= 500));
    }
}
