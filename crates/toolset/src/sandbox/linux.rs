//! Linux: Landlock for files, seccomp for the network.

use std::collections::BTreeMap;
use std::path::PathBuf;

use landlock::{
    ABI, AccessFs, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr, RulesetCreatedAttr,
    RulesetError, RulesetStatus,
};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule, TargetArch,
};

use super::{Level, Report, SandboxNetwork};

/// The first version with every way of changing a file: 1 lacks renames between folders, 2 truncation.
const COMPLETE: ABI = ABI::V3;

/// The number of `socket(2)`.
const SOCKET: i64 = if cfg!(target_arch = "x86_64") { 41 } else { 198 };
/// The number of `io_uring_setup(2)`, by which sockets can be had without `socket(2)`.
const IO_URING_SETUP: i64 = 425;
/// What numbers of the same calls carry in the x32 convention.
const X32: i64 = 0x4000_0000;
/// Local sockets and what programs ask the kernel about its network by.
const LOCAL_FAMILIES: [u64; 2] = [1, 16];
/// `EPERM`.
const NOT_PERMITTED: u32 = 1;

pub(super) fn report(network: SandboxNetwork) -> Report {
    let mut reasons = Vec::new();
    let has_some = is_supported(ABI::V1);
    if !has_some {
        reasons.push("this kernel does not keep commands from writing elsewhere (no Landlock)".to_owned());
    } else if !is_supported(COMPLETE) {
        reasons.push("this kernel is too old to keep commands from truncating files elsewhere (Linux 6.2)".to_owned());
    }
    let mut denies_network = false;
    if network == SandboxNetwork::Deny {
        match filter() {
            Ok(_) => denies_network = true,
            Err(error) => reasons.push(format!("the network cannot be denied on this machine: {error}")),
        }
    }
    let level = match (has_some || denies_network, reasons.is_empty()) {
        (false, _) => Level::None,
        (true, false) => Level::Partial,
        (true, true) => Level::Full,
    };
    Report { level, reasons }
}

/// Whether the kernel knows all rights of that version. Makes rules and applies none.
fn is_supported(abi: ABI) -> bool {
    let rules = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(changes(abi))
        .and_then(Ruleset::create);
    rules.is_ok()
}

/// The ways of changing what is on the disk. Making devices is among them, using those that exist is not.
fn changes(abi: ABI) -> BitFlags<AccessFs> {
    AccessFs::from_write(abi)
}

/// Gives up, for this process and all that it starts, writing anywhere else and, if told so, the network.
pub(super) fn enter(network: SandboxNetwork, writable: &[PathBuf]) -> Result<(), String> {
    restrict_files(writable).map_err(|error| error.to_string())?;
    if network == SandboxNetwork::Deny {
        let filter = filter()?;
        seccompiler::apply_filter(&filter).map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn restrict_files(writable: &[PathBuf]) -> Result<RulesetStatus, RulesetError> {
    let changes = changes(COMPLETE);
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(changes)?
        .create()?;
    for place in writable {
        // What has gone meanwhile needs no rule.
        let Ok(opened) = PathFd::new(place) else { continue };
        let is_folder = std::fs::metadata(place).is_ok_and(|found| found.is_dir());
        let allowed = if is_folder {
            changes
        } else {
            changes & AccessFs::from_file(COMPLETE)
        };
        rules = rules.add_rule(PathBeneath::new(opened, allowed))?;
    }
    Ok(rules.restrict_self()?.ruleset)
}

/// Lets everything pass but sockets of other families than the local ones.
fn filter() -> Result<BpfProgram, String> {
    let told = |error: seccompiler::BackendError| error.to_string();
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(told)?;
    let is_other =
        |family: &u64| SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, *family).map_err(told);
    let conditions = LOCAL_FAMILIES.iter().map(is_other).collect::<Result<Vec<_>, _>>()?;
    let foreign = SeccompRule::new(conditions).map_err(told)?;
    let rules = BTreeMap::from([
        (SOCKET, vec![foreign]),
        (IO_URING_SETUP, Vec::new()),
        (SOCKET | X32, Vec::new()),
        (IO_URING_SETUP | X32, Vec::new()),
    ]);
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Errno(NOT_PERMITTED), arch);
    filter.and_then(BpfProgram::try_from).map_err(told)
}
