//! What tools have going on behind their calls.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Something that goes on behind the calls of one caller, such as its commands in the background.
pub trait Ongoing: Send + Sync {
    /// What goes on now, a line each, with how to end it. Never waits.
    fn lines(&self) -> Vec<String>;
}

/// What goes on behind the calls of one caller: a value of its [`Memory`](crate::Memory), which tools add to and the
/// caller reads. It keeps nothing alive.
#[derive(Default)]
pub struct Overview {
    sources: Mutex<Vec<Weak<dyn Ongoing>>>,
}

impl Overview {
    /// Takes another source; the same one only once.
    pub fn watch(&self, source: &Arc<dyn Ongoing>) {
        let source = Arc::downgrade(source);
        let mut sources = self.sources.lock().unwrap_or_else(PoisonError::into_inner);
        if !sources.iter().any(|known| Weak::ptr_eq(known, &source)) {
            sources.push(source);
        }
    }

    /// What goes on now, a line each.
    pub fn lines(&self) -> Vec<String> {
        let sources = self.sources.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let lines = sources.iter().filter_map(Weak::upgrade).map(|source| source.lines());
        lines.flatten().collect()
    }
}

impl fmt::Debug for Overview {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Overview").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct One(&'static str);

    impl Ongoing for One {
        fn lines(&self) -> Vec<String> {
            vec![self.0.to_owned()]
        }
    }

    #[test]
    fn each_source_is_told_once_for_as_long_as_it_is_there() {
        let overview = Overview::default();
        let (first, second): (Arc<dyn Ongoing>, Arc<dyn Ongoing>) = (Arc::new(One("a")), Arc::new(One("b")));
        for source in [&first, &second, &first] {
            overview.watch(source);
        }
        assert_eq!(overview.lines(), ["a", "b"]);
        drop(first);
        assert_eq!(overview.lines(), ["b"]);
    }
}
