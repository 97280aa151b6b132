//! Runs that are taken up again.

use std::fs;
use std::sync::{Arc, Mutex};

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use weft_agent::{
    SubagentCapabilities, SubagentError, SubagentProvider, SubagentRequest, SubagentResult, SubagentRun, SubagentStop,
};
use weft_session::{FileStore, Session, Sessions};
use weft_tools::{Extensions, ToolCallRequest, ToolResult};
use weft_types::{AssistantBlock, ContentBlock, EventBody, SessionHeader, SessionId, StopReason, TurnEnd, text_of};
use weft_workflow::{MemberRequest, MemberStop, RunOrigin, RunResult, StartRequest, TestRun};

use crate::support::{Bench, Stored, header, said};

/// What the engine was asked for, last.
type Asked = Arc<Mutex<Option<StartRequest>>>;

/// A caller in a stored session, whose members answer `answer to PROMPT`, and keep that in sessions of their own.
struct Fixture {
    stored: Stored,
    bench: Bench,
    members: Answering,
    asked: Asked,
    _session: Arc<Session>,
}

impl Fixture {
    fn new() -> Self {
        let stored = Stored::new();
        let session = stored.create();
        Self::within(stored, session)
    }

    /// A caller in another session of the same store.
    fn beside(&self, id: &str) -> Self {
        let session = self.stored.store.create(header(id, 0)).expect("created");
        Self::within(self.stored.again(), session)
    }

    fn within(stored: Stored, session: Arc<Session>) -> Self {
        session.append(EventBody::TurnStart { turn: 1 }).expect("appended");
        let asked = Asked::default();
        let into = Arc::clone(&asked);
        let bench = Bench::planned(Arc::clone(&session), move |run: &TestRun, request| {
            let kept = StartRequest {
                script: request.script.clone(),
                meta: request.meta.clone(),
                args: request.args.clone(),
                provider: None,
                limits: weft_workflow::RunLimits::default(),
                depth: 0,
                origin: request.origin,
                saved: None,
                members: Arc::clone(&request.members),
                cancel: CancellationToken::new(),
            };
            *into.lock().expect("not poisoned") = Some(kept);
            run.start();
            Ok(())
        });
        let members = Answering {
            store: stored.store.clone(),
            prompts: Arc::default(),
        };
        bench.context.subagents.register("spawn", Arc::new(members.clone()));
        Self {
            stored,
            bench,
            members,
            asked,
            _session: session,
        }
    }

    fn call(&self, arguments: &Value) -> ToolCallRequest {
        let call = self.bench.call_with(arguments);
        let extensions = Extensions::new()
            .with(Arc::clone(&self.bench.context))
            .with(Arc::new(self.stored.store.clone()));
        ToolCallRequest { extensions, ..call }
    }

    /// Runs a call whose script asks for those, one after the other, and ends as `end` says. Gives the answers.
    async fn play(
        &self,
        index: usize,
        arguments: &Value,
        asks: &[Ask],
        end: impl FnOnce(&TestRun),
    ) -> (Vec<Value>, ToolResult) {
        let result = self.bench.spawn(self.call(arguments));
        let run = self.bench.engine.run(index).await;
        let members = self.asked().as_ref().map(|asked| Arc::clone(&asked.members));
        let members = members.expect("started");
        let mut answers = Vec::new();
        for (seq, ask) in (1..).zip(asks) {
            let member = members.start(ask.request(&run, seq)).await.expect("it starts");
            let answer = member.result().await.expect("a result");
            answers.push(match (answer.stop, answer.structured) {
                (MemberStop::Completed, Some(value)) => value,
                (MemberStop::Completed, None) => answer.text.into(),
                (_, _) => Value::Null,
            });
        }
        end(&run);
        (answers, result.await.expect("no panic"))
    }

    /// A call that is refused before anything is started.
    async fn refused(&self, arguments: &Value) -> String {
        let runs = self.bench.engine.runs().len();
        let result = self.bench.registry.execute(self.call(arguments)).await;
        assert_eq!(self.bench.engine.runs().len(), runs, "nothing is started");
        assert!(result.is_error());
        said(&result)
    }

    fn asked(&self) -> std::sync::MutexGuard<'_, Option<StartRequest>> {
        self.asked.lock().expect("not poisoned")
    }

    /// What agents were really asked since last time.
    fn prompts(&self) -> Vec<String> {
        std::mem::take(&mut *self.members.prompts.lock().expect("not poisoned"))
    }
}

#[derive(Clone, Copy)]
struct Ask {
    prompt: &'static str,
    structured: bool,
}

impl Ask {
    const fn text(prompt: &'static str) -> Self {
        let structured = false;
        Self { prompt, structured }
    }

    fn request(self, run: &TestRun, seq: u64) -> MemberRequest {
        MemberRequest {
            run: run.info().id.clone(),
            seq,
            label: self.prompt.to_owned(),
            phase: None,
            prompt: self.prompt.to_owned(),
            schema: self.structured.then(|| json!({ "type": "object" })),
            provider: None,
            model: None,
            tools: None,
            cancel: CancellationToken::new(),
        }
    }
}

/// Agents that answer at once and write what they said into sessions. One that is asked for `half` never does.
#[derive(Clone)]
struct Answering {
    store: FileStore,
    prompts: Arc<Mutex<Vec<String>>>,
}

struct Answered(SessionId, SubagentResult);

impl SubagentProvider for Answering {
    fn capabilities(&self) -> SubagentCapabilities {
        SubagentCapabilities {
            output_schema: true,
            model: true,
            tools: true,
        }
    }

    fn start(&self, request: SubagentRequest) -> BoxFuture<'static, Result<Box<dyn SubagentRun>, SubagentError>> {
        let prompt = text_of(&request.prompt);
        let mut prompts = self.prompts.lock().expect("not poisoned");
        prompts.push(prompt.clone());
        let id = format!("member-{}", weft_session::mint_session_id());
        let header = SessionHeader {
            parent: Some("main".into()),
            ..header(&id, 1)
        };
        let session = self.store.create(header).expect("created");
        let fails = prompt == "half";
        let structured = request.schema.map(|_| json!({ "about": prompt }));
        let answer = format!("answer to {prompt}");
        for body in story(&answer, structured.as_ref(), fails) {
            session.append(body).expect("a legal event");
        }
        let stop = match fails {
            true => SubagentStop::Aborted,
            false => SubagentStop::Completed,
        };
        let result = SubagentResult {
            output: vec![ContentBlock::text(answer)],
            structured,
            stop,
        };
        futures::future::ready(Ok(
            Box::new(Answered(SessionId::new(id), result)) as Box<dyn SubagentRun>
        ))
        .boxed()
    }
}

impl SubagentRun for Answered {
    fn id(&self) -> &SessionId {
        &self.0
    }

    fn result(&self) -> BoxFuture<'static, SubagentResult> {
        futures::future::ready(self.1.clone()).boxed()
    }

    fn dispose(&self) -> BoxFuture<'static, ()> {
        futures::future::ready(()).boxed()
    }
}

/// The events of a session that answers.
fn story(answer: &str, structured: Option<&Value>, aborted: bool) -> Vec<EventBody> {
    let (turn, step) = (1, 1);
    let text = AssistantBlock::Text {
        text: answer.to_owned(),
    };
    let call = structured.map(|value| AssistantBlock::ToolCall {
        id: "c".into(),
        name: "structured_output".to_owned(),
        arguments: value.to_string(),
    });
    let mut story = vec![
        EventBody::TurnStart { turn },
        EventBody::StepStart { turn, step },
        EventBody::AssistantMessage {
            turn,
            step,
            content: std::iter::once(text).chain(call).collect(),
            stop: (!aborted).then_some(StopReason::EndTurn),
            usage: None,
            interrupted: aborted,
        },
    ];
    if let Some(value) = structured {
        story.push(EventBody::ToolCall {
            turn,
            step,
            call_id: "c".into(),
            name: "structured_output".to_owned(),
            arguments: value.to_string(),
            needs_approval: false,
        });
        story.push(EventBody::ToolResult {
            turn,
            step,
            call_id: "c".into(),
            content: Vec::new(),
            error: None,
            meta: None,
        });
    }
    let reason = match aborted {
        true => TurnEnd::Interrupted,
        false => TurnEnd::Completed,
    };
    story.extend([EventBody::StepEnd { turn, step }, EventBody::TurnEnd { turn, reason }]);
    story
}

fn script() -> Value {
    let meta = json!({ "name": "demo", "description": "d" });
    json!({ "script": "the script", "meta": meta, "args": null })
}

fn resume(run: &str) -> Value {
    json!({ "resume": run })
}

fn complete(run: &TestRun) {
    run.complete("1", 0);
}

const A: Ask = Ask::text("a");
const B: Ask = Ask {
    prompt: "b",
    structured: true,
};
const HALF: Ask = Ask::text("half");

#[tokio::test]
async fn wfr01_wfr03_what_was_answered_is_not_asked_again() {
    let fixture = Fixture::new();
    let (first, failed) = fixture
        .play(0, &script(), &[A, B, HALF], |run| {
            run.finish(RunResult::failed("the script threw", 3));
        })
        .await;
    assert_eq!(first, [json!("answer to a"), json!({ "about": "b" }), Value::Null]);
    let text = said(&failed);
    assert!(
        text.contains("run id: run-1\n") && text.contains("{\"resume\": \"run-1\"}"),
        "{text}"
    );
    assert!(text.contains("weft workflow resume run-1"), "{text}");
    assert_eq!(fixture.prompts(), ["a", "b", "half"]);

    let again = [B, A, HALF, A];
    let (second, completed) = fixture
        .play(1, &resume("run-1"), &again, |run| {
            run.log("shown");
            complete(run);
        })
        .await;
    assert_eq!(second[..2], [json!({ "about": "b" }), json!("answer to a")]);
    let asked = fixture.prompts();
    let [half, a] = &asked[..] else { panic!("{asked:?}") };
    assert!(
        half.starts_with("half\n\n(A note from the workflow: this task was begun before"),
        "{half}"
    );
    assert_eq!(a, "a", "there was one of these only");
    let text = said(&completed);
    assert!(text.contains("2 of them answered in an earlier run"), "{text}");
    assert!(text.contains("done twice: half"), "{text}");
    let card = fixture.bench.texts();
    assert!(
        card.last()
            .is_some_and(|card| card.contains("(2 answered in an earlier run)")),
        "{card:?}"
    );
    let records = fixture.bench.records();
    assert_eq!(
        records.iter().filter(|record| record.ends_with("start demo")).count(),
        2,
        "two runs"
    );
}

#[tokio::test]
async fn wfs17_a_run_that_is_resumed_is_started_as_it_was() {
    let fixture = Fixture::new();
    fixture.play(0, &script(), &[], complete).await;
    let origin = fixture.asked().as_ref().and_then(|asked| asked.origin);
    assert_eq!(origin, None, "the engine makes one");
    fixture.play(1, &resume("run-1"), &[], complete).await;
    let asked = fixture.asked().take().expect("started");
    assert_eq!(asked.script, "the script");
    assert_eq!(
        (asked.meta, asked.args),
        (Some(script()["meta"].clone()), Some(Value::Null))
    );
    let RunOrigin { .. } = asked.origin.expect("that of the first attempt");
    let edited = json!({ "resume": "run-2", "script": "// name: own", "args": [7] });
    fixture.play(2, &edited, &[], complete).await;
    let asked = fixture.asked().take().expect("started");
    assert_eq!(
        (asked.script.as_str(), asked.meta, asked.args),
        ("// name: own", None, Some(json!([7])))
    );
}

#[tokio::test]
async fn every_attempt_is_taken_into_account_whichever_is_named() {
    let fixture = Fixture::new();
    fixture
        .play(0, &script(), &[A], |run| run.finish(RunResult::failed("x", 1)))
        .await;
    fixture
        .play(1, &resume("run-1"), &[A, B], |run| {
            run.finish(RunResult::failed("x", 2));
        })
        .await;
    assert_eq!(fixture.prompts(), ["a", "b"]);
    fixture.play(2, &resume("run-1"), &[A, B], complete).await;
    assert_eq!(
        fixture.prompts(),
        Vec::<String>::new(),
        "the second attempt had answered b"
    );
    let rerun = json!({ "resume": "run-1", "rerun": ["b"] });
    fixture.play(3, &rerun, &[A, B], complete).await;
    assert_eq!(fixture.prompts(), ["b"], "as was wished");
}

#[tokio::test]
async fn what_lies_beside_the_journals_keeps_no_run_from_being_resumed() {
    let fixture = Fixture::new();
    fixture.play(0, &script(), &[A], complete).await;
    let runs = fixture.stored.folder().join("main/runs");
    fs::write(runs.join("run-1 (copy).jsonl"), "{}\n").expect("written");
    fs::create_dir(runs.join("folder.jsonl")).expect("made");
    fixture.prompts();
    let (answers, result) = fixture.play(1, &resume("run-1"), &[A], complete).await;
    assert!(!result.is_error(), "{}", said(&result));
    assert_eq!(
        (answers, fixture.prompts()),
        (vec![json!("answer to a")], Vec::<String>::new())
    );
}

#[tokio::test]
async fn a_member_whose_session_is_gone_works_again() {
    let fixture = Fixture::new();
    fixture.play(0, &script(), &[A], complete).await;
    let journal = fs::read_to_string(fixture.stored.folder().join("main/runs/run-1.jsonl")).expect("a journal");
    assert!(
        !journal.contains("answer to a"),
        "the answer stands in the member's session only"
    );
    let members = fs::read_dir(fixture.stored.folder()).expect("a folder").flatten();
    let member = members
        .map(|entry| entry.path())
        .find(|path| path.display().to_string().contains("member-"));
    fs::remove_dir_all(member.expect("a session")).expect("removed");
    fixture.prompts();
    let (answers, _) = fixture.play(1, &resume("run-1"), &[A], complete).await;
    assert_eq!(
        (answers, fixture.prompts()),
        (vec![json!("answer to a")], vec!["a".to_owned()])
    );
}

#[tokio::test]
async fn wfr05_what_cannot_be_resumed_is_refused_before_anything_is_written() {
    let fixture = Fixture::new();
    fixture.play(0, &script(), &[A], complete).await;
    let journal = fixture.stored.folder().join("main/runs/run-1.jsonl");
    let before = fixture.stored.lines();
    for unknown in ["run-9", "../main", "main"] {
        let text = fixture.refused(&resume(unknown)).await;
        assert!(
            text.contains("there is no journal of it") && text.contains("anew"),
            "{text}"
        );
    }
    let text = fixture.refused(&json!({ "script": "x", "rerun": ["a"] })).await;
    assert!(text.contains("goes with `resume`"), "{text}");
    fs::copy(&journal, journal.with_file_name("run-2.jsonl")).expect("copied");
    let text = fixture.refused(&resume("run-2")).await;
    assert!(text.contains("it is that of run run-1"), "{text}");
    fs::write(&journal, "no journal\n").expect("written");
    let text = fixture.refused(&resume("run-1")).await;
    assert!(text.contains("run-1.jsonl") && text.contains("anew"), "{text}");
    fs::write(&journal, "{\"version\":99}\n").expect("written");
    let text = fixture.refused(&resume("run-1")).await;
    assert!(text.contains("version 99") && text.contains("update"), "{text}");
    fs::remove_file(&journal).expect("removed");
    fixture.refused(&resume("run-1")).await;
    assert_eq!(fixture.stored.lines(), before);
    assert!(!journal.exists());
}

#[tokio::test]
async fn wfr08_a_run_that_still_goes_on_is_not_resumed() {
    let fixture = Fixture::new();
    let first = fixture.bench.spawn(fixture.call(&script()));
    let run = fixture.bench.engine.run(0).await;
    let text = fixture.refused(&resume("run-1")).await;
    assert!(text.contains("still running"), "{text}");
    let second = fixture.beside("other");
    let text = second.refused(&resume("run-1")).await;
    assert!(
        text.contains("session main") && text.contains("still running it in"),
        "{text}"
    );
    run.complete("1", 0);
    first.await.expect("no panic");
    let text = second.refused(&resume("run-1")).await;
    assert!(text.contains("session main") && text.contains("is in use in"), "{text}");
    fixture.play(1, &resume("run-1"), &[], complete).await;
}

#[tokio::test]
async fn a_journal_that_cannot_be_made_costs_nothing_but_the_resuming() {
    let fixture = Fixture::new();
    fs::write(fixture.stored.folder().join("main/runs"), "in the way").expect("written");
    let (answers, result) = fixture.play(0, &script(), &[A], complete).await;
    assert_eq!(answers, [json!("answer to a")]);
    let text = said(&result);
    assert!(
        text.contains("This run cannot be resumed") && !text.contains("`resume` takes"),
        "{text}"
    );
}

#[tokio::test]
async fn what_was_answered_before_is_told_of_a_run_that_returns_nothing() {
    let fixture = Fixture::new();
    fixture.play(0, &script(), &[A], complete).await;
    let failing = |run: &TestRun| run.finish(RunResult::failed("x", 1));
    let (_, result) = fixture.play(1, &resume("run-1"), &[A], failing).await;
    assert_eq!(fixture.prompts(), ["a"]);
    let text = said(&result);
    assert!(text.contains("answer to a"), "{text}");
}
