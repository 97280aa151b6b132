//! Model checks of the progress channel's open/closed boundary: a model checker decides every
//! interleaving of its lock, its condition variable and its threads.
//!
//! Runs with `cargo test -p weft-tools --features shuttle --test progress_model`, and only this target
//! of the crate does with that feature: outside of a model the swapped primitives have no meaning.
#![cfg(feature = "shuttle")]

use std::sync::Arc;

use shuttle::sync::Mutex;
use shuttle::thread;
use weft_tools::model_check::ModelChannel;

const SCHEDULES: usize = 4_000;
const REPORTS: u32 = 3;

/// What the observer saw, and whether it may still see anything.
#[derive(Default)]
struct Seen {
    reports: Vec<u32>,
    is_over: bool,
}

struct Model {
    channel: Arc<ModelChannel>,
    seen: Arc<Mutex<Seen>>,
}

impl Model {
    /// A channel whose observer checks, with a lock of its own that other threads contend for, that
    /// nothing is delivered after the close.
    fn new(backlog: usize) -> Self {
        let seen = Arc::new(Mutex::new(Seen::default()));
        let to = Arc::clone(&seen);
        let channel = Arc::new(ModelChannel::new(backlog, move |&report| {
            thread::yield_now();
            let mut seen = to.lock().expect("no panic under the lock");
            assert!(!seen.is_over, "report {report} was delivered after the close");
            seen.reports.push(report);
        }));
        Self { channel, seen }
    }

    /// A thread that reports until it is too late; gives the reports that were accepted.
    fn reporter(&self, who: u32) -> thread::JoinHandle<Vec<u32>> {
        let channel = Arc::clone(&self.channel);
        thread::spawn(move || {
            let mut reports = (0..REPORTS).map(|n| who * 10 + n);
            let accepted = reports
                .by_ref()
                .take_while(|&report| channel.report(report) == Some(true))
                .collect();
            for late in reports {
                assert_eq!(channel.report(late), Some(false), "the channel accepted again");
            }
            accepted
        })
    }

    /// Closes the channel, as the end of an execute phase does, and gives what was delivered by then.
    fn close(&self) -> Vec<u32> {
        self.channel.close();
        let mut seen = self.seen.lock().expect("no panic under the lock");
        seen.is_over = true;
        seen.reports.clone()
    }
}

/// What each reporter was told is what the observer saw, in the reporter's order.
fn assert_agree(delivered: &[u32], accepted: &[Vec<u32>]) {
    let total: usize = accepted.iter().map(Vec::len).sum();
    assert_eq!(
        delivered.len(),
        total,
        "{delivered:?} was delivered, {accepted:?} accepted"
    );
    for (who, accepted) in (1..).zip(accepted) {
        let own: Vec<u32> = delivered.iter().copied().filter(|report| report / 10 == who).collect();
        assert_eq!(&own, accepted);
    }
}

fn close_races(reporters: u32, backlog: usize) {
    let model = Model::new(backlog);
    model.channel.open();
    let handles: Vec<_> = (1..=reporters).map(|who| model.reporter(who)).collect();
    let delivered = model.close();
    let accepted: Vec<_> = handles
        .into_iter()
        .map(|handle| handle.join().expect("no panic"))
        .collect();
    assert_agree(&delivered, &accepted);
}

/// Explores a scenario at random, then with few, well-placed preemptions.
fn explore(scenario: impl Fn() + Send + Sync + Clone + 'static) {
    shuttle::check_random(scenario.clone(), SCHEDULES);
    shuttle::check_pct(scenario, SCHEDULES, 3);
}

#[test]
fn two_reporters_race_the_close() {
    explore(|| close_races(2, 8));
}

#[test]
fn three_reporters_race_the_close() {
    explore(|| close_races(3, 8));
}

#[test]
fn reporters_wait_at_a_full_backlog_and_take_over_from_each_other() {
    explore(|| close_races(3, 1));
}

#[test]
fn the_body_itself_reports_beside_another_and_then_closes() {
    explore(|| {
        let model = Model::new(1);
        model.channel.open();
        let other = model.reporter(1);
        let own = (20..20 + REPORTS)
            .filter(|&report| model.channel.report(report) == Some(true))
            .collect();
        let delivered = model.close();
        assert_agree(&delivered, &[other.join().expect("no panic"), own]);
    });
}

#[test]
fn reports_race_the_opening_as_well() {
    explore(|| {
        let model = Model::new(2);
        let channel = Arc::clone(&model.channel);
        let early = thread::spawn(move || {
            (10..13)
                .filter(|&report| channel.report(report) == Some(true))
                .collect()
        });
        model.channel.open();
        let delivered = model.close();
        assert_agree(&delivered, &[early.join().expect("no panic")]);
    });
}

#[test]
fn an_observer_reports_again_while_another_thread_reports_and_a_third_closes() {
    explore(|| {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let to = Arc::clone(&seen);
        let channel = Arc::new_cyclic(|weak: &std::sync::Weak<ModelChannel>| {
            let weak = weak.clone();
            ModelChannel::new(4, move |&report| {
                let channel = weak.upgrade().expect("the channel lives");
                let again = (report < 100).then(|| channel.report(report + 100));
                to.lock()
                    .expect("no panic under the lock")
                    .push((report, again.flatten()));
            })
        });
        channel.open();
        let other = Arc::clone(&channel);
        let other = thread::spawn(move || other.report(1));
        let own = channel.report(2);
        channel.close();
        let seen = seen.lock().expect("no panic under the lock").clone();
        let told = [own, other.join().expect("no panic")]
            .into_iter()
            .chain(seen.iter().map(|(_, again)| *again));
        assert_eq!(told.filter(|&answer| answer == Some(true)).count(), seen.len());
    });
}

#[test]
fn an_observer_closes_the_channel_while_others_report_or_wait() {
    explore(|| {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let to = Arc::clone(&seen);
        let channel = Arc::new_cyclic(|weak: &std::sync::Weak<ModelChannel>| {
            let weak = weak.clone();
            ModelChannel::new(1, move |&report| {
                let again = (report == 1).then(|| {
                    let channel = weak.upgrade().expect("the channel lives");
                    let again = channel.report(100);
                    thread::yield_now();
                    channel.close();
                    again
                });
                to.lock()
                    .expect("no panic under the lock")
                    .push((report, again.flatten()));
            })
        });
        channel.open();
        let others = [2, 3].map(|report| {
            let channel = Arc::clone(&channel);
            thread::spawn(move || channel.report(report))
        });
        let own = channel.report(1);
        let answers = others
            .map(|other| other.join().expect("no panic"))
            .into_iter()
            .chain([own]);
        let answers: Vec<_> = answers.collect();
        // Nobody closes again: whoever delivered has seen to all that was accepted.
        let seen = seen.lock().expect("no panic under the lock").clone();
        let told = answers.into_iter().chain(seen.iter().map(|(_, again)| *again));
        assert_eq!(told.filter(|&answer| answer == Some(true)).count(), seen.len());
    });
}

#[test]
fn two_threads_close_at_once() {
    explore(|| {
        let model = Model::new(1);
        model.channel.open();
        let reporter = model.reporter(1);
        let second = model.reporter(2);
        let channel = Arc::clone(&model.channel);
        let closer = thread::spawn(move || channel.close());
        let delivered = model.close();
        closer.join().expect("no panic");
        let accepted = [reporter, second].map(|handle| handle.join().expect("no panic"));
        assert_agree(&delivered, &accepted);
    });
}
