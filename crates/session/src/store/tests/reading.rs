//! Reading a session that others write.

use super::*;

#[test]
fn an_open_turn_of_a_session_that_runs_is_shown_as_it_is_and_grows() {
    let fixture = Fixture::new();
    let session = fixture.create(turn(1).into_iter().take(5));
    let reader = fixture.other().read(&id()).expect("readable");
    assert!(reader.running());
    assert_eq!(reader.count().expect("readable"), 5);
    for body in turn(1).into_iter().skip(5) {
        let event = session.append(body).expect("legal");
        let tail = reader.page(event.seq, 10).expect("readable");
        assert_eq!(tail, [event], "it is seen as soon as it was appended");
    }
    drop(session);
    assert_eq!(reader.count().expect("readable"), 10);
    assert!(!reader.running());
}

#[test]
fn g54_an_open_turn_of_a_session_that_nobody_runs_is_closed_in_memory_only() {
    let fixture = Fixture::new();
    drop(fixture.create(turn(1).into_iter().take(5)));
    let bytes = fixture.bytes();
    let reader = fixture.other().read(&id()).expect("readable");
    let closed = reader.page(0, 100).expect("readable");
    let kinds: Vec<&str> = closed[5..].iter().map(|event| event.body.kind()).collect();
    assert_eq!(
        kinds,
        ["tool/result", "tool/call", "tool/result", "step/end", "turn/end"]
    );
    assert!(closed.iter().map(|event| event.seq).eq(0..10) && closed.iter().all(|event| event.time == UnixMillis(5)));
    assert_eq!(reader.page(7, 2).expect("readable"), closed[7..9]);
    assert_eq!(reader.page(4, 2).expect("readable"), closed[4..6]);
    assert_eq!(reader.before(9, 100).expect("readable"), closed[..9]);
    assert_eq!(reader.before(7, 3).expect("readable"), closed[4..7]);
    assert_eq!(fixture.bytes(), bytes);

    let opened = fixture.open();
    assert_eq!(opened.events, closed, "opening closes it the same way");
    opened.session.append(start(2)).expect("it goes on");
    assert_eq!(
        reader.page(0, 100).expect("readable"),
        opened.session.events().expect("readable")
    );
    assert!(reader.running());
    drop(opened);
    assert_eq!(
        reader.count().expect("readable"),
        12,
        "and the next turn is closed in turn"
    );
}

#[test]
fn a_reader_never_takes_half_a_line_for_an_event_or_for_damage() {
    let fixture = Fixture::new();
    let (log, events) = log_of(turn(1));
    let ends: Vec<usize> = (1..=log.len()).filter(|end| log[end - 1] == b'\n').collect();
    fixture.write(&log[..ends[0]]);
    let paths = fixture.store.layout().session(&id()).expect("a name");
    let lock = super::lock::SessionLock::take(&RealFiles, &paths, &id(), "another").expect("nobody has it");
    let reader = fixture.store.read(&id()).expect("readable");
    for cut in ends[0]..log.len() {
        fixture.write(&log[..cut]);
        let whole = ends.iter().filter(|end| **end <= cut).count() - 1;
        assert_eq!(reader.page(0, 100).expect("readable"), events[..whole], "cut at {cut}");
        assert_eq!(reader.damage(), None, "cut at {cut}");
    }
    drop(lock);
}

#[test]
fn a_line_that_was_caught_half_way_is_read_again_before_it_is_judged() {
    let fixture = Fixture::new();
    let (log, events) = sample();
    let ends: Vec<usize> = (1..=log.len()).filter(|end| log[end - 1] == b'\n').collect();
    // What is read ahead is the start of a line that its writer cuts off again, and another takes its place.
    let half = b"{\"seq\":3,\"time\":4,\"type\":\"turn/";
    fixture.write(&[&log[..ends[3]], half].concat());
    let mut scan = super::scan::LogScan::open(&fixture.store, &id()).expect("readable");
    for event in &events[..3] {
        assert_eq!(scan.next().expect("readable").as_ref(), Some(event));
    }
    fixture.write(&log);
    for event in &events[3..] {
        assert_eq!(scan.next().expect("readable").as_ref(), Some(event));
    }
    assert_eq!(scan.next().expect("readable"), None);
    assert_eq!(scan.damage(), None);
}

#[test]
fn a_header_without_its_line_feed_is_followed_by_what_comes() {
    let fixture = Fixture::new();
    let (log, events) = sample();
    let header = log.iter().position(|byte| *byte == b'\n').expect("a header");
    fixture.write(&log[..header]);
    let reader = fixture.store.read(&id()).expect("readable");
    assert_eq!(reader.count().expect("readable"), 0);
    fixture.write(&log);
    assert_eq!(reader.page(0, 100).expect("readable"), events);
    fixture.write(&log[..log.len() - 1]);
    let reader = fixture.store.read(&id()).expect("readable");
    assert_eq!(reader.count().expect("readable"), 20);
    let more = [
        &log[..],
        b"{\"seq\":20,\"time\":5,\"type\":\"turn/start\",\"data\":{\"turn\":3}}\n",
    ]
    .concat();
    fixture.write(&more);
    assert_eq!(reader.count().expect("readable"), 22, "the turn is closed in memory");
}

#[test]
fn a_reader_goes_on_in_the_file_that_takes_the_logs_name() {
    let fixture = Fixture::new();
    drop(fixture.create(short_turns(40)));
    let reader = fixture.store.read(&id()).expect("readable");
    let events = reader.page(0, 1000).expect("readable");
    let plain: String = str::from_utf8(&fixture.bytes())
        .expect("text")
        .lines()
        .map(|line| {
            let (text, _) = line.rsplit_once(",\"crc\":").expect("a checksum");
            format!("{text}}}\n")
        })
        .collect();
    fs::write(fixture.folder().join("new"), plain).expect("written");
    fs::rename(fixture.folder().join("new"), fixture.log()).expect("renamed");
    assert_eq!(
        reader.page(100, 10).expect("readable"),
        events[100..110],
        "every line begins elsewhere now"
    );
    assert_eq!(reader.before(100, 10).expect("readable"), events[90..100]);
    fs::remove_dir_all(fixture.folder()).expect("removed");
    reader.page(0, 1).expect_err("it is gone");
}

#[test]
fn readers_see_every_event_of_a_writer_in_order_while_it_writes() {
    let fixture = Fixture::new();
    let session = fixture.create(short_turns(1));
    let reader = fixture.other().read(&id()).expect("readable");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for body in short_turns(300).skip(3) {
                session.append(body).expect("legal");
            }
        });
        let mut seen = 0;
        while seen < 900 {
            for event in reader.page(seen, 50).expect("readable") {
                assert_eq!(event.seq, seen);
                seen += 1;
            }
            assert_eq!(reader.damage(), None);
        }
    });
}

#[test]
fn a_passing_look_gives_every_sound_event_and_closes_nothing() {
    let fixture = Fixture::new();
    let session = fixture.create(turn(1).into_iter().chain([start(2)]));
    let look = |fixture: &Fixture| {
        let mut seen = Vec::new();
        let looked = fixture.other().each_event(&id(), |event| seen.push(event.clone()));
        looked.map(|()| seen)
    };
    let events: Vec<_> = session
        .events()
        .expect("readable")
        .iter()
        .map(|event| (**event).clone())
        .collect();
    assert_eq!(look(&fixture).expect("readable"), events, "while it is open");
    drop(session);
    let bytes = fixture.bytes();
    fixture.write(&bytes[..bytes.len() - 9]);
    assert_eq!(look(&fixture).expect("readable"), events[..events.len() - 1], "torn");
    fs::remove_file(fixture.log()).expect("removed");
    look(&fixture).expect_err("gone");
}
