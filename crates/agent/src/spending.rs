//! What a part of an agent's work has used, with all agents below it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use weft_model::Models;
use weft_tools::Extensions;
use weft_types::Usage;

use crate::meter::{self, AgentUsage};

/// Counts what the agents of one part of the work use, as far as their providers tell: those that are
/// [started](crate::SubagentRequest::spending) with it, and every one below them. It is an [extension](Extensions) that
/// they lend to each other, so that one within another counts in both.
///
/// What an answer used is in it before that answer is acted upon.
#[derive(Debug, Default)]
pub struct Spending {
    by_model: Mutex<BTreeMap<String, Usage>>,
    outer: Option<Arc<Spending>>,
}

impl Spending {
    /// A count within that of whoever lends these, if there is one.
    pub fn within(lent: &Extensions) -> Arc<Self> {
        Arc::new(Self {
            outer: lent.get::<Self>(),
            ..Self::default()
        })
    }

    /// A part of this one.
    pub fn part(self: &Arc<Self>) -> Arc<Self> {
        Arc::new(Self {
            outer: Some(Arc::clone(self)),
            ..Self::default()
        })
    }

    /// Counts what was used of a model, `provider/model`.
    pub fn add(&self, model: &str, usage: &Usage) {
        let mut next = Some(self);
        while let Some(spending) = next {
            let mut by_model = spending.by_model.lock().unwrap_or_else(PoisonError::into_inner);
            meter::add(&mut by_model, model, usage);
            drop(by_model);
            next = spending.outer.as_deref();
        }
    }

    /// How many tokens requests and answers had, cached ones included.
    pub fn tokens(&self) -> u64 {
        let sum = AgentUsage::sum(&self.by_model());
        sum.input_tokens.saturating_add(sum.output_tokens)
    }

    /// What it cost in US dollars, as far as the prices are known.
    pub fn cost(&self, models: &dyn Models) -> f64 {
        let priced = |(model, usage): (&String, &Usage)| Some(meter::cost(usage, models.info(model).prices?));
        self.by_model().iter().filter_map(priced).sum()
    }

    /// The models that were used and have no known price, `provider/model`.
    pub fn unpriced(&self, models: &dyn Models) -> Vec<String> {
        let used = self.by_model().into_keys();
        used.filter(|model| models.info(model).prices.is_none()).collect()
    }

    fn by_model(&self) -> BTreeMap<String, Usage> {
        self.by_model.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(tokens: u64) -> Usage {
        Usage {
            input_tokens: tokens,
            output_tokens: 1,
            ..Usage::default()
        }
    }

    #[test]
    fn what_is_spent_within_counts_outside_as_well() {
        let run = Spending::within(&Extensions::new());
        let (member, other) = (run.part(), run.part());
        let nested = Spending::within(&Extensions::new().with(Arc::clone(&member)));
        nested.add("p/m", &usage(10));
        other.add("p/m", &usage(20));
        let tokens = [&nested, &member, &other, &run].map(|spending| spending.tokens());
        assert_eq!(tokens, [11, 11, 21, 32]);
    }
}
