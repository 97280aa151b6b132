//! What the card of a call shows while its agent works.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use weft_tools::{InvalidView, ProgressView, ToolExecution, escape_markdown};

use crate::{Activity, ActivityFeed};

/// How many open calls are named.
const SHOWN_CALLS: usize = 5;

/// Shows what one agent does on the card of the call that waits for it.
pub(super) struct Live {
    execution: ToolExecution,
    shown: Mutex<Shown>,
}

#[derive(Default)]
struct Shown {
    activity: Activity,
    /// For how long it had been working at the last heartbeat.
    elapsed: Duration,
    /// What was reported last.
    text: String,
    /// Whether a report came too late or was refused for good.
    over: bool,
}

impl Live {
    pub(super) fn new(execution: ToolExecution) -> Self {
        Self {
            execution,
            shown: Mutex::default(),
        }
    }

    pub(super) fn feed(self: &Arc<Self>) -> ActivityFeed {
        let live = Arc::clone(self);
        ActivityFeed::new(move |activity| live.update(|shown| shown.activity = activity.clone()))
    }

    /// Says for how long the agent has been working.
    pub(super) fn beat(&self, elapsed: Duration) {
        self.update(|shown| shown.elapsed = elapsed);
    }

    /// Reports under the lock, so that the last report shows the last state.
    fn update(&self, change: impl FnOnce(&mut Shown)) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut shown);
        let text = shown.render();
        if shown.over || text.is_empty() || text == shown.text {
            return;
        }
        match self.execution.report_progress(ProgressView::text(&text)) {
            Ok(is_open) => shown.over = !is_open,
            // A newer report will replace this one.
            Err(InvalidView::Backlog { .. }) => {}
            Err(error) => {
                tracing::warn!(call = %self.execution.call_id(), %error, "what an agent does cannot be shown");
                shown.over = true;
            }
        }
        shown.text = text;
    }
}

impl Shown {
    /// List items, in an order that never changes; nothing before there is anything to say.
    fn render(&self) -> String {
        let mut lines = Vec::new();
        let open = self.activity.open();
        for call in open.iter().take(SHOWN_CALLS) {
            let title = escape_markdown(&call.title);
            lines.push(match call.waits {
                true => format!("- Waiting for permission: {title}"),
                false => format!("- Now: {title}"),
            });
        }
        if open.len() > SHOWN_CALLS {
            lines.push(format!("- … and {} more", open.len() - SHOWN_CALLS));
        }
        if let (true, Some((title, failed))) = (open.is_empty(), self.activity.last()) {
            let failed = if failed { " (failed)" } else { "" };
            lines.push(format!("- Last: {}{failed}", escape_markdown(title)));
        }
        if let Some(said) = self.activity.said() {
            lines.push(format!("- Said: {}", escape_markdown(said)));
        }
        if let Some(counts) = self.activity.counts(self.elapsed) {
            lines.push(format!("- So far: {counts}"));
        }
        lines.join("\n")
    }
}
