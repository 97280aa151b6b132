//! What an adapter may ask about the models it is told to use.

use std::fmt;
use std::sync::Arc;

use weft_model::ModelInfo;

/// What is known of the models of one endpoint, by the name that requests carry. By default nothing.
#[derive(Clone)]
pub struct Knowledge(Arc<dyn Fn(&str) -> ModelInfo + Send + Sync>);

impl Knowledge {
    /// Knowledge that `find` has. It is asked before each request, so it may learn meanwhile; it must be quick.
    pub fn new(find: impl Fn(&str) -> ModelInfo + Send + Sync + 'static) -> Self {
        Self(Arc::new(find))
    }

    /// What is known of a model.
    pub(crate) fn of(&self, model: &str) -> ModelInfo {
        (self.0)(model)
    }
}

impl Default for Knowledge {
    fn default() -> Self {
        Self::new(|model| ModelInfo::unknown(model))
    }
}

impl fmt::Debug for Knowledge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Knowledge").finish_non_exhaustive()
    }
}
