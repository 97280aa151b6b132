//! The channel by itself: order, re-entrancy, and the boundary at which it closes.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::{self, ThreadId};

use super::{BacklogFull, Channel};
use crate::testing::Log;

fn recording(backlog: usize) -> (Arc<Channel<u32>>, Log<u32>) {
    let log = Log::default();
    let to = log.clone();
    let channel = Arc::new(Channel::new(backlog, move |item: &u32| to.push(*item)));
    channel.open();
    (channel, log)
}

/// An open channel whose observer can reach it.
fn re_entrant(backlog: usize, observe: impl Fn(&Arc<Channel<u32>>, u32) + Send + Sync + 'static) -> Arc<Channel<u32>> {
    let channel = Arc::new_cyclic(|weak: &std::sync::Weak<Channel<u32>>| {
        let weak = weak.clone();
        Channel::new(backlog, move |item| {
            observe(&weak.upgrade().expect("the channel lives"), *item);
        })
    });
    channel.open();
    channel
}

#[test]
fn a_channel_accepts_between_its_one_opening_and_its_one_close() {
    let log = Log::default();
    let to = log.clone();
    let channel = Channel::new(4, move |item: &u32| to.push(*item));
    assert_eq!(channel.report(1), Ok(false));
    channel.open();
    assert_eq!(channel.report(2), Ok(true));
    channel.close();
    assert_eq!(channel.report(3), Ok(false));
    channel.open();
    assert_eq!(channel.report(4), Ok(false));
    assert_eq!(log.all(), [2]);
}

#[test]
fn reports_of_several_threads_are_delivered_one_at_a_time_each_thread_in_order() {
    let (inside, log) = (AtomicUsize::new(0), Log::default());
    let to = log.clone();
    let channel = Arc::new(Channel::new(3, move |item: &u32| {
        assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "two deliveries at once");
        to.push(*item);
        inside.fetch_sub(1, Ordering::SeqCst);
    }));
    channel.open();
    thread::scope(|scope| {
        for reporter in 0..4 {
            let channel = &channel;
            scope.spawn(move || (0..500).for_each(|n| assert_eq!(channel.report(reporter * 1000 + n), Ok(true))));
        }
    });
    channel.close();
    for reporter in 0..4 {
        let own: Vec<u32> = log.all().into_iter().filter(|item| item / 1000 == reporter).collect();
        let expected: Vec<u32> = (0..500).map(|n| reporter * 1000 + n).collect();
        assert_eq!(own, expected);
    }
}

#[test]
fn an_observer_that_reports_is_delivered_after_what_it_observes() {
    let log = Log::default();
    let to = log.clone();
    let channel = re_entrant(8, move |channel, item| {
        if item < 3 {
            assert_eq!(channel.report(item + 1), Ok(true));
        }
        to.push(item);
    });
    assert_eq!(channel.report(0), Ok(true));
    assert_eq!(log.all(), [0, 1, 2, 3]);
}

#[test]
fn an_observer_that_floods_its_own_execution_is_refused_at_the_backlog() {
    let answers = Log::default();
    let to = answers.clone();
    let channel = re_entrant(2, move |channel, item| {
        if item == 0 {
            (1..=3).for_each(|n| to.push(channel.report(n)));
        }
    });
    assert_eq!(channel.report(0), Ok(true));
    assert_eq!(answers.all(), [Ok(true), Ok(true), Err(BacklogFull)]);
}

/// A channel whose first delivery is held until the test lets it go.
struct Held {
    channel: Arc<Channel<u32>>,
    log: Log<u32>,
    /// The thread of each delivery.
    by: Log<ThreadId>,
    entered: mpsc::Receiver<()>,
    release: mpsc::Sender<()>,
}

fn held(backlog: usize) -> Held {
    let (enter, entered) = mpsc::channel();
    let (release, released) = mpsc::channel::<()>();
    let (log, by, released) = (Log::default(), Log::default(), Mutex::new(released));
    let (to, thread) = (log.clone(), by.clone());
    let channel = Arc::new(Channel::new(backlog, move |item: &u32| {
        if *item == 0 {
            enter.send(()).expect("the test waits for it");
            released.lock().expect("one holder").recv().expect("the test lets go");
        }
        to.push(*item);
        thread.push(thread::current().id());
    }));
    channel.open();
    Held {
        channel,
        log,
        by,
        entered,
        release,
    }
}

#[test]
fn close_waits_for_a_delivery_that_runs_and_for_what_was_accepted() {
    let Held {
        channel,
        log,
        entered,
        release,
        ..
    } = held(8);
    thread::scope(|scope| {
        scope.spawn(|| assert_eq!(channel.report(0), Ok(true)));
        entered.recv().expect("the delivery begins");
        // Somebody delivers already: this returns at once and leaves the item to it.
        assert_eq!(channel.report(1), Ok(true));
        let closer = scope.spawn(|| {
            channel.close();
            log.all()
        });
        while channel.is_open() {
            thread::yield_now();
        }
        assert!(!closer.is_finished(), "closed while a delivery was running");
        assert_eq!(channel.report(2), Ok(false));
        release.send(()).expect("the delivery waits for it");
        assert_eq!(closer.join().expect("no panic"), [0, 1]);
    });
}

#[test]
fn a_reporter_waits_at_a_full_backlog_and_is_refused_when_the_channel_closes_meanwhile() {
    let Held {
        channel,
        log,
        entered,
        release,
        ..
    } = held(1);
    thread::scope(|scope| {
        scope.spawn(|| assert_eq!(channel.report(0), Ok(true)));
        entered.recv().expect("the delivery begins");
        assert_eq!(channel.report(1), Ok(true));
        let waiter = scope.spawn(|| channel.report(2));
        while channel.lock().waiting == 0 {
            thread::yield_now();
        }
        scope.spawn(|| channel.close());
        assert_eq!(waiter.join().expect("no panic"), Ok(false));
        release.send(()).expect("the delivery waits for it");
    });
    assert_eq!(log.all(), [0, 1]);
}

#[test]
fn a_reporter_does_not_deliver_for_another_without_end() {
    let Held {
        channel,
        log,
        by,
        entered,
        release,
    } = held(1);
    thread::scope(|scope| {
        let first = scope.spawn(|| assert_eq!(channel.report(0), Ok(true)));
        entered.recv().expect("the delivery begins");
        assert_eq!(channel.report(1), Ok(true));
        let second = scope.spawn(|| (2..200).for_each(|n| assert_eq!(channel.report(n), Ok(true))));
        while channel.lock().waiting == 0 {
            thread::yield_now();
        }
        release.send(()).expect("the delivery waits for it");
        let (first_id, second_id) = (first.thread().id(), second.thread().id());
        second.join().expect("no panic");
        assert_eq!(by.all()[0], first_id);
        assert!(
            by.all()[1..].iter().all(|&id| id == second_id),
            "the first went on delivering"
        );
    });
    assert_eq!(log.all(), (0..200).collect::<Vec<_>>());
}

#[test]
fn an_observer_that_closes_the_channel_gets_away_and_the_rest_is_delivered() {
    let log = Log::default();
    let to = log.clone();
    let channel = re_entrant(8, move |channel, item| {
        to.push(item);
        if item == 0 {
            assert_eq!(channel.report(1), Ok(true));
            channel.close();
            assert_eq!(channel.report(2), Ok(false));
        }
    });
    assert_eq!(channel.report(0), Ok(true));
    assert_eq!(log.all(), [0, 1]);
}

#[test]
fn an_observer_may_wait_for_another_thread_that_reports() {
    let log = Log::default();
    let to = log.clone();
    let channel = re_entrant(8, move |channel, item| {
        if item == 0 {
            let other = thread::scope(|scope| scope.spawn(|| channel.report(1)).join());
            assert_eq!(other.expect("no panic"), Ok(true));
        }
        to.push(item);
    });
    assert_eq!(channel.report(0), Ok(true));
    assert_eq!(log.all(), [0, 1]);
}

#[test]
fn closing_twice_is_closing_once() {
    let (channel, log) = recording(4);
    assert_eq!(channel.report(1), Ok(true));
    channel.close();
    channel.close();
    assert_eq!(log.all(), [1]);
}
