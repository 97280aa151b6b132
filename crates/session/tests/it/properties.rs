//! Generated logs: valid ones are accepted and come back, mutated ones are refused where they break.

use std::sync::Arc;

use proptest::prelude::*;
use weft_session::{EventLog as _, LoadError, MemoryLog, Restore, Session, closing_events, read_lines};
use weft_types::{AssistantBlock, Event, EventBody, TurnEnd, UnixMillis};

use crate::generate::{append_all, events_of, header, log, session};

fn load(events: Vec<Event>) -> Result<Arc<Session>, LoadError> {
    let events: Vec<_> = events.into_iter().map(Arc::new).collect();
    let mut restore = Restore::new(header(), Vec::new());
    events.iter().try_for_each(|event| restore.push(event))?;
    Ok(restore.finish(Box::new(MemoryLog::holding(events)), Arc::new(|| UnixMillis(1))))
}

/// The kinds of damage that no log may survive.
fn is_structural(body: &EventBody) -> bool {
    matches!(
        body,
        EventBody::TurnStart { .. }
            | EventBody::StepStart { .. }
            | EventBody::AssistantMessage { .. }
            | EventBody::ToolCall { .. }
            | EventBody::ToolResult { .. }
            | EventBody::StepEnd { .. }
            | EventBody::TurnEnd { .. }
    )
}

/// Moves the event's turn or step number.
fn renumber(body: &mut EventBody, turn_by: u32, step_by: u32) {
    match body {
        EventBody::TurnStart { turn }
        | EventBody::UserMessage { turn, .. }
        | EventBody::ToolContext { turn, .. }
        | EventBody::TurnEnd { turn, .. } => {
            *turn = turn.wrapping_add(turn_by.max(step_by));
        }
        EventBody::StepStart { turn, step }
        | EventBody::StepEnd { turn, step }
        | EventBody::ModelRetry { turn, step, .. }
        | EventBody::AssistantMessage { turn, step, .. }
        | EventBody::ToolCall { turn, step, .. }
        | EventBody::ToolResult { turn, step, .. } => {
            *turn = turn.wrapping_add(turn_by);
            *step = step.wrapping_add(step_by);
        }
        _ => {}
    }
}

fn renumbered(mut events: Vec<Event>) -> Vec<Event> {
    for (seq, event) in (0..).zip(&mut events) {
        event.seq = seq;
    }
    events
}

proptest! {
    #[test]
    fn a_valid_log_is_accepted_and_comes_back_from_its_export(bodies in log()) {
        let log = session();
        append_all(&log, bodies);
        let mut text = Vec::new();
        log.export(&mut text).expect("a vector takes all");
        let (read_header, events) = read_lines(&*text).expect("what was written");
        prop_assert_eq!(&read_header, log.header());
        prop_assert_eq!(&events, &events_of(&log));
        let loaded = load(events).expect("a valid log");
        let mut again = Vec::new();
        loaded.export(&mut again).expect("a vector takes all");
        prop_assert_eq!(again, text, "byte for byte");
    }

    #[test]
    fn live_and_load_refuse_a_damaged_log_at_the_same_event(
        bodies in log(), at in any::<prop::sample::Index>(), damage in 0..6_u32,
    ) {
        let log = session();
        append_all(&log, bodies);
        let mut events = events_of(&log);
        let structural: Vec<usize> = (0..events.len()).filter(|at| is_structural(&events[*at].body)).collect();
        prop_assume!(!structural.is_empty());
        let at = structural[at.index(structural.len())];
        match damage {
            // A log that merely stops earlier is legal, so the last event is never the one lost.
            0 if at + 1 < events.len() && !is_bare_answer(&events[at].body) => drop(events.remove(at)),
            0 | 1 => events.insert(at, events[at].clone()),
            2 => renumber(&mut events[at].body, 1, 0),
            3 => renumber(&mut events[at].body, 0, 1),
            4 => renumber(&mut events[at].body, u32::MAX, 0),
            _ if at + 1 < events.len() && is_structural(&events[at + 1].body) => {
                // Two calls or two results next to each other may stand in either order.
                prop_assume!(std::mem::discriminant(&events[at].body) != std::mem::discriminant(&events[at + 1].body)
                    || events[at].body == events[at + 1].body);
                prop_assume!(!is_free_pair(&events[at].body, &events[at + 1].body));
                events.swap(at, at + 1);
            }
            _ => renumber(&mut events[at].body, 7, 7),
        }
        let events = renumbered(events);
        let refused_at = load(events.clone()).expect_err("a damaged log").seq;
        let live = session();
        let first_refused = events.iter().position(|event| live.append(event.body.clone()).is_err());
        prop_assert_eq!(first_refused.map(|seq| seq as u64), Some(refused_at));
    }

    #[test]
    fn a_hole_in_the_numbers_is_refused_on_load(bodies in log(), at in any::<prop::sample::Index>(), by in 1_u64..9) {
        let log = session();
        append_all(&log, bodies);
        let mut events = events_of(&log);
        prop_assume!(!events.is_empty());
        let at = at.index(events.len());
        events[at].seq += by;
        prop_assert_eq!(load(events.clone()).expect_err("a hole").seq, events[at].seq);
    }

    #[test]
    fn every_cut_of_a_valid_log_loads_and_its_closing_events_close_it(
        bodies in log(), at in any::<prop::sample::Index>(),
    ) {
        let log = session();
        append_all(&log, bodies);
        let mut events = events_of(&log);
        events.truncate(at.index(events.len() + 1));
        let next = events.iter().filter(|event| matches!(event.body, EventBody::TurnStart { .. })).count();
        let cut = load(events).expect("a prefix of a valid log");
        append_all(&cut, closing_events(&cut.last_turn(), TurnEnd::Interrupted));
        prop_assert!(closing_events(&cut.last_turn(), TurnEnd::Interrupted).is_empty());
        append_all(&cut, [EventBody::TurnStart { turn: u32::try_from(next).expect("few turns") + 1 }]);
    }
}

proptest! {
    #[test]
    fn every_cut_of_a_valid_log_is_repaired_in_the_log_and_in_memory_alike(
        bodies in log(), at in any::<prop::sample::Index>(),
    ) {
        let whole = session();
        append_all(&whole, bodies);
        let mut events: Vec<_> = events_of(&whole).into_iter().map(Arc::new).collect();
        events.truncate(at.index(events.len() + 1));
        let restore = || {
            let mut restore = Restore::new(header(), Vec::new());
            events.iter().try_for_each(|event| restore.push(event)).map(|()| restore).expect("a prefix of a valid log")
        };
        let mut log = MemoryLog::holding(events.clone());
        let mut repaired = restore();
        let closing = repaired.close_turn();
        closing.iter().try_for_each(|event| log.append(event)).expect("memory takes all");
        prop_assert_eq!(&closing, &restore().close_turn());
        let last = events.last().map_or(UnixMillis(0), |event| event.time);
        prop_assert!(closing.iter().all(|event| event.time == last));
        let session = repaired.finish(Box::new(log), Arc::new(|| UnixMillis(1)));
        let expected: Vec<_> = events.into_iter().chain(closing).collect();
        prop_assert_eq!(session.events().expect("in memory"), expected);
        prop_assert_eq!(session.len(), session.events().expect("in memory").len() as u64);
    }
}

/// An answer without calls; a step may as well have none.
fn is_bare_answer(body: &EventBody) -> bool {
    let EventBody::AssistantMessage { content, .. } = body else {
        return false;
    };
    !content
        .iter()
        .any(|block| matches!(block, AssistantBlock::ToolCall { .. }))
}

/// A call and the result of another one.
fn is_free_pair(first: &EventBody, second: &EventBody) -> bool {
    match (first, second) {
        (EventBody::ToolCall { call_id: call, .. }, EventBody::ToolResult { call_id: result, .. })
        | (EventBody::ToolResult { call_id: result, .. }, EventBody::ToolCall { call_id: call, .. }) => call != result,
        _ => false,
    }
}
