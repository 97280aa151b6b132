//! What the author of a script should know, collected while it runs.

use crate::text::cut_bytes;

/// Notes, bounded in number and length.
#[derive(Debug, Default)]
pub(super) struct Notes {
    notes: Vec<String>,
    /// Items of `parallel()` and `pipeline()` that threw: how many, and the first.
    swallowed: (u64, Option<String>),
    console_used: bool,
}

const MAX_NOTES: usize = 16;
const MAX_BYTES: usize = 600;

impl Notes {
    pub(super) fn add(&mut self, note: &str) {
        if self.notes.len() < MAX_NOTES {
            self.notes.push(cut_bytes(note, MAX_BYTES));
        }
    }

    /// Whether the next item that throws is to be described. Only the first is, since that runs script.
    pub(super) fn wants_description(&self) -> bool {
        self.swallowed.0 == 0
    }

    /// An item threw and became `null`.
    pub(super) fn swallowed(&mut self, description: Option<String>) {
        self.swallowed.0 += 1;
        if description.is_some() {
            self.swallowed.1 = description;
        }
    }

    pub(super) fn console_used(&mut self) {
        self.console_used = true;
    }

    /// All notes, in order.
    pub(super) fn finish(mut self) -> Vec<String> {
        if let (count, Some(first)) = &self.swallowed {
            let items = if *count == 1 {
                "1 item threw"
            } else {
                &format!("{count} items threw")
            };
            let note = format!("{items} and became null: {first}");
            self.add(&note);
        }
        if self.console_used {
            self.add("console shows nothing: use log()");
        }
        self.notes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_bounded_in_number_and_length() {
        let mut notes = Notes::default();
        for _ in 0..1_000 {
            notes.add(&"x".repeat(10_000));
        }
        let notes = notes.finish();
        assert_eq!(notes.len(), MAX_NOTES);
        assert!(notes.iter().all(|note| note.len() <= MAX_BYTES));
    }

    #[test]
    fn items_that_threw_are_counted_and_only_the_first_is_shown() {
        let mut notes = Notes::default();
        assert!(notes.wants_description());
        notes.swallowed(Some("first".into()));
        assert!(!notes.wants_description());
        notes.swallowed(None);
        notes.console_used();
        assert_eq!(
            notes.finish(),
            [
                "2 items threw and became null: first",
                "console shows nothing: use log()"
            ]
        );
    }
}
