//! A minimal program that weft is measured against: it does what it must and nothing else.
//!
//! `initialize` answers one request and ends with its input; `write FILE` writes the file's lines to stdout, flushing
//! each; `serve FILE` answers every HTTP request with the file's events, sending each by itself as endpoints do, on the
//! port that it prints, until its input ends.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

fn main() -> io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    match (arguments.next().as_deref(), arguments.next()) {
        (Some("initialize"), None) => initialize(),
        (Some("write"), Some(file)) => write(&file),
        (Some("serve"), Some(file)) => serve(&file),
        _ => Err(io::Error::other(
            "usage: weft-bench-probe initialize | write FILE | serve FILE",
        )),
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

fn serve(file: &str) -> io::Result<()> {
    let text = std::fs::read_to_string(file)?;
    let chunks = text.split_inclusive("\n\n");
    let chunks: Arc<[String]> = chunks
        .map(|event| format!("{:x}\r\n{event}\r\n", event.len()))
        .collect();
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let mut out = io::stdout().lock();
    writeln!(out, "{}", listener.local_addr()?.port())?;
    out.flush()?;
    // Nobody waits for it: it ends with the process.
    let _accepting = std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let chunks = Arc::clone(&chunks);
            std::thread::spawn(move || answer_all(&stream, &chunks));
        }
    });
    io::copy(&mut io::stdin().lock(), &mut io::sink())?;
    Ok(())
}

/// Answers the requests of a connection until the client leaves, which it may do at any time.
fn answer_all(stream: &TcpStream, chunks: &[String]) -> io::Result<()> {
    const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    stream.set_nodelay(true)?;
    let (mut requests, mut out) = (BufReader::new(stream), stream);
    while skip_request(&mut requests)? {
        out.write_all(HEAD)?;
        for chunk in chunks {
            out.write_all(chunk.as_bytes())?;
        }
        out.write_all(b"0\r\n\r\n")?;
    }
    Ok(())
}

/// Reads one request, whatever it asks for; `false` if there is none.
fn skip_request(requests: &mut BufReader<&TcpStream>) -> io::Result<bool> {
    let (mut line, mut length) = (String::new(), 0);
    loop {
        line.clear();
        if requests.read_line(&mut line)? == 0 {
            return Ok(false);
        }
        let header = line.trim_end().to_ascii_lowercase();
        if header.is_empty() {
            break;
        }
        if let Some(value) = header.strip_prefix("content-length:") {
            length = value.trim().parse().map_err(io::Error::other)?;
        }
    }
    io::copy(&mut requests.by_ref().take(length), &mut io::sink())?;
    Ok(true)
}
