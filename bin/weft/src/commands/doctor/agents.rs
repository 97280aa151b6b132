//! Whether the agents of others can be started, and what they say that they are.

use futures::future::join_all;
use weft_acp::{Probe, probe};

use super::{Finding, Patient};
use crate::peers;

/// Every agent that is configured, started in the project's folder and ended again.
pub(super) fn check(patient: &Patient) -> Vec<Finding> {
    let Some(config) = patient.effective() else {
        return Vec::new();
    };
    if config.agents.values().all(|agent| !agent.enabled) {
        return Vec::new();
    }
    let Some(Ok(providers)) = &patient.providers else {
        // Which variables hold keys, and are to be kept from agents, is not known.
        return vec![Finding::warn(
            "no agent was tried, since the providers of models cannot be used",
            "mend what stands above, then look again",
        )];
    };
    let probes = peers::configured(&config, &providers.secret_variables).and_then(|agents| {
        let probes = agents.into_iter().map(|agent| probe(agent, &patient.project));
        crate::in_runtime(async { Ok(join_all(probes).await) })
    });
    match probes {
        Ok(probes) => probes.iter().map(finding).collect(),
        Err(error) => vec![Finding::fail(
            format!("no agent could be tried: {error:#}"),
            "mend that setting; docs/configuration.md lists every one",
        )],
    }
}

fn finding(Probe { name, outcome }: &Probe) -> Finding {
    match outcome {
        Ok(about) => Finding::ok(format!("acp:{name} is {about}, and made a session")),
        Err(failure) => Finding::fail(format!("acp:{name} {failure}"), failure.hint()),
    }
}
