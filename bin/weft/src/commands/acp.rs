//! `weft acp`: the agent on stdin and stdout.

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context as _;
use tokio_util::sync::CancellationToken;
use weft_acp::{
    AcpOptions, AgentInfo, CloseGrace, ExitReason, ExtensionMethods, FileTimeout, ImageBytes, LineLimit, MaxSessions,
    OutboxBytes, ProgressConfig, StallTimeout, serve,
};
use weft_session::{Clock, FileStore, SystemClock};
use weft_toolset::Orphans;

use crate::args::AcpArgs;
use crate::compose::Composition;
use crate::config::{Config, Home, Overrides, settings};
use crate::ending::{ORPHANS_GRACE, Signals, settle};
use crate::models::Providers;
use crate::{logging, scripted, store};

/// Serves one connection, to its end.
pub(crate) fn run(args: &AcpArgs) -> anyhow::Result<ExitCode> {
    let home = Home::find()?;
    logging::init(&home.config);
    let config = Config::load(&home.config, &overrides(args))?;
    let providers = Providers::new(&config)?.discovering(home.cache);
    let mut extensions = ExtensionMethods::new();
    if let Some(model) = &providers.scripted {
        scripted::register(&mut extensions, model)?;
    }
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let store = store::open(&config, home.sessions, "weft acp", Arc::clone(&clock))?;
    let agents = Composition::new(config.clone(), providers, store.clone(), clock, None)?;
    let bridge = options(&config, extensions, store.clone(), agents)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let ended = runtime.block_on(async {
        let ended = serve_until_signal(bridge).await;
        settle(store).await;
        ended
    });
    // Whatever still runs has had its grace; the thread that reads stdin is not waited for.
    runtime.shutdown_background();
    ended
}

fn options(
    config: &Config,
    extensions: ExtensionMethods,
    store: FileStore,
    agents: Composition,
) -> anyhow::Result<AcpOptions> {
    Ok(AcpOptions {
        extensions,
        progress: ProgressConfig::new(config.span(&settings::MIN_INTERVAL))?,
        outbox_bytes: OutboxBytes::new(config.size(&settings::OUTBOX))?,
        line_limit: LineLimit::new(config.size(&settings::LINE_LIMIT))?,
        image_bytes: ImageBytes::new(config.size(&settings::IMAGE_BYTES))?,
        file_timeout: FileTimeout::new(config.span(&settings::FILE_TIMEOUT))?,
        max_sessions: MaxSessions::new(config.size(&settings::MAX_SESSIONS))?,
        close_grace: CloseGrace::new(config.span(&settings::CLOSE_GRACE))?,
        stall_timeout: StallTimeout::new(config.span(&settings::STALL_TIMEOUT))?,
        ..AcpOptions::new(Arc::new(agents), store, info())
    })
}

/// What the flags and the environment say; an empty text says nothing.
fn overrides(args: &AcpArgs) -> Overrides {
    let given = [
        (&settings::MODEL, "--model or WEFT_MODEL", &args.model),
        (&settings::MODE, "--mode or WEFT_MODE", &args.mode),
    ];
    let values = given.into_iter().filter_map(|(setting, origin, value)| {
        let value = value.clone().filter(|value| !value.is_empty())?;
        Some((setting, origin, value))
    });
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::settings::{Kind, SETTINGS, Setting, render};

    /// Everything that is made of the settings at start.
    fn compose(values: Vec<(&'static Setting, String)>) -> anyhow::Result<AcpOptions> {
        let values = values
            .into_iter()
            .map(|(setting, text)| (setting, "test", text))
            .collect();
        let config = Config::load(std::path::Path::new("no-such-folder"), &Overrides { values })?;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let store = store::open(&config, "no-such-folder".into(), "test", Arc::clone(&clock))?;
        let agents = Composition::new(config.clone(), Providers::default(), store.clone(), clock, None)?;
        options(&config, ExtensionMethods::new(), store, agents)
    }

    #[test]
    fn every_value_that_the_table_allows_can_be_used() {
        for setting in SETTINGS {
            let extremes = match &setting.kind {
                Kind::Count { min, max, .. } => vec![min.to_string(), max.to_string()],
                Kind::Span { min, max, .. } => vec![render(*min), render(*max)],
                Kind::Word { words, .. } => words.iter().map(|word| (*word).to_owned()).collect(),
                Kind::Switch => vec!["true".to_owned(), "false".to_owned()],
                Kind::Text => vec!["provider/model".to_owned()],
                // Neither flags nor variables set lists.
                Kind::Texts { .. } | Kind::Rules => continue,
            };
            for text in extremes {
                let mut values = vec![(*setting, text.clone())];
                if setting.key == settings::BASH_TIMEOUT.key {
                    // The one setting that is bounded by another.
                    values.push((&settings::BASH_MAX_TIMEOUT, "24h".to_owned()));
                }
                if setting.key == settings::BASH_MAX_TIMEOUT.key {
                    values.push((&settings::BASH_TIMEOUT, "1s".to_owned()));
                }
                let composed = compose(values);
                assert!(
                    composed.is_ok(),
                    "{} = {text}: {:#}",
                    setting.key,
                    composed.unwrap_err()
                );
            }
        }
    }

    #[test]
    fn an_empty_flag_or_variable_sets_nothing() {
        let args = |mode: &str| AcpArgs {
            model: None,
            mode: Some(mode.to_owned()),
        };
        assert!(overrides(&args("")).values.is_empty());
        assert_eq!(overrides(&args("full")).values.len(), 1);
    }

    #[test]
    fn settings_that_contradict_each_other_stop_the_start() {
        let values = vec![(&settings::BASH_TIMEOUT, "1h".to_owned())];
        let error = format!("{:#}", compose(values).expect_err("must be refused"));
        assert_eq!(
            error,
            "bash.timeout: found \"1h\", expected at most bash.max_timeout, which is \"10m\""
        );
    }
}
