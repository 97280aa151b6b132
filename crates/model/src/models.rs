//! Finding the model that a session asked for.

use std::fmt;
use std::sync::Arc;

use crate::{Model, ModelError};

/// The models that are configured.
pub trait Models: Send + Sync {
    /// Finds a model by `provider/model`, or the default one.
    ///
    /// Cheap, without I/O: nothing is connected and no credential is checked.
    ///
    /// # Errors
    ///
    /// [`ModelErrorKind::NotConfigured`](crate::ModelErrorKind::NotConfigured) with what to set, when
    /// there is no default or no such provider.
    fn resolve(&self, choice: Option<&str>) -> Result<ResolvedModel, ModelError>;
}

/// A model that was found.
#[derive(Clone)]
pub struct ResolvedModel {
    /// Answers the requests.
    pub model: Arc<dyn Model>,
    /// The provider's name in the configuration.
    pub provider: String,
    /// The model's name within the provider: what [`ModelRequest::model`](crate::ModelRequest::model) is set to.
    pub name: String,
}

impl fmt::Debug for ResolvedModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResolvedModel")
            .field("provider", &self.provider)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
