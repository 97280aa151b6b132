//! Every layer of the configuration, and what of a project's counts.

use super::{Finding, Patient};
use crate::config::{ConfigError, project_file};
use crate::trust::{Trust, TrustState};
use crate::{permissions, tools};

const MEND: &str = "correct that place; docs/configuration.md lists every setting";

/// Whether each file and variable can be used.
pub(super) fn check(patient: &Patient) -> Vec<Finding> {
    let home = match &patient.home {
        Ok(home) => home,
        Err(error) => return vec![Finding::fail(error.to_string(), "set WEFT_HOME to a folder of yours")],
    };
    let file = home.config.join("config.toml");
    let mut findings = vec![match &patient.broken {
        Some(error) => broken(error),
        None if file.exists() => Finding::ok(file.display().to_string()),
        None => Finding::ok(format!("defaults; {} is not there", file.display())),
    }];
    if let Some(config) = &patient.config {
        if let Err(error) = tools::check(config) {
            findings.push(Finding::fail(format!("{error:#}"), MEND));
        }
        match config.for_project(&patient.project) {
            Ok(_) if project_file(&patient.project).exists() => {
                findings.push(Finding::ok(project_file(&patient.project).display().to_string()));
            }
            Ok(_) => {}
            Err(error) => findings.push(broken(&error)),
        }
    }
    findings
}

fn broken(error: &ConfigError) -> Finding {
    let mend = match error {
        ConfigError::Read { .. } => "make it a file that you can read, or move it away",
        ConfigError::NoHome(_) => "set WEFT_HOME to a folder of yours",
        ConfigError::Place { .. } | ConfigError::Override { .. } => MEND,
    };
    Finding::fail(error.to_string(), mend)
}

/// What of the project's file is left aside.
pub(super) fn trust(patient: &Patient) -> Vec<Finding> {
    let (Ok(home), Some(config)) = (&patient.home, &patient.config) else {
        return Vec::new();
    };
    if let Err(error) = Trust::below(&home.config).list() {
        return vec![Finding::fail(
            error.to_string().lines().next().unwrap_or_default().to_owned(),
            "mend the file or move it away; without it no project is trusted",
        )];
    }
    let Ok(config) = config.for_project(&patient.project) else {
        return Vec::new();
    };
    let ask = format!("weft trust {} shows it and asks", patient.project.display());
    vec![match &config.project {
        TrustState::NotNeeded => Finding::ok("nothing in the project needs it"),
        TrustState::Trusted => Finding::ok("the project is trusted"),
        TrustState::Changed(_) => Finding::warn("the project's settings are not what you trusted", ask),
        TrustState::Untrusted(powers) | TrustState::Unknown { powers, .. } => {
            let count = powers.lines().count();
            Finding::warn(format!("{count} of the project's settings are left aside"), ask)
        }
    }]
}

/// Whether the rules of the configuration and those kept for the project can be read.
pub(super) fn permissions(patient: &Patient) -> Vec<Finding> {
    let Some(config) = patient.effective() else {
        return Vec::new();
    };
    vec![match permissions::open(&config, &patient.project) {
        Ok(permissions) => Finding::ok(format!("mode {}", permissions.mode())),
        Err(error) => Finding::fail(
            format!("{error:#}"),
            "mend that rule, or delete permissions.toml to lose what you answered for projects",
        ),
    }]
}
