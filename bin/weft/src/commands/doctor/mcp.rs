//! Whether MCP servers can be started, and what they offer.

use futures::future::join_all;
use weft_mcp::{Probe, probe};

use super::{Finding, Patient};
use crate::mcp::{Folders, wanted};

/// Every server that a session in the project would have without its editor's, started and ended again.
pub(super) fn check(patient: &Patient) -> Vec<Finding> {
    let Some(config) = patient.effective() else {
        return Vec::new();
    };
    if config.servers.values().all(|server| !server.enabled) {
        return Vec::new();
    }
    let Some(Ok(providers)) = &patient.providers else {
        // Which variables hold keys, and are to be kept from servers, is not known.
        return vec![Finding::warn(
            "no server was tried, since the providers of models cannot be used",
            "mend what stands above, then look again",
        )];
    };
    let folders = Folders {
        cwd: &patient.project,
        additional_directories: &[],
    };
    let probes = wanted(&config, Vec::new(), &folders, &providers.secret_variables).and_then(|wanted| {
        let context = wanted.context;
        let probes = wanted.servers.into_iter().map(|server| probe(server, context.clone()));
        crate::in_runtime(async { Ok(join_all(probes).await) })
    });
    match probes {
        Ok(probes) => probes.iter().flat_map(findings).collect(),
        Err(error) => vec![Finding::fail(
            format!("no server could be tried: {error:#}"),
            "mend that setting; docs/configuration.md lists every one",
        )],
    }
}

fn findings(probe: &Probe) -> Vec<Finding> {
    let name = &probe.name;
    let mut findings = vec![match &probe.outcome {
        Ok(tools) if tools.len() == 1 => Finding::ok(format!("{name}: 1 tool")),
        Ok(tools) => Finding::ok(format!("{name}: {} tools", tools.len())),
        Err(failure) => Finding::fail(format!("{name}: {failure}"), failure.hint()),
    }];
    findings.extend(
        (probe.notes.iter()).map(|note| Finding::warn(note, "update the server, or name what you use in allow_tools")),
    );
    findings
}
