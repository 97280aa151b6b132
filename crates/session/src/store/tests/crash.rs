//! Logs as a death leaves them: cut at any byte; and any byte of them changed, any line of them lost.

use super::*;
use crate::Restore;

/// The lengths of a log at which a line ends.
fn ends(log: &[u8]) -> Vec<usize> {
    let ends = log.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    ends.map(|(at, _)| at + 1).collect()
}

/// What a log of these events is repaired to.
fn repaired(events: &[Arc<Event>]) -> Vec<Arc<Event>> {
    let time = events.last().map_or(UnixMillis(0), |event| event.time);
    let closing = crate::closing_events(events, TurnEnd::Interrupted).into_iter();
    let numbered = (events.len() as u64..).zip(closing);
    let closing = numbered.map(|(seq, body)| Arc::new(Event { seq, time, body }));
    events.iter().cloned().chain(closing).collect()
}

/// Appends a turn.
fn go_on(session: &Session) {
    let last = session.last_turn().iter().rev().find_map(|event| match event.body {
        EventBody::TurnEnd { turn, .. } => Some(turn),
        _ => None,
    });
    for body in turn(last.unwrap_or(0) + 1) {
        session.append(body).expect("it goes on");
    }
}

#[test]
fn g54_a_log_that_is_cut_at_any_byte_opens_with_what_is_whole_is_repaired_and_goes_on() {
    let (log, events) = log_of(turn(1).into_iter().chain([start(2)]));
    let ends = ends(&log);
    for cut in ends[0]..=log.len() {
        let fixture = Fixture::new();
        fixture.write(&log[..cut]);
        // A record that lacks nothing but its line feed is whole.
        let whole = ends.iter().filter(|end| **end - 1 <= cut).count() - 1;
        let torn = cut.checked_sub(ends[whole]).filter(|torn| *torn > 0);
        let expected = repaired(&events[..whole]);

        let cold = fixture.store.read(&id()).expect("readable");
        assert_eq!(cold.page(0, 1000).expect("readable"), expected, "cut at {cut}, read");
        assert_eq!(fixture.bytes(), log[..cut], "reading changes nothing");

        let opened = fixture.open();
        assert_eq!(opened.events, expected, "cut at {cut}");
        assert_eq!(opened.damage, None, "cut at {cut}");
        let note = torn.map(|bytes| Note::TornTail {
            offset: ends[whole] as u64,
            bytes: bytes as u64,
            kept_as: None,
        });
        assert_eq!(opened.notes, Vec::from_iter(note), "cut at {cut}");
        go_on(&opened.session);
        let expected = opened.session.events().expect("readable");
        drop(opened);

        let again = fixture.open();
        assert_eq!(
            (again.events, again.notes),
            (expected, Vec::new()),
            "cut at {cut}, opened again"
        );
    }
}

#[test]
fn a_log_that_is_cut_within_its_header_is_a_session_that_never_came_to_be() {
    let (log, _) = sample();
    let header = ends(&log)[0];
    for cut in 0..header - 1 {
        let fixture = Fixture::new();
        fixture.write(&log[..cut]);
        for error in [
            fixture.store.open(&id()).expect_err("no session"),
            fixture.store.read(&id()).expect_err("no session"),
        ] {
            let StoreError::NotFound { reason, .. } = &error else {
                panic!("cut at {cut}: {error}");
            };
            assert!(
                reason.ends_with("it died before its first event"),
                "cut at {cut}: {error}"
            );
        }
        assert_eq!(fixture.names(), ["log.jsonl"], "nothing is touched");
    }
}

#[test]
fn every_changed_byte_is_noticed_and_nothing_is_lost_in_silence() {
    // One turn is enough for every kind of line.
    let (log, events) = log_of(turn(1));
    let (ends, fixture) = (ends(&log), Fixture::new());
    for at in 0..log.len() {
        for change in [1, b'\n' ^ log[at]] {
            let mut changed = log.clone();
            changed[at] ^= change;
            if changed == log {
                continue;
            }
            fixture.write(&changed);
            let what = format!("byte {at} ^ {change}");
            let mut opening = match fixture.store.open(&id()) {
                Ok(opening) => opening,
                Err(StoreError::DamagedHeader { .. }) if at < ends[0] => continue,
                Err(error) => panic!("{what}: {error}"),
            };
            let mut read = Vec::new();
            while let Ok(page) = opening.next_page()
                && !page.is_empty()
            {
                read.extend(page);
            }
            let line = ends.iter().filter(|end| **end <= at).count();
            if read == events {
                // The name of the checksum, or the line feed that a last line may lack: nothing of what was written.
                continue;
            }
            match (opening.damage(), opening.notes()) {
                (Some(damage), _) => {
                    assert!(
                        damage.offset <= at as u64 && damage.seq as usize <= line,
                        "{what}: {damage}"
                    );
                    assert_eq!(read, repaired(&events[..damage.seq as usize]), "{what}");
                    assert_eq!(fixture.bytes(), changed, "{what}: what is damaged is left alone");
                }
                (None, [Note::TornTail { offset, kept_as, .. }]) => {
                    // A line feed that is gone makes one line of the last two.
                    let lines = ends.iter().filter(|end| **end as u64 > *offset).count();
                    assert!(
                        *offset <= at as u64 && lines <= 2,
                        "{what}: only the last line may be torn"
                    );
                    assert_eq!(read, repaired(&events[..events.len() - lines]), "{what}");
                    match kept_as {
                        Some(kept_as) => assert_eq!(fs::read(kept_as).expect("it is kept"), changed, "{what}"),
                        None => assert!(at == log.len() - 1, "{what}: only what has no line feed is not kept"),
                    }
                    fs::remove_dir_all(fixture.folder()).expect("removed");
                }
                (None, notes) => panic!("{what} is passed over: {notes:?}"),
            }
        }
    }
}

#[test]
fn every_lost_or_repeated_line_is_reported_where_it_is() {
    let (log, events) = sample();
    let lines: Vec<&[u8]> = log.split_inclusive(|byte| *byte == b'\n').collect();
    let fixture = Fixture::new();
    for (number, line) in lines.iter().enumerate().skip(1) {
        let offset = lines[..number].concat().len() as u64;
        let lost = [&lines[..number], &lines[number + 1..]].concat().concat();
        let repeated = [&lines[..=number], &[*line], &lines[number + 1..]].concat().concat();
        for (changed, seq, at) in [
            (lost, number - 1, offset),
            (repeated, number, offset + line.len() as u64),
        ] {
            fixture.write(&changed);
            let opened = fixture.open();
            if seq == events.len() - 1 && changed.len() < log.len() {
                assert_eq!(
                    opened.events,
                    repaired(&events[..seq]),
                    "without its last line it is a log all the same"
                );
                continue;
            }
            let damage = opened.damage.expect("it is found");
            assert_eq!((damage.seq, damage.offset), (seq as u64, at), "line {number}: {damage}");
            assert_eq!(opened.events, repaired(&events[..seq]));
        }
    }
    fixture.write(&lines[1..].concat());
    let error = fixture.store.open(&id()).expect_err("no header");
    assert!(matches!(error, StoreError::DamagedHeader { .. }), "{error}");
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(96))]

    #[test]
    fn no_bytes_make_it_panic_and_what_opens_is_a_legal_log(
        cuts in proptest::collection::vec((0_usize..4000, 0_usize..400, proptest::collection::vec(proptest::num::u8::ANY, 0..8)), 1..4),
    ) {
        let (mut log, _) = sample();
        for (at, cut, put) in cuts {
            let at = at.min(log.len());
            let end = (at + cut).min(log.len());
            log.splice(at..end, put);
        }
        let fixture = Fixture::new();
        fixture.write(&log);
        if let Ok(mut opening) = fixture.store.open(&id()) {
            let mut sound = Restore::new(header("s"), Vec::new());
            while let Ok(page) = opening.next_page() && !page.is_empty() {
                for event in page {
                    proptest::prop_assert!(sound.push(&event).is_ok());
                }
            }
            proptest::prop_assert!(sound.closing().is_empty());
        }
    }
}
