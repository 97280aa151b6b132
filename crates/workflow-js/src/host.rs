//! The host's side: starting runs and seeing them through.

use std::fmt;
use std::sync::Arc;

use weft_workflow::{StartError, StartErrorCode, StartRequest, WorkflowEngine, WorkflowObservers, WorkflowRun};

use crate::{ConfigError, EngineConfig};

/// The engine. Dropping it leaves runs that were started alone; their holders own them.
pub struct JsEngine {
    config: Arc<EngineConfig>,
    observers: WorkflowObservers,
}

impl JsEngine {
    /// An engine with these settings.
    ///
    /// # Errors
    ///
    /// A setting is out of range.
    pub fn new(config: EngineConfig) -> Result<Self, ConfigError> {
        config.validate()?;
        Ok(Self {
            config: Arc::new(config),
            observers: WorkflowObservers::new("workflow"),
        })
    }
}

impl WorkflowEngine for JsEngine {
    fn start(&self, _request: StartRequest) -> Result<Arc<dyn WorkflowRun>, StartError> {
        Err(StartError::new(StartErrorCode::Worker, "the engine is not finished"))
    }

    fn observations(&self) -> &WorkflowObservers {
        &self.observers
    }
}

impl fmt::Debug for JsEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JsEngine")
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}
