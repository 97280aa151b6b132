//! A workflow of two phases, which the client must be shown live and whole.

use std::collections::BTreeSet;

use anyhow::ensure;

use super::Scene;
use super::shown::Shown;

/// Different texts of the card between its beginning and its end that a person needs to follow the run.
const LEAST_STATES: usize = 4;

/// Drives the client and follows the one card of the workflow.
pub(super) fn take(scene: &Scene) -> anyhow::Result<String> {
    check(&scene.drive(&scene.task(["Look at the files."]))?)
}

fn check(shown: &Shown) -> anyhow::Result<String> {
    ensure!(shown.stops == ["end_turn"], "the turn ended with {:?}", shown.stops);
    let card = shown.card("call_tour")?;
    let result = card.completed()?;
    ensure!(
        result.contains("three of three"),
        "the result is not in the card: {result}"
    );
    for phase in ["Look", "Sum up"] {
        ensure!(
            card.running.iter().any(|text| text.contains(phase)),
            "the phase {phase} was never shown"
        );
    }
    let states = card.running.iter().collect::<BTreeSet<_>>().len();
    ensure!(
        states >= LEAST_STATES,
        "only {states} states of the run were shown, {LEAST_STATES} are owed"
    );
    let updates = card.running.len();
    Ok(format!(
        "{updates} updates of the running workflow, {states} of them different"
    ))
}

#[cfg(test)]
mod tests {
    use super::super::shown::tests::{END, update};
    use super::*;

    fn live() -> Vec<String> {
        let states = ["Look", "Look 1", "Look 2", "Sum up"];
        let mut lines = vec![update("tool_call", "in_progress", "")];
        lines.extend(states.map(|state| update("tool_call_update", "in_progress", state)));
        lines.push(update("tool_call_update", "completed", "three of three"));
        lines.push(END.to_owned());
        lines
    }

    fn checked(lines: &[String]) -> anyhow::Result<String> {
        let lines = lines.join("\n").replace("\"1\"", "\"call_tour\"");
        check(&Shown::read(&lines)?)
    }

    #[track_caller]
    fn refused(lines: &[String], reason: &str) {
        let error = checked(lines).expect_err("the lines are not as they should be");
        assert!(error.to_string().contains(reason), "{error}");
    }

    #[test]
    fn a_workflow_that_was_shown_live_passes() {
        let seen = checked(&live()).expect("all is as it should be");
        assert_eq!(seen, "4 updates of the running workflow, 4 of them different");
    }

    #[test]
    fn a_card_that_changes_only_at_its_end_is_refused() {
        let mut lines = live();
        lines.drain(2..5);
        refused(&lines, "the phase Sum up was never shown");
        let mut lines = live();
        lines[2] = lines[1].clone();
        lines[3] = lines[1].clone();
        refused(&lines, "states of the run");
    }

    #[test]
    fn a_turn_that_does_not_end_well_is_refused() {
        let mut lines = live();
        lines.pop();
        refused(&lines, "the turn ended with []");
        let mut lines = live();
        lines[5] = update("tool_call_update", "failed", "no luck");
        refused(&lines, "no luck");
    }
}
