//! A home of its own, the program, and logs made by hand.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

/// A `WEFT_HOME` that is gone with this.
pub(crate) struct Home {
    root: TempDir,
}

/// What a run of the program left behind.
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Home {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().expect("a temp folder");
        Self { root }
    }

    pub(crate) fn path(&self) -> &Path {
        self.root.path()
    }

    /// The log of a session.
    pub(crate) fn log(&self, id: &str) -> PathBuf {
        self.path().join("sessions").join(id).join("log.jsonl")
    }

    /// Runs `weft sessions …` to its end, with nothing on stdin.
    pub(crate) fn sessions(&self, args: &[&str]) -> Ran {
        Ran::of(self.command(args).output().expect("weft runs"))
    }

    /// The same with an input.
    pub(crate) fn sessions_with(&self, args: &[&str], input: &str) -> Ran {
        use std::io::Write as _;
        let mut command = self.command(args);
        let piped = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = piped.spawn().expect("weft starts");
        let mut stdin = child.stdin.take().expect("a pipe");
        // A program that refuses early does not read to the end.
        let _unread = stdin.write_all(input.as_bytes());
        drop(stdin);
        Ran::of(child.wait_with_output().expect("weft ends"))
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "this is the one place that starts the program under test"
    )]
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_weft"));
        command.arg("sessions").args(args).env("WEFT_HOME", self.path());
        command.env_remove("WEFT_LOG").stdin(Stdio::null());
        command
    }

    /// Takes a session in by `import`.
    pub(crate) fn holds(&self, lines: &[Value]) {
        let ran = self.sessions_with(&["import", "-"], &text(lines));
        assert_eq!(ran.code, 0, "{}", ran.err);
    }
}

impl Ran {
    fn of(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).expect("text"),
            err: String::from_utf8(output.stderr).expect("text"),
        }
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {:?} {}", self.out, self.err))
    }
}

/// As JSON Lines.
pub(crate) fn text(lines: &[Value]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// A user's session in `/w` of one turn, whose prompt is `prompt`.
pub(crate) fn session(id: &str, prompt: &str) -> Vec<Value> {
    let mut lines = vec![header(id)];
    for body in turn(prompt) {
        push(&mut lines, body);
    }
    lines
}

/// A member of a workflow that `parent` runs.
pub(crate) fn member(id: &str, parent: &str) -> Vec<Value> {
    let mut lines = session(id, "a task");
    lines[0]["origin"] = "subagent".into();
    lines[0]["parent"] = parent.into();
    lines[0]["depth"] = 1.into();
    lines[0]["label"] = "reader".into();
    lines
}

pub(crate) fn header(id: &str) -> Value {
    json!({"version": 3, "id": id, "createdAt": 1_000, "cwd": "/w", "origin": "user", "depth": 0})
}

/// Appends an event with the next number.
pub(crate) fn push(lines: &mut Vec<Value>, (kind, data): (&str, Value)) {
    let seq = lines.len() - 1;
    lines.push(json!({"seq": seq, "time": 1_000 + seq, "type": kind, "data": data}));
}

fn turn(prompt: &str) -> Vec<(&'static str, Value)> {
    let content = |text: &str| json!([{"type": "text", "text": text}]);
    let call = json!({"type": "tool_call", "id": "c1", "name": "workflow", "arguments": "{}"});
    vec![
        ("turn/start", json!({"turn": 1})),
        ("user/message", json!({"turn": 1, "content": content(prompt)})),
        ("session/title", json!({"title": prompt})),
        ("step/start", json!({"turn": 1, "step": 1})),
        (
            "assistant/message",
            json!({"turn": 1, "step": 1, "content": [{"type": "text", "text": "I look."}, call], "stop": "tool_use"}),
        ),
        (
            "tool/call",
            json!({"turn": 1, "step": 1, "callId": "c1", "name": "workflow", "arguments": "{}"}),
        ),
        ("tool-workflow/run-start", json!({"runId": "r1", "name": "review"})),
        (
            "tool-workflow/agent-start",
            json!({"runId": "r1", "seq": 1, "label": "one", "phase": "Read", "childId": "child-1"}),
        ),
        (
            "tool-workflow/agent-end",
            json!({"runId": "r1", "seq": 1, "outcome": "failed"}),
        ),
        (
            "tool-workflow/run-end",
            json!({"runId": "r1", "stopReason": "completed"}),
        ),
        (
            "tool/result",
            json!({"turn": 1, "step": 1, "callId": "c1", "content": content("all good")}),
        ),
        ("step/end", json!({"turn": 1, "step": 1})),
        ("turn/end", json!({"turn": 1, "reason": {"kind": "completed"}})),
    ]
}
