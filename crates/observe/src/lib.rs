//! Contained, ordered, scoped observer lists.
//!
//! [`Observers`] holds callbacks; [`Observers::emit`] calls those that fit, in the order in which they
//! subscribed, on the caller's thread. An observer can never fail the observed: an error is logged, a
//! panic is caught and logged, and the next observer is called all the same. Dropping the
//! [`Subscription`] unsubscribes.
//!
//! The list knows nothing of what it carries. It keeps no queue: who needs delivery order across
//! threads, or re-entrant emission in order, serialises the calls of `emit` himself.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// What an observer may fail with.
pub type ObserverError = Box<dyn std::error::Error + Send + Sync>;

type Callback<T> = Box<dyn Fn(&T) -> Result<(), ObserverError> + Send + Sync>;

struct Entry<S, T> {
    id: u64,
    scope: Option<S>,
    live: Arc<AtomicBool>,
    call: Callback<T>,
}

struct List<S, T> {
    next: u64,
    entries: Arc<Vec<Arc<Entry<S, T>>>>,
}

/// A list of observers of values `T`, each of which sees one scope `S` or all of them.
///
/// Clones share one list.
pub struct Observers<S, T> {
    name: &'static str,
    list: Arc<Mutex<List<S, T>>>,
}

impl<S, T> Clone for Observers<S, T> {
    fn clone(&self) -> Self {
        Self {
            name: self.name,
            list: Arc::clone(&self.list),
        }
    }
}

impl<S, T> fmt::Debug for Observers<S, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Observers")
            .field("name", &self.name)
            .field("len", &self.len())
            .finish()
    }
}

impl<S, T> Observers<S, T> {
    /// An empty list; `name` is what warnings call it.
    pub fn new(name: &'static str) -> Self {
        Self {
            name,
            list: Arc::new(Mutex::new(List {
                next: 0,
                entries: Arc::new(Vec::new()),
            })),
        }
    }

    /// How many observers are subscribed.
    pub fn len(&self) -> usize {
        self.lock().entries.len()
    }

    /// Whether nobody is subscribed.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, List<S, T>> {
        // The list is swapped whole, so that a poisoned lock still guards a sound one.
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S: PartialEq + Send + Sync + 'static, T: 'static> Observers<S, T> {
    /// Subscribes an observer that cannot fail: to one scope, or with `None` to every emission.
    pub fn subscribe(&self, scope: Option<S>, observer: impl Fn(&T) + Send + Sync + 'static) -> Subscription {
        self.subscribe_fallible(scope, move |value| {
            observer(value);
            Ok(())
        })
    }

    /// Subscribes an observer whose errors are logged as warnings.
    pub fn subscribe_fallible(
        &self,
        scope: Option<S>,
        observer: impl Fn(&T) -> Result<(), ObserverError> + Send + Sync + 'static,
    ) -> Subscription {
        let live = Arc::new(AtomicBool::new(true));
        let id = {
            let mut list = self.lock();
            let id = list.next;
            list.next += 1;
            let entry = Entry {
                id,
                scope,
                live: Arc::clone(&live),
                call: Box::new(observer),
            };
            Arc::make_mut(&mut list.entries).push(Arc::new(entry));
            id
        };
        let list: Weak<Mutex<List<S, T>>> = Arc::downgrade(&self.list);
        Subscription {
            live,
            remove: Some(Box::new(move || {
                let Some(list) = list.upgrade() else { return };
                let mut list = list.lock().unwrap_or_else(PoisonError::into_inner);
                Arc::make_mut(&mut list.entries).retain(|entry| entry.id != id);
            })),
        }
    }

    /// Calls every observer of `scope`, and those of all scopes, in order of subscription.
    ///
    /// An emission without a scope reaches only observers of all scopes. Observers that subscribe
    /// meanwhile are not called; those that unsubscribe meanwhile are not called any more.
    pub fn emit(&self, scope: Option<&S>, value: &T) {
        let entries = Arc::clone(&self.lock().entries);
        for entry in entries.iter() {
            let fits = entry.scope.is_none() || entry.scope.as_ref() == scope;
            if !fits || !entry.live.load(Ordering::Acquire) {
                continue;
            }
            match catch_unwind(AssertUnwindSafe(|| (entry.call)(value))) {
                Ok(Ok(())) => {}
                Ok(Err(error)) => tracing::warn!(observers = self.name, %error, "an observer failed"),
                Err(panic) => {
                    tracing::warn!(
                        observers = self.name,
                        panic = panic_text(&*panic),
                        "an observer panicked"
                    );
                }
            }
        }
    }
}

/// The text of a caught panic, or a fixed placeholder for one that is not text.
pub fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    panic
        .downcast_ref::<&'static str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("a panic that carries no text")
}

/// Keeps an observer subscribed; dropping it unsubscribes.
///
/// A call that another thread has already begun may still be running when the drop returns.
#[must_use = "dropping a subscription unsubscribes"]
pub struct Subscription {
    live: Arc<AtomicBool>,
    remove: Option<Box<dyn FnOnce() + Send + Sync>>,
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscription").finish_non_exhaustive()
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.live.store(false, Ordering::Release);
        if let Some(remove) = self.remove.take() {
            remove();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Seen = Arc<Mutex<Vec<String>>>;

    fn record(seen: &Seen, who: &'static str) -> impl Fn(&u32) + Send + Sync + use<> {
        let seen = Arc::clone(seen);
        move |value| {
            seen.lock()
                .expect("no test panics while it holds this")
                .push(format!("{who}:{value}"));
        }
    }

    fn taken(seen: &Seen) -> Vec<String> {
        std::mem::take(&mut *seen.lock().expect("no test panics while it holds this"))
    }

    #[test]
    fn observers_are_called_in_order_of_subscription_and_by_scope() {
        let (list, seen) = (Observers::<u8, u32>::new("test"), Seen::default());
        let _all = list.subscribe(None, record(&seen, "all"));
        let _one = list.subscribe(Some(1), record(&seen, "one"));
        let _two = list.subscribe(Some(2), record(&seen, "two"));
        list.emit(Some(&1), &7);
        list.emit(None, &8);
        assert_eq!(taken(&seen), ["all:7", "one:7", "all:8"]);
    }

    #[test]
    fn a_failing_and_a_panicking_observer_leave_the_next_one_alone() {
        let (list, seen) = (Observers::<u8, u32>::new("test"), Seen::default());
        let _panics = list.subscribe(None, |_| panic!("on purpose"));
        let _fails = list.subscribe_fallible(None, |_| Err("on purpose".into()));
        let _records = list.subscribe(None, record(&seen, "third"));
        list.emit(None, &1);
        list.emit(None, &2);
        assert_eq!(taken(&seen), ["third:1", "third:2"]);
    }

    #[test]
    fn dropping_the_subscription_unsubscribes_even_during_an_emission() {
        let (list, seen) = (Observers::<u8, u32>::new("test"), Seen::default());
        let second = Arc::new(Mutex::new(None));
        let drops = Arc::clone(&second);
        let _first = list.subscribe(None, move |_| drop(drops.lock().expect("not poisoned").take()));
        *second.lock().expect("not poisoned") = Some(list.subscribe(None, record(&seen, "second")));
        assert_eq!(list.len(), 2);
        list.emit(None, &1);
        assert!(taken(&seen).is_empty());
        assert_eq!(list.len(), 1);
    }

    #[test]
    fn an_observer_may_subscribe_and_emit_from_within() {
        let (list, seen) = (Observers::<u8, u32>::new("test"), Seen::default());
        let again = list.clone();
        let _nested = list.subscribe(None, move |value| {
            if *value < 3 {
                again.emit(None, &(value + 1));
            }
        });
        let _records = list.subscribe(None, record(&seen, "r"));
        list.emit(None, &1);
        assert_eq!(taken(&seen), ["r:3", "r:2", "r:1"]);
    }
}
