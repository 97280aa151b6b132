//! Catches warnings of this thread.

use std::fmt::{Debug, Write};
use std::sync::{Arc, Mutex, Once};

use tracing::field::{Field, Visit};
use tracing::subscriber::{DefaultGuard, Subscriber};
use tracing::{Event, Level, Metadata, span};

/// The warnings since its creation, with all their fields.
pub(crate) struct Warnings {
    seen: Arc<Mutex<Vec<String>>>,
    _guard: DefaultGuard,
}

impl Warnings {
    pub(crate) fn catch() -> Self {
        // A place in the code that warns for the first time while no test listens, on whatever thread, may be
        // remembered as one that nobody listens to. One that always listens prevents that.
        static ALWAYS: Once = Once::new();
        ALWAYS.call_once(|| {
            let nobody = Catcher(Arc::default());
            tracing::subscriber::set_global_default(nobody).expect("nothing else sets one");
        });
        let seen = Arc::new(Mutex::new(Vec::new()));
        let guard = tracing::subscriber::set_default(Catcher(Arc::clone(&seen)));
        Self { seen, _guard: guard }
    }

    pub(crate) fn seen(&self) -> Vec<String> {
        self.seen.lock().expect("not poisoned").clone()
    }
}

struct Catcher(Arc<Mutex<Vec<String>>>);

impl Subscriber for Catcher {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::WARN
    }

    fn new_span(&self, _span: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _span: &span::Id, _values: &span::Record<'_>) {}

    fn record_follows_from(&self, _span: &span::Id, _follows: &span::Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut text = Text::default();
        event.record(&mut text);
        self.0.lock().expect("not poisoned").push(text.0);
    }

    fn enter(&self, _span: &span::Id) {}

    fn exit(&self, _span: &span::Id) {}
}

#[derive(Default)]
struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, "{field}={value:?} ").expect("a string takes everything");
    }
}
