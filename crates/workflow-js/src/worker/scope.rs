//! One script among those of a run: the run's own, or a saved one that it runs.

use std::cell::RefCell;

/// Between a saved workflow's name and a phase of it.
const BELOW: &str = " › ";

/// What belongs to one script of a run: its phase, and how its phases are told from those of the others.
#[derive(Debug, Default)]
pub(super) struct Scope {
    /// The saved workflow's name; absent for the run's own script.
    name: Option<String>,
    /// The title of the phase that calls without one of their own belong to.
    pub(super) phase: RefCell<Option<String>>,
}

impl Scope {
    /// The scope of a saved workflow. Until it names a phase, its calls belong to one with its name.
    pub(super) fn saved(name: String) -> Self {
        Self {
            phase: RefCell::new(Some(name.clone())),
            name: Some(name),
        }
    }

    /// A phase as the run tells it.
    pub(super) fn title(&self, phase: &str) -> String {
        match &self.name {
            Some(name) => format!("{name}{BELOW}{phase}"),
            None => phase.to_owned(),
        }
    }
}
