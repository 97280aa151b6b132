//! What the card of a running workflow shows.

use std::borrow::Cow;
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use weft_agent::short_number;
use weft_tools::{InvalidView, ProgressView, ToolExecution, escape_markdown as escape};
use weft_types::ContentBlock;
use weft_workflow::{DisplayLimits, PhaseCounts, Snapshot, cut_for_display};

use crate::doings::Now;

/// The card's title.
pub(crate) fn title_of(name: Option<&str>, limits: DisplayLimits) -> String {
    match name {
        Some(name) => format!("workflow: {}", cut_for_display(name, limits.text_chars())),
        None => "workflow".to_owned(),
    }
}

/// The most bytes that the text of a card has: a client gets it again with every change.
const CARD_BYTES: usize = 8 << 10;
/// How many stalled members are named.
const SHOWN_STALLED: usize = 5;
/// How many phases are shown.
const SHOWN_PHASES: usize = 12;

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

/// How much of a snapshot is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Detail {
    Full,
    WithoutRows,
    WithoutLabels,
    CountsOnly,
}

impl Renderer {
    /// Reports a snapshot, with less detail if all of it is too much for a card or for the registry's limits. False
    /// means that it was too late.
    pub(crate) fn report(
        &self,
        execution: &ToolExecution,
        snapshot: &Snapshot,
        now: &Now,
    ) -> Result<bool, InvalidView> {
        let mut refused = None;
        for view in self.views(snapshot, now) {
            match execution.report_progress(view) {
                Err(error @ (InvalidView::TitleTooLong { .. } | InvalidView::ContentTooLong { .. })) => {
                    refused = Some(error);
                }
                other => return other,
            }
        }
        Err(refused.expect("the last one is always tried, and it was refused"))
    }

    /// What may be shown, each with less detail than the one before. All but the last fit on a card.
    fn views(&self, snapshot: &Snapshot, now: &Now) -> impl Iterator<Item = ProgressView> {
        let details = [
            Detail::Full,
            Detail::WithoutRows,
            Detail::WithoutLabels,
            Detail::CountsOnly,
        ];
        details.into_iter().filter_map(move |detail| {
            let text = self.text(snapshot, now, detail);
            let fits = text.len() <= CARD_BYTES || detail == Detail::CountsOnly;
            fits.then(|| ProgressView {
                title: self.title(snapshot).filter(|_| detail != Detail::CountsOnly),
                content: vec![ContentBlock::text(text)],
            })
        })
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
    fn text(&self, snapshot: &Snapshot, now: &Now, detail: Detail) -> String {
        let mut lines = Lines::default();
        if detail != Detail::CountsOnly {
            let texts = [("Phase", snapshot.phase()), ("Latest", snapshot.log())];
            for (what, text) in texts {
                if let Some(text) = text.filter(|text| !text.is_empty()) {
                    lines.item(&format!("{what}: {}", escape(text)));
                }
            }
        }
        if !snapshot.active().is_empty() {
            lines.item(&self.running(snapshot, detail));
        }
        if detail == Detail::Full {
            self.doings(&mut lines, snapshot, now);
        }
        if matches!(detail, Detail::Full | Detail::WithoutRows) {
            stalled(&mut lines, snapshot, now);
        }
        let (completed, failed, cancelled) = (snapshot.completed(), snapshot.failed(), snapshot.cancelled());
        let answered = match self.answered.load(Ordering::Acquire) {
            0 => String::new(),
            answered => format!(" ({answered} answered in an earlier run)"),
        };
        lines.item(&format!(
            "Done: {completed} completed{answered}, {failed} failed, {cancelled} cancelled"
        ));
        if detail != Detail::CountsOnly {
            phases(&mut lines, snapshot);
        }
        if now.tokens > 0 {
            lines.item(&format!("Used: {} tokens", short_number(now.tokens)));
        }
        if detail != Detail::CountsOnly {
            lines.item(&format!("Run id: {}", escape(snapshot.run_id().as_str())));
        }
        lines.0
    }

    /// What each of the members does that are named, if there is anything to tell, below the line that names them.
    fn doings(&self, lines: &mut Lines, snapshot: &Snapshot, now: &Now) {
        let named = snapshot.active().iter().take(self.shown_members);
        for (seq, label) in named {
            if let Some(row) = now.rows.get(seq) {
                lines.below(&escape(&format!("{}: {row}", name_of(*seq, label))));
            }
        }
    }

    fn running(&self, snapshot: &Snapshot, detail: Detail) -> String {
        let active = snapshot.active();
        let count = active.len();
        if !matches!(detail, Detail::Full | Detail::WithoutRows) {
            return format!("Running ({count})");
        }
        let mut labels = String::new();
        for (seq, label) in active.iter().take(self.shown_members) {
            if !labels.is_empty() {
                labels.push_str(", ");
            }
            labels.push_str(&name_of(*seq, label));
        }
        let mut line = format!("Running ({count}): {}", escape(&labels));
        if count > self.shown_members {
            write!(line, ", … and {} more", count - self.shown_members).expect("a string takes everything");
        }
        line
    }
}

/// List items.
#[derive(Default)]
struct Lines(String);

impl Lines {
    fn item(&mut self, text: &str) {
        self.line("- ", text);
    }

    fn below(&mut self, text: &str) {
        self.line("  - ", text);
    }

    fn line(&mut self, mark: &str, text: &str) {
        if !self.0.is_empty() {
            self.0.push('\n');
        }
        self.0.push_str(mark);
        self.0.push_str(text);
    }
}

/// The members in which nothing has happened for long, wherever they stand in the list.
fn stalled(lines: &mut Lines, snapshot: &Snapshot, now: &Now) {
    let silent = |(seq, label): &'_ (u64, String)| {
        let silence = now.stalled.get(seq)?;
        Some(format!("{}: {silence}", name_of(*seq, label)))
    };
    let mut all = snapshot.active().iter().filter_map(silent).peekable();
    if all.peek().is_none() {
        return;
    }
    lines.item(&format!("Stalled ({})", now.stalled.len()));
    for member in all.by_ref().take(SHOWN_STALLED) {
        lines.below(&escape(&member));
    }
    let more = all.count();
    if more > 0 {
        lines.below(&format!("… and {more} more"));
    }
}

/// How the members of each phase stand, if there is more than one; the last ones if there are many.
fn phases(lines: &mut Lines, snapshot: &Snapshot) {
    let phases = snapshot.phases();
    if phases.len() < 2 {
        return;
    }
    let (earlier, shown) = phases.split_at(phases.len().saturating_sub(SHOWN_PHASES));
    let mut sum = snapshot.earlier_phases().clone();
    for phase in earlier {
        sum.running += phase.running;
        sum.completed += phase.completed;
        sum.failed += phase.failed;
        sum.cancelled += phase.cancelled;
    }
    let sum = counts_of(&sum);
    if !sum.is_empty() {
        lines.below(&format!("earlier phases: {sum}"));
    }
    for phase in shown {
        let title = match phase.title.as_deref() {
            None => "no phase".into(),
            Some("") => "(empty)".into(),
            Some(title) => escape(title),
        };
        lines.below(&format!("{title}: {}", counts_of(phase)));
    }
}

/// Such as `2 running, 7 completed`.
fn counts_of(phase: &PhaseCounts) -> String {
    let counts = [
        (phase.running, "running"),
        (phase.completed, "completed"),
        (phase.failed, "failed"),
        (phase.cancelled, "cancelled"),
    ];
    let counts: Vec<String> = (counts.iter().filter(|(count, _)| *count > 0))
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    counts.join(", ")
}

fn name_of(seq: u64, label: &str) -> Cow<'_, str> {
    match label {
        "" => format!("#{seq}").into(),
        label => label.into(),
    }
}

#[cfg(test)]
mod tests;
