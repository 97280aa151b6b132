//! What a caller lends to the tools it calls.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// Values by type, at most one of each: how a caller hands a tool what this crate knows nothing of, such
/// as the calling agent.
#[derive(Clone, Default)]
pub struct Extensions {
    values: HashMap<TypeId, Arc<dyn Any + Send + Sync>>,
}

impl Extensions {
    /// An empty map.
    pub fn new() -> Self {
        Self::default()
    }

    /// The map with one more value; it replaces one of the same type.
    #[must_use]
    pub fn with<T: Send + Sync + 'static>(mut self, value: Arc<T>) -> Self {
        self.values.insert(TypeId::of::<T>(), value);
        self
    }

    /// The value of that type.
    pub fn get<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        let value = self.values.get(&TypeId::of::<T>())?;
        Arc::clone(value).downcast().ok()
    }
}

impl fmt::Debug for Extensions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Extensions").field("len", &self.values.len()).finish()
    }
}

/// The folder that the caller's relative paths start at and its commands run in; agents lend theirs to
/// every call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkingDirectory(pub PathBuf);
