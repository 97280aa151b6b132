//! Whether workflow scripts can be run, and how far they are shut in.

use weft_workflow_js::{JsEngine, SandboxLevel, SandboxMode, SandboxReport};

use super::{Finding, Patient};
use crate::tools::engine_of;

/// Starts a worker and ends it again.
pub(super) fn check(patient: &Patient) -> Vec<Finding> {
    let Some(config) = patient.effective() else {
        return Vec::new();
    };
    let asked = engine_of(&config);
    let mode = asked.sandbox;
    let report = crate::in_runtime(async { Ok(JsEngine::new(asked)?.try_sandbox()?) });
    vec![match report {
        Ok(report) => shut_in(mode, &report),
        Err(error) => Finding::fail(
            format!("workflow scripts do not run: {error:#}"),
            "mend what it says; where the sandbox is to blame, set workflow.sandbox = \"auto\" or \"off\" in config.toml",
        ),
    }]
}

fn shut_in(mode: SandboxMode, report: &SandboxReport) -> Finding {
    let missing = report.reasons.join("; ");
    match (mode, report.level) {
        (_, SandboxLevel::Full) => Finding::ok("workflow scripts are shut in: no files, no network, no other process"),
        (SandboxMode::Off, _) => Finding::warn(
            "workflow scripts have a process of their own, but no sandbox: it is switched off",
            "set workflow.sandbox = \"auto\" in config.toml",
        ),
        (_, SandboxLevel::Partial) => Finding::warn(
            format!("workflow scripts are shut in in part; missing: {missing}"),
            "a newer kernel holds more; workflow.sandbox = \"required\" runs no script without all of it",
        ),
        (_, SandboxLevel::None) => Finding::warn(
            format!("workflow scripts have a process of their own, but no sandbox; missing: {missing}"),
            "use Linux with seccomp and Landlock, or let something else confine weft, such as a container",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::doctor::Status;

    #[test]
    fn every_state_of_the_workers_sandbox_is_told_with_its_mend() {
        for (mode, level, status, found, mend) in [
            (SandboxMode::Auto, SandboxLevel::Full, Status::Ok, "are shut in:", ""),
            (
                SandboxMode::Required,
                SandboxLevel::Full,
                Status::Ok,
                "are shut in:",
                "",
            ),
            (
                SandboxMode::Auto,
                SandboxLevel::Partial,
                Status::Warn,
                "in part; missing: seccomp",
                "newer kernel",
            ),
            (
                SandboxMode::Auto,
                SandboxLevel::None,
                Status::Warn,
                "no sandbox; missing: seccomp",
                "container",
            ),
            (
                SandboxMode::Off,
                SandboxLevel::None,
                Status::Warn,
                "switched off",
                "workflow.sandbox = \"auto\"",
            ),
        ] {
            let report = SandboxReport {
                level,
                reasons: vec!["seccomp".to_owned()],
            };
            let finding = shut_in(mode, &report);
            assert_eq!(finding.status, status, "{finding:?}");
            assert!(finding.found.contains(found), "{finding:?}");
            assert!(finding.mend.unwrap_or_default().contains(mend), "{mend}");
        }
    }
}
