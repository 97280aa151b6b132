//! Strings and numbers as JavaScript writes them.

use serde_json::{Number, Value};

use super::Problem;
use super::cursor::{Cursor, is_line_end};

/// Reads a string of any of the three kinds.
pub(super) fn read_string(cursor: &mut Cursor<'_>) -> Result<String, Problem> {
    let start = cursor.position();
    let unterminated = || (start, "a string that does not end".to_owned());
    let quote = cursor.next().ok_or_else(unterminated)?;
    let mut text = Text::default();
    loop {
        let at = cursor.position();
        match cursor.next().ok_or_else(unterminated)? {
            c if c == quote => return Ok(text.finish()),
            '\\' => read_escape(cursor, at, &mut text)?,
            '\r' if quote == '`' => {
                cursor.take('\n');
                text.push('\n');
            }
            '\n' | '\r' if quote != '`' => return Err(unterminated()),
            '$' if quote == '`' && cursor.peek() == Some('{') => {
                return Err((at, "a substitution in a template is an expression".to_owned()));
            }
            c => text.push(c),
        }
    }
}

fn read_escape(cursor: &mut Cursor<'_>, at: usize, text: &mut Text) -> Result<(), Problem> {
    let bad = || (at, "an escape sequence that is none".to_owned());
    let c = cursor.next().ok_or_else(bad)?;
    match c {
        'n' => text.push('\n'),
        't' => text.push('\t'),
        'r' => text.push('\r'),
        'b' => text.push('\u{8}'),
        'f' => text.push('\u{c}'),
        'v' => text.push('\u{b}'),
        '0' if !cursor.peek().is_some_and(|c| c.is_ascii_digit()) => text.push('\0'),
        '0'..='9' => return Err(bad()),
        'x' => text.push_unit(read_hex(cursor, 2).ok_or_else(bad)?),
        'u' if cursor.take('{') => {
            let digits = cursor.take_while(|c| c.is_ascii_hexdigit());
            let unit = u32::from_str_radix(digits, 16).ok().filter(|unit| *unit <= 0x10_ffff);
            text.push_unit(unit.filter(|_| cursor.take('}')).ok_or_else(bad)?);
        }
        'u' => text.push_unit(read_hex(cursor, 4).ok_or_else(bad)?),
        '\r' => drop(cursor.take('\n')),
        c if is_line_end(c) => {}
        c => text.push(c),
    }
    Ok(())
}

fn read_hex(cursor: &mut Cursor<'_>, digits: usize) -> Option<u32> {
    (0..digits).try_fold(0, |value, _| Some(value * 16 + cursor.next()?.to_digit(16)?))
}

/// A string under construction, in which two escapes may make up one character.
#[derive(Default)]
struct Text {
    done: String,
    /// The first half of a surrogate pair.
    high: Option<u32>,
}

impl Text {
    fn push(&mut self, c: char) {
        self.flush();
        self.done.push(c);
    }

    /// Adds a code unit or code point that an escape wrote.
    fn push_unit(&mut self, unit: u32) {
        if let (Some(high), 0xdc00..=0xdfff) = (self.high, unit) {
            self.high = None;
            let point = 0x1_0000 + ((high - 0xd800) << 10) + (unit - 0xdc00);
            return self.push(char::from_u32(point).unwrap_or(char::REPLACEMENT_CHARACTER));
        }
        self.flush();
        match unit {
            0xd800..=0xdbff => self.high = Some(unit),
            _ => self.push(char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER)),
        }
    }

    /// Half a pair that stays alone becomes a replacement character.
    fn flush(&mut self) {
        if self.high.take().is_some() {
            self.done.push(char::REPLACEMENT_CHARACTER);
        }
    }

    fn finish(mut self) -> String {
        self.flush();
        self.done
    }
}

/// Reads a number, a sign included.
pub(super) fn read_number(cursor: &mut Cursor<'_>) -> Result<Value, Problem> {
    let start = cursor.position();
    let negative = cursor.take('-');
    if !negative {
        cursor.take('+');
    }
    let mut previous = ' ';
    let mut digits = String::new();
    while let Some(c) = cursor.peek() {
        let exponent_sign = matches!(c, '+' | '-') && matches!(previous, 'e' | 'E') && !digits.starts_with("0x");
        if !(c.is_ascii_alphanumeric() || matches!(c, '.' | '_') || exponent_sign) {
            break;
        }
        digits.extend(cursor.next().filter(|c| *c != '_'));
        previous = c;
    }
    let value = parse_number(&digits).map(|value| if negative { -value } else { value });
    let number = value.and_then(to_json_number);
    number
        .map(Value::Number)
        .ok_or((start, "a number that is none".to_owned()))
}

#[expect(clippy::cast_precision_loss, reason = "numbers of a script are doubles")]
fn parse_number(digits: &str) -> Option<f64> {
    let radix = match digits.get(..2).map(str::to_ascii_lowercase).as_deref() {
        Some("0x") => 16,
        Some("0o") => 8,
        Some("0b") => 2,
        _ if digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') => return digits.parse().ok(),
        _ => return None,
    };
    u64::from_str_radix(&digits[2..], radix).ok().map(|value| value as f64)
}

/// Whole numbers come out as such.
#[expect(clippy::cast_possible_truncation, reason = "only whole numbers below 2^53 are cast")]
fn to_json_number(value: f64) -> Option<Number> {
    const SAFE: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() < SAFE {
        Some(Number::from(value as i64))
    } else {
        Number::from_f64(value)
    }
}
