//! What agents are told of the user's and the project's own: instructions and skills.

use std::path::Path;

use super::{Finding, Patient};
use crate::config::settings;
use crate::prompt::{Inventory, Sources, Told};

fn inventory(patient: &Patient) -> Option<Inventory> {
    let config = patient.effective()?;
    Some(Inventory::of(&Sources::of(&config, &patient.project, &[])))
}

/// Every file of instructions, with its size, and what is left out.
pub(super) fn instructions(patient: &Patient) -> Vec<Finding> {
    let Some(inventory) = inventory(patient) else {
        return Vec::new();
    };
    let mut findings: Vec<Finding> = inventory.instructions.iter().map(file).collect();
    findings.extend(left_out(&inventory.no_instructions));
    if findings.is_empty() {
        findings.push(Finding::ok("no AGENTS.md of yours or of the project says anything"));
    }
    findings
}

fn file(told: &Told) -> Finding {
    let Told { file, bytes, told } = told;
    if told == bytes {
        return Finding::ok(format!("{file}, {bytes} bytes"));
    }
    Finding::warn(
        format!("{file}, {bytes} bytes, of which {told} are told"),
        format!("shorten it, or raise {}", settings::INSTRUCTIONS_BYTES.key),
    )
}

/// Every skill, with its file and size, and what is left out.
pub(super) fn skills(patient: &Patient) -> Vec<Finding> {
    let Some(inventory) = inventory(patient) else {
        return Vec::new();
    };
    let skills = inventory.skills.iter();
    let mut findings: Vec<Finding> = skills
        .map(|(name, file)| Finding::ok(format!("{name}: {}{}", file.display(), size_of(file))))
        .collect();
    findings.extend(inventory.hidden.iter().map(|(name, file)| {
        let found = format!("{name}: {} does not count, a nearer one has its name", file.display());
        Finding::ok(found)
    }));
    findings.extend(left_out(&inventory.no_skills));
    if findings.is_empty() {
        findings.push(Finding::ok("none of yours or of the project"));
    }
    findings
}

fn size_of(file: &Path) -> String {
    match file.metadata() {
        Ok(found) => format!(", {} bytes", found.len()),
        Err(_) => String::new(),
    }
}

fn left_out(reasons: &[String]) -> impl Iterator<Item = Finding> {
    let mend = "mend what is named, or take it away; nothing else depends on it";
    reasons
        .iter()
        .map(move |reason| Finding::warn(reason.trim_end_matches('.'), mend))
}
