//! Reading a session without opening it.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use weft_types::{Event, SessionHeader, SessionId};

use super::layout::SessionPaths;
use super::pages::{self, Keep, Window};
use super::scan::LogScan;
use super::{Damage, FileStore, StoreError, lock};

/// How often a log is looked at that changes whenever it is.
const LOOKS: u32 = 8;

/// A session as its log has it, whoever writes it.
///
/// While nobody runs the session, a turn that its log ends in is shown as the next to open it would close it, without
/// anything being written. While somebody does, it is shown as it is, and pages show what was appended meanwhile.
pub struct StoredSession {
    store: FileStore,
    header: SessionHeader,
    paths: SessionPaths,
    view: Mutex<View>,
}

/// What a log was found to be.
struct View {
    scan: LogScan,
    running: bool,
    /// What would close its last turn, if nobody runs the session.
    closing: Vec<Arc<Event>>,
}

impl FileStore {
    /// Reads the events of a session once, from the first on, whoever has it open: for a look at many sessions, of which
    /// nothing is kept. It ends before anything that is damaged or half-written, and closes no turn.
    ///
    /// # Errors
    /// Those of [`read`](Self::read).
    pub fn each_event(&self, id: &SessionId, mut each: impl FnMut(&Event)) -> Result<(), StoreError> {
        let mut scan = LogScan::open(self, id)?;
        while let Some(event) = scan.next()? {
            each(&event);
        }
        Ok(())
    }
}

impl fmt::Debug for StoredSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredSession")
            .field("id", &self.header.id)
            .finish_non_exhaustive()
    }
}

impl StoredSession {
    pub(crate) fn read(store: FileStore, id: &SessionId) -> Result<Self, StoreError> {
        let paths = store.layout().session(id)?;
        let view = View::of(&store, &paths, id)?;
        let header = view.scan.header().clone();
        Ok(Self {
            store,
            header,
            paths,
            view: Mutex::new(view),
        })
    }

    /// What stands before the events.
    pub fn header(&self) -> &SessionHeader {
        &self.header
    }

    /// How many events there are by now, those that close an open turn included.
    ///
    /// # Errors
    /// The log cannot be read any more.
    pub fn count(&self) -> Result<u64, StoreError> {
        self.with_view(|view| Ok(view.count()))
    }

    /// Whether a process had the session open for writing when it was last looked at.
    pub fn running(&self) -> bool {
        self.view().running
    }

    /// The damage that the events end at.
    pub fn damage(&self) -> Option<Damage> {
        self.view().scan.damage().cloned()
    }

    /// The events from number `from` on, in order: at most `limit`, fewer if they are large, none only at the end.
    ///
    /// # Errors
    /// The log cannot be read any more.
    pub fn page(&self, from: u64, limit: usize) -> Result<Vec<Arc<Event>>, StoreError> {
        let limit = limit.min(self.store.options().page_events);
        self.with_view(|view| {
            let page = self.window(view, from, from.saturating_add(limit as u64), Keep::First)?;
            Ok(pages::and_closing(page, (from, limit), view.stored(), &view.closing))
        })
    }

    /// The last events before number `seq`, in order: at most `limit`, fewer if they are large, none only at the start.
    ///
    /// # Errors
    /// The log cannot be read any more.
    pub fn before(&self, seq: u64, limit: usize) -> Result<Vec<Arc<Event>>, StoreError> {
        let limit = limit.min(self.store.options().page_events);
        self.with_view(|view| {
            let to = seq.min(view.count());
            let from = to.saturating_sub(limit as u64);
            let page = self.window(view, from, to, Keep::Last)?;
            let closing = view.closing.iter().filter(|event| (from..to).contains(&event.seq));
            Ok(page.into_iter().chain(closing.cloned()).collect())
        })
    }

    /// The events of that range that are in the log.
    fn window(&self, view: &View, from: u64, to: u64, keep: Keep) -> Result<Vec<Arc<Event>>, StoreError> {
        let marks = view.scan.marks();
        let window = Window {
            mark: marks.before(from),
            from,
            to: to.min(marks.count()),
        };
        pages::read(&self.store, (&self.header.id, &self.paths.log()), window, keep)
    }

    /// Reads with a view that is up to date, anew if the log was replaced meanwhile.
    fn with_view<T>(&self, read: impl Fn(&View) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let mut view = self.view();
        let mut looks = 0;
        loop {
            view.look_again(&self.store, &self.paths)?;
            looks += 1;
            match read(&view) {
                Err(_) if looks < LOOKS && !view.scan.is_current()? => {}
                outcome => return outcome,
            }
        }
    }

    fn view(&self) -> MutexGuard<'_, View> {
        // A view that a panic left half-way is brought up to date before it is read.
        self.view.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl View {
    fn of(store: &FileStore, paths: &SessionPaths, id: &SessionId) -> Result<Self, StoreError> {
        let scan = LogScan::open(store, id)?;
        let mut view = Self {
            scan,
            running: false,
            closing: Vec::new(),
        };
        view.settle(store, paths)?;
        Ok(view)
    }

    /// How many events the log holds.
    fn stored(&self) -> u64 {
        self.scan.marks().count()
    }

    fn count(&self) -> u64 {
        self.stored() + self.closing.len() as u64
    }

    fn look_again(&mut self, store: &FileStore, paths: &SessionPaths) -> Result<(), StoreError> {
        if self.scan.is_current()? {
            return self.settle(store, paths);
        }
        let id = self.scan.header().id.clone();
        *self = Self::of(store, paths, &id)?;
        Ok(())
    }

    /// Reads to the end of the log, and closes the last turn if nobody runs the session.
    fn settle(&mut self, store: &FileStore, paths: &SessionPaths) -> Result<(), StoreError> {
        self.closing.clear();
        for _ in 0..LOOKS {
            while self.scan.next()?.is_some() {}
            self.running = lock::running(&*store.options().files, paths)?.is_some();
            // Had a writer come and gone between the two, the log would have grown.
            if self.running || self.scan.is_at_end()? {
                break;
            }
            self.running = true;
        }
        if !self.running {
            self.scan.accept_unterminated();
            self.closing = self.scan.restore().closing();
        }
        Ok(())
    }
}
