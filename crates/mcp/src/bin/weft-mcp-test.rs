//! The MCP server that this crate's own tests start: well-behaved, or not, as its first argument says.

use std::collections::HashMap;
use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use serde_json::{Value, json};

fn main() -> ExitCode {
    let behaviour = std::env::args().nth(1).unwrap_or_default();
    match &*behaviour {
        "quit" => {
            complain(&format!("cannot open frobnicator with {}", variable("TEST_KEY")));
            return ExitCode::from(1);
        }
        "silent" => hang(),
        "chatty" => {
            say("npm notice: a new version is available");
            say("{\"not\": \"a message\"}");
        }
        _ => {}
    }
    Server {
        behaviour,
        asked: HashMap::new(),
        cancelled: Vec::new(),
    }
    .serve();
    ExitCode::SUCCESS
}

struct Server {
    behaviour: String,
    /// Calls that wait for an answer of the client's, by the id of the question.
    asked: HashMap<String, Value>,
    cancelled: Vec<Value>,
}

impl Server {
    fn serve(&mut self) {
        for line in std::io::stdin().lines() {
            let Ok(line) = line else { return };
            let message: Value = serde_json::from_str(&line).unwrap_or_default();
            let id = message.get("id").cloned();
            match (message["method"].as_str(), id) {
                (Some("notifications/cancelled"), _) => self.cancelled.push(message["params"]["requestId"].clone()),
                (Some(method), Some(id)) => self.request(method, &id, &message["params"]),
                (None, Some(id)) => {
                    if let Some(call) = id.as_str().and_then(|id| self.asked.remove(id)) {
                        let answer = if message["error"].is_null() {
                            &message["result"]
                        } else {
                            &message["error"]
                        };
                        answer_text(&call, &answer.to_string());
                    }
                }
                _ => {}
            }
        }
        if self.behaviour == "lingers" {
            hang();
        }
    }

    fn request(&mut self, method: &str, id: &Value, params: &Value) {
        match method {
            "initialize" if self.behaviour == "modern" => refuse(id, -32601, "no such method"),
            "initialize" => answer(
                id,
                &json!({
                    "protocolVersion": params["protocolVersion"],
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "test", "version": "0"},
                    "instructions": "Use echo for echoes.",
                }),
            ),
            "server/discover" if self.behaviour == "modern" => answer(
                id,
                &json!({
                    "resultType": "complete",
                    "supportedVersions": ["2026-07-28"],
                    "capabilities": {"tools": {}},
                    "ttlMs": 0,
                    "cacheScope": "private",
                    "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "test", "version": "0"}},
                }),
            ),
            "ping" => answer(id, &json!({})),
            "tools/list" => answer(id, &self.listing(params)),
            "tools/call" => self.call(id, params),
            _ => refuse(id, -32601, "no such method"),
        }
    }

    /// Two pages.
    fn listing(&self, params: &Value) -> Value {
        const NAMES: [&str; 13] = [
            "echo",
            "picture",
            "slow",
            "stuck",
            "die",
            "count",
            "env",
            "pid",
            "cancelled",
            "ask",
            "fail",
            "spawn",
            "odd.name",
        ];
        let tools = |names: &[&str]| -> Vec<Value> {
            let describe = |name: &&str| {
                json!({"name": name, "description": format!("does {name}"), "inputSchema": {"type": "object"},
                    "annotations": {"readOnlyHint": *name == "echo"}})
            };
            names.iter().map(describe).collect()
        };
        let mut page = if params["cursor"] == "2" {
            let mut rest = tools(&NAMES[5..]);
            rest.push(
                json!({"name": "bad", "inputSchema": {"type": "object", "properties": {"x": {"type": "nonsense"}}}}),
            );
            json!({ "tools": rest })
        } else {
            json!({"tools": tools(&NAMES[..5]), "nextCursor": "2"})
        };
        if self.behaviour == "modern" {
            page["resultType"] = json!("complete");
            page["ttlMs"] = json!(0);
            page["cacheScope"] = json!("private");
        }
        page
    }

    fn call(&mut self, id: &Value, params: &Value) {
        let arguments = &params["arguments"];
        let token = &params["_meta"]["progressToken"];
        match params["name"].as_str().unwrap_or_default() {
            "echo" | "odd.name" => answer_text(id, arguments["text"].as_str().unwrap_or_default()),
            "picture" => answer(
                id,
                &json!({"content": [{"type": "image", "mimeType": "image/png", "data": "aGVsbG8="}]}),
            ),
            "slow" => progress(token, 1.0, "it goes on"),
            "stuck" => {
                progress(token, 1.0, "it sticks");
                hang();
            }
            "die" => {
                complain("about to die");
                std::process::exit(3);
            }
            "count" => {
                for step in [1.0, 2.0, 3.0] {
                    progress(token, step, &format!("step {step}"));
                }
                answer_text(id, "counted");
            }
            "env" => {
                let variables: HashMap<String, String> = std::env::vars().collect();
                answer_text(id, &json!(variables).to_string());
            }
            "pid" => answer_text(id, &std::process::id().to_string()),
            "cancelled" => answer_text(id, &json!(self.cancelled).to_string()),
            "ask" => {
                let question = format!("q{}", self.asked.len());
                let method = arguments["method"].clone();
                let params = arguments["params"].clone();
                say(&json!({"jsonrpc": "2.0", "id": question, "method": method, "params": params}).to_string());
                self.asked.insert(question, id.clone());
            }
            "fail" => answer(
                id,
                &json!({"isError": true, "content": [{"type": "text", "text": "it cannot be done"}]}),
            ),
            "spawn" => answer_text(id, &spawn_child().to_string()),
            name => refuse(id, -32602, &format!("no tool {name}")),
        }
    }
}

/// Starts a process of its own, which does not end by itself soon.
#[allow(clippy::disallowed_methods, clippy::zombie_processes)]
fn spawn_child() -> u32 {
    let child = std::process::Command::new("sleep").arg("300").spawn();
    child.map_or(0, |child| child.id())
}

fn hang() -> ! {
    loop {
        std::thread::sleep(Duration::from_secs(3600));
    }
}

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_default()
}

fn progress(token: &Value, done: f64, message: &str) {
    let params = json!({"progressToken": token, "progress": done, "total": 4, "message": message});
    say(&json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params}).to_string());
}

fn answer_text(id: &Value, text: &str) {
    answer(id, &json!({"content": [{"type": "text", "text": text}]}));
}

fn answer(id: &Value, result: &Value) {
    say(&json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string());
}

fn refuse(id: &Value, code: i32, message: &str) {
    let error = json!({"code": code, "message": message});
    say(&json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string());
}

/// One line; that nobody reads it any more is no business of a server that is about to end.
fn say(line: &str) {
    let mut stdout = std::io::stdout().lock();
    let _gone = writeln!(stdout, "{line}").and_then(|()| stdout.flush());
}

fn complain(line: &str) {
    let _gone = writeln!(std::io::stderr(), "{line}");
}
