//! Minimal programs that weft is compared with. They do what they must and nothing else.

use std::io::{self, BufRead as _, Write as _};
use std::path::PathBuf;

use clap::Subcommand;

/// Which one; hidden, since only the benchmarks start them.
#[derive(Subcommand)]
pub(crate) enum Probe {
    /// Answers one `initialize` and ends with its input.
    #[command(hide = true)]
    ProbeInitialize,
    /// Writes the lines of a file to stdout, flushing each, `times` over.
    #[command(hide = true)]
    ProbeWrite {
        /// The file.
        file: PathBuf,
    },
}

/// Runs it.
pub(crate) fn run(probe: &Probe) -> anyhow::Result<()> {
    match probe {
        Probe::ProbeInitialize => initialize(),
        Probe::ProbeWrite { file } => write(file),
    }
}

fn initialize() -> anyhow::Result<()> {
    let mut lines = io::stdin().lock().lines();
    if lines.next().is_some() {
        let mut out = io::stdout().lock();
        out.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":1}}\n")?;
        out.flush()?;
    }
    // Until the input ends, as an agent would.
    for _ in lines {}
    Ok(())
}

fn write(file: &PathBuf) -> anyhow::Result<()> {
    let text = std::fs::read(file)?;
    let mut out = io::stdout().lock();
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        out.write_all(line)?;
        out.flush()?;
    }
    Ok(())
}
