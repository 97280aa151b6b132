//! Finding a text and putting another in its place, whatever the line ends.

#[cfg(test)]
mod tests;

use memchr::memmem;

/// What to replace by what.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request<'a> {
    pub(super) old: &'a str,
    pub(super) new: &'a str,
    /// Every occurrence, not the only one.
    pub(super) all: bool,
}

/// A body with other text in it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Substituted {
    pub(super) body: Vec<u8>,
    /// The lines on which what was put in begins, in the new body.
    pub(super) lines: Vec<usize>,
}

/// A body with every CRLF made LF, and where that was.
struct Flat {
    text: Vec<u8>,
    /// The places of the line feeds that were CRLF, ascending.
    crlf: Vec<usize>,
}

/// Replaces the only occurrence, or all of them.
///
/// # Errors
/// There is none, or more than one where one is meant: the lines on which they begin, those that overlap
/// included.
pub(super) fn substitute(body: &[u8], request: &Request<'_>) -> Result<Substituted, Vec<usize>> {
    let flat = Flat::of(body);
    let (old, new) = (flattened(request.old), flattened(request.new));
    let found: Vec<usize> = if request.all {
        memmem::find_iter(&flat.text, &old).collect()
    } else {
        overlapping(&flat.text, old.as_bytes())
    };
    if found.is_empty() || (found.len() > 1 && !request.all) {
        return Err(lines_of(&flat.text, &found));
    }
    Ok(flat.replace(body, &found, old.len(), &new))
}

fn flattened(text: &str) -> String {
    text.replace("\r\n", "\n")
}

/// Where the needle begins, also within an occurrence of itself.
fn overlapping(text: &[u8], needle: &[u8]) -> Vec<usize> {
    let finder = memmem::Finder::new(needle);
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = finder.find(&text[from..]) {
        found.push(from + at);
        from += at + 1;
    }
    found
}

/// The lines of ascending places.
fn lines_of(text: &[u8], places: &[usize]) -> Vec<usize> {
    let (mut line, mut from) = (1, 0);
    let mut lines = Vec::new();
    for &place in places {
        line += memchr::memchr_iter(b'\n', &text[from..place]).count();
        from = place;
        lines.push(line);
    }
    lines
}

impl Flat {
    fn of(body: &[u8]) -> Self {
        let mut flat = Self {
            text: Vec::with_capacity(body.len()),
            crlf: Vec::new(),
        };
        let mut from = 0;
        for at in memmem::find_iter(body, b"\r\n") {
            flat.text.extend_from_slice(&body[from..at]);
            flat.crlf.push(flat.text.len());
            from = at + 1;
        }
        flat.text.extend_from_slice(&body[from..]);
        flat
    }

    /// Where something in the text was in the body.
    fn origin(&self, place: usize) -> usize {
        place + self.crlf.partition_point(|&crlf| crlf < place)
    }

    fn replace(&self, body: &[u8], found: &[usize], old_len: usize, new: &str) -> Substituted {
        let mut out = Vec::with_capacity(body.len());
        let mut lines = Vec::new();
        let (mut from, mut line) = (0, 1);
        for &start in found {
            let end = start + old_len;
            let (kept, put) = (out.len(), self.origin(start));
            out.extend_from_slice(&body[from..put]);
            line += memchr::memchr_iter(b'\n', &out[kept..]).count();
            lines.push(line);
            if self.ends_in_crlf(start, end) {
                out.extend_from_slice(new.replace('\n', "\r\n").as_bytes());
            } else {
                out.extend_from_slice(new.as_bytes());
            }
            line += memchr::memchr_iter(b'\n', new.as_bytes()).count();
            from = self.origin(end);
        }
        out.extend_from_slice(&body[from..]);
        Substituted { body: out, lines }
    }

    /// Whether the lines here end in CRLF: most of those between the places, or most of all if that is no
    /// answer.
    fn ends_in_crlf(&self, start: usize, end: usize) -> bool {
        let count = |start: usize, end: usize| {
            let crlf = self.crlf.partition_point(|&at| at < end) - self.crlf.partition_point(|&at| at < start);
            let all = memchr::memchr_iter(b'\n', &self.text[start..end]).count();
            (crlf, all - crlf)
        };
        let (crlf, lf) = count(start, end);
        if crlf != lf {
            return crlf > lf;
        }
        let (crlf, lf) = count(0, self.text.len());
        crlf > lf
    }
}
