//! How long script may run, and the means to stop it.
//!
//! Time is CPU time of the process, in microseconds: a machine that is busy with other things does not make a script
//! late. The engine polls [`Control::must_stop`] while it runs script; a few of its built-in functions never do, and
//! for these there is the watchdog.

use std::io;
use std::process;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Barrier, OnceLock};
use std::thread::{self, Thread};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use crate::protocol::EXIT_STUCK;

const NEVER: u64 = u64::MAX;
/// What a script may still use once it was cancelled, to catch the error and clean up.
const AFTER_CANCEL: Duration = Duration::from_millis(100);
/// By how much a slice may be late before the watchdog ends the process.
const TOLERANCE: Duration = Duration::from_millis(250);

/// Shared by the thread that runs script, the one that reads stdin, and the watchdog.
#[derive(Debug)]
pub(super) struct Control {
    /// When the present slice is over; never, between slices.
    slice_end: AtomicU64,
    /// When everything is over, once cancelled.
    cancel_end: AtomicU64,
    /// Whether script was stopped. It must not be run any more then.
    stopped: AtomicBool,
    watchdog: OnceLock<Thread>,
    watchdog_idle: AtomicBool,
    clock: fn() -> u64,
}

impl Control {
    /// A control by the CPU time of this process.
    pub(super) fn new() -> Self {
        Self::with_clock(cpu_time)
    }

    fn with_clock(clock: fn() -> u64) -> Self {
        Self {
            slice_end: AtomicU64::new(NEVER),
            cancel_end: AtomicU64::new(NEVER),
            stopped: AtomicBool::new(false),
            watchdog: OnceLock::new(),
            watchdog_idle: AtomicBool::new(false),
            clock,
        }
    }

    /// Begins a slice of at most this much CPU time.
    pub(super) fn begin(&self, budget: Duration) {
        self.slice_end.store((self.clock)() + micros(budget), Ordering::SeqCst);
        if self.watchdog_idle.load(Ordering::SeqCst)
            && let Some(watchdog) = self.watchdog.get()
        {
            watchdog.unpark();
        }
    }

    /// Ends the slice.
    pub(super) fn end(&self) {
        self.slice_end.store(NEVER, Ordering::SeqCst);
    }

    /// Makes every hook throw from now on, and everything stop soon.
    pub(super) fn cancel(&self) {
        let end = (self.clock)() + micros(AFTER_CANCEL);
        // The first cancel counts.
        self.cancel_end.fetch_min(end, Ordering::SeqCst);
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.cancel_end.load(Ordering::SeqCst) != NEVER
    }

    /// Whether script that runs now has to stop. Once true, it stays so until the next slice begins.
    pub(super) fn must_stop(&self) -> bool {
        let late = (self.clock)() >= self.deadline();
        if late {
            self.stopped.store(true, Ordering::SeqCst);
        }
        late
    }

    /// Whether script was stopped at some time.
    pub(super) fn was_stopped(&self) -> bool {
        self.stopped.load(Ordering::SeqCst)
    }

    fn deadline(&self) -> u64 {
        let slice_end = self.slice_end.load(Ordering::SeqCst);
        // Between slices nothing runs that could be late.
        if slice_end == NEVER {
            NEVER
        } else {
            slice_end.min(self.cancel_end.load(Ordering::SeqCst))
        }
    }
}

/// Starts the thread that ends the process when a slice is too late, before there are any slices. It lives as long as
/// the process, and tells when it is ready.
pub(super) fn start_watchdog(control: &Arc<Control>, ready: &Arc<Barrier>) -> io::Result<()> {
    let (watched, ready) = (Arc::clone(control), Arc::clone(ready));
    let watchdog = thread::Builder::new().name("watchdog".into()).stack_size(128 * 1024);
    let handle = watchdog.spawn(move || {
        ready.wait();
        watch(&watched);
    })?;
    // Nobody else sets it.
    drop(control.watchdog.set(handle.thread().clone()));
    Ok(())
}

fn watch(control: &Control) {
    loop {
        let deadline = control.deadline();
        if deadline == NEVER {
            sleep_until_begin(control);
            continue;
        }
        let latest = deadline.saturating_add(micros(TOLERANCE));
        let now = (control.clock)();
        if now >= latest {
            process::exit(i32::from(EXIT_STUCK));
        }
        // CPU time does not pass faster than time: besides this one, only one thread does any work.
        thread::park_timeout(Duration::from_micros(latest - now));
    }
}

/// Costs the thread that runs script nothing but a flag while the watchdog is awake anyway.
fn sleep_until_begin(control: &Control) {
    control.watchdog_idle.store(true, Ordering::SeqCst);
    if control.deadline() == NEVER {
        thread::park();
    }
    control.watchdog_idle.store(false, Ordering::SeqCst);
}

fn cpu_time() -> u64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    seconds * 1_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0) / 1_000
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(NEVER / 2)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    thread_local! {
        static NOW: Cell<u64> = const { Cell::new(1_000) };
    }

    fn control() -> Control {
        Control::with_clock(|| NOW.get())
    }

    fn pass(time: Duration) {
        NOW.set(NOW.get() + micros(time));
    }

    const SLICE: Duration = Duration::from_secs(5);

    #[test]
    fn a_slice_is_over_when_its_time_is_used_up() {
        let control = control();
        control.begin(SLICE);
        pass(SLICE - Duration::from_micros(1));
        assert!(!control.must_stop() && !control.was_stopped());
        pass(Duration::from_micros(1));
        assert!(control.must_stop() && control.was_stopped());
    }

    #[test]
    fn nothing_is_late_between_slices() {
        let control = control();
        control.begin(SLICE);
        control.end();
        pass(SLICE);
        assert!(!control.must_stop());
        control.begin(SLICE);
        assert!(!control.must_stop());
    }

    #[test]
    fn a_cancel_shortens_the_slice_and_all_that_follow() {
        let control = control();
        control.begin(SLICE);
        control.cancel();
        assert!(control.is_cancelled() && !control.must_stop());
        pass(AFTER_CANCEL);
        assert!(control.must_stop());
        control.begin(SLICE);
        assert!(control.must_stop());
    }

    #[test]
    fn a_second_cancel_gives_no_more_time() {
        let control = control();
        control.begin(SLICE);
        control.cancel();
        pass(AFTER_CANCEL);
        control.cancel();
        assert!(control.must_stop());
    }

    #[test]
    fn the_clock_counts_work_and_not_waiting() {
        let before = cpu_time();
        while cpu_time() == before {}
        assert!(cpu_time() > before);
    }
}
