//! What a caller lends to the tools it calls.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

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

    /// The map with all values of another one, which replace those of the same types.
    #[must_use]
    pub fn and(mut self, other: &Self) -> Self {
        self.values
            .extend(other.values.iter().map(|(id, value)| (*id, Arc::clone(value))));
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

/// What tools remember of one caller from call to call: one value of each type, made when it is first asked
/// for. Agents lend theirs to every call, so that what is remembered ends with the agent.
#[derive(Default)]
pub struct Memory {
    values: Mutex<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>,
}

impl Memory {
    /// The value of that type.
    pub fn of<T: Default + Send + Sync + 'static>(&self) -> Arc<T> {
        let mut values = self.values.lock().unwrap_or_else(PoisonError::into_inner);
        let value = values
            .entry(TypeId::of::<T>())
            .or_insert_with(|| Arc::new(T::default()));
        Arc::clone(value)
            .downcast()
            .expect("a value is stored under its own type")
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory").finish_non_exhaustive()
    }
}

/// The folder that the caller's relative paths start at and its commands run in; agents lend theirs to
/// every call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkingDirectory(pub PathBuf);

/// Folders beside the working directory in which the caller works as it does there: absolute paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AdditionalDirectories(pub Vec<PathBuf>);

/// Places whose change the user is asked about in every mode that asks at all: absolute paths, with all below them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProtectedPaths(pub Vec<PathBuf>);

/// Folders outside of the session's whose files may be read without a question, such as those that the user put there
/// for agents: absolute paths without links.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadableDirectories(pub Vec<PathBuf>);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_keeps_one_value_of_each_type() {
        let memory = Memory::default();
        memory
            .of::<Mutex<u8>>()
            .lock()
            .expect("nothing panics under it")
            .clone_from(&7);
        assert_eq!(*memory.of::<Mutex<u8>>().lock().expect("nothing panics under it"), 7);
        assert_eq!(*memory.of::<u8>(), 0);
    }
}
