//! How far workers are shut in: what is asked for, and what is in force.

use serde::{Deserialize, Serialize};

/// When the kernel's own means shut a worker in. Its limits, its empty environment and its own process are always
/// there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum SandboxMode {
    /// As far as this system has them.
    #[default]
    Auto,
    /// Always: where the sandbox is not [`SandboxLevel::Full`], no run is started.
    Required,
    /// Never.
    Off,
}

/// What of the sandbox a worker has entered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxReport {
    /// How much.
    pub level: SandboxLevel,
    /// What is missing; empty exactly if all is in force.
    pub reasons: Vec<String>,
}

/// How much of the sandbox is in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SandboxLevel {
    /// Nothing that is there is out of reach but through the worker's limits.
    None,
    /// Something is out of reach.
    Partial,
    /// Files, the network, other processes and all calls to the system that the engine does without are out of reach.
    Full,
}

impl SandboxReport {
    /// A report on the two layers, of which each may be missing for a reason.
    pub(crate) fn of(layers: [Result<(), String>; 2]) -> Self {
        let in_force = layers.iter().filter(|layer| layer.is_ok()).count();
        Self {
            level: match in_force {
                0 => SandboxLevel::None,
                1 => SandboxLevel::Partial,
                _ => SandboxLevel::Full,
            },
            reasons: layers.into_iter().filter_map(Result::err).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_as_good_as_what_is_in_force() {
        let missing = |why: &str| Err(why.to_owned());
        let cases = [
            ([Ok(()), Ok(())], SandboxLevel::Full, vec![]),
            ([missing("a"), Ok(())], SandboxLevel::Partial, vec!["a"]),
            ([Ok(()), missing("b")], SandboxLevel::Partial, vec!["b"]),
            ([missing("a"), missing("b")], SandboxLevel::None, vec!["a", "b"]),
        ];
        for (layers, level, reasons) in cases {
            let report = SandboxReport::of(layers);
            assert_eq!(
                (report.level, report.reasons),
                (level, reasons.into_iter().map(str::to_owned).collect())
            );
        }
    }
}
