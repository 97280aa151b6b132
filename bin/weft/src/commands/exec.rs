//! `weft exec`: one turn without an editor.
//!
//! It opens the same agents as `weft acp` does, through the same factory, and is their only client: [`Denier`] answers
//! their questions, [`Output`] prints what happens, [`Outcome`] is what became of it.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use weft_agent::{Agent, PermissionMode, PromptRefused, SchemaAnswer, SchemaEnd, SubagentLimits};
use weft_session::{Clock, FileStore, SystemClock};
use weft_toolset::Orphans;
use weft_types::{ContentBlock, TurnEnd};

use crate::args::ExecArgs;
use crate::compose::{Composition, subagent_limits};
use crate::config::{Config, Home, Overrides, settings};
use crate::direct::DirectCall;
use crate::ending::{ORPHANS_GRACE, Signals, settle};
use crate::models::Providers;
use crate::{logging, store};
use denier::Denier;
use outcome::{Ending, Outcome};
use output::Output;

mod called;
mod denier;
mod open;
mod outcome;
mod output;
mod pictures;
mod progress;
mod prompt;
mod schema;

/// The exit code of wrong usage, which is also that of the argument parser.
const USAGE: u8 = 2;

/// Runs one turn to its end.
pub(crate) fn run(args: &ExecArgs) -> anyhow::Result<ExitCode> {
    let (home, config) = surroundings(args)?;
    // Before anything is started: reading stdin may take as long as it likes, and Ctrl-C ends it.
    let prompt = match prompt::of(args.prompt.as_deref(), config.size(&settings::LINE_LIMIT))? {
        Ok(text) => text,
        Err(usage) => return Ok(wrong_usage(&usage)),
    };
    let pictures = match pictures::read(&args.image, config.size(&settings::IMAGE_BYTES)) {
        Ok(pictures) => pictures,
        Err(usage) => return Ok(wrong_usage(&usage)),
    };
    let prompt = std::iter::once(ContentBlock::text(prompt)).chain(pictures).collect();
    let schema = match args.output_schema.as_deref().map(schema::read).transpose() {
        Ok(schema) => schema,
        Err(usage) => return Ok(wrong_usage(&usage)),
    };
    let order = Order::Prompt { prompt, schema };
    start(args, (home, config), order)
}

/// Makes one call of a tool, and ends with that.
pub(crate) fn run_call(args: &ExecArgs, call: DirectCall) -> anyhow::Result<ExitCode> {
    let (home, config) = surroundings(args)?;
    start(args, (home, config), Order::Call(call))
}

fn surroundings(args: &ExecArgs) -> anyhow::Result<(Home, Config)> {
    let home = Home::find()?;
    logging::init(&home.config);
    let mut config = Config::load(&home.config, &overrides(args))?;
    config.add_rules(&settings::ALLOW, "--allow", &args.allow)?;
    config.add_rules(&settings::DENY, "--deny", &args.deny)?;
    Ok((home, config))
}

fn start(args: &ExecArgs, (home, config): (Home, Config), order: Order) -> anyhow::Result<ExitCode> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let store = store::open(&config, home.sessions, "weft exec", Arc::clone(&clock))?;
    let providers = Providers::new(&config)?.discovering(home.cache);
    let job = Job {
        grace: config.span(&settings::TOOL_CANCEL_GRACE) + config.span(&settings::CLOSE_GRACE),
        bounds: subagent_limits(&config)?,
        agents: Composition::new(config, providers, store.clone(), clock, order.call().cloned())?,
        store: store.clone(),
        order,
        args,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let ended = runtime.block_on(async {
        let ended = job.run().await;
        settle(store).await;
        ended
    });
    // Whatever still runs has had its grace.
    runtime.shutdown_background();
    ended
}

/// Says what is wrong with the command.
fn wrong_usage(message: &str) -> ExitCode {
    crate::complain(message);
    ExitCode::from(USAGE)
}

/// What the flags and the environment say; an empty text says nothing.
fn overrides(args: &ExecArgs) -> Overrides {
    let given = [
        (&settings::MODEL, "--model or WEFT_MODEL", &args.model),
        (&settings::MODE, "--mode or WEFT_MODE", &args.mode),
        (&settings::MAX_STEPS, "--max-steps", &args.max_steps),
    ];
    let values = given.into_iter().filter_map(|(setting, origin, value)| {
        let value = value.clone().filter(|value| !value.is_empty())?;
        Some((setting, origin, value))
    });
    Overrides {
        values: values.collect(),
    }
}

/// What the turn is for.
enum Order {
    /// The model is asked this.
    Prompt {
        prompt: Vec<ContentBlock>,
        /// The schema of the answer.
        schema: Option<Value>,
    },
    /// This call is made.
    Call(DirectCall),
}

impl Order {
    fn call(&self) -> Option<&DirectCall> {
        match self {
            Self::Prompt { .. } => None,
            Self::Call(call) => Some(call),
        }
    }

    fn schema(&self) -> Option<&Value> {
        match self {
            Self::Prompt { schema, .. } => schema.as_ref(),
            Self::Call(_) => None,
        }
    }

    fn prompt(&self) -> Vec<ContentBlock> {
        match self {
            Self::Prompt { prompt, .. } => prompt.clone(),
            Self::Call(call) => vec![ContentBlock::text(call.prompt.clone())],
        }
    }
}

/// Everything that one turn takes.
struct Job<'a> {
    args: &'a ExecArgs,
    store: FileStore,
    agents: Composition,
    bounds: SubagentLimits,
    order: Order,
    /// How long the turn may take to end once it was stopped.
    grace: Duration,
}

impl Job<'_> {
    async fn run(self) -> anyhow::Result<ExitCode> {
        let orphans = Orphans::adopt().context("failed to take charge of orphaned processes")?;
        let mut signals = Signals::listen().context("failed to listen for signals")?;
        let ended = self.turn(&mut signals).await;
        if let Err(survivors) = orphans.end(ORPHANS_GRACE).await {
            tracing::warn!(%survivors, "processes outlive the agent");
        }
        ended
    }

    async fn turn(&self, signals: &mut Signals) -> anyhow::Result<ExitCode> {
        let denier = Arc::new(Denier::allowing(self.order.call().map(|call| call.tool)));
        let agent = tokio::select! {
            agent = open::agent(self, &denier) => agent?,
            signal = signals.next() => return Ok(ExitCode::from(128 + signal)),
        };
        self.choose(&agent)?;
        if !self.args.image.is_empty()
            && let Err(usage) = pictures::check_model(&agent)
        {
            return Ok(wrong_usage(&usage));
        }
        let schema = match self.order.schema() {
            Some(schema) => match SchemaAnswer::of(&agent, schema.clone(), self.bounds) {
                Ok(asked) => Some(asked),
                Err(refused) => return Ok(wrong_usage(&refused.to_string())),
            },
            None => None,
        };
        let broken = CancellationToken::new();
        let output = Arc::new(Output::new(&agent, self.args, broken.clone()));
        let _shown = output.watch(&agent);
        denier.tell(&output);
        let ending = self
            .drive(self.ask(&agent, schema.as_ref()), (&agent, signals, &broken))
            .await;
        if !ending.is_stuck() {
            agent.close().await;
        }
        let outcome = Outcome::of(&agent, ending, denier.denied());
        output.end(&outcome)?;
        Ok(ExitCode::from(outcome.code()))
    }

    /// What the flags say goes before what the session remembers.
    fn choose(&self, agent: &Agent) -> anyhow::Result<()> {
        let given = |value: &Option<String>| value.clone().filter(|value| !value.is_empty());
        if let Some(model) = given(&self.args.model) {
            agent.set_model(&model)?;
        }
        if let Some(mode) = given(&self.args.mode).as_deref().and_then(PermissionMode::parse) {
            agent.set_mode(mode);
        }
        Ok(())
    }

    /// The turn by itself.
    async fn ask(&self, agent: &Agent, schema: Option<&SchemaAnswer>) -> Ending {
        let prompt = self.order.prompt();
        if self.order.call().is_some() {
            return called::make(agent, prompt).await;
        }
        let refused = |refused: PromptRefused| {
            Ending::Turn(TurnEnd::Error {
                message: refused.to_string(),
            })
        };
        match schema {
            None => match agent.prompt(prompt) {
                Ok(turn) => Ending::Turn(turn.ended().await),
                Err(error) => refused(error),
            },
            Some(schema) => match schema.prompt(prompt).await {
                Ok(SchemaEnd::Answered(answer)) => Ending::Answered(answer),
                Ok(SchemaEnd::Unfit(problem)) => Ending::Unfit(problem),
                Ok(SchemaEnd::Ended(end)) => Ending::Turn(end),
                Err(error) => refused(error),
            },
        }
    }

    /// The turn to its end, or until something stops it and its grace is over.
    async fn drive(
        &self,
        work: impl Future<Output = Ending>,
        (agent, signals, broken): (&Agent, &mut Signals, &CancellationToken),
    ) -> Ending {
        tokio::pin!(work);
        let overdue = async {
            match self.args.timeout {
                Some(timeout) => tokio::time::sleep(timeout).await,
                None => std::future::pending().await,
            }
        };
        let stopped = tokio::select! {
            biased;
            ending = &mut work => return ending,
            signal = signals.next() => Ending::Signal { signal, stuck: false },
            () = broken.cancelled() => Ending::Unread { stuck: false },
            () = overdue => Ending::TimedOut { stuck: false },
        };
        agent.cancel();
        tokio::select! {
            biased;
            _ended = &mut work => stopped,
            // Who interrupts twice does not want to wait.
            _again = signals.next() => stopped.stuck(),
            () = tokio::time::sleep(self.grace) => stopped.stuck(),
        }
    }
}
