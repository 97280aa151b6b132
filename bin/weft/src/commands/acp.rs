//! `weft acp`: the agent on stdin and stdout.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use tokio_util::sync::CancellationToken;
use weft_acp::{AcpOptions, AgentInfo, ExitReason, ExtensionMethods, LineLimit, OutboxBytes, ProgressConfig, serve};
use weft_toolset::Orphans;

use crate::args::AcpArgs;
use crate::compose::Composition;
use crate::config::{Config, Overrides, home, settings};
use crate::models::Providers;
use crate::{logging, scripted};

/// How long processes that were left behind may take to die at the end.
const ORPHANS_GRACE: Duration = Duration::from_secs(2);

/// Serves one connection, to its end.
pub(crate) fn run(args: AcpArgs) -> anyhow::Result<ExitCode> {
    let home = home()?;
    logging::init(&home);
    let config = Config::load(&home, &overrides(&args))?;
    let providers = Providers::new(&config)?;
    let mut extensions = ExtensionMethods::new();
    if let Some(model) = &providers.scripted {
        scripted::register(&mut extensions, model)?;
    }
    let settings = AcpOptions {
        extensions,
        progress: ProgressConfig::new(config.span(&settings::MIN_INTERVAL))?,
        outbox_bytes: OutboxBytes::new(config.size(&settings::OUTBOX))?,
        line_limit: LineLimit::new(config.size(&settings::LINE_LIMIT))?,
        ..AcpOptions::new(Arc::new(Composition::new(config, providers, args.export)?), info())
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let ended = runtime.block_on(serve_until_signal(settings));
    // Whatever still runs has had its grace; the thread that reads stdin is not waited for.
    runtime.shutdown_background();
    ended
}

/// What the flags and the environment say.
fn overrides(args: &AcpArgs) -> Overrides {
    let given = [
        (&settings::MODEL, "--model", &args.model),
        (&settings::MODE, "--mode", &args.mode),
    ];
    let values = given
        .into_iter()
        .filter_map(|(setting, flag, value)| Some((setting, flag, value.clone()?)));
    Overrides {
        values: values.collect(),
    }
}

fn info() -> AgentInfo {
    AgentInfo {
        name: "weft".to_owned(),
        title: Some("weft".to_owned()),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    }
}

async fn serve_until_signal(options: AcpOptions) -> anyhow::Result<ExitCode> {
    let orphans = Orphans::adopt().context("failed to take charge of orphaned processes")?;
    let shutdown = CancellationToken::new();
    let mut signals = Signals::listen().context("failed to listen for signals")?;
    let serving = serve(options, std::io::stdin(), std::io::stdout(), shutdown.clone());
    tokio::pin!(serving);
    let (report, signal) = tokio::select! {
        report = &mut serving => (report, None),
        signal = signals.next() => {
            shutdown.cancel();
            (serving.await, Some(signal))
        }
    };
    if let Err(survivors) = orphans.end(ORPHANS_GRACE).await {
        tracing::warn!(%survivors, "processes outlive the agent");
    }
    match (report.reason, signal) {
        (_, Some(signal)) => Ok(ExitCode::from(128 + signal)),
        (ExitReason::Failed(reason), None) => Err(anyhow::anyhow!(reason)),
        _ => Ok(ExitCode::SUCCESS),
    }
}

/// The signals that end the agent in good order.
#[cfg(unix)]
struct Signals {
    hangup: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn listen() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            hangup: signal(SignalKind::hangup())?,
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// The number of the first signal that arrives.
    async fn next(&mut self) -> u8 {
        tokio::select! {
            _ = self.hangup.recv() => 1,
            _ = self.interrupt.recv() => 2,
            _ = self.terminate.recv() => 15,
        }
    }
}
