//! What `/status` tells.

use std::fmt::Write as _;

use weft_model::{ModelInfo, Models};
use weft_types::Usage;

use crate::AgentUsage;
use crate::history::ContextSize;

/// The state of a session, in one paragraph.
pub(crate) struct Status<'a> {
    pub(crate) models: &'a dyn Models,
    /// The model in use, or why there is none.
    pub(crate) model: Result<String, String>,
    pub(crate) mode: &'a str,
    pub(crate) usage: &'a AgentUsage,
    /// What others have to tell.
    pub(crate) more: Vec<String>,
}

impl Status<'_> {
    pub(crate) fn text(&self) -> String {
        let info = self.model.as_deref().ok().map(|model| self.models.info(model));
        let window = info.as_ref().and_then(|info| info.context_window);
        let mut lines = vec![
            match &self.model {
                Ok(model) => format!("Model: {}", named(model, info.as_ref())),
                Err(error) => format!("Model: none; {error}"),
            },
            format!("Mode: {}", self.mode),
            format!("Context: {}", context(self.usage.context, window)),
            format!("Used: {}", self.used()),
        ];
        lines.extend(self.more.iter().cloned());
        lines.join("; ")
    }

    fn used(&self) -> String {
        let mut text = tokens(&AgentUsage::sum(&self.usage.own));
        if !self.usage.subagents.is_empty() {
            let _infallible = write!(
                text,
                ", by subagents {}",
                tokens(&AgentUsage::sum(&self.usage.subagents))
            );
        }
        if let Some(cost) = self.usage.cost(self.models) {
            let _infallible = write!(text, ", ${cost:.4} in all");
        }
        text
    }
}

fn named(model: &str, info: Option<&ModelInfo>) -> String {
    match info {
        Some(info) if info.name != info.id => format!("{model} ({})", info.name),
        _ => model.to_owned(),
    }
}

fn context(size: ContextSize, window: Option<u64>) -> String {
    let about = if size.is_estimate { "about " } else { "" };
    let estimated = if size.is_estimate { " (estimated)" } else { "" };
    match window {
        Some(window) if window > 0 => {
            let percent = size.tokens.saturating_mul(100) / window;
            format!("{about}{} of {window} tokens, {percent} %{estimated}", size.tokens)
        }
        _ => format!("{about}{} tokens{estimated} of an unknown window", size.tokens),
    }
}

fn tokens(usage: &Usage) -> String {
    let cached = match usage.cached_input_tokens {
        0 => String::new(),
        cached => format!(" ({cached} from the provider's cache)"),
    };
    format!("{} tokens in{cached}, {} out", usage.input_tokens, usage.output_tokens)
}

#[cfg(test)]
mod tests {
    use weft_model::ModelTable;

    use super::*;

    #[test]
    fn a_status_says_what_is_estimated_and_what_is_not_known() {
        let usage = AgentUsage {
            own: [(
                "p/m".to_owned(),
                Usage {
                    input_tokens: 1_200,
                    output_tokens: 30,
                    cached_input_tokens: 1_000,
                    reasoning_tokens: 0,
                },
            )]
            .into(),
            subagents: [("p/m".to_owned(), Usage::default())].into(),
            context: ContextSize {
                tokens: 500,
                is_estimate: true,
            },
        };
        let status = Status {
            models: &ModelTable::default(),
            model: Ok("p/m".to_owned()),
            mode: "ask",
            usage: &usage,
            more: vec!["Sandbox: off".to_owned()],
        };
        assert_eq!(
            status.text(),
            "Model: p/m; Mode: ask; Context: about 500 tokens (estimated) of an unknown window; Used: 1200 tokens in (1000 \
             from the provider's cache), 30 out, by subagents 0 tokens in, 0 out; Sandbox: off"
        );
        assert_eq!(
            context(
                ContextSize {
                    tokens: 50,
                    is_estimate: false
                },
                Some(200)
            ),
            "50 of 200 tokens, 25 %"
        );
    }
}
