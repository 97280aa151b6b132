//! `weft completions`: what a shell needs to complete commands and flags.

use std::io::{self, Write as _};

use clap::CommandFactory as _;

use crate::args::{Cli, CompletionsArgs};

/// Prints the shell's script.
pub(crate) fn run(args: &CompletionsArgs) -> anyhow::Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "weft", &mut script);
    io::stdout().write_all(&script)?;
    Ok(())
}
