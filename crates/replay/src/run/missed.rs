//! What the scripted model was not asked, or was asked in vain.

use serde_json::{Value, json};

use super::Failure;
use crate::normalise::HARNESS;
use crate::{WireClient, WireError};

/// What the models of all agents of one scenario report, each agent's having begun anew with the script.
#[derive(Debug, Default)]
pub(super) struct Missed {
    /// Replies that none of them used as often as the script says.
    unused: Option<Vec<String>>,
    /// Requests that found no reply.
    unknown: Vec<String>,
    /// Gates that had their counterpart with none of them.
    gates: Option<Vec<String>>,
}

impl Missed {
    /// Asks an agent's model.
    pub(super) async fn ask(&mut self, client: &mut WireClient) -> Result<(), WireError> {
        let report = client.request(&format!("{HARNESS}report"), json!({})).await?;
        self.add(&report);
        Ok(())
    }

    fn add(&mut self, report: &Value) {
        let entries = |key: &str| {
            let entries = report[key].as_array().map(Vec::as_slice).unwrap_or_default();
            let text = |entry: &Value| entry.as_str().map_or_else(|| entry.to_string(), str::to_owned);
            entries.iter().map(text).collect::<Vec<_>>()
        };
        keep_common(&mut self.unused, entries("unused"));
        self.unknown.extend(entries("unknown"));
        keep_common(&mut self.gates, entries("unmatchedGates"));
    }

    /// What of it fails the scenario.
    pub(super) fn failures(self) -> Vec<Failure> {
        let of = |entries: Vec<String>, what: &'static str| {
            (!entries.is_empty()).then_some(Failure::Model { what, entries })
        };
        let found = [
            of(self.unused.unwrap_or_default(), "replies that were not used"),
            of(self.unknown, "requests without a reply"),
            of(self.gates.unwrap_or_default(), "gates without their counterpart"),
        ];
        found.into_iter().flatten().collect()
    }
}

/// Keeps the entries that the next report has too.
fn keep_common(kept: &mut Option<Vec<String>>, next: Vec<String>) {
    match kept {
        Some(kept) => kept.retain(|entry| next.iter().any(|next| subject(next) == subject(entry))),
        None => *kept = Some(next),
    }
}

/// What an entry is about: how often it was used is another thing with every agent.
fn subject(entry: &str) -> &str {
    entry.rsplit_once(", used ").map_or(entry, |(subject, _)| subject)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_of_the_agents_used_is_not_missed_and_every_unknown_request_is_told() {
        let mut missed = Missed::default();
        missed.add(&json!({
            "unused": ["a:1 for x, used 0 of 2 times", "a:2 for y, used 0 of 1 times", "a:3 for z, used 1 of 2 times"],
            "unknown": ["who?"], "unmatchedGates": ["g", "h"],
        }));
        missed.add(&json!({
            "unused": ["a:1 for x, used 1 of 2 times", "a:4 for w, used 0 of 1 times"],
            "unknown": ["what?"], "unmatchedGates": ["h"],
        }));
        let told: Vec<_> = missed.failures().iter().map(Failure::to_string).collect();
        assert_eq!(
            told,
            [
                "the scripted model has replies that were not used:\n  a:1 for x, used 0 of 2 times",
                "the scripted model has requests without a reply:\n  who?\n  what?",
                "the scripted model has gates without their counterpart:\n  h",
            ]
        );
    }
}
