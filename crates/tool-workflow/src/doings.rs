//! What the running members of one call do right now.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

use tokio::time::Instant;
use weft_agent::{Activity, ActivityFeed};

use crate::live::Live;

/// A line about each running member that has something to tell, by its number.
pub(crate) type Rows = BTreeMap<u64, String>;

/// What the running members do. It holds as many entries as there are members that run.
#[derive(Default)]
pub(crate) struct Doings {
    members: Mutex<BTreeMap<u64, Doing>>,
    /// Who is told of changes. Weak, since a member outlives the call it was started for if it does not stop.
    live: OnceLock<Weak<Live>>,
}

struct Doing {
    since: Instant,
    /// For how long it had been running at the last heartbeat.
    elapsed: Duration,
    activity: Activity,
}

/// The place of a running member; what it does is forgotten when this is dropped.
pub(crate) struct Place {
    doings: Arc<Doings>,
    seq: u64,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.doings.lock().remove(&self.seq);
    }
}

impl Doings {
    /// Says who shows them; only the first word counts.
    pub(crate) fn shown_by(&self, live: &Arc<Live>) {
        self.live.get_or_init(|| Arc::downgrade(live));
    }

    /// Makes room for a member that starts.
    pub(crate) fn member(self: &Arc<Self>, seq: u64) -> (Place, ActivityFeed) {
        let doing = Doing {
            since: Instant::now(),
            elapsed: Duration::ZERO,
            activity: Activity::default(),
        };
        self.lock().insert(seq, doing);
        let doings = Arc::clone(self);
        let feed = ActivityFeed::new(move |activity| doings.update(seq, activity));
        let place = Place {
            doings: Arc::clone(self),
            seq,
        };
        (place, feed)
    }

    fn update(&self, seq: u64, activity: &Activity) {
        if let Some(doing) = self.lock().get_mut(&seq) {
            doing.activity = activity.clone();
        }
        if let Some(live) = self.live.get().and_then(Weak::upgrade) {
            live.refresh();
        }
    }

    /// Looks at the clock.
    pub(crate) fn beat(&self) {
        let now = Instant::now();
        for doing in self.lock().values_mut() {
            doing.elapsed = now - doing.since;
        }
    }

    pub(crate) fn rows(&self) -> Rows {
        let members = self.lock();
        let rows = members.iter().filter_map(|(seq, doing)| Some((*seq, doing.row()?)));
        rows.collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Doing>> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Doing {
    /// Nothing before there is anything to tell.
    fn row(&self) -> Option<String> {
        let counts = self.activity.counts(self.elapsed)?;
        if self.activity.calls() == 0 && self.elapsed < Duration::from_secs(1) {
            return None;
        }
        let now = self.activity.now().or_else(|| {
            let (title, failed) = self.activity.last()?;
            let how = if failed { "failed" } else { "done" };
            Some(format!("thinking after {title} ({how})"))
        });
        Some(format!("{} ({counts})", now.as_deref().unwrap_or("thinking")))
    }
}
