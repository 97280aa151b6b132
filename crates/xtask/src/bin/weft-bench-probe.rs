//! A minimal program that weft is measured against: it does what it must and nothing else.
//!
//! `initialize` answers one request and ends with its input; `write FILE` writes the file's lines to
//! stdout, flushing each.

use std::io::{self, BufRead as _, Write as _};

fn main() -> io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    match (arguments.next().as_deref(), arguments.next()) {
        (Some("initialize"), None) => initialize(),
        (Some("write"), Some(file)) => write(&file),
        _ => Err(io::Error::other("usage: weft-bench-probe initialize | write FILE")),
    }
}

fn initialize() -> io::Result<()> {
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

fn write(file: &str) -> io::Result<()> {
    let text = std::fs::read(file)?;
    let mut out = io::stdout().lock();
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        out.write_all(line)?;
        out.flush()?;
    }
    Ok(())
}
