//! Lines of bounded length.

use std::io::{self, BufRead, Read as _};

/// How much of an over-long line is kept, to read its id from.
pub(crate) const HEAD_BYTES: usize = 4096;

/// One line, without its end.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// A line within the limit; the last one may have lacked its newline.
    Whole,
    /// A line beyond the limit, skipped to its newline.
    TooLong,
}

/// Reads the next line into `buffer`; `None` at the end of the input.
///
/// Only the byte 0x0A ends a line; a carriage return before it is dropped. Of a line beyond `limit` bytes
/// the buffer gets the first few thousand, and never more than `limit` are held.
pub(super) fn next_line(input: &mut impl BufRead, limit: usize, buffer: &mut Vec<u8>) -> io::Result<Option<Line>> {
    buffer.clear();
    input.take(limit as u64 + 1).read_until(b'\n', buffer)?;
    if buffer.is_empty() {
        return Ok(None);
    }
    if buffer.last() == Some(&b'\n') {
        buffer.pop();
        if buffer.last() == Some(&b'\r') {
            buffer.pop();
        }
        return Ok(Some(Line::Whole));
    }
    if buffer.len() <= limit {
        return Ok(Some(Line::Whole));
    }
    buffer.truncate(HEAD_BYTES);
    buffer.shrink_to_fit();
    input.skip_until(b'\n')?;
    Ok(Some(Line::TooLong))
}

#[cfg(test)]
mod tests {
    use std::io::{BufReader, Read};

    use super::*;

    /// Gives its bytes in pieces of a fixed size.
    struct Pieces<'a> {
        bytes: &'a [u8],
        size: usize,
    }

    impl Read for Pieces<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let size = self.size.min(into.len());
            self.bytes.take(size as u64).read(into).inspect(|&read| {
                self.bytes = &self.bytes[read..];
            })
        }
    }

    #[track_caller]
    fn check(bytes: &[u8], limit: usize, expected: &[(&[u8], Line)]) {
        for size in [1, 3, 4095, 1 << 16] {
            let mut input = BufReader::new(Pieces { bytes, size });
            let (mut found, mut buffer) = (Vec::new(), Vec::new());
            while let Some(line) = next_line(&mut input, limit, &mut buffer).unwrap() {
                found.push((buffer.clone(), line));
            }
            let found: Vec<_> = found.iter().map(|(bytes, line)| (&bytes[..], line)).collect();
            let expected: Vec<_> = expected.iter().map(|(bytes, line)| (*bytes, line)).collect();
            assert_eq!(found, expected, "in pieces of {size}");
        }
    }

    #[test]
    fn only_a_newline_ends_a_line_however_the_bytes_arrive() {
        let text = "a\u{2028}b\u{2029}c\u{85}d\u{b}e\u{c}f";
        let bytes = format!("{text}\n\n \r\nx\ry\r\nlast é");
        check(
            bytes.as_bytes(),
            64,
            &[
                (text.as_bytes(), Line::Whole),
                (b"", Line::Whole),
                (b" ", Line::Whole),
                (b"x\ry", Line::Whole),
                ("last é".as_bytes(), Line::Whole),
            ],
        );
        check(b"", 64, &[]);
    }

    #[test]
    fn a_line_of_exactly_the_limit_passes_and_one_byte_more_is_skipped() {
        check(
            b"1234\n12345\n1\n",
            4,
            &[(b"1234", Line::Whole), (b"12345", Line::TooLong), (b"1", Line::Whole)],
        );
        check(b"12345678", 4, &[(b"12345", Line::TooLong)]);
    }

    #[test]
    fn an_endless_line_is_held_to_the_limit() {
        let mut input = BufReader::new(io::repeat(b'x').take(50 << 20));
        let mut buffer = Vec::new();
        let line = next_line(&mut input, 1 << 20, &mut buffer).unwrap();
        assert_eq!(line, Some(Line::TooLong));
        assert_eq!(buffer.len(), HEAD_BYTES);
        assert!(buffer.capacity() < 1 << 20, "{}", buffer.capacity());
    }
}
