//! What an agent and those that it started have used.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use weft_model::{Models, Prices};
use weft_tools::Extensions;
use weft_types::{EventBody, Usage};

use crate::Spending;
use crate::history::ContextSize;

/// What an agent and those that it started have used, as far as the providers told.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AgentUsage {
    /// The tokens of its own requests, by `provider/model`: of its whole session, once its first turn since the session
    /// was opened has begun.
    pub own: BTreeMap<String, Usage>,
    /// The tokens of the agents below it since its session was opened, by `provider/model`. Only a user's agent knows.
    pub subagents: BTreeMap<String, Usage>,
    /// What its next request would take.
    pub context: ContextSize,
}

impl AgentUsage {
    /// The tokens of all requests of one kind.
    pub fn sum(by_model: &BTreeMap<String, Usage>) -> Usage {
        by_model.values().fold(Usage::default(), |sum, usage| plus(&sum, usage))
    }

    /// What everything cost in US dollars; absent if the price of any of it is not known, or nothing was used.
    pub fn cost(&self, models: &dyn Models) -> Option<f64> {
        let mut costs = None;
        for (model, usage) in self.own.iter().chain(&self.subagents) {
            *costs.get_or_insert(0.0) += cost(usage, models.info(model).prices?);
        }
        costs
    }
}

/// Counts for one agent. Clones are the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct Meter {
    usage: Arc<Mutex<AgentUsage>>,
    /// The counts of the agent above all others, if that is another one.
    root: Option<Arc<RootMeter>>,
    /// What it is a part of.
    spending: Option<Arc<Spending>>,
}

/// The [extension](Extensions) by which subagents find the counts of the user's agent.
#[derive(Debug)]
struct RootMeter(Arc<Mutex<AgentUsage>>);

impl Meter {
    /// Counts for an agent that is lent this.
    pub(crate) fn of(lent: &Extensions) -> Self {
        Self {
            usage: Arc::default(),
            root: lent.get::<RootMeter>(),
            spending: lent.get::<Spending>(),
        }
    }

    /// What is lent, with what the agents below need in order to be counted.
    pub(crate) fn lend(&self, lent: Extensions) -> Extensions {
        match &self.root {
            Some(_) => lent,
            None => lent.with(Arc::new(RootMeter(Arc::clone(&self.usage)))),
        }
    }

    pub(crate) fn read(&self) -> AgentUsage {
        lock(&self.usage).clone()
    }

    /// Counts an event that was just appended.
    pub(crate) fn count(&self, model: &str, body: &EventBody) {
        let Some(usage) = usage_of(body) else { return };
        add(&mut lock(&self.usage).own, model, usage);
        if let Some(RootMeter(root)) = self.root.as_deref() {
            add(&mut lock(root).subagents, model, usage);
        }
        if let Some(spending) = &self.spending {
            spending.add(model, usage);
        }
    }

    pub(crate) fn set_own(&self, own: BTreeMap<String, Usage>) {
        lock(&self.usage).own = own;
    }

    pub(crate) fn set_context(&self, context: ContextSize) {
        lock(&self.usage).context = context;
    }
}

/// The tokens that an event tells of.
pub(crate) fn usage_of(body: &EventBody) -> Option<&Usage> {
    match body {
        EventBody::AssistantMessage { usage, .. } | EventBody::SessionCompaction { usage, .. } => usage.as_ref(),
        _ => None,
    }
}

/// Adds to a model's sum.
pub(crate) fn add(sums: &mut BTreeMap<String, Usage>, model: &str, usage: &Usage) {
    let sum = sums.entry(model.to_owned()).or_default();
    *sum = plus(sum, usage);
}

fn plus(a: &Usage, b: &Usage) -> Usage {
    Usage {
        input_tokens: a.input_tokens.saturating_add(b.input_tokens),
        output_tokens: a.output_tokens.saturating_add(b.output_tokens),
        cached_input_tokens: a.cached_input_tokens.saturating_add(b.cached_input_tokens),
        reasoning_tokens: a.reasoning_tokens.saturating_add(b.reasoning_tokens),
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "more tokens than a float counts exactly are never spent"
)]
pub(crate) fn cost(usage: &Usage, prices: Prices) -> f64 {
    let cached = usage.cached_input_tokens.min(usage.input_tokens);
    let fresh = (usage.input_tokens - cached) as f64 * prices.input;
    let cached = cached as f64 * prices.cached_input.unwrap_or(prices.input);
    (fresh + cached + usage.output_tokens as f64 * prices.output) / 1e6
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use weft_model::{ModelError, ModelInfo, ModelTable, ResolvedModel};

    use super::*;

    struct Priced;

    impl Models for Priced {
        fn resolve(&self, choice: Option<&str>) -> Result<ResolvedModel, ModelError> {
            ModelTable::default().resolve(choice)
        }

        fn info(&self, choice: &str) -> ModelInfo {
            let prices = Prices {
                input: 2.0,
                output: 10.0,
                cached_input: Some(0.5),
            };
            ModelInfo {
                prices: (choice == "p/known").then_some(prices),
                ..ModelInfo::unknown(choice)
            }
        }
    }

    fn answer(usage: Usage) -> EventBody {
        EventBody::AssistantMessage {
            turn: 1,
            step: 1,
            content: Vec::new(),
            stop: None,
            usage: Some(usage),
            interrupted: true,
        }
    }

    #[test]
    fn subagents_are_counted_at_the_top_and_everything_has_a_price() {
        let root = Meter::of(&Extensions::new());
        let lent = root.lend(Extensions::new());
        let child = Meter::of(&lent);
        let grandchild = Meter::of(&child.lend(lent));
        let usage = Usage {
            input_tokens: 1_000_000,
            output_tokens: 100_000,
            cached_input_tokens: 500_000,
            reasoning_tokens: 0,
        };
        for meter in [&root, &child, &grandchild] {
            meter.count("p/known", &answer(usage));
        }
        let read = root.read();
        assert_eq!(AgentUsage::sum(&read.own).input_tokens, 1_000_000);
        assert_eq!(AgentUsage::sum(&read.subagents).input_tokens, 2_000_000);
        assert_eq!(read.cost(&Priced), Some(3.0 * 2.25));
        child.count("p/other", &answer(usage));
        assert_eq!(root.read().cost(&Priced), None, "a part without a price has no sum");
        assert_eq!(AgentUsage::default().cost(&Priced), None);
    }
}
