//! Linux: Landlock and seccomp.

use std::os::fd::RawFd;

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetError, RulesetStatus, Scope,
};
use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use rustix::thread::set_no_new_privs;
use seccompiler::{BackendError, BpfProgram, SeccompAction, SeccompFilter, TargetArch};

use super::calls::{Rules, allowed, refused};

/// The newest version of Landlock whose every right is given up.
const ABI_USED: ABI = ABI::V6;
/// `EPERM`.
const NOT_PERMITTED: u32 = 1;

/// Gives up all paths, all ports, and what can be done to processes outside, as far as this kernel knows how.
///
/// # Errors
///
/// What of it is not in force.
pub(super) fn forbid_paths() -> Result<(), String> {
    let missing = |why: String| format!("files and sockets by their names (Landlock): {why}");
    set_no_new_privs(true).map_err(|error| missing(error.to_string()))?;
    // Neither a debugger of the same user nor a core dump gets at it, and its folder in /proc is not its own.
    set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(|error| missing(error.to_string()))?;
    match give_up_paths() {
        // An older kernel knows files only; the rest is a matter of the filter.
        Ok(RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced) => Ok(()),
        Ok(RulesetStatus::NotEnforced) => Err(missing("this kernel has none".to_owned())),
        Err(error) => Err(missing(error.to_string())),
    }
}

fn give_up_paths() -> Result<RulesetStatus, RulesetError> {
    let status = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(ABI_USED))?
        .handle_access(AccessNet::from_all(ABI_USED))?
        .scope(Scope::from_all(ABI_USED))?
        .create()?
        .restrict_self()?;
    Ok(status.ruleset)
}

/// Gives up every system call that is not on the lists, in every thread there is.
///
/// # Errors
///
/// Why it is not in force.
pub(super) fn forbid_calls(gauge: Option<RawFd>) -> Result<(), String> {
    let missing = |error: String| format!("system calls that the engine does without (seccomp): {error}");
    filters(gauge)
        .map_err(|error| error.to_string())
        .and_then(|filters| {
            let apply = |filter: &BpfProgram| seccompiler::apply_filter_all_threads(filter);
            filters.iter().try_for_each(apply).map_err(|error| error.to_string())
        })
        .map_err(missing)
}

/// Where two filters have a say, the stricter counts. The one that refuses comes last, for it refuses another one.
fn filters(gauge: Option<RawFd>) -> Result<[BpfProgram; 2], BackendError> {
    let refused = refused();
    let mut passed: Rules = allowed(gauge)?;
    passed.extend(refused.clone());
    Ok([
        filter(passed, SeccompAction::KillProcess, SeccompAction::Allow)?,
        filter(refused, SeccompAction::Allow, SeccompAction::Errno(NOT_PERMITTED))?,
    ])
}

fn filter(rules: Rules, otherwise: SeccompAction, on_match: SeccompAction) -> Result<BpfProgram, BackendError> {
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    SeccompFilter::new(rules, otherwise, on_match, arch)?.try_into()
}
