//! The process that gives up its rights and becomes the command.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use super::{SandboxNetwork, system};

pub(super) const NO_NETWORK: &str = "--no-network";
pub(super) const WRITABLE: &str = "--writable";
pub(super) const END: &str = "--";

/// How a shell ends whose command cannot be run.
const CANNOT_RUN: u8 = 126;

/// What a guard is told.
#[derive(Debug, PartialEq, Eq)]
struct Orders {
    network: SandboxNetwork,
    writable: Vec<PathBuf>,
    program: OsString,
    arguments: Vec<OsString>,
}

/// Gives up what commands may not do and becomes the program that the arguments name: all of what the hidden command
/// does that [`SandboxConfig::guard`](super::SandboxConfig::guard) names.
///
/// It must be called before any other thread of the process exists. It returns only if that failed, and nothing has run
/// then.
pub fn run_guard(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let failure = match Orders::read(arguments) {
        Ok(orders) => orders.carry_out(),
        Err(failure) => failure,
    };
    // Nobody is left to be told if that fails.
    let _unread = writeln!(io::stderr(), "weft: the command was not run: {failure}");
    ExitCode::from(CANNOT_RUN)
}

impl Orders {
    fn read(arguments: impl IntoIterator<Item = OsString>) -> Result<Self, String> {
        let mut arguments = arguments.into_iter();
        let (mut network, mut writable) = (SandboxNetwork::Allow, Vec::new());
        loop {
            let argument = arguments.next().ok_or("no program is named")?;
            if argument == END {
                break;
            } else if argument == NO_NETWORK {
                network = SandboxNetwork::Deny;
            } else if argument == WRITABLE {
                writable.push(arguments.next().ok_or("no place is named")?.into());
            } else {
                return Err(format!("{} is no order", argument.display()));
            }
        }
        Ok(Self {
            network,
            writable,
            program: arguments.next().ok_or("no program is named")?,
            arguments: arguments.collect(),
        })
    }

    fn carry_out(self) -> String {
        if let Err(error) = system::enter(self.network, &self.writable) {
            return format!("the sandbox could not be set up: {error}");
        }
        become_program(&self.program, &self.arguments)
    }
}

/// This process becomes the program: its number, its descriptors and its folder stay.
#[allow(clippy::disallowed_methods)]
fn become_program(program: &OsStr, arguments: &[OsString]) -> String {
    let error = Command::new(program).args(arguments).exec();
    format!("failed to start {}: {error}", program.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(arguments: &[&str]) -> Result<Orders, String> {
        Orders::read(arguments.iter().map(OsString::from))
    }

    #[test]
    fn orders_are_read_up_to_the_program() {
        let orders = read(&[
            "--no-network",
            "--writable",
            "/a",
            "--writable",
            "--",
            "--",
            "sh",
            "--writable",
        ]);
        let expected = Orders {
            network: SandboxNetwork::Deny,
            writable: vec!["/a".into(), "--".into()],
            program: "sh".into(),
            arguments: vec!["--writable".into()],
        };
        assert_eq!(orders, Ok(expected));
    }

    #[test]
    fn orders_that_are_not_understood_run_nothing() {
        assert_eq!(read(&["--nonsense", "--", "sh"]), Err("--nonsense is no order".into()));
        assert_eq!(read(&["--"]), Err("no program is named".into()));
        assert_eq!(read(&["--writable"]), Err("no place is named".into()));
    }
}
