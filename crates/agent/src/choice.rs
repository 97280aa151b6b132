//! The model that an agent was told to use.

use std::sync::{Mutex, PoisonError};

/// The model that an agent was told to use, `provider/model`, or none for the default. It may change between two
/// requests.
#[derive(Debug, Default)]
pub struct ModelChoice {
    choice: Mutex<Option<String>>,
}

impl ModelChoice {
    /// This choice.
    pub fn new(choice: Option<String>) -> Self {
        Self {
            choice: Mutex::new(choice),
        }
    }

    /// The choice now.
    pub fn get(&self) -> Option<String> {
        self.choice.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Chooses another model.
    pub fn set(&self, choice: impl Into<String>) {
        *self.choice.lock().unwrap_or_else(PoisonError::into_inner) = Some(choice.into());
    }
}
