//! Starting other programs, `cargo` above all.

mod supervise;

use std::borrow::Cow;
use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, bail};

pub(crate) use supervise::Limit;

/// A command that is run to its end, its output shown or captured.
#[expect(clippy::disallowed_methods, reason = "the chores start their programs here only")]
pub(crate) fn program(name: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(name);
    // Cargo describes xtask's own package to us in these. Build scripts watch some of them, so that
    // passing them on would rebuild crates that a plain `cargo build` has built already.
    for (key, _) in std::env::vars_os() {
        let key_text = key.to_string_lossy();
        if key_text.starts_with("CARGO_PKG_") || key_text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&key);
        }
    }
    command
}

/// The cargo that runs us, with the given arguments.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let mut command = program(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments);
    command
}

/// Shows the command line and runs it, its output shown and its input empty.
pub(crate) fn run(command: &mut Command, limit: Option<Limit>) -> anyhow::Result<()> {
    let line = command_line(command);
    println!("$ {line}");
    let output = supervise::run(command, limit)?;
    if !output.status.success() {
        // The whole line stands above.
        bail!("`{}` ended with {}", job(command), output.status);
    }
    Ok(())
}

/// Runs the command and returns what it wrote to its standard output.
pub(crate) fn capture(command: &mut Command, limit: Option<Limit>) -> anyhow::Result<String> {
    let line = command_line(command);
    let output = supervise::run(command.stdout(Stdio::piped()).stderr(Stdio::piped()), limit)?;
    if !output.status.success() {
        let reason = String::from_utf8_lossy(&output.stderr);
        bail!("`{line}` ended with {}: {}", output.status, reason.trim());
    }
    String::from_utf8(output.stdout).with_context(|| format!("`{line}` wrote text that is not UTF-8"))
}

/// The command as a person would type it.
fn command_line(command: &Command) -> String {
    let mut line = String::new();
    for (key, value) in command.get_envs() {
        if let Some(value) = value {
            line += &format!("{}={:?} ", key.to_string_lossy(), value.to_string_lossy());
        }
    }
    line += &name(command);
    for argument in command.get_args() {
        let argument = argument.to_string_lossy();
        line += if argument.contains(' ') { " '" } else { " " };
        line += &argument;
        line += if argument.contains(' ') { "'" } else { "" };
    }
    line
}

/// The command in two words.
fn job(command: &Command) -> String {
    let job = command.get_args().next().unwrap_or_default();
    format!("{} {}", name(command), job.to_string_lossy())
}

/// What the program is called, without its folder.
fn name(command: &Command) -> Cow<'_, str> {
    let program = command.get_program();
    Path::new(program).file_name().unwrap_or(program).to_string_lossy()
}
