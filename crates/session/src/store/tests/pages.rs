//! Pages of a log.

use proptest::prelude::*;

use super::*;

#[test]
fn a_page_from_anywhere_is_the_events_from_there_and_one_before_anywhere_those_before() {
    let fixture = Fixture::new();
    let session = fixture.create(short_turns(70));
    let events = session.events().expect("readable");
    let cold = fixture.store.read(&id()).expect("readable");
    let count = events.len() as u64;
    for at in (0..=count + 1).chain([u64::MAX]) {
        for limit in [0, 1, 2, 64, 65, 1000] {
            let split = usize::try_from(at).unwrap_or(usize::MAX).min(events.len());
            let after = &events[split..events.len().min(split.saturating_add(limit))];
            assert_eq!(session.page(at, limit).expect("readable"), after, "{limit} from {at}");
            assert_eq!(
                cold.page(at, limit).expect("readable"),
                after,
                "{limit} from {at}, read"
            );
            let before = &events[split.saturating_sub(limit)..split];
            assert_eq!(cold.before(at, limit).expect("readable"), before, "{limit} before {at}");
        }
    }
}

#[test]
fn a_page_is_bounded_by_its_events_and_bytes_but_holds_one_event_at_least() {
    let fixture = Fixture::with(|options| (options.page_events, options.page_bytes) = (5, 4096));
    let sizes = [10, 10, 10, 10, 10, 10, 10, 10_000, 3000, 10, 3000, 10];
    let messages = sizes.iter().map(|size| user(1, &"x".repeat(*size)));
    // An invariant of a turn: what follows its first message is context of tools.
    let context = messages.enumerate().map(|(number, body)| match body {
        EventBody::UserMessage { turn, content } if number > 0 => EventBody::ToolContext { turn, content },
        body => body,
    });
    let session = fixture.create(std::iter::once(start(1)).chain(context));
    let cold = fixture.store.read(&id()).expect("readable");
    let events = session.events().expect("readable");
    let seqs = |page: Vec<Arc<Event>>| page.iter().map(|event| event.seq).collect::<Vec<_>>();
    for (from, expected) in [
        (0, vec![0, 1, 2, 3, 4]),
        (5, vec![5, 6, 7]),
        (8, vec![8]),
        (9, vec![9, 10]),
        (11, vec![11, 12]),
    ] {
        assert_eq!(seqs(session.page(from, 100).expect("readable")), expected);
        assert_eq!(seqs(cold.page(from, 100).expect("readable")), expected);
    }
    for (before, expected) in [
        (13, vec![10, 11, 12]),
        (11, vec![9, 10]),
        (9, vec![8]),
        (8, vec![3, 4, 5, 6, 7]),
        (3, vec![0, 1, 2]),
    ] {
        assert_eq!(seqs(cold.before(before, 100).expect("readable")), expected);
    }
    assert_eq!(events.len(), 13);
    drop(session);
    let mut opening = fixture.store.open(&id()).expect("nobody has it");
    let mut pages = Vec::new();
    while let Some(page) = Some(opening.next_page().expect("readable")).filter(|page| !page.is_empty()) {
        pages.push(page.len());
    }
    assert!(pages.iter().all(|len| *len <= 5), "{pages:?}");
    assert_eq!(pages.iter().sum::<usize>(), 14, "the last is the end of the turn");
}

#[test]
fn options_out_of_their_range_are_refused_by_name() {
    let refuse = |change: fn(&mut StoreOptions), text: &str| {
        let mut options = StoreOptions::new("weft test");
        change(&mut options);
        let error = FileStore::new("x".into(), options)
            .expect_err("out of range")
            .to_string();
        assert_eq!(error, format!("failed to open the session store: {text}"));
    };
    refuse(
        |options| options.sync_interval = std::time::Duration::from_secs(11),
        "sync_interval is 11s, expected 0s to 10s",
    );
    refuse(
        |options| options.max_line_bytes = 1,
        "max_line_bytes is 1, expected 65536 to 1073741824",
    );
    refuse(
        |options| options.page_events = 0,
        "page_events is 0, expected 1 to 65536",
    );
    refuse(
        |options| options.page_bytes = usize::MAX,
        &format!("page_bytes is {}, expected 4096 to 1073741824", usize::MAX),
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn pages_end_to_end_are_the_log(
        turns in 0_u32..90, crashed in 0_usize..10, limit in 1_usize..200, page_bytes in 4096_usize..20_000,
    ) {
        let fixture = Fixture::with(|options| options.page_bytes = page_bytes);
        let crash = turn(turns + 1).into_iter().take(crashed);
        drop(fixture.create(short_turns(turns).chain(crash)));
        prop_assume!(turns > 0 || crashed > 0);
        let cold = fixture.store.read(&id()).expect("readable");
        let count = cold.count().expect("readable");
        let mut forwards = Vec::new();
        while (forwards.len() as u64) < count {
            let page = cold.page(forwards.len() as u64, limit).expect("readable");
            prop_assert!(!page.is_empty() && page.len() <= limit);
            forwards.extend(page);
        }
        prop_assert!(forwards.iter().map(|event| event.seq).eq(0..count));
        let mut backwards: Vec<Arc<Event>> = Vec::new();
        while (backwards.len() as u64) < count {
            let page = cold.before(count - backwards.len() as u64, limit).expect("readable");
            prop_assert!(!page.is_empty() && page.len() <= limit);
            backwards.splice(0..0, page);
        }
        prop_assert_eq!(&backwards, &forwards);
        let opened = fixture.open();
        prop_assert_eq!(opened.events, forwards);
    }
}
