//! A model endpoint that counts what it is asked.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;

use crate::random::SplitMix;

/// The longest that a member waits for its answer.
const DELAY_MILLIS: u64 = 12;

/// Speaks chat completions on loopback. What it is asked by the agent itself comes to a call of the workflow tool, what its
/// members ask to an answer that only depends on the question.
pub(crate) struct Endpoint {
    address: String,
    asked: Arc<Asked>,
    serving: AbortHandle,
}

/// How often each question was asked.
type Asked = Mutex<HashMap<String, u32>>;

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Endpoint {
    pub(crate) async fn start(mut random: SplitMix, script: &'static str) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = format!("http://{}/v1", listener.local_addr()?);
        let asked = Arc::<Asked>::default();
        let counted = Arc::clone(&asked);
        let serving = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let delay = Duration::from_millis(random.below(DELAY_MILLIS));
                let counted = Arc::clone(&counted);
                // Who was killed does not read its answer.
                tokio::spawn(async move { drop(serve(stream, &counted, delay, script).await) });
            }
        });
        Ok(Self {
            address,
            asked,
            serving: serving.abort_handle(),
        })
    }

    /// Where it is.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// How often each member's question was asked since this was called last.
    pub(crate) fn take(&self) -> HashMap<String, u32> {
        std::mem::take(&mut *self.asked.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

async fn serve(stream: TcpStream, asked: &Asked, delay: Duration, script: &str) -> io::Result<()> {
    let mut stream = BufReader::new(stream);
    let Some(request) = read(&mut stream).await? else {
        return Ok(());
    };
    let (question, answered) = question(&request);
    let delta = match question.strip_prefix("MAIN ") {
        Some(_) if answered => json!({ "content": "done" }),
        Some("run") => call(&json!({ "script": script })),
        Some(run) => call(&json!({ "resume": run })),
        None => {
            *asked
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .entry(question.clone())
                .or_default() += 1;
            tokio::time::sleep(delay).await;
            json!({ "content": format!("<{question}>") })
        }
    };
    let finish = if delta["tool_calls"].is_null() {
        "stop"
    } else {
        "tool_calls"
    };
    let mut answer = String::from("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n");
    for (delta, finish) in [(delta, Value::Null), (json!({}), finish.into())] {
        let chunk = json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }] });
        answer.push_str(&format!("data: {chunk}\n\n"));
    }
    answer.push_str("data: [DONE]\n\n");
    stream.write_all(answer.as_bytes()).await
}

fn call(arguments: &Value) -> Value {
    let function = json!({ "name": "workflow", "arguments": arguments.to_string() });
    json!({ "tool_calls": [{ "index": 0, "id": "call-1", "type": "function", "function": function }] })
}

/// One request's body; none if the other side has gone.
async fn read(stream: &mut BufReader<TcpStream>) -> io::Result<Option<Value>> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).await? == 0 {
            return Ok(None);
        }
        if line.trim().is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().unwrap_or_default();
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    Ok(serde_json::from_slice(&body).ok())
}

/// The first line of the last thing that the user said, and whether anything has come of it already.
fn question(request: &Value) -> (String, bool) {
    let messages = request["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let asked = messages.iter().rposition(|message| message["role"] == "user");
    let (Some(asked), last) = (asked, messages.len().saturating_sub(1)) else {
        return (String::new(), false);
    };
    let content = &messages[asked]["content"];
    let text = content
        .as_str()
        .or_else(|| content[0]["text"].as_str())
        .unwrap_or_default();
    let line = text.lines().next().unwrap_or_default();
    (line.to_owned(), asked < last)
}
