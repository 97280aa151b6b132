//! When appended events become durable, and on which thread.

use std::sync::mpsc;
use std::time::Duration;

use super::layer::Act;
use super::*;

const SOON: Duration = Duration::from_secs(20);

/// Tells of every sync.
fn watch(fixture: &Fixture) -> mpsc::Receiver<String> {
    let (tell, told) = mpsc::channel();
    fixture.layer.on_sync(move |what| drop(tell.send(what.to_owned())));
    told
}

fn slow(options: &mut StoreOptions) {
    options.sync_interval = Duration::from_secs(10);
}

#[test]
fn the_first_sync_makes_the_names_durable_too_and_all_of_it_is_on_the_stores_thread() {
    let fixture = Fixture::with(slow);
    let told = watch(&fixture);
    let session = fixture.create([start(1)]);
    let begun = std::time::Instant::now();
    block_on(session.durable()).expect("durable");
    assert!(
        begun.elapsed() < Duration::from_secs(8),
        "whoever waits is not kept waiting for the interval"
    );
    let root = fixture
        .dir
        .path()
        .file_name()
        .expect("a name")
        .to_string_lossy()
        .into_owned();
    let expected = ["log", "s", &root, "sessions"].map(|what| format!("weft-sync {what}"));
    assert_eq!(told.try_iter().collect::<Vec<_>>(), expected);
    session.append(end(1)).expect("legal");
    block_on(session.durable()).expect("durable");
    assert_eq!(told.try_iter().collect::<Vec<_>>(), ["weft-sync log"]);
    block_on(session.durable()).expect("nothing is new");
    assert_eq!(told.try_iter().count(), 0);
}

#[test]
fn the_name_of_a_folder_that_a_crash_left_is_synced_too() {
    let fixture = Fixture::with(slow);
    fs::create_dir_all(fixture.folder()).expect("made");
    let told = watch(&fixture);
    let session = fixture.create([start(1)]);
    block_on(session.durable()).expect("durable");
    let expected = ["log", "s", "sessions"].map(|what| format!("weft-sync {what}"));
    assert_eq!(told.try_iter().collect::<Vec<_>>(), expected);
}

#[test]
fn what_nobody_waits_for_is_synced_after_the_interval() {
    let fixture = Fixture::with(|options| options.sync_interval = Duration::from_millis(20));
    let told = watch(&fixture);
    let session = fixture.create([start(1)]);
    assert_eq!(told.recv_timeout(SOON).expect("it is synced"), "weft-sync log");
    while told.recv_timeout(SOON).expect("its folders are synced") != "weft-sync sessions" {}
    session.append(end(1)).expect("legal");
    assert_eq!(told.recv_timeout(SOON).expect("it is synced"), "weft-sync log");
}

#[test]
fn a_store_that_is_dropped_syncs_what_is_left_first() {
    let fixture = Fixture::with(slow);
    let told = watch(&fixture);
    let Fixture { store, .. } = &fixture;
    let store = store.clone();
    let session = store.create(header("s")).expect("created");
    session.append(start(1)).expect("legal");
    drop((session, store));
    assert_eq!(told.try_iter().count(), 0, "there is another clone");
    drop(fixture.store);
    assert_eq!(told.try_iter().next().as_deref(), Some("weft-sync log"));
}

#[test]
fn many_that_wait_share_a_sync() {
    let fixture = Fixture::with(slow);
    let (entered, entering) = mpsc::channel();
    let (go, gate) = mpsc::channel::<()>();
    let gate = std::sync::Mutex::new(gate);
    fixture.layer.on_sync(move |what| {
        if what.ends_with("log") {
            entered.send(()).expect("the test listens");
            // Open once the test is done with it.
            gate.lock().expect("no panic").recv().ok();
        }
    });
    let session = fixture.create([start(1)]);
    let first = tokio_flush(&session);
    entering.recv_timeout(SOON).expect("the first sync began");
    session.append(user(1, "more")).expect("an append waits for no sync");
    let mut waiting = Vec::from_iter((0..10).map(|_| tokio_flush(&session)));
    go.send(()).expect("the sync waits");
    first.join().expect("no panic").expect("durable");
    entering.recv_timeout(SOON).expect("the second sync began");
    go.send(()).expect("the sync waits");
    drop(go);
    for flush in waiting.drain(..) {
        flush.join().expect("no panic").expect("durable");
    }
    assert_eq!(entering.try_iter().count(), 0, "one sync was enough for all of them");
}

fn tokio_flush(session: &Arc<Session>) -> std::thread::JoinHandle<Result<(), LogError>> {
    // The flush is asked for here; only the waiting is on another thread.
    let mut flush = Box::pin({
        let session = Arc::clone(session);
        async move { session.durable().await }
    });
    let polled =
        block_on(async { std::future::poll_fn(|context| std::task::Poll::Ready(flush.as_mut().poll(context))).await });
    std::thread::spawn(move || match polled {
        std::task::Poll::Ready(outcome) => outcome,
        std::task::Poll::Pending => block_on(flush),
    })
}

#[test]
fn a_sync_that_panics_is_a_sync_that_failed() {
    let fixture = Fixture::with(slow);
    fixture.layer.on_sync(|_| panic!("on purpose"));
    let session = fixture.create([start(1)]);
    let error = block_on(session.durable()).expect_err("it failed").to_string();
    assert!(error.ends_with("the sync panicked"), "{error}");
    session.append(end(1)).expect_err("poisoned");
}

#[test]
fn a_folder_that_cannot_be_synced_is_a_sync_that_failed() {
    let fixture = Fixture::with(slow);
    fixture.layer.fail(Act::SyncFolder, std::io::ErrorKind::Other, 1, 1);
    let session = fixture.create([start(1)]);
    block_on(session.durable()).expect_err("it failed");
    session.append(end(1)).expect_err("poisoned");
}
