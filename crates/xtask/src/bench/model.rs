//! One step of a model over HTTP: what the agent adds to reading the stream.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Stdio};

use anyhow::Context as _;
use serde_json::json;

use super::Programs;
use super::figures::Figures;
use super::store::{number, probe};
use crate::command;

const ROUNDS: &str = "15";
/// How many pieces the answer comes in; an event has a little more than 200 bytes.
const DELTAS: usize = 20_000;

/// A step through the agent and its adapter, against reading the same stream and counting its bytes.
pub(crate) fn model(programs: &Programs, figures: &mut Figures) -> anyhow::Result<()> {
    println!("model: a step over HTTP, every delta sent by itself, against reading the stream; median of {ROUNDS}");
    let mut file = tempfile::NamedTempFile::new()?;
    file.write_all(answer()?.as_bytes())?;
    let server = Server::start(programs, file.path())?;
    let found = probe(programs, "model", &[Path::new(&server.url), Path::new(ROUNDS)])?;
    let of = |name| number(&found, name);
    figures.tell(
        "an answer",
        &format!("{} deltas, {} bytes", of("deltas")?, of("bytes")?),
    );
    figures.tell("reading the stream", &format!("{:.2} ms", of("raw_ms")?));
    figures.tell("a step of the agent", &format!("{:.2} ms", of("step_ms")?));
    let ratio = of("ratio")?;
    figures.judge("ratio", &format!("{ratio:.2}"), "<= 1.2", ratio <= 1.2);
    Ok(())
}

/// An answer as chat-completions endpoints stream it: reasoning, text, and how it ended.
fn answer() -> anyhow::Result<String> {
    const WORDS: [&str; 8] = [
        " the",
        " session",
        " log",
        ".append",
        "(event",
        ");\n",
        " \"quoted\"",
        " größer",
    ];
    let chunk = |delta: serde_json::Value, finish: Option<&str>| {
        json!({
            "id": "chatcmpl-8f14e45fceea167a5a36dedd4bea2543", "object": "chat.completion.chunk",
            "created": 1_700_000_000, "model": "bench", "system_fingerprint": "fp_44709d6fcb",
            "choices": [{"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish}],
        })
    };
    let mut text = String::new();
    for (number, word) in WORDS.iter().cycle().take(DELTAS).enumerate() {
        let kind = if number < DELTAS / 4 {
            "reasoning_content"
        } else {
            "content"
        };
        write!(text, "data: {}\n\n", chunk(json!({kind: word}), None))?;
    }
    let mut last = chunk(json!({}), Some("stop"));
    last["usage"] = json!({"prompt_tokens": 12, "completion_tokens": DELTAS, "total_tokens": DELTAS + 12});
    write!(text, "data: {last}\n\ndata: [DONE]\n\n")?;
    Ok(text)
}

/// A running endpoint, a process of its own as endpoints are; dropping it ends it.
struct Server {
    child: Child,
    stdin: Option<ChildStdin>,
    url: String,
}

impl Server {
    fn start(programs: &Programs, answer: &Path) -> anyhow::Result<Self> {
        let mut command = command::program(&programs.probe);
        command.arg("serve").arg(answer);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let mut port = String::new();
        BufReader::new(child.stdout.take().context("no stdout")?).read_line(&mut port)?;
        Ok(Self {
            stdin: child.stdin.take(),
            child,
            url: format!("http://127.0.0.1:{}/v1", port.trim()),
        })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stdin.take());
        let _reaped = self.child.wait();
    }
}
