//! What a script threw, in words.
//!
//! Looking at a thrown value can run script: getters, proxies. So nothing is coerced, everything read may fail or take
//! the time that is left, and there is always something to say in the end.

use rquickjs::{Object, Value};

use super::control::Control;
use super::kind::kind_of;
use super::plain::{Rules, to_plain};
use super::prelude::Prelude;
use crate::script::{Position, excerpt};
use crate::text::{cut_bytes, cut_chars};

const MAX_MESSAGE_BYTES: usize = 4_096;
const MAX_FRAMES: usize = 8;

/// Where a script's own frames are recognised by, and its text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Source<'a> {
    pub(super) file: &'a str,
    pub(super) body: &'a str,
    /// What stands before the body on its first line.
    pub(super) head: &'a str,
}

/// A thrown value: an error by its name, message and place in the script, anything else by its kind and value.
pub(super) fn describe<'js>(
    thrown: &Value<'js>,
    source: Source<'_>,
    prelude: &Prelude<'js>,
    control: &Control,
) -> String {
    if let Some(error) = thrown.as_object().filter(|_| thrown.is_error()) {
        return describe_error(error, source, prelude);
    }
    let kind = kind_of(thrown, prelude);
    if thrown.is_null() || thrown.is_undefined() {
        return kind.to_owned();
    }
    if let Some(string) = thrown.as_string() {
        return match prelude.text(string) {
            Ok(text) => format!("the text {:?}", cut_chars(&text.value, 1_000)),
            Err(_) => kind.to_owned(),
        };
    }
    let rules = Rules {
        root: "it",
        limit: 1_024,
        skip_undefined: true,
    };
    match to_plain(thrown, rules, prelude, control) {
        Ok(plain) if plain.problems.is_empty() => format!("{kind}: {}", plain.json),
        _ => format!("{kind} that cannot be shown"),
    }
}

/// One line for a note or a log line.
pub(super) fn describe_briefly<'js>(
    thrown: &Value<'js>,
    source: Source<'_>,
    prelude: &Prelude<'js>,
    control: &Control,
) -> String {
    let all = describe(thrown, source, prelude, control);
    let place = place_thrown(thrown, source, prelude);
    let first = cut_chars(all.lines().next().unwrap_or_default(), 300);
    match place {
        Some(Position { line, .. }) => format!("{first} (line {line})"),
        None => first,
    }
}

/// The place that an error was thrown at. Its stack trace is the error's own, so that no script runs for those that the
/// engine threw.
pub(super) fn place_thrown<'js>(thrown: &Value<'js>, source: Source<'_>, prelude: &Prelude<'js>) -> Option<Position> {
    let error = thrown.as_object().filter(|_| thrown.is_error())?;
    place_of(&field(error, "stack", prelude)?, source)
}

fn describe_error<'js>(error: &Object<'js>, source: Source<'_>, prelude: &Prelude<'js>) -> String {
    let name = field(error, "name", prelude).filter(|name| !name.is_empty());
    let message = field(error, "message", prelude).filter(|message| !message.is_empty());
    let headline = match (name.as_deref(), message) {
        (None | Some("WorkflowError"), Some(message)) => match field(error, "code", prelude) {
            Some(code) => format!("{message} [{code}]"),
            None => message,
        },
        (Some(name), Some(message)) => format!("{name}: {message}"),
        (Some(name), None) => format!("{name} without a message"),
        (None, None) => "an Error that cannot be shown".to_owned(),
    };
    let mut text = cut_bytes(&headline, MAX_MESSAGE_BYTES);
    let stack = field(error, "stack", prelude).unwrap_or_default();
    for Frame { function, position } in own_frames(&stack, source).take(MAX_FRAMES) {
        text.push_str(&format!("\n    at {} ({position})", cut_chars(function, 80)));
    }
    if let Some(line) = place_of(&stack, source).and_then(|place| excerpt(source.body, place)) {
        text.push('\n');
        text.push_str(&line);
    }
    text
}

/// A property, if it is text.
fn field<'js>(object: &Object<'js>, name: &str, prelude: &Prelude<'js>) -> Option<String> {
    match object.get::<_, Value<'js>>(name) {
        Ok(value) => prelude.text(value.as_string()?).ok().map(|text| text.value),
        Err(_) => {
            // A getter threw; nobody is interested in what.
            drop(object.ctx().catch());
            None
        }
    }
}

/// One line of a stack trace.
struct Frame<'a> {
    function: &'a str,
    position: Position,
}

/// The lines of a stack trace that are the script's own, innermost first.
fn own_frames<'a>(stack: &'a str, source: Source<'a>) -> impl Iterator<Item = Frame<'a>> {
    stack.lines().filter_map(move |line| {
        let line = line.trim().strip_prefix("at ")?;
        let (function, place) = line.rsplit_once(" (").unwrap_or(("<anonymous>", line));
        let place = place
            .trim_end_matches(')')
            .strip_prefix(source.file)?
            .strip_prefix(':')?;
        let (line, column) = place.split_once(':')?;
        let position = body_position(line.parse().ok()?, column.parse().ok()?, source.head)?;
        Some(Frame { function, position })
    })
}

/// The place in the body; its first line has the head before it.
fn body_position(line: usize, column: usize, head: &str) -> Option<Position> {
    let before = if line == 1 { head.len() } else { 0 };
    let column = column.saturating_sub(before).max(1);
    (line > 0).then_some(Position { line, column })
}

/// The place of the innermost frame of the script's own.
pub(super) fn place_of(stack: &str, source: Source<'_>) -> Option<Position> {
    own_frames(stack, source).next().map(|frame| frame.position)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::HEAD;

    const SOURCE: Source<'_> = Source {
        file: "workflow:x",
        body: "a\nb",
        head: HEAD,
    };

    #[test]
    fn the_place_is_that_of_the_innermost_frame_of_the_script() {
        let stack = "    at fail (weft:hooks:9:2)\n    at agent (native)\n    at f (workflow:x:2:3)\n    at g (workflow:x:1:1)\n";
        assert_eq!(place_of(stack, SOURCE), Some(Position { line: 2, column: 3 }));
        assert_eq!(
            place_of("    at <anonymous> (workflow:x:1:16)", SOURCE),
            Some(Position { line: 1, column: 2 })
        );
        assert_eq!(place_of("    at agent (native)", SOURCE), None);
        assert_eq!(place_of("workflow:x:0:0", SOURCE), None);
    }
}
