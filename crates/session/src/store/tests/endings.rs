//! What a log may end in: blank lines, a line that rotted.

use super::*;

#[test]
fn blank_lines_at_the_end_are_cut_off_and_nothing_is_kept() {
    let (log, events) = sample();
    for blank in ["\n", "\n\n", "\n \r\n\n", "\n\n  ", "\n{\"seq\":20,\"ti"] {
        let fixture = Fixture::new();
        fixture.write(&[&log[..], blank.as_bytes()].concat());
        let found = fixture.store.verify(&id()).expect("a log");
        assert_eq!((found.damage, found.torn_tail), (None, blank.len() as u64), "{blank:?}");
        let opened = fixture.open();
        let note = Note::TornTail {
            offset: log.len() as u64,
            bytes: blank.len() as u64,
            kept_as: None,
        };
        assert_eq!((opened.events, opened.notes), (events.clone(), vec![note]), "{blank:?}");
        assert_eq!(fixture.bytes(), log);
        opened.session.append(start(3)).expect("it goes on");
    }
}

#[test]
fn blank_lines_around_a_line_that_is_no_event_are_cut_off_with_it_and_it_is_kept() {
    let (log, events) = sample();
    for ending in ["\n{\"seq\"\n", "{\"seq\"\n\n\n", "\n\n{\"seq\"\n \n  "] {
        let fixture = Fixture::new();
        let whole = [&log[..], ending.as_bytes()].concat();
        fixture.write(&whole);
        let opened = fixture.open();
        assert_eq!((opened.events, opened.damage), (events.clone(), None), "{ending:?}");
        assert_eq!(fixture.bytes(), log);
        assert_eq!(fs::read(fixture.folder().join("log.damaged-1")).expect("kept"), whole);
    }
}

#[test]
fn a_whole_last_line_that_rotted_is_told_and_cut_off_only_when_the_session_is_opened() {
    let (log, events) = sample();
    let last = log[..log.len() - 1]
        .iter()
        .rposition(|byte| *byte == b'\n')
        .expect("a line")
        + 1;
    for (at, reason) in [(last + 30, "its checksum is wrong"), (log.len() - 2, "it is no JSON: ")] {
        let fixture = Fixture::new();
        let mut rotten = log.clone();
        rotten[at] ^= 1;
        fixture.write(&rotten);
        let found = fixture.store.verify(&id()).expect("a log");
        let damage = found.damage.expect("its event was complete");
        assert_eq!((damage.seq, damage.line, damage.offset), (19, 21, last as u64));
        assert!(damage.reason.starts_with(reason), "{damage}");
        assert!(
            damage
                .reason
                .ends_with("; it is the last line, which the next opening cuts off, keeping the log as it was")
        );
        assert_eq!(found.torn_tail, (log.len() - last) as u64);
        let opened = fixture.open();
        assert_eq!(opened.damage, None);
        assert!(opened.events.starts_with(&events[..19]));
        assert_eq!(fs::read(fixture.folder().join("log.damaged-1")).expect("kept"), rotten);
    }
}

#[test]
fn an_ignorable_event_may_be_nested_as_deep_as_it_likes() {
    let (log, mut events) = sample();
    for depth in [125, 200, 100_000] {
        let fixture = Fixture::new();
        let data = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        let json = format!("{{\"seq\":20,\"time\":1,\"type\":\"later/fact\",\"data\":{data},\"ignorable\":true}}");
        let event: Event = Event::from_json(json.as_bytes()).expect("an event");
        let mut text = log.clone();
        crate::store::line::write(&mut text, &event).expect("an object");
        fixture.write(&text);
        events.truncate(20);
        events.push(Arc::new(event));
        let opened = fixture.open();
        assert_eq!((&opened.events, &opened.notes[..]), (&events, &[][..]));
        opened.session.append(start(3)).expect("it goes on");
        let mut export = Vec::new();
        fixture.store.export(&id(), &mut export).expect("exported");
        assert!(export.windows(json.len()).any(|part| part == json.as_bytes()));
    }
}
