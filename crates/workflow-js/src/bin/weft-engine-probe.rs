//! What `cargo xtask bench` runs in a release build: the engine as it is, beside the bare JavaScript engine that it is
//! made of. Prints its figures, in milliseconds, as one JSON object.

#![expect(clippy::print_stdout, reason = "the figures are its output")]

use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::FutureExt;
use futures::future::BoxFuture;
use rquickjs::{CatchResultExt, Context, Promise, Runtime};
use serde_json::json;
use tokio_util::sync::CancellationToken;
use weft_workflow::{Member, MemberError, MemberRequest, Members, RunLimits, Spent, StartRequest, WorkflowEngine};
use weft_workflow_js::{EngineConfig, JsEngine, SandboxMode, run_worker};

type Failure = Box<dyn Error>;

/// Computing, and waiting for what is there already.
const LOOPS: [(&str, &str); 2] = [
    (
        "hot",
        "let s = 0; for (let i = 0; i < 2e7; i += 1) s = (s + i * 7) % 1000003; return s",
    ),
    (
        "promise",
        "let s = 0; for (let i = 0; i < 1e6; i += 1) s += await i; return s",
    ),
];
const ROUNDS: usize = 5;
const STARTS: usize = 50;

struct Nobody;

impl Members for Nobody {
    fn has_provider(&self, _name: &str) -> bool {
        true
    }

    fn start(&self, _request: MemberRequest) -> BoxFuture<'static, Result<Arc<dyn Member>, MemberError>> {
        async { Err(MemberError::new("nobody is here")) }.boxed()
    }

    fn spent(&self) -> Spent {
        Spent::default()
    }
}

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some("worker") {
        return run_worker();
    }
    match measure() {
        Ok(figures) => {
            println!("{figures}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            println!("failed to measure: {error}");
            ExitCode::FAILURE
        }
    }
}

fn measure() -> Result<serde_json::Value, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let engine = |sandbox| {
        JsEngine::new(EngineConfig {
            sandbox,
            niceness: 0,
            max_slice: Duration::from_secs(60),
            ..EngineConfig::default()
        })
    };
    let (shut_in, open) = (engine(SandboxMode::Auto)?, engine(SandboxMode::Off)?);
    let mut figures = serde_json::Map::new();
    for (name, script) in LOOPS {
        let (mut ours, mut bare) = (Vec::new(), Vec::new());
        // One after the other, so that a machine that slows down slows both.
        for _ in 0..ROUNDS {
            ours.push(runtime.block_on(run(&shut_in, script))?);
            bare.push(run_bare(script)?);
        }
        figures.insert(format!("{name}_ms"), json!(median(ours)));
        figures.insert(format!("{name}_bare_ms"), json!(median(bare)));
    }
    for (name, engine) in [("start_ms", shut_in), ("start_open_ms", open)] {
        let starts = (0..STARTS).map(|_| runtime.block_on(run(&engine, "return 1")));
        figures.insert(name.to_owned(), json!(median(starts.collect::<Result<_, _>>()?)));
    }
    Ok(figures.into())
}

/// From the start to the last trace of a run.
async fn run(engine: &JsEngine, script: &str) -> Result<Duration, Failure> {
    let began = Instant::now();
    let run = engine.start(StartRequest {
        script: script.to_owned(),
        meta: Some(json!({ "name": "probe", "description": "is measured" })),
        args: None,
        provider: None,
        limits: RunLimits::default(),
        depth: 0,
        origin: None,
        saved: None,
        members: Arc::new(Nobody),
        cancel: CancellationToken::new(),
    })?;
    let result = run.result().await;
    run.dispose().await;
    match &result.error {
        None => Ok(began.elapsed()),
        Some(error) => Err(error.clone().into()),
    }
}

/// The same script in the engine with nothing around it.
fn run_bare(script: &str) -> Result<Duration, Failure> {
    let began = Instant::now();
    let runtime = Runtime::new()?;
    let context = Context::full(&runtime)?;
    context.with(|ctx| {
        let main: Promise<'_> = ctx
            .eval(format!("(async () => {{{script}}})()"))
            .catch(&ctx)
            .map_err(|error| error.to_string())?;
        while ctx.execute_pending_job() {}
        let value = main.result::<f64>().transpose().map_err(|error| error.to_string())?;
        value.map(|_| began.elapsed()).ok_or_else(|| "it did not end".into())
    })
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    let middle = times.get(times.len() / 2).copied().unwrap_or_default();
    middle.as_secs_f64() * 1e3
}
