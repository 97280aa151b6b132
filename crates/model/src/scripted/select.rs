//! Finding the reply to a request, and keeping account of it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use weft_types::Message;

use super::play::seen;
use super::script::Reply;
use crate::{ModelError, ModelErrorKind, ModelRequest};

/// How many unknown requests are kept for the report.
const MAX_UNKNOWN: usize = 100;
/// How many replies an error names.
const MAX_NAMED: usize = 20;
/// How much of a prompt an error repeats, in characters.
const MAX_PROMPT: usize = 200;

/// The replies of a script and how often each was used.
#[derive(Debug)]
pub(super) struct Selector {
    replies: Vec<Arc<Reply>>,
    ledger: Mutex<Ledger>,
}

#[derive(Debug)]
struct Ledger {
    /// Uses, one for each reply.
    used: Vec<u64>,
    unknown: Vec<String>,
}

impl Selector {
    pub(super) fn new(replies: Vec<Reply>) -> Self {
        let ledger = Mutex::new(Ledger {
            used: vec![0; replies.len()],
            unknown: Vec::new(),
        });
        Self {
            replies: replies.into_iter().map(Arc::new).collect(),
            ledger,
        }
    }

    /// Finds the reply to a request and counts the use.
    pub(super) fn choose(&self, request: &ModelRequest) -> Result<Arc<Reply>, ModelError> {
        let prompt = last_prompt(request);
        let mut ledger = self.lock();
        let left = |at: usize| self.replies[at].times.is_none_or(|times| ledger.used[at] < times.get());
        let fitting = |at: &usize| left(*at) && self.replies[*at].keys.fit(request, &prompt);
        let fitting: Vec<usize> = (0..self.replies.len()).filter(fitting).collect();
        let most = fitting.iter().map(|at| self.replies[*at].keys.weight()).max();
        let best: Vec<usize> = fitting
            .into_iter()
            .filter(|at| Some(self.replies[*at].keys.weight()) == most)
            .collect();
        if let [only] = best[..] {
            ledger.used[only] += 1;
            return Ok(Arc::clone(&self.replies[only]));
        }
        let asked = describe(request, &prompt);
        let message = if best.is_empty() {
            format!(
                "no scripted reply for {asked}; {}",
                self.list(&ledger, 0..self.replies.len())
            )
        } else {
            let those = self.list(&ledger, best);
            format!("several scripted replies fit equally well for {asked}; add a key to one of them: {those}")
        };
        ledger.record(&message);
        Err(ModelError::new(ModelErrorKind::Scripted, message))
    }

    /// Records a request that a reply could not answer after all.
    pub(super) fn failed(&self, reply: &Reply, why: &str) -> ModelError {
        let message = format!("{} cannot answer: {why}", reply.place);
        self.lock().record(&message);
        ModelError::new(ModelErrorKind::Scripted, message)
    }

    pub(super) fn unused(&self) -> Vec<String> {
        let ledger = self.lock();
        let short = |at: &usize| ledger.used[*at] < self.replies[*at].times.map_or(1, u64::from);
        (0..self.replies.len())
            .filter(short)
            .map(|at| self.line(&ledger, at))
            .collect()
    }

    pub(super) fn unknown(&self) -> Vec<String> {
        self.lock().unknown.clone()
    }

    fn list(&self, ledger: &Ledger, which: impl IntoIterator<Item = usize>) -> String {
        let mut lines: Vec<String> = which.into_iter().map(|at| self.line(ledger, at)).collect();
        let more = lines.len().saturating_sub(MAX_NAMED);
        lines.truncate(MAX_NAMED);
        if more > 0 {
            lines.push(format!("and {more} more"));
        }
        lines.join("; ")
    }

    fn line(&self, ledger: &Ledger, at: usize) -> String {
        let reply = &self.replies[at];
        let times = reply
            .times
            .map_or_else(|| "any number of".to_owned(), |times| times.to_string());
        format!(
            "{} for {}, used {} of {times} times",
            reply.place, reply.keys, ledger.used[at]
        )
    }

    fn lock(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ledger {
    fn record(&mut self, message: &str) {
        if self.unknown.len() < MAX_UNKNOWN {
            self.unknown.push(message.to_owned());
        }
    }
}

/// The text of the last user message; empty if there is none.
fn last_prompt(request: &ModelRequest) -> String {
    let last = request.messages.iter().rev().find_map(|message| match message {
        Message::User { content } => Some(seen(content)),
        _ => None,
    });
    last.unwrap_or_default()
}

fn describe(request: &ModelRequest, prompt: &str) -> String {
    let origin = &request.origin;
    let label = origin
        .label
        .as_ref()
        .map_or_else(String::new, |label| format!("label \"{label}\", "));
    let cut = prompt
        .char_indices()
        .nth(MAX_PROMPT)
        .map_or(prompt, |(at, _)| &prompt[..at]);
    let more = if cut.len() < prompt.len() { "…" } else { "" };
    let (role, turn, step) = (origin.role, origin.turn, origin.step);
    format!("role {role}, {label}turn {turn}, step {step}, prompt \"{cut}{more}\"")
}
