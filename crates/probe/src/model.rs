//! One step of a model over HTTP: through the agent and its adapter, and the same stream read and counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use reqwest::Client;
use serde::Serialize;
use tokio::runtime::Runtime;
use weft_agent::{Agent, AgentOptions};
use weft_model::ModelTable;
use weft_providers::{EndpointConfig, OpenAiChat, install_crypto};
use weft_session::{MemoryLog, Session, SessionUpdate, SystemClock};
use weft_tools::{ToolLimits, ToolRegistry};
use weft_types::{ContentBlock, SessionId, TurnEnd};

use crate::middle;
use crate::mix::header;

/// The middle of all rounds.
#[derive(Serialize)]
pub(crate) struct Figures {
    step_ms: f64,
    raw_ms: f64,
    /// The middle of the ratios, each of a step and a reading one right after the other.
    ratio: f64,
    /// What was read of one answer.
    bytes: usize,
    /// How many pieces of it the agent published.
    deltas: usize,
}

/// Asks a chat-completions endpoint both ways, by turns. Both keep their connection, and the first round, which makes it,
/// is not measured.
pub(crate) fn measure(base_url: &str, rounds: usize) -> anyhow::Result<Figures> {
    let runtime = Runtime::new()?;
    let raw = Arc::new(Raw::new(base_url)?);
    let adapter = OpenAiChat::new(EndpointConfig::new(base_url))?;
    let models = Arc::new(ModelTable::new(Some("bench/bench".to_owned())).with("bench", Arc::new(adapter)));
    let (mut step_times, mut raw_times, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    let (mut bytes, mut deltas) = (0, 0);
    for round in 0..=rounds {
        let (step_took, raw_took);
        (step_took, deltas) = runtime.block_on(step(Arc::clone(&models)))?;
        // Both are read by a task of the runtime: whoever blocks on it is woken across threads, chunk by chunk.
        (raw_took, bytes) = runtime.block_on(runtime.spawn(Arc::clone(&raw).read()))??;
        if round > 0 {
            step_times.push(millis(step_took));
            raw_times.push(millis(raw_took));
            ratios.push(step_took.as_secs_f64() / raw_took.as_secs_f64());
        }
    }
    Ok(Figures {
        step_ms: middle(step_times)?,
        raw_ms: middle(raw_times)?,
        ratio: middle(ratios)?,
        bytes,
        deltas,
    })
}

/// A turn of one step by a new agent, from its prompt to its end; and how many deltas its session published.
async fn step(models: Arc<ModelTable>) -> anyhow::Result<(Duration, usize)> {
    let session = Session::create(
        header(SessionId::new("bench"), "/projects/bench".to_owned()),
        Box::new(MemoryLog::default()),
        Arc::new(SystemClock),
        Vec::new(),
    );
    let deltas = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&deltas);
    let _watched = session.observe(move |update| {
        if let SessionUpdate::Delta(_) = update {
            counted.fetch_add(1, Ordering::Relaxed);
        }
    });
    let tools = ToolRegistry::new(ToolLimits::default());
    let agent = Agent::spawn(AgentOptions::new(session, models, tools));
    let started = Instant::now();
    let end = agent.prompt(vec![ContentBlock::text("go")])?.ended().await;
    let took = started.elapsed();
    anyhow::ensure!(end == TurnEnd::Completed, "the turn ended with {end:?}");
    Ok((took, deltas.load(Ordering::Relaxed)))
}

/// The least that reading an answer can be.
struct Raw {
    client: Client,
    url: String,
}

impl Raw {
    fn new(base_url: &str) -> anyhow::Result<Self> {
        install_crypto();
        let client = Client::builder().no_proxy().tls_certs_only([]).build();
        Ok(Self {
            client: client.context("failed to make an HTTP client")?,
            url: format!("{base_url}/chat/completions"),
        })
    }

    async fn read(self: Arc<Self>) -> anyhow::Result<(Duration, usize)> {
        let started = Instant::now();
        let mut response = self.client.post(&self.url).body("{}").send().await?;
        let mut bytes = 0;
        while let Some(chunk) = response.chunk().await? {
            bytes += chunk.len();
        }
        Ok((started.elapsed(), bytes))
    }
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
