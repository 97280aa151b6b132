//! The `weft` command: arguments, configuration, composition; nothing else.
//!
//! [`compose`] is where the parts become an agent; [`commands`] has one module a command.

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser as _;

mod args;
mod commands;
mod compose;
mod config;
mod direct;
mod ending;
mod logging;
mod mcp;
mod models;
mod own_file;
mod peers;
mod permissions;
mod prompt;
mod scripted;
mod store;
mod terminal;
mod tools;
mod trust;
mod workflows;

use args::{Cli, Command};
use terminal::harmless;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let outcome = match cli.command {
        // The worker comes first and alone: it has no environment, no configuration and no runtime.
        Command::Worker => return commands::worker::run(),
        Command::ShellGuard(args) => return weft_toolset::sandbox::run_guard(args.orders),
        Command::Acp(args) => commands::acp::run(&args),
        Command::Demo(args) => in_runtime(commands::demo::run(&args)),
        Command::Replay(args) => in_runtime(commands::replay::run(args)),
        Command::Models(args) => commands::models::run(&args),
        Command::Sessions(args) => commands::sessions::run(args),
        Command::Exec(args) => commands::exec::run(&args),
        Command::Workflow(args) => commands::workflow::run(args),
        Command::Trust(args) => commands::trust::run(&args),
        Command::Doctor(args) => commands::doctor::run(&args),
        Command::Setup(args) => commands::setup::run(&args),
        Command::Completions(args) => commands::completions::run(&args).map(|()| ExitCode::SUCCESS),
        Command::Docs(args) => commands::docs::run(&args).map(|()| ExitCode::SUCCESS),
    };
    outcome.unwrap_or_else(|error| {
        if is_broken_pipe(&error) {
            return ExitCode::from(SIGPIPE);
        }
        complain(&told(&error));
        ExitCode::FAILURE
    })
}

/// Says something on stderr.
fn complain(text: &str) {
    // A reader that has gone away is no reason to complain.
    let _unread = writeln!(std::io::stderr(), "weft: {}", harmless(text));
}

/// How a program ends whose output nobody reads any more.
const SIGPIPE: u8 = 128 + 13;

/// An error with its causes. One that tells its cause itself is not followed by it once more.
fn told(error: &anyhow::Error) -> String {
    error.chain().fold(String::new(), |told, cause| {
        let cause = cause.to_string();
        match told.as_str() {
            "" => cause,
            told if told.ends_with(&cause) => told.to_owned(),
            told => format!("{told}: {cause}"),
        }
    })
}

/// Whether the reader of our own output is gone, as behind `| head`.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<std::io::Error>()
        .is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}

fn in_runtime<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?
        .block_on(work)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_told_once() {
        #[derive(Debug, thiserror::Error)]
        #[error("failed to read x: {source}")]
        struct Telling {
            source: std::io::Error,
        }
        let error = |source: &str| Telling {
            source: std::io::Error::other(source.to_owned()),
        };
        assert_eq!(told(&error("no disk").into()), "failed to read x: no disk");
        let outer = anyhow::Error::new(error("no disk")).context("failed to list");
        assert_eq!(told(&outer), "failed to list: failed to read x: no disk");
    }

    #[test]
    fn only_our_own_output_ends_quietly() {
        let broken = || std::io::Error::from(std::io::ErrorKind::BrokenPipe);
        assert!(is_broken_pipe(&broken().into()));
        assert!(is_broken_pipe(
            &anyhow::Error::new(broken()).context("failed to write session x")
        ));
        assert!(!is_broken_pipe(&anyhow::anyhow!("other")));
    }
}
