//! Saved workflows that the script runs by name.

use std::sync::Arc;

use tokio::task::JoinError;
use weft_workflow::SavedWorkflows;

use super::Owner;
use crate::EngineConfig;
use crate::host::connection::Connection;
use crate::host::prepare::{Prepared, file_name, read_script};
use crate::protocol::{Load, Saved, ToWorker};
use crate::worker::MAX_NAME_BYTES;

impl Owner {
    /// Begins to look a saved workflow up, on a thread that may block.
    ///
    /// # Errors
    ///
    /// A worker that keeps the rules would not have asked.
    pub(super) fn look_up_saved(&mut self, name: String) -> Result<(), String> {
        if !self.lookups.is_empty() {
            return Err("it asked for two saved workflows at once".to_owned());
        }
        if name.len() > MAX_NAME_BYTES {
            return Err("the name of a saved workflow is longer than allowed".to_owned());
        }
        let (saved, config) = (self.saved.clone(), Arc::clone(&self.config));
        self.lookups
            .spawn_blocking(move || look_up(saved.as_deref(), &config, &name));
        Ok(())
    }

    pub(super) fn answer_saved(found: Result<Saved, JoinError>, worker: &Connection) {
        let found =
            found.unwrap_or_else(|error| Saved::Refused(format!("the saved workflow could not be read: {error}")));
        if let Err(error) = worker.send(&ToWorker::Saved(found)) {
            // An error fits.
            drop(worker.send(&ToWorker::Saved(Saved::Refused(error.to_string()))));
        }
    }
}

fn look_up(saved: Option<&dyn SavedWorkflows>, config: &EngineConfig, name: &str) -> Saved {
    let script = match saved.map(|saved| saved.script(name)) {
        None => return Saved::Refused("there are no saved workflows here".to_owned()),
        Some(Err(error)) => return Saved::Refused(error.to_string()),
        Some(Ok(script)) => script,
    };
    match read_script(config, &script, None) {
        // The name that the script gives itself is not what it was asked for by.
        Ok(Prepared { body, .. }) => Saved::Script(Load {
            file: file_name(name),
            body,
        }),
        Err(error) => Saved::Refused(format!(
            "the saved workflow {name:?} cannot be used: {}",
            error.message()
        )),
    }
}
