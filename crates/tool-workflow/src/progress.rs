//! What the card of a running workflow shows.

use std::borrow::Cow;
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use weft_tools::{InvalidView, ProgressView, ToolExecution, escape_markdown as escape};
use weft_types::ContentBlock;
use weft_workflow::{DisplayLimits, Snapshot, cut_for_display};

use crate::doings::Rows;

/// The card's title.
pub(crate) fn title_of(name: Option<&str>, limits: DisplayLimits) -> String {
    match name {
        Some(name) => format!("workflow: {}", cut_for_display(name, limits.text_chars())),
        None => "workflow".to_owned(),
    }
}

/// Renders snapshots for the card of one call.
#[derive(Clone, Debug)]
pub(crate) struct Renderer {
    /// The title that the card has from the call's arguments.
    pub(crate) call_title: String,
    /// How many running members are named.
    pub(crate) shown_members: usize,
    /// How many calls were answered from an earlier run.
    pub(crate) answered: Arc<AtomicU64>,
}

/// How much of a snapshot is shown, for registries whose limits are small.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Detail {
    Full,
    WithoutRows,
    WithoutLabels,
    CountsOnly,
}

impl Renderer {
    /// Reports a snapshot, with less detail if the registry's limits are too small for all of it. False means that
    /// it was too late.
    pub(crate) fn report(
        &self,
        execution: &ToolExecution,
        snapshot: &Snapshot,
        rows: &Rows,
    ) -> Result<bool, InvalidView> {
        let mut refused = None;
        for detail in [
            Detail::Full,
            Detail::WithoutRows,
            Detail::WithoutLabels,
            Detail::CountsOnly,
        ] {
            match execution.report_progress(self.view(snapshot, rows, detail)) {
                Err(error @ (InvalidView::TitleTooLong { .. } | InvalidView::ContentTooLong { .. })) => {
                    refused = Some(error);
                }
                other => return other,
            }
        }
        Err(refused.expect("every attempt was refused"))
    }

    fn view(&self, snapshot: &Snapshot, rows: &Rows, detail: Detail) -> ProgressView {
        ProgressView {
            title: self.title(snapshot).filter(|_| detail != Detail::CountsOnly),
            content: vec![ContentBlock::text(self.text(snapshot, rows, detail))],
        }
    }

    /// A title, if it is another than the call's.
    fn title(&self, snapshot: &Snapshot) -> Option<String> {
        let name = snapshot.name();
        let title = match snapshot.phase() {
            Some(phase) if !phase.is_empty() => format!("workflow: {name} – {phase}"),
            _ => format!("workflow: {name}"),
        };
        (title != self.call_title).then_some(title)
    }

    /// List items, in an order that never changes.
    fn text(&self, snapshot: &Snapshot, rows: &Rows, detail: Detail) -> String {
        let mut lines = String::new();
        if detail != Detail::CountsOnly {
            let texts = [("Phase", snapshot.phase()), ("Latest", snapshot.log())];
            for (what, text) in texts {
                if let Some(text) = text.filter(|text| !text.is_empty()) {
                    writeln!(lines, "- {what}: {}", escape(text)).expect("a string takes everything");
                }
            }
        }
        if !snapshot.active().is_empty() {
            lines.push_str(&self.running(snapshot, detail));
            lines.push('\n');
        }
        if detail == Detail::Full {
            self.doings(&mut lines, snapshot, rows);
        }
        let (completed, failed, cancelled) = (snapshot.completed(), snapshot.failed(), snapshot.cancelled());
        let answered = match self.answered.load(Ordering::Acquire) {
            0 => String::new(),
            answered => format!(" ({answered} answered in an earlier run)"),
        };
        write!(
            lines,
            "- Done: {completed} completed{answered}, {failed} failed, {cancelled} cancelled"
        )
        .expect("a string takes everything");
        if detail != Detail::CountsOnly {
            write!(lines, "\n- Run id: {}", escape(snapshot.run_id().as_str())).expect("a string takes everything");
        }
        lines
    }

    /// What each of the members does that are named, if there is anything to tell, below the line that names them.
    fn doings(&self, lines: &mut String, snapshot: &Snapshot, rows: &Rows) {
        let named = snapshot.active().iter().take(self.shown_members);
        for (seq, label) in named {
            if let Some(row) = rows.get(seq) {
                let line = escape(&format!("{}: {row}", name_of(*seq, label)));
                writeln!(lines, "  - {line}").expect("a string takes everything");
            }
        }
    }

    fn running(&self, snapshot: &Snapshot, detail: Detail) -> String {
        let active = snapshot.active();
        let count = active.len();
        if !matches!(detail, Detail::Full | Detail::WithoutRows) {
            return format!("- Running ({count})");
        }
        let mut labels = String::new();
        for (seq, label) in active.iter().take(self.shown_members) {
            if !labels.is_empty() {
                labels.push_str(", ");
            }
            labels.push_str(&name_of(*seq, label));
        }
        let mut line = format!("- Running ({count}): {}", escape(&labels));
        if count > self.shown_members {
            write!(line, ", … and {} more", count - self.shown_members).expect("a string takes everything");
        }
        line
    }
}

fn name_of(seq: u64, label: &str) -> Cow<'_, str> {
    match label {
        "" => format!("#{seq}").into(),
        label => label.into(),
    }
}

#[cfg(test)]
mod tests;
