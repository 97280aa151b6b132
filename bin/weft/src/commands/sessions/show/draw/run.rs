//! A workflow run: its name and status, its phases, and their members.

use unicode_width::UnicodeWidthStr as _;
use weft_types::{MemberView, PhaseGroup, RunStatus, RunView};

use super::{MARGIN, Style};
use crate::terminal::{Palette, clip, one_line};

/// Where a run begins: inside of the card of its call.
const INDENT: usize = MARGIN + 2;

/// One line of a run.
struct Row<'a> {
    /// How deep inside of the run it stands.
    depth: usize,
    /// What its mark says; phases have none.
    mark: Option<RunStatus>,
    /// What it is called; cut where there is no room for it.
    name: &'a str,
    facts: String,
    /// Left out where there is no room for it.
    remark: &'a str,
}

impl Style {
    pub(super) fn run(&self, run: &RunView) -> Vec<String> {
        let members = run.phases.iter().map(|phase| phase.members.len()).sum();
        let mut lines = vec![self.row(&Row {
            depth: 0,
            mark: Some(run.status),
            name: &one_line(&run.name),
            facts: format!(" · {} · {}", count(members), word(run.status)),
            remark: "",
        })];
        if members == 0 {
            lines.push(format!("{:indent$}No members started", "", indent = INDENT + 2));
        }
        for phase in &run.phases {
            lines.push(self.phase(phase));
            lines.extend(phase.members.iter().map(|member| self.member(member)));
        }
        lines
    }

    fn phase(&self, phase: &PhaseGroup) -> String {
        let name = match phase.phase.as_deref() {
            None => "Unphased".to_owned(),
            Some(name) => or(one_line(name), "Empty phase name"),
        };
        self.row(&Row {
            depth: 1,
            mark: None,
            name: &name,
            facts: format!(" · {} · {}", count(phase.members.len()), aggregate(phase)),
            remark: "",
        })
    }

    fn member(&self, member: &MemberView) -> String {
        self.row(&Row {
            depth: 2,
            mark: Some(member.status),
            name: &or(one_line(&member.label), "Empty member name"),
            facts: format!(" · {}", word(member.status)),
            remark: &one_line(member.child_id.as_str()),
        })
    }

    fn row(&self, row: &Row<'_>) -> String {
        let Palette { bold, dim, reset, .. } = self.ink;
        let columns = self.columns.unwrap_or(usize::MAX);
        let indent = INDENT + 2 * row.depth;
        let mark = row.mark.map(|status| self.mark(status));
        let taken = indent + mark.map_or(0, |_| 2) + row.facts.width();
        let name = clip(row.name, columns.saturating_sub(taken).max(1));
        let mut line = " ".repeat(indent);
        if let Some((colour, mark)) = mark {
            line.push_str(&format!("{colour}{mark}{reset} "));
        }
        line.push_str(&match row.depth {
            0 => format!("{bold}{name}{reset}"),
            _ => name.to_string(),
        });
        line.push_str(&row.facts);
        if !row.remark.is_empty() && taken + name.width() + 2 + row.remark.width() <= columns {
            line.push_str(&format!("  {dim}{}{reset}", row.remark));
        }
        line
    }

    fn mark(&self, status: RunStatus) -> (&'static str, char) {
        match status {
            RunStatus::Running => (self.ink.cyan, '▶'),
            RunStatus::Completed => (self.ink.green, '✔'),
            RunStatus::Failed => (self.ink.red, '✘'),
            RunStatus::Cancelled => (self.ink.yellow, '■'),
            RunStatus::Interrupted => (self.ink.yellow, '!'),
        }
    }
}

fn or(name: String, empty: &str) -> String {
    if name.is_empty() { empty.to_owned() } else { name }
}

fn count(members: usize) -> String {
    match members {
        1 => "1 member".to_owned(),
        _ => format!("{members} members"),
    }
}

fn word(status: RunStatus) -> &'static str {
    match status {
        RunStatus::Running => "running",
        RunStatus::Completed => "completed",
        RunStatus::Failed => "failed",
        RunStatus::Cancelled => "cancelled",
        RunStatus::Interrupted => "interrupted",
    }
}

/// How the members of a phase stand, in few words: what did not complete, or that all completed. Beside interrupted
/// members the completed ones are counted as well, for they tell how far it came.
fn aggregate(phase: &PhaseGroup) -> String {
    let of = |status| phase.members.iter().filter(|member| member.status == status).count();
    let told = |status| match of(status) {
        0 => None,
        n => Some(format!("{} {n}", word(status))),
    };
    let others = [
        RunStatus::Running,
        RunStatus::Failed,
        RunStatus::Cancelled,
        RunStatus::Interrupted,
    ];
    let mut parts: Vec<_> = others.into_iter().filter_map(told).collect();
    if parts.is_empty() || of(RunStatus::Interrupted) > 0 {
        parts.splice(0..0, told(RunStatus::Completed));
    }
    parts.join(" · ")
}

#[cfg(test)]
mod tests;
