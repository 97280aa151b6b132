//! Agents that are shell scripts: each says exactly what its test wants, whatever a good agent would say.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;
use weft_agent::{
    AgentContext, ChildObservation, InProcess, ModelChoice, PermissionMode, Permissions, SubagentProvider as _,
    SubagentRequest, SubagentResult, SubagentStop, Subagents,
};
use weft_model::ModelTable;
use weft_session::{MemorySessions, Session, Sessions as _, SystemClock, mint_session_id};
use weft_tools::{Approval, ApprovalRequest, Approver, Extensions, ToolLimits, ToolRegistry};
use weft_types::{AgentId, ContentBlock, EventBody, Origin, SessionHeader, UnixMillis, text_of};

use super::{Peer, PeerConfig, PeerLimits, PeerProgram, probe};

/// What the scripts have in common. `hello` gets as far as a session, `prompt` to the next prompt.
const WORDS: &str = r#"
hear() { IFS= read -r line || exit 9; id=${line#*\"id\":\"}; id=${id%%\"*}; }
reply() { printf '{"jsonrpc":"2.0","id":"%s","result":%s}\n' "$id" "$1"; }
tell() { printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":%s}}\n' "$1"; }
say() { tell "{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"text\",\"text\":\"$1\"}}"; }
call() { tell "{\"sessionUpdate\":\"tool_call\",\"toolCallId\":\"$1\",\"title\":\"$2\",\"kind\":\"execute\"}"; }
done_with() { tell "{\"sessionUpdate\":\"tool_call_update\",\"toolCallId\":\"$1\",\"status\":\"completed\",\"content\":[{\"type\":\"content\",\"content\":{\"type\":\"text\",\"text\":\"$2\"}}]}"; }
ask() {
  printf '{"jsonrpc":"2.0","id":7,"method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"%s","title":"%s","kind":"execute"},"options":[{"optionId":"yes","name":"Yes","kind":"allow_once"},{"optionId":"no","name":"No","kind":"reject_once"}]}}\n' "$1" "$2"
  IFS= read -r answer
  case $answer in *'"yes"'*) answer=yes ;; *'"no"'*) answer=no ;; *) answer=none ;; esac
}
hello() { hear; reply '{"protocolVersion":1,"agentInfo":{"name":"script","version":"3"}}'; hear; reply '{"sessionId":"s"}'; }
prompt() { hear; turn=$id; }
end() { id=$turn; reply "{\"stopReason\":\"${1:-end_turn}\"}"; }
"#;

fn config(script: &str) -> PeerConfig {
    PeerConfig {
        name: "script".into(),
        command: "/bin/sh".into(),
        args: vec!["-c".into(), format!("{WORDS}\n{script}")],
        environment: vec![("PATH".into(), "/usr/bin:/bin".into())],
        secrets: Vec::new(),
        cwd: None,
        auth: None,
        limits: PeerLimits {
            startup: Duration::from_secs(20),
            ..PeerLimits::default()
        },
    }
}

/// Answers every question, and remembers what was asked: tool, call, and the card it was asked on.
struct User {
    answer: Approval,
    asked: Mutex<Vec<(String, String, String)>>,
}

impl Approver for User {
    fn ask(&self, request: ApprovalRequest, _cancel: CancellationToken) -> BoxFuture<'static, Approval> {
        let asked = (
            request.tool,
            request.call_id.to_string(),
            request.root_call_id.to_string(),
        );
        self.asked.lock().expect("not poisoned").push(asked);
        Box::pin(std::future::ready(self.answer))
    }
}

struct Scene {
    peer: Peer,
    parent: Arc<AgentContext>,
    user: Arc<User>,
    members: Arc<Mutex<Vec<Arc<Session>>>>,
    _seen: weft_observe::Subscription,
    _folder: tempfile::TempDir,
}

impl Scene {
    fn new(script: &str) -> Self {
        Self::with(config(script), Approval::AllowedOnce, PermissionMode::Ask)
    }

    fn with(config: PeerConfig, answer: Approval, mode: PermissionMode) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let sessions = Arc::new(MemorySessions::new(Arc::new(SystemClock)));
        let header = SessionHeader {
            version: SessionHeader::VERSION,
            id: mint_session_id(),
            created_at: UnixMillis(0),
            cwd: folder.path().to_string_lossy().into_owned(),
            origin: Origin::User,
            parent: None,
            depth: 0,
            label: None,
            run_id: None,
            run_seq: None,
        };
        let subagents = Arc::new(Subagents::new());
        let members = Arc::<Mutex<Vec<_>>>::default();
        let into = Arc::clone(&members);
        let seen = subagents.children().subscribe(None, move |child| {
            if let ChildObservation::Started(child) = child {
                into.lock()
                    .expect("not poisoned")
                    .push(Arc::clone(child.agent.session()));
            }
        });
        let user = Arc::new(User {
            answer,
            asked: Mutex::default(),
        });
        let parent = AgentContext {
            agent: AgentId::mint(),
            session: sessions.create(header).expect("a session"),
            cwd: folder.path().to_owned(),
            depth: 0,
            subagents,
            permissions: Arc::new(Permissions::new(mode)),
            approver: Some(Arc::clone(&user) as Arc<dyn Approver>),
            lent: Extensions::new(),
            models: Arc::new(ModelTable::default()),
            model: Arc::new(ModelChoice::new(Some("other/model".into()))),
        };
        let tools = ToolRegistry::new(ToolLimits::default());
        let base = InProcess::new(sessions, Arc::new(ModelTable::default()), tools);
        Self {
            peer: Peer::new(PeerProgram::new(config), base),
            parent: Arc::new(parent),
            user,
            members,
            _seen: seen,
            _folder: folder,
        }
    }

    fn request(&self) -> SubagentRequest {
        SubagentRequest {
            parent: Arc::clone(&self.parent),
            prompt: vec![ContentBlock::text("go")],
            label: None,
            schema: None,
            model: None,
            tools: None,
            run: None,
            run_name: None,
            call: None,
            activity: None,
            spending: None,
            cancel: CancellationToken::new(),
        }
    }

    async fn run(&self) -> SubagentResult {
        let run = self.peer.start(self.request()).await.expect("it starts");
        let result = run.result().await;
        run.dispose().await;
        result
    }

    /// Why the one agent failed.
    async fn reason(&self) -> String {
        match self.run().await.stop {
            SubagentStop::Error(reason) => reason,
            other => panic!("{other:?}"),
        }
    }

    /// The log of the one member, each event as one short line.
    fn log(&self) -> Vec<String> {
        let members = self.members.lock().expect("not poisoned");
        let events = members[0].events().expect("readable");
        events.iter().filter_map(|event| line(&event.body)).collect()
    }

    fn asked(&self) -> Vec<(String, String, String)> {
        self.user.asked.lock().expect("not poisoned").clone()
    }
}

fn line(body: &EventBody) -> Option<String> {
    Some(match body {
        EventBody::StepStart { step, .. } => format!("step {step}"),
        EventBody::AssistantMessage { content, usage, .. } => {
            let said: Vec<String> = content
                .iter()
                .map(|block| match block {
                    weft_types::AssistantBlock::Text { text } => text.clone(),
                    weft_types::AssistantBlock::Reasoning { text, .. } => format!("({text})"),
                    weft_types::AssistantBlock::ToolCall { id, .. } => format!("call {id}"),
                })
                .collect();
            let tokens = usage
                .as_ref()
                .map_or(String::new(), |usage| format!(" [{}]", usage.input_tokens));
            format!("said {}{tokens}", said.join(", "))
        }
        EventBody::ToolResult {
            call_id,
            content,
            error,
            ..
        } => {
            let how = if error.is_some() { "failed" } else { "gave" };
            format!("{call_id} {how} {}", text_of(content))
        }
        EventBody::SessionNotice { message } => format!("notice {message}"),
        EventBody::TurnEnd { reason, .. } => format!("end {}", serde_json::to_value(reason).ok()?["kind"]),
        _ => return None,
    })
}

#[tokio::test]
async fn what_an_agent_says_and_does_becomes_a_log() {
    let scene = Scene::new(
        r#"hello; prompt
        tell '{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"hm"}}'
        say 'I look'; say ' at it.'
        tell '{"sessionUpdate":"from_the_future","x":1}'
        tell '{"sessionUpdate":"usage_update","used":1200,"size":9000}'
        printf '%s\n%s\n' "$(call a 'ls')" "$(call b 'pwd')"
        done_with b '/x'; done_with a 'files'
        say 'And now.'
        tell '{"sessionUpdate":"plan","entries":[{"content":"look","priority":"high","status":"completed"}]}'
        say 'Done.'; end; hear"#,
    );
    let result = scene.run().await;
    assert_eq!(
        (text_of(&result.output).as_str(), result.stop),
        ("Done.", SubagentStop::Completed)
    );
    let log = scene.log();
    assert_eq!(log[0..2], ["step 1", "said (hm), I look at it., call a, call b [1200]"]);
    assert!(
        log.contains(&"b gave /x".to_owned()) && log.contains(&"a gave files".to_owned()),
        "{log:#?}"
    );
    assert_eq!(
        log[4..],
        [
            "step 2",
            "said And now., call plan-1",
            "plan-1 gave ",
            "step 3",
            "said Done.",
            "end \"completed\""
        ]
    );
}

#[tokio::test]
async fn a_question_of_a_call_within_an_open_one_is_asked_at_once_and_logged_behind_it() {
    let scene = Scene::new(
        r#"hello; prompt
        call outer 'delegate'
        tell '{"sessionUpdate":"tool_call_update","toolCallId":"outer","status":"in_progress"}'
        say 'I ask now.'
        ask inner 'rm x'
        done_with inner "$answer"; done_with outer 'all done'
        end; hear"#,
    );
    let result = scene.run().await;
    assert_eq!(result.stop, SubagentStop::Completed);
    let tool = || "acp__script".to_owned();
    assert_eq!(scene.asked(), [(tool(), "inner".to_owned(), "outer".to_owned())]);
    let log = scene.log();
    assert_eq!(
        log,
        [
            "step 1",
            "said call outer",
            "outer gave all done",
            "step 2",
            "said I ask now., call inner",
            "inner gave yes",
            "step 3",
            "said ",
            "end \"completed\""
        ]
    );
}

#[tokio::test]
async fn a_question_may_be_the_first_word_of_its_call() {
    let scene = Scene::new("hello; prompt; ask only 'make'; done_with only \"$answer\"; say ok; end; hear");
    scene.run().await;
    assert_eq!(scene.asked()[0].1, "only");
    assert!(scene.log().contains(&"only gave yes".to_owned()), "{:?}", scene.log());
}

#[tokio::test]
async fn where_nobody_can_be_asked_the_answer_is_no_and_the_log_says_so() {
    let script = "hello; prompt; ask one 'make'; done_with one \"$answer\"; say ok; end; hear";
    let scene = Scene::with(config(script), Approval::Unavailable, PermissionMode::Ask);
    scene.run().await;
    let log = scene.log();
    assert!(
        log.contains(&"notice `make` was denied, since nobody can be asked".to_owned()),
        "{log:#?}"
    );
    assert!(log.contains(&"one gave no".to_owned()), "{log:#?}");
}

#[tokio::test]
async fn the_mode_decides_before_the_user_does() {
    let script = "hello; prompt; ask one 'make'; done_with one \"$answer\"; say ok; end; hear";
    for (mode, expected) in [
        (PermissionMode::Full, "one gave yes"),
        (PermissionMode::Plan, "one gave no"),
    ] {
        let scene = Scene::with(config(script), Approval::Rejected, mode);
        scene.run().await;
        assert_eq!(scene.asked(), []);
        assert!(scene.log().contains(&expected.to_owned()), "{mode}: {:#?}", scene.log());
    }
}

#[tokio::test]
async fn a_call_that_the_agent_never_ends_ends_with_its_turn() {
    let scene = Scene::new("hello; prompt; call a ls; say bye; end; hear");
    let result = scene.run().await;
    assert_eq!(text_of(&result.output), "bye");
    let log = scene.log();
    assert_eq!(
        log[2],
        "a failed Error: the agent's turn ended without a word on how this call ended"
    );
}

#[tokio::test]
async fn the_death_of_the_process_is_the_members_reason() {
    let scene = Scene::new("hello; prompt; call a ls; echo 'out of memory' >&2; exit 137");
    let result = scene.run().await;
    let SubagentStop::Error(reason) = &result.stop else {
        panic!("{result:?}")
    };
    assert!(reason.starts_with("the agent script is gone: `/bin/sh -c "), "{reason}");
    assert!(
        reason.contains("(exit status 137); it printed: out of memory"),
        "{reason}"
    );
    assert!(scene.log()[2].contains("exit status 137"), "{:#?}", scene.log());
}

#[tokio::test]
async fn an_answer_right_before_the_end_of_the_process_counts() {
    let scene = Scene::new("hello; prompt; say 'last words'; end; exit 3");
    let result = scene.run().await;
    assert_eq!(
        (text_of(&result.output).as_str(), result.stop),
        ("last words", SubagentStop::Completed)
    );
}

#[tokio::test]
async fn what_is_no_message_is_passed_over() {
    let scene = Scene::new("echo 'Welcome!'; echo; hello; prompt; echo '{\"not\": a message'; say ok; end; hear");
    assert_eq!(text_of(&scene.run().await.output), "ok");
}

#[tokio::test]
async fn what_is_told_of_another_session_is_no_word_of_the_member() {
    let other = r#"tell_of_another() { say "$1" | sed 's/"sessionId":"s"/"sessionId":"t"/'; }"#;
    let scene = Scene::new(&format!(
        "{other}\nhello; prompt; tell_of_another inner; say outer; end; hear"
    ));
    assert_eq!(text_of(&scene.run().await.output), "outer");
}

#[tokio::test]
async fn a_line_beyond_the_limit_costs_only_itself() {
    let mut config = config("hello; prompt; say \"$(printf '%8000s' x)\"; say short; end; hear");
    config.limits.line = crate::LineLimit::new(4 << 10).expect("in range");
    let scene = Scene::with(config, Approval::AllowedOnce, PermissionMode::Ask);
    assert_eq!(text_of(&scene.run().await.output), "short");
}

#[tokio::test]
async fn more_than_the_buffer_holds_while_calls_are_open_ends_the_turn() {
    let mut config = config("hello; prompt; call a ls; while say \"$(printf '%4000s' x)\"; do :; done");
    config.limits.buffer_bytes = 64 << 10;
    let scene = Scene::with(config, Approval::AllowedOnce, PermissionMode::Ask);
    let result = scene.run().await;
    let SubagentStop::Error(reason) = result.stop else {
        panic!("{result:?}")
    };
    assert!(
        reason.contains("65536 bytes, the limit agents.script.max_buffer_bytes"),
        "{reason}"
    );
}

const WANT: &str =
    r#"want() { printf '{"jsonrpc":"2.0","id":"w%s","method":"fs/read_text_file","params":{"path":"/a"}}\n' "$1"; }"#;

#[tokio::test]
async fn one_that_reads_no_answers_is_not_heard_on() {
    let many = "n=0; while [ $n -lt 5000 ]; do want $n; n=$((n + 1)); done";
    let mut config = config(&format!(
        "{WANT}\nhello; prompt; {many}; say 'asked them all'; end; sleep 60"
    ));
    config.limits.idle = Some(Duration::from_millis(500));
    config.limits.cancel_grace = Duration::ZERO;
    let scene = Scene::with(config, Approval::AllowedOnce, PermissionMode::Ask);
    let result = scene.run().await;
    let SubagentStop::Error(reason) = result.stop else {
        panic!("{result:?}")
    };
    assert!(reason.contains("no sign of life"), "{reason}");
}

#[tokio::test]
async fn one_that_reads_its_answers_may_ask_on() {
    let each = "n=0; while [ $n -lt 600 ]; do want $n; read -r answer; n=$((n + 1)); done";
    let scene = Scene::new(&format!(
        "{WANT}\nhello; prompt; {each}; say 'asked them all'; end; hear"
    ));
    assert_eq!(text_of(&scene.run().await.output), "asked them all");
}

#[tokio::test]
async fn silence_beyond_its_limit_ends_the_turn() {
    let mut config = config("hello; prompt; say 'thinking'; hear");
    config.limits.idle = Some(Duration::from_millis(20));
    let scene = Scene::with(config, Approval::AllowedOnce, PermissionMode::Ask);
    let result = scene.run().await;
    let SubagentStop::Error(reason) = result.stop else {
        panic!("{result:?}")
    };
    assert!(
        reason.contains("no sign of life for 20ms, the limit agents.script.idle_timeout"),
        "{reason}"
    );
}

#[tokio::test]
async fn a_program_that_makes_no_session_is_refused_with_its_reason() {
    let failing = [
        (
            "echo 'no such host' >&2; exit 255",
            "ended (exit status 255); it printed: no such host",
        ),
        (
            "hear; reply '{\"protocolVersion\":2}'; hear",
            "protocol version 1 but peer negotiated 2",
        ),
        (
            "hear; reply '{\"protocolVersion\":1,\"authMethods\":[{\"id\":\"key\",\"name\":\"Key\"}]}'; hear\n\
             printf '{\"jsonrpc\":\"2.0\",\"id\":\"%s\",\"error\":{\"code\":-32000,\"message\":\"login\"}}\\n' \"$id\"; hear",
            "wants a login first (it offers key); log in with the agent's own program",
        ),
        (
            "hear; printf '{\"jsonrpc\":\"2.0\",\"id\":\"%s\",\"error\":{\"code\":-32603,\"message\":\"broken\"}}\\n' \"$id\"; hear",
            "answered initialize with an error: broken",
        ),
    ];
    for (script, expected) in failing {
        let reason = Scene::new(script).reason().await;
        assert!(reason.contains(expected), "{reason}");
    }
    let mut absent = config("");
    absent.command = "/nowhere/agent".into();
    let scene = Scene::with(absent, Approval::AllowedOnce, PermissionMode::Ask);
    let reason = scene.reason().await;
    assert!(
        reason.starts_with("the agent script could not be started by `/nowhere/agent`"),
        "{reason}"
    );
    assert_eq!(scene.log().last().map(String::as_str), Some("end \"error\""));
}

#[tokio::test]
async fn one_that_hangs_at_the_start_is_given_up_with_what_it_printed() {
    let mut config = config("echo 'Password:'; hear; hear");
    config.limits.startup = Duration::from_millis(300);
    let scene = Scene::with(config, Approval::AllowedOnce, PermissionMode::Ask);
    let text = scene.reason().await;
    assert!(
        text.contains("no session within 300ms, the limit agents.script.startup_timeout"),
        "{text}"
    );
    assert!(text.contains("Password:"), "{text}");
}

#[tokio::test]
async fn no_more_processes_than_allowed_run_at_a_time() {
    let mut config = config("hello; prompt; say ok; end; hear");
    config.limits.max_processes = 1;
    let scene = Scene::with(config, Approval::AllowedOnce, PermissionMode::Ask);
    let held = Arc::clone(&scene.peer.program.places)
        .acquire_owned()
        .await
        .expect("a place");
    let waiting = scene.peer.start(scene.request()).await.expect("it starts");
    let stopped = scene.peer.start(scene.request()).await.expect("it starts");
    stopped.dispose().await;
    assert_eq!(stopped.result().await.stop, SubagentStop::Aborted);
    drop(held);
    assert_eq!(text_of(&waiting.result().await.output), "ok");
    assert_eq!(scene.peer.program.places.available_permits(), 1);
}

#[tokio::test]
async fn a_probe_tells_who_is_there() {
    let found = probe(config("hello; hear"), Path::new("/")).await;
    assert_eq!(
        (found.name.as_str(), found.outcome),
        ("script", Ok("script 3".to_owned()))
    );
    let found = probe(config("exit 1"), Path::new("/")).await;
    let failure = found.outcome.expect_err("it ends at once");
    assert_eq!(failure.hint(), "run the command in a terminal and mend what it says");
}

#[test]
fn the_configuration_shows_no_credentials() {
    let mut config = config("");
    config.environment = vec![("KEY".into(), "s3cret".into())];
    config.args = vec!["--key=s3cret".into()];
    config.secrets = vec!["s3cret".into()];
    assert!(!format!("{config:?}").contains("s3cret"));
}
