//! What T-check remembers of one session.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Rule;
use super::card::CardState;

/// What was found wrong, not yet tied to a row.
pub(super) type Found = (Rule, String);

/// Updates about the session itself, which may come at any time while it is open.
const FREE: [&str; 5] = [
    "available_commands_update",
    "current_mode_update",
    "config_option_update",
    "session_info_update",
    "notice",
];

#[derive(Default)]
pub(super) struct Session {
    pub(super) opened: bool,
    closed: bool,
    /// Prompts that are not answered yet; more than one only until the agent refuses the others.
    pub(super) prompts: usize,
    /// Loads that are not answered yet.
    loads: usize,
    /// Resumes that are not answered yet.
    resumes: usize,
    cards: BTreeMap<String, CardState>,
    /// The cards from before the load or resume that is under way.
    before: BTreeMap<String, CardState>,
}

impl Session {
    pub(super) fn is_known(&self) -> bool {
        self.opened || self.closed || self.loads + self.resumes > 0
    }

    /// A load names the session, and the replay starts its cards anew; unless a turn is running, which the agent must
    /// leave as it is.
    pub(super) fn begin_load(&mut self) {
        self.loads += 1;
        self.reopen();
    }

    /// A resume names the session as a load does, and replays nothing.
    pub(super) fn begin_resume(&mut self) {
        self.resumes += 1;
        self.reopen();
    }

    fn reopen(&mut self) {
        let is_first = self.loads + self.resumes == 1;
        if is_first && self.prompts == 0 {
            self.closed = false;
            self.before = std::mem::take(&mut self.cards);
        }
    }

    /// A load or resume was answered. One that was refused changes nothing.
    fn reopened(&mut self, succeeded: bool) {
        self.opened |= succeeded;
        let before = std::mem::take(&mut self.before);
        if !succeeded && self.cards.is_empty() {
            self.cards = before;
        }
    }

    pub(super) fn end_load(&mut self, succeeded: bool) -> Vec<Found> {
        self.loads = self.loads.saturating_sub(1);
        self.reopened(succeeded);
        match succeeded && self.prompts == 0 {
            true => self.open_cards("its load was answered"),
            false => Vec::new(),
        }
    }

    pub(super) fn end_resume(&mut self, succeeded: bool) {
        self.resumes = self.resumes.saturating_sub(1);
        self.reopened(succeeded);
    }

    pub(super) fn end_prompt(&mut self) -> Vec<Found> {
        self.prompts = self.prompts.saturating_sub(1);
        if self.prompts > 0 {
            return Vec::new();
        }
        self.open_cards("its prompt was answered")
    }

    pub(super) fn close(&mut self) -> Vec<Found> {
        self.opened = false;
        self.closed = true;
        self.open_cards("its session was closed")
    }

    fn open_cards(&self, when: &str) -> Vec<Found> {
        let open = self.cards.iter().filter(|(_, card)| !card.is_final());
        open.map(|(call, _)| (Rule::CardFinal, format!("card {call} was still open when {when}")))
            .collect()
    }

    pub(super) fn update(&mut self, update: &Value) -> Vec<Found> {
        let kind = update["sessionUpdate"].as_str().unwrap_or_default();
        if self.closed {
            return vec![after_close(kind)];
        }
        if FREE.contains(&kind) {
            return Vec::new();
        }
        let mut found: Vec<_> = self.turn_bound(kind).into_iter().collect();
        if self.loads > 0 && self.prompts == 0 && kind == "tool_call_update" && update["status"] == "in_progress" {
            found.push((Rule::ReplayFinal, "a load shows the progress of a card".to_owned()));
        }
        if kind == "tool_call" || kind == "tool_call_update" {
            found.extend(self.card(kind, update));
        }
        found
    }

    /// Whether something that belongs to a turn may come now.
    pub(super) fn turn_bound(&self, what: &str) -> Option<Found> {
        if self.closed {
            return Some(after_close(what));
        }
        let outside = self.prompts == 0 && self.loads == 0;
        outside.then(|| (Rule::WithinPrompt, format!("{what} came while no prompt was open")))
    }

    fn card(&mut self, kind: &str, update: &Value) -> Vec<Found> {
        let Some(call) = update["toolCallId"].as_str() else {
            return vec![(Rule::CardOrder, format!("{kind} names no call"))];
        };
        let found = match (kind, self.cards.get_mut(call)) {
            ("tool_call", None) => {
                let (card, found) = CardState::open(update);
                self.cards.insert(call.to_owned(), card);
                found
            }
            ("tool_call", Some(_)) => vec![(Rule::CardOrder, "tool_call came twice".to_owned())],
            (_, None) => vec![(Rule::CardOrder, "tool_call_update came before tool_call".to_owned())],
            (_, Some(card)) => card.update(update),
        };
        let tie = |(rule, message)| (rule, format!("card {call}: {message}"));
        found.into_iter().map(tie).collect()
    }
}

fn after_close(what: &str) -> Found {
    (
        Rule::NothingAfterClose,
        format!("{what} came after the session had been closed"),
    )
}
