//! How full the context is, and what the session has cost.

use std::fmt;
use std::sync::Arc;

use weft_model::{Models, Prices};
use weft_types::{EventBody, Usage};

use crate::sdk::schema;

/// Tokens that a price is for.
const PRICED_TOKENS: f64 = 1_000_000.0;

/// The fold of a session's events as far as tokens and money go. Subagents have logs of their own and are not in it.
#[derive(Clone)]
pub(crate) struct Spending {
    models: Arc<dyn Models>,
    /// The model of the last request.
    model: Option<String>,
    /// What everything has cost so far, in US dollars; absent once something has cost nobody knows what.
    cost: Option<f64>,
}

impl fmt::Debug for Spending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spending")
            .field("model", &self.model)
            .field("cost", &self.cost)
            .finish_non_exhaustive()
    }
}

impl Spending {
    /// Nothing spent yet.
    pub(crate) fn new(models: Arc<dyn Models>) -> Self {
        Self {
            models,
            model: None,
            cost: Some(0.0),
        }
    }

    /// Takes the next event, and gives what the client is told of it: after an answer whose tokens the provider counted,
    /// by a model whose window is known.
    pub(crate) fn event(&mut self, body: &EventBody) -> Option<schema::SessionUpdate> {
        match body {
            EventBody::RequestHeader { model, .. } => self.model = Some(model.clone()),
            EventBody::SessionCompaction { usage: Some(usage), .. } => self.spend(usage),
            EventBody::AssistantMessage { usage: Some(usage), .. } => {
                self.spend(usage);
                return self.update(usage);
            }
            _ => {}
        }
        None
    }

    fn spend(&mut self, usage: &Usage) {
        let model = self.model.as_deref().unwrap_or_default();
        let prices = self.models.info(model).prices;
        self.cost = self
            .cost
            .zip(prices)
            .map(|(cost, prices)| cost + price_of(usage, &prices));
    }

    fn update(&self, usage: &Usage) -> Option<schema::SessionUpdate> {
        let window = self.models.info(self.model.as_deref()?).context_window?;
        let used = usage.input_tokens.saturating_add(usage.output_tokens);
        let cost = self.cost.map(|cost| schema::Cost::new(to_micros(cost), "USD"));
        let update = schema::UsageUpdate::new(used, window).cost(cost);
        Some(schema::SessionUpdate::UsageUpdate(update))
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "far more tokens than anybody can pay for are exact"
)]
fn price_of(usage: &Usage, prices: &Prices) -> f64 {
    let cached = usage.cached_input_tokens.min(usage.input_tokens);
    let fresh = usage.input_tokens - cached;
    let input = fresh as f64 * prices.input + cached as f64 * prices.cached_input.unwrap_or(prices.input);
    (input + usage.output_tokens as f64 * prices.output) / PRICED_TOKENS
}

/// Without the digits that only the adding has made.
fn to_micros(dollars: f64) -> f64 {
    (dollars * 1e6).round() / 1e6
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use weft_model::{ModelError, ModelErrorKind, ModelInfo, ResolvedModel};
    use weft_types::HeaderReason;

    use super::*;

    struct Catalogue;

    impl Models for Catalogue {
        fn resolve(&self, _: Option<&str>) -> Result<ResolvedModel, ModelError> {
            Err(ModelError::new(ModelErrorKind::NotConfigured, "nobody asks"))
        }

        fn info(&self, choice: &str) -> ModelInfo {
            let unknown = ModelInfo::unknown(choice);
            let prices = Prices {
                input: 3.0,
                output: 15.0,
                cached_input: Some(0.3),
            };
            match choice {
                "a/priced" => ModelInfo {
                    context_window: Some(200_000),
                    prices: Some(prices),
                    ..unknown
                },
                "a/free-of-words" => ModelInfo {
                    context_window: Some(8_000),
                    ..unknown
                },
                _ => unknown,
            }
        }
    }

    fn header(model: &str) -> EventBody {
        EventBody::RequestHeader {
            reason: HeaderReason::Initial,
            model: model.into(),
            system: String::new(),
            tools: Vec::new(),
        }
    }

    fn answer(input: u64, cached: u64, output: u64) -> EventBody {
        EventBody::AssistantMessage {
            turn: 1,
            step: 1,
            content: Vec::new(),
            stop: None,
            usage: Some(Usage {
                input_tokens: input,
                output_tokens: output,
                cached_input_tokens: cached,
                reasoning_tokens: 0,
            }),
            interrupted: true,
        }
    }

    fn shown(spending: &mut Spending, body: &EventBody) -> Value {
        json!(spending.event(body))
    }

    #[test]
    fn each_answer_tells_the_context_in_use_and_the_cost_so_far() {
        let mut spending = Spending::new(Arc::new(Catalogue));
        assert_eq!(shown(&mut spending, &header("a/priced")), Value::Null);
        let first = shown(&mut spending, &answer(1_000_000, 0, 1_000));
        assert_eq!(
            first,
            json!({ "sessionUpdate": "usage_update", "used": 1_001_000, "size": 200_000,
                    "cost": { "amount": 3.015, "currency": "USD" } })
        );
        let cached = shown(&mut spending, &answer(1_000_000, 1_000_000, 0));
        assert_eq!(cached["cost"]["amount"], 3.315);
        assert_eq!(cached["used"], 1_000_000);
    }

    #[test]
    fn a_summary_costs_and_fills_nothing() {
        let mut spending = Spending::new(Arc::new(Catalogue));
        shown(&mut spending, &header("a/priced"));
        let EventBody::AssistantMessage { usage, .. } = answer(1_000_000, 0, 0) else {
            unreachable!("made so")
        };
        let compaction = EventBody::SessionCompaction {
            turn: 1,
            reason: weft_types::CompactionReason::Threshold,
            summary: String::new(),
            kept_from: 0,
            tokens_before: None,
            usage,
        };
        assert_eq!(shown(&mut spending, &compaction), Value::Null);
        assert_eq!(shown(&mut spending, &answer(0, 0, 0))["cost"]["amount"], 3.0);
    }

    #[test]
    fn what_has_no_known_price_makes_the_cost_unknown_for_good() {
        let mut spending = Spending::new(Arc::new(Catalogue));
        shown(&mut spending, &header("a/free-of-words"));
        let unpriced = shown(&mut spending, &answer(10, 0, 5));
        assert_eq!(
            unpriced,
            json!({ "sessionUpdate": "usage_update", "used": 15, "size": 8_000 })
        );
        shown(&mut spending, &header("a/priced"));
        assert_eq!(shown(&mut spending, &answer(10, 0, 5)).get("cost"), None);
    }

    #[test]
    fn without_a_window_or_a_count_nothing_is_told() {
        let mut spending = Spending::new(Arc::new(Catalogue));
        assert_eq!(shown(&mut spending, &answer(10, 0, 5)), Value::Null, "no model yet");
        shown(&mut spending, &header("a/unknown"));
        assert_eq!(shown(&mut spending, &answer(10, 0, 5)), Value::Null);
    }
}
