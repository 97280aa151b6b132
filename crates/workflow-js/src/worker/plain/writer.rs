//! Writing JSON up to a limit, and measuring it beyond.

use crate::text::cut_bytes;

/// The JSON so far. What it holds is whole JSON at every limit, once all that was opened is closed.
#[derive(Debug)]
pub(super) struct Writer {
    json: String,
    limit: usize,
    /// How many bytes there would be without the limit.
    size: u64,
    full: bool,
}

/// The state before an item, in case that nothing of it fits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Before {
    length: usize,
}

impl Writer {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            json: String::new(),
            limit,
            size: 0,
            full: false,
        }
    }

    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// Whether something did not fit.
    pub(super) fn is_full(&self) -> bool {
        self.full
    }

    /// The JSON. It may be longer than the limit by one closing bracket for each level.
    pub(super) fn finish(self) -> String {
        if self.json.is_empty() {
            "null".to_owned()
        } else {
            self.json
        }
    }

    /// Writes a value that is written whole or not at all, and tells which.
    pub(super) fn scalar(&mut self, text: &str) -> bool {
        self.size += text.len() as u64;
        self.full |= text.len() > self.room();
        if !self.full {
            self.json.push_str(text);
        }
        !self.full
    }

    /// Writes a string, or its beginning.
    pub(super) fn string(&mut self, text: &str) {
        const LEAST: usize = 16;
        self.size += text.len() as u64 + 2;
        if self.full {
            return;
        }
        let room = self.room();
        if let Some(quoted) = quoted_within(text, room) {
            self.json.push_str(&quoted);
            return;
        }
        self.full = true;
        let mut kept = room.saturating_sub(2);
        while kept >= LEAST {
            if let Some(quoted) = quoted_within(&cut_bytes(text, kept), room) {
                self.json.push_str(&quoted);
                return;
            }
            // Escapes take up to six times as much.
            kept = kept * 3 / 4;
        }
    }

    /// Opens an array or object, and tells whether it has to be closed.
    pub(super) fn open(&mut self, bracket: char) -> bool {
        self.scalar(bracket.encode_utf8(&mut [0; 4]))
    }

    pub(super) fn close(&mut self, opened: bool, bracket: char) {
        self.size += 1;
        if opened {
            self.json.push(bracket);
        }
    }

    /// Begins an item of an array or object.
    pub(super) fn item(&mut self, first: bool) -> Before {
        let length = self.json.len();
        if !first {
            self.scalar(",");
        }
        Before { length }
    }

    /// Writes the key of an object's item.
    pub(super) fn key(&mut self, key: &str) {
        self.size += key.len() as u64 + 3;
        if self.full {
            return;
        }
        match quoted_within(key, self.room().saturating_sub(1)) {
            Some(quoted) => {
                self.json.push_str(&quoted);
                self.json.push(':');
            }
            None => self.full = true,
        }
    }

    /// Ends an item, and takes back its comma and key if nothing of its value fitted.
    pub(super) fn end_item(&mut self, before: Before) {
        if self.full && self.json[before.length..].ends_with([',', ':']) {
            self.json.truncate(before.length);
        }
    }

    fn room(&self) -> usize {
        self.limit.saturating_sub(self.json.len())
    }
}

fn quoted_within(text: &str, room: usize) -> Option<String> {
    if text.len() + 2 > room {
        return None;
    }
    let quoted = serde_json::Value::from(text).to_string();
    (quoted.len() <= room).then_some(quoted)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes `{"key":["…", 1, 2], "last": true}` with the given text.
    fn write(text: &str, limit: usize) -> Writer {
        let mut writer = Writer::new(limit);
        let object = writer.open('{');
        let key = writer.item(true);
        writer.key("key");
        let array = writer.open('[');
        for item in [text, "1", "2"] {
            let before = writer.item(item == text);
            if item == text {
                writer.string(text);
            } else {
                writer.scalar(item);
            }
            writer.end_item(before);
        }
        writer.close(array, ']');
        writer.end_item(key);
        let last = writer.item(false);
        writer.key("last");
        writer.scalar("true");
        writer.end_item(last);
        writer.close(object, '}');
        writer
    }

    #[test]
    fn what_fits_is_written_whole() {
        let writer = write("a\"", 1_000);
        assert!(!writer.is_full());
        assert_eq!(writer.finish(), r#"{"key":["a\"",1,2],"last":true}"#);
    }

    #[test]
    fn at_every_limit_it_is_json_and_the_size_is_that_of_all() {
        let text = "ä\n🧪".repeat(20);
        let whole = write(&text, 1_000).size();
        for limit in 0..400 {
            let writer = write(&text, limit);
            assert_eq!(writer.size(), whole, "limit {limit}");
            let json = writer.finish();
            assert!(json.len() <= limit.max(4) + 2, "limit {limit}: {}", json.len());
            serde_json::from_str::<serde_json::Value>(&json).unwrap_or_else(|error| panic!("{limit}: {json}: {error}"));
        }
    }

    #[test]
    fn a_cut_string_ends_in_an_ellipsis() {
        let mut writer = Writer::new(20);
        writer.string(&"x".repeat(100));
        assert_eq!((writer.size(), writer.is_full()), (102, true));
        assert_eq!(writer.finish(), format!("\"{}…\"", "x".repeat(15)));
    }
}
