//! Members that do what their prompt says.
//!
//! A prompt is a list of words: how the start goes, how the result goes, how the disposal goes. Without any of them a
//! member answers with its prompt.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use futures::FutureExt;
use futures::future::{BoxFuture, pending};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use weft_types::SessionId;
use weft_workflow::{Member, MemberError, MemberRequest, MemberResult, MemberStop, Members, Spent};

/// What the members of a test did, by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) started: usize,
    pub(super) refused: usize,
    pub(super) aborted_starts: usize,
    pub(super) at_work: usize,
    pub(super) most_at_work: usize,
    pub(super) disposals_begun: usize,
    pub(super) disposals_done: usize,
}

#[derive(Clone)]
pub(super) struct FakeMembers {
    shared: Arc<Shared>,
}

struct Shared {
    counts: watch::Sender<Counts>,
    gates: Mutex<HashMap<String, CancellationToken>>,
    requests: watch::Sender<Vec<MemberRequest>>,
    spent: Mutex<Spent>,
}

impl FakeMembers {
    pub(super) fn new() -> Self {
        Self {
            shared: Arc::new(Shared {
                counts: watch::Sender::new(Counts::default()),
                gates: Mutex::default(),
                requests: watch::Sender::new(Vec::new()),
                spent: Mutex::default(),
            }),
        }
    }

    pub(super) fn counts(&self) -> Counts {
        *self.shared.counts.borrow()
    }

    /// Waits until the counts are so.
    pub(super) async fn wait(&self, until: impl FnMut(&Counts) -> bool) -> Counts {
        let mut counts = self.shared.counts.subscribe();
        *counts.wait_for(until).await.expect("the members own the sender")
    }

    /// Opens a gate that members wait at with the word `gate:NAME`.
    pub(super) fn open(&self, gate: &str) {
        self.shared.gate(gate).cancel();
    }

    pub(super) fn requests(&self) -> Vec<MemberRequest> {
        self.shared.requests.borrow().clone()
    }

    /// Waits until so many starts were asked for.
    pub(super) async fn requested(&self, count: usize) {
        let mut requests = self.shared.requests.subscribe();
        let reached = requests.wait_for(|requests| requests.len() >= count).await;
        drop(reached.expect("the members own the sender"));
    }
}

impl Shared {
    fn gate(&self, name: &str) -> CancellationToken {
        lock(&self.gates).entry(name.to_owned()).or_default().clone()
    }

    fn count(&self, change: impl FnOnce(&mut Counts)) {
        self.counts.send_modify(change);
    }

    async fn pass_gate(&self, words: &[String], kind: &str) {
        for word in words {
            if let Some(name) = word.strip_prefix(kind).and_then(|word| word.strip_prefix(':')) {
                self.gate(name).cancelled().await;
            }
        }
    }
}

impl Members for FakeMembers {
    fn has_provider(&self, name: &str) -> bool {
        matches!(name, "spawn" | "other")
    }

    fn start(&self, request: MemberRequest) -> BoxFuture<'static, Result<Arc<dyn Member>, MemberError>> {
        self.shared
            .requests
            .send_modify(|requests| requests.push(request.clone()));
        let words: Vec<String> = request.prompt.split_whitespace().map(str::to_owned).collect();
        let has = |word: &str| words.iter().any(|found| found == word);
        assert!(!has("start-panics-at-once"), "a start panics on purpose");
        let shared = Arc::clone(&self.shared);
        let (refuses, hangs, panics) = (has("start-fails"), has("start-hangs"), has("start-panics"));
        async move {
            let mut started = Abandoned(Some(&shared));
            assert!(!panics, "a start panics on purpose");
            if refuses {
                started.0 = None;
                shared.count(|counts| counts.refused += 1);
                return Err(MemberError::new("no room"));
            }
            if hangs {
                pending::<()>().await;
            }
            shared.pass_gate(&words, "start-gate").await;
            started.0 = None;
            shared.count(|counts| {
                counts.started += 1;
                counts.at_work += 1;
                counts.most_at_work = counts.most_at_work.max(counts.at_work);
            });
            let id = SessionId::new(format!("child-{}", request.seq));
            Ok(Arc::new(FakeMember {
                id,
                request,
                words,
                shared: Arc::clone(&shared),
            }) as Arc<dyn Member>)
        }
        .boxed()
    }

    fn spent(&self) -> Spent {
        *lock(&self.shared.spent)
    }
}

/// Counts a start whose future is dropped.
struct Abandoned<'a>(Option<&'a Shared>);

impl Drop for Abandoned<'_> {
    fn drop(&mut self) {
        if let Some(shared) = self.0 {
            shared.count(|counts| counts.aborted_starts += 1);
        }
    }
}

#[derive(Clone)]
struct FakeMember {
    id: SessionId,
    request: MemberRequest,
    words: Vec<String>,
    shared: Arc<Shared>,
}

impl FakeMember {
    fn has(&self, word: &str) -> bool {
        self.words.iter().any(|found| found == word)
    }

    /// What the words `tokens:N` and `cents:N` say.
    fn spend(&self) {
        for word in &self.words {
            let amount = |kind: &str| {
                word.strip_prefix(kind)
                    .map(|amount| amount.parse::<u32>().expect("a number"))
            };
            let mut spent = lock(&self.shared.spent);
            spent.tokens += u64::from(amount("tokens:").unwrap_or(0));
            spent.cost_usd += f64::from(amount("cents:").unwrap_or(0)) / 100.0;
        }
    }

    async fn outcome(&self) -> Result<MemberResult, MemberError> {
        let done = |stop| MemberResult {
            stop,
            text: self.request.prompt.clone(),
            structured: self.request.schema.as_ref().map(|schema| {
                let mut answer = sample(schema);
                answer["asked"] = json!(self.request.prompt);
                answer
            }),
        };
        if self.has("deaf") {
            pending::<()>().await;
        }
        let gates = self.shared.pass_gate(&self.words, "gate");
        tokio::select! {
            biased;
            () = self.request.cancel.cancelled() => return Ok(done(MemberStop::Aborted)),
            () = gates => {}
        }
        if self.has("hangs") {
            self.request.cancel.cancelled().await;
            return Ok(done(MemberStop::Aborted));
        }
        assert!(!self.has("panics"), "a member panics on purpose");
        match self.words.first().map_or("", String::as_str) {
            "fails" => Ok(done(MemberStop::Error("it went wrong".into()))),
            "refuses" => Ok(done(MemberStop::Refusal)),
            "breaks" => Err(MemberError::new("its session is gone")),
            "unstructured" => Ok(MemberResult {
                structured: None,
                ..done(MemberStop::Completed)
            }),
            "empty" => Ok(MemberResult {
                text: String::new(),
                ..done(MemberStop::Completed)
            }),
            _ => Ok(done(MemberStop::Completed)),
        }
    }
}

impl Member for FakeMember {
    fn id(&self) -> &SessionId {
        &self.id
    }

    fn result(&self) -> BoxFuture<'static, Result<MemberResult, MemberError>> {
        let member = self.clone();
        async move {
            let result = member.outcome().await;
            member.spend();
            member.shared.count(|counts| counts.at_work -= 1);
            result
        }
        .boxed()
    }

    fn dispose(&self) -> BoxFuture<'static, ()> {
        let member = self.clone();
        async move {
            member.shared.count(|counts| counts.disposals_begun += 1);
            assert!(!member.has("dispose-panics"), "a disposal panics on purpose");
            if member.has("dispose-hangs") {
                pending::<()>().await;
            }
            member.shared.pass_gate(&member.words, "dispose-gate").await;
            member.shared.count(|counts| counts.disposals_done += 1);
        }
        .boxed()
    }
}

/// Something that fits a schema of the ordinary kind.
fn sample(schema: &Value) -> Value {
    match schema["type"].as_str() {
        Some("object") => {
            let properties = schema["properties"].as_object().into_iter().flatten();
            properties
                .map(|(name, schema)| (name.clone(), sample(schema)))
                .collect()
        }
        Some("array") => json!([sample(&schema["items"])]),
        Some("boolean") => json!(true),
        Some("number" | "integer") => json!(1),
        _ => json!("a text"),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("nothing panics under it")
}
