//! What the running members of one call do right now.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

use tokio::time::Instant;
use weft_agent::{Activity, ActivityFeed, Pulse, Spending, short_time};

use crate::live::Live;

/// A line about each of some members, by its number.
pub(crate) type Rows = BTreeMap<u64, String>;

/// What is to be shown of the members beside what their run tells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Now {
    /// What each running member does that has something to tell.
    pub(crate) rows: Rows,
    /// For how long nothing has happened in each that is silent, and what it was doing.
    pub(crate) stalled: Rows,
    /// How many tokens all members have used, ended ones included.
    pub(crate) tokens: u64,
}

/// What the running members do. It holds as many entries as there are members that run.
pub(crate) struct Doings {
    members: Mutex<BTreeMap<u64, Doing>>,
    spending: Arc<Spending>,
    /// After how long without any activity a member is shown as stalled.
    stall_after: Duration,
    /// Who is told of changes. Weak, since a member outlives the call it was started for if it does not stop.
    live: OnceLock<Weak<Live>>,
}

struct Doing {
    since: Instant,
    /// For how long it had been running at the last heartbeat.
    elapsed: Duration,
    /// For how long nothing had happened in it then.
    idle: Duration,
    pulse: Arc<Pulse>,
    activity: Activity,
}

/// The place of a running member; what it does is forgotten when this is dropped.
pub(crate) struct Place {
    doings: Arc<Doings>,
    seq: u64,
}

impl Place {
    /// What the member does right now.
    pub(crate) fn now(&self) -> Option<String> {
        self.doings.lock().get(&self.seq).map(Doing::now)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.doings.lock().remove(&self.seq);
    }
}

impl Doings {
    /// Nobody does anything yet.
    pub(crate) fn new(spending: Arc<Spending>, stall_after: Duration) -> Self {
        Self {
            members: Mutex::default(),
            spending,
            stall_after,
            live: OnceLock::new(),
        }
    }

    /// Says who shows them; only the first word counts.
    pub(crate) fn shown_by(&self, live: &Arc<Live>) {
        self.live.get_or_init(|| Arc::downgrade(live));
    }

    /// Makes room for a member that starts.
    pub(crate) fn member(self: &Arc<Self>, seq: u64) -> (Place, ActivityFeed) {
        let doings = Arc::clone(self);
        let feed = ActivityFeed::new(move |activity| doings.update(seq, activity));
        let doing = Doing {
            since: Instant::now(),
            elapsed: Duration::ZERO,
            idle: Duration::ZERO,
            pulse: feed.pulse(),
            activity: Activity::default(),
        };
        self.lock().insert(seq, doing);
        let place = Place {
            doings: Arc::clone(self),
            seq,
        };
        (place, feed)
    }

    fn update(&self, seq: u64, activity: &Activity) {
        if let Some(doing) = self.lock().get_mut(&seq) {
            doing.activity = activity.clone();
            doing.idle = Duration::ZERO;
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
            doing.idle = doing.pulse.idle();
        }
    }

    pub(crate) fn now(&self) -> Now {
        let members = self.lock();
        let rows = members.iter().filter_map(|(seq, doing)| Some((*seq, doing.row()?)));
        let silent = members.iter().filter(|(_, doing)| doing.idle >= self.stall_after);
        Now {
            rows: rows.collect(),
            stalled: silent.map(|(seq, doing)| (*seq, doing.silence())).collect(),
            tokens: self.spending.tokens(),
        }
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
        Some(format!("{} ({counts})", self.now()))
    }

    fn now(&self) -> String {
        let now = self.activity.now().or_else(|| {
            let (title, failed) = self.activity.last()?;
            let how = if failed { "failed" } else { "done" };
            Some(format!("thinking after {title} ({how})"))
        });
        now.unwrap_or_else(|| "thinking".to_owned())
    }

    fn silence(&self) -> String {
        format!("no activity for {}, {}", short_time(self.idle), self.now())
    }
}
