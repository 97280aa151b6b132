//! Progress of calls, from the server's notifications to those who wait.
//!
//! Notifications arrive on tasks of their own and so in no certain order, and one may overtake the call that wants it.
//! Progress only grows: what is behind the newest is dropped, and what nobody waits for yet is kept for a while.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rmcp::model::ProgressToken;
use tokio::sync::watch;

/// How many calls' progress is kept that nobody waits for.
const UNCLAIMED: usize = 64;
/// How much of a message is shown, in characters.
const MESSAGE_CHARS: usize = 1_000;

/// The last word on how far a call is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Progress {
    pub(crate) done: f64,
    pub(crate) total: Option<f64>,
    pub(crate) message: Option<String>,
}

impl Progress {
    /// What the card shows. The message is a stranger's text: it stands in a line of its own, bounded.
    pub(crate) fn text(&self) -> String {
        let share = match self.total {
            Some(total) if total > 0.0 && self.done.is_finite() => {
                let percent = (100.0 * self.done / total).clamp(0.0, 100.0);
                format!("{percent:.0}% ({} of {})", number(self.done), number(total))
            }
            _ => format!("{} so far", number(self.done)),
        };
        match self
            .message
            .as_deref()
            .map(str::trim)
            .filter(|message| !message.is_empty())
        {
            Some(message) => format!("{share}: {}", bounded(message)),
            None => share,
        }
    }
}

/// A number as a person would write it.
fn number(number: f64) -> String {
    let text = format!("{number:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn bounded(message: &str) -> String {
    let line: String = message.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    match line.char_indices().nth(MESSAGE_CHARS) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}

/// Where notifications meet calls.
#[derive(Debug, Default)]
pub(crate) struct Board {
    entries: Mutex<HashMap<ProgressToken, watch::Sender<Option<Progress>>>>,
}

/// A call's progress; dropping it ends the interest.
#[derive(Debug)]
pub(crate) struct Watch<'a> {
    board: &'a Board,
    token: ProgressToken,
    pub(crate) news: watch::Receiver<Option<Progress>>,
}

impl Board {
    pub(crate) fn watch(&self, token: ProgressToken) -> Watch<'_> {
        let mut entries = self.entries();
        let sender = entries.entry(token.clone()).or_insert_with(|| watch::Sender::new(None));
        let mut news = sender.subscribe();
        if news.borrow().is_some() {
            // It came before anybody waited.
            news.mark_changed();
        }
        Watch {
            board: self,
            token,
            news,
        }
    }

    pub(crate) fn post(&self, token: ProgressToken, progress: Progress) {
        let mut entries = self.entries();
        if !entries.contains_key(&token) {
            let unclaimed = entries.values().filter(|sender| sender.receiver_count() == 0).count();
            if unclaimed >= UNCLAIMED {
                return;
            }
        }
        let sender = entries.entry(token).or_insert_with(|| watch::Sender::new(None));
        sender.send_if_modified(|last| {
            let is_news = last.as_ref().is_none_or(|last| progress.done >= last.done);
            if is_news {
                *last = Some(progress);
            }
            is_news
        });
    }

    fn entries(&self) -> MutexGuard<'_, HashMap<ProgressToken, watch::Sender<Option<Progress>>>> {
        // Every change is a single operation of the map.
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        self.board.entries().remove(&self.token);
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::NumberOrString;

    use super::*;

    fn token(number: i64) -> ProgressToken {
        ProgressToken(NumberOrString::Number(number))
    }

    fn at(done: f64) -> Progress {
        Progress {
            done,
            total: None,
            message: None,
        }
    }

    #[track_caller]
    fn check(done: f64, total: Option<f64>, message: Option<&str>, expected: &str) {
        let message = message.map(str::to_owned);
        assert_eq!(Progress { done, total, message }.text(), expected);
    }

    #[test]
    fn progress_reads_as_share_and_message() {
        check(
            3.0,
            Some(10.0),
            Some(" copying\nfiles "),
            "30% (3 of 10): copying files",
        );
        check(0.25, Some(1.0), None, "25% (0.25 of 1)");
        check(7.0, None, Some(""), "7 so far");
        check(30.0, Some(10.0), None, "100% (30 of 10)");
        check(1.0, Some(0.0), None, "1 so far");
        let long = Progress {
            message: Some("x".repeat(5_000)),
            ..at(1.0)
        };
        assert_eq!(long.text().chars().count(), "1 so far: ".len() + MESSAGE_CHARS + 1);
    }

    #[tokio::test]
    async fn progress_that_comes_before_its_call_is_kept() {
        let board = Board::default();
        board.post(token(1), at(0.5));
        let mut watch = board.watch(token(1));
        watch.news.changed().await.expect("the board is there");
        assert_eq!(*watch.news.borrow_and_update(), Some(at(0.5)));
    }

    #[test]
    fn progress_never_goes_back() {
        let board = Board::default();
        let watch = board.watch(token(1));
        for done in [1.0, 3.0, 2.0] {
            board.post(token(1), at(done));
        }
        assert_eq!(*watch.news.borrow(), Some(at(3.0)));
    }

    #[test]
    fn progress_of_nobodys_calls_is_bounded_and_forgotten_calls_leave_nothing() {
        let board = Board::default();
        drop(board.watch(token(0)));
        assert!(board.entries().is_empty());
        for number in 0..1_000 {
            board.post(token(number), at(1.0));
        }
        assert_eq!(board.entries().len(), UNCLAIMED);
        assert!(board.watch(token(5_000)).news.borrow().is_none());
    }
}
