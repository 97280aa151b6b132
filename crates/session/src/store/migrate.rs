//! Logs of older versions.

use weft_types::{Event, SessionHeader};

/// Turns the events of an older log into today's, one for one, in order. A copy goes on from where it was made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Migration {
    version: u32,
}

impl Migration {
    /// The migration from `version`, which is at most today's.
    pub(crate) fn from(version: u32) -> Self {
        Self { version }
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
        event
    }
}
