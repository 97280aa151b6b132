//! Logs of older versions.

use weft_types::{Event, EventBody, SessionHeader};

/// Turns the events of an older log into today's, one for one, in order. A copy goes on from where it was made.
///
/// Version 1 wrote what tools gave the model beside their results as a further `user/message` of the turn; since version
/// 2 only the first message of a turn is the user's, and those are `tool/context`. Version 3 only added to version 2.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Migration {
    version: u32,
    /// Whether the turn has its user's message.
    asked: bool,
}

impl Migration {
    /// The migration from `version`, which is at most today's.
    pub(crate) fn from(version: u32) -> Self {
        Self { version, asked: false }
    }

    /// Whether the log is of today's version, so that nothing changes.
    pub(crate) fn is_none(&self) -> bool {
        self.version >= SessionHeader::VERSION
    }

    /// The header as it would be written today.
    pub(crate) fn header(self, header: SessionHeader) -> SessionHeader {
        SessionHeader {
            version: SessionHeader::VERSION,
            ..header
        }
    }

    /// The next event as it would be written today.
    pub(crate) fn event(&mut self, event: Event) -> Event {
        if self.version >= 2 {
            return event;
        }
        let body = match event.body {
            EventBody::UserMessage { turn, content } if self.asked => EventBody::ToolContext { turn, content },
            body => body,
        };
        match &body {
            EventBody::TurnStart { .. } => self.asked = false,
            EventBody::UserMessage { .. } => self.asked = true,
            _ => {}
        }
        Event { body, ..event }
    }
}

#[cfg(test)]
mod tests {
    use weft_types::{ContentBlock, TurnEnd, UnixMillis};

    use super::*;

    fn message(turn: u32, text: &str) -> EventBody {
        let content = vec![ContentBlock::text(text)];
        EventBody::UserMessage { turn, content }
    }

    fn context(turn: u32, text: &str) -> EventBody {
        let content = vec![ContentBlock::text(text)];
        EventBody::ToolContext { turn, content }
    }

    fn end(turn: u32) -> EventBody {
        let reason = TurnEnd::Completed;
        EventBody::TurnEnd { turn, reason }
    }

    #[track_caller]
    fn check(version: u32, log: Vec<EventBody>, expected: Vec<EventBody>) {
        let mut migration = Migration::from(version);
        let time = UnixMillis(5);
        let event = |(seq, body)| Event { seq, time, body };
        let migrated: Vec<_> = (0..).zip(log).map(event).map(|event| migration.event(event)).collect();
        let expected: Vec<_> = (0..).zip(expected).map(event).collect();
        assert_eq!(migrated, expected);
    }

    #[test]
    fn of_a_turn_of_version_1_only_the_first_message_is_the_users() {
        let start = |turn| EventBody::TurnStart { turn };
        check(
            1,
            vec![
                start(1),
                message(1, "a"),
                EventBody::StepStart { turn: 1, step: 1 },
                EventBody::StepEnd { turn: 1, step: 1 },
                message(1, "b"),
                message(1, "c"),
                end(1),
                start(2),
                message(2, "d"),
                message(2, "e"),
            ],
            vec![
                start(1),
                message(1, "a"),
                EventBody::StepStart { turn: 1, step: 1 },
                EventBody::StepEnd { turn: 1, step: 1 },
                context(1, "b"),
                context(1, "c"),
                end(1),
                start(2),
                message(2, "d"),
                context(2, "e"),
            ],
        );
    }

    #[test]
    fn todays_events_stay_as_they_are() {
        let log = || vec![EventBody::TurnStart { turn: 1 }, message(1, "a"), message(1, "b")];
        check(SessionHeader::VERSION, log(), log());
    }

    #[test]
    fn a_copy_goes_on_from_where_it_was_made() {
        let mut migration = Migration::from(1);
        let event = |body| Event {
            seq: 0,
            time: UnixMillis(0),
            body,
        };
        migration.event(event(EventBody::TurnStart { turn: 1 }));
        let mut before = migration;
        migration.event(event(message(1, "a")));
        let mut after = migration;
        assert_eq!(before.event(event(message(1, "b"))).body, message(1, "b"));
        assert_eq!(after.event(event(message(1, "b"))).body, context(1, "b"));
    }
}
