//! Searching files, one after the other.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use grep_matcher::{LineTerminator, Matcher};
use grep_regex::RegexMatcher;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkFinish, SinkMatch};

use super::collect::{Entry, Line};
use crate::files::open_regular;
use crate::search::{Search, SearchConfig};

/// The most memory that one line may take; files with longer ones are told as unreadable.
const MAX_LINE_BYTES: usize = 64 << 20;
/// How much is shown before a match on a line that is cut, in bytes.
const BEFORE_MATCH: usize = 80;

/// How files are searched.
pub(super) struct Plan<'a> {
    pub(super) matcher: RegexMatcher,
    pub(super) context: usize,
    /// One match says all that is asked.
    pub(super) is_first_enough: bool,
    pub(super) config: &'a SearchConfig,
}

/// What one thread searches with. Its buffers serve all of its files, and it shares no state of the matcher's with
/// the other threads.
pub(super) struct Seeker<'a> {
    plan: &'a Plan<'a>,
    search: &'a Search<'a>,
    matcher: RegexMatcher,
    /// Finds lines with their numbers and those around them.
    finder: Searcher,
    /// Finds lines, to be counted.
    counter: Searcher,
}

impl<'a> Seeker<'a> {
    pub(super) fn new(plan: &'a Plan<'a>, search: &'a Search<'a>) -> Self {
        let mut builder = SearcherBuilder::new();
        builder
            // What the pattern was built with.
            .line_terminator(LineTerminator::crlf())
            .line_number(false)
            .binary_detection(BinaryDetection::quit(0))
            .heap_limit(Some(MAX_LINE_BYTES));
        let counter = builder.build();
        let finder = builder
            .line_number(true)
            .before_context(plan.context)
            .after_context(plan.context)
            .build();
        Self {
            plan,
            search,
            matcher: plan.matcher.clone(),
            finder,
            counter,
        }
    }

    /// What is in the file, or only how much if no lines are kept; nothing if nothing matches or it is binary.
    pub(super) fn search(&mut self, path: &Path, keeps_lines: bool) -> Option<Entry> {
        let found = open_regular(path).and_then(|file| self.search_file(&file, keeps_lines));
        found.unwrap_or_else(|_| {
            // A search that is over has cut its own files off.
            if self.search.goes_on() {
                self.search.tell_unreadable();
            }
            None
        })
    }

    fn search_file(&mut self, file: &File, keeps_lines: bool) -> io::Result<Option<Entry>> {
        let searcher = if keeps_lines {
            &mut self.finder
        } else {
            &mut self.counter
        };
        let mut sink = Collector {
            plan: self.plan,
            matcher: &self.matcher,
            keeps_lines,
            entry: Entry {
                has_context: self.plan.context > 0,
                ..Entry::default()
            },
            is_binary: false,
        };
        let search = self.search;
        let reader = WhileSearching { file, search };
        searcher.search_reader(&self.matcher, reader, &mut sink)?;
        Ok((sink.entry.count > 0 && !sink.is_binary).then_some(sink.entry))
    }
}

impl Plan<'_> {
    /// A line as it is shown: without its end, and of a long one what is around its first match.
    fn shown(&self, line: &[u8], matcher: &RegexMatcher) -> String {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let most = self.config.line_chars;
        if line.len() <= most {
            return String::from_utf8_lossy(line).into_owned();
        }
        let found = matcher.find(line).ok().flatten().map_or(0, |found| found.start());
        // From the beginning, if the match is seen then.
        let mut start = if found < most / 2 {
            0
        } else {
            found.saturating_sub(BEFORE_MATCH)
        };
        while start > 0 && is_within_character(line[start]) {
            start -= 1;
        }
        let end = line.len().min(start + 4 * most);
        let text: String = String::from_utf8_lossy(&line[start..end]).chars().take(most).collect();
        let before = if start > 0 { "…" } else { "" };
        let after = if start + text.len() < line.len() { "…" } else { "" };
        format!("{before}{text}{after}")
    }
}

/// A file that cannot be read any more once the search is over.
struct WhileSearching<'a> {
    file: &'a File,
    search: &'a Search<'a>,
}

impl Read for WhileSearching<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if !self.search.goes_on() {
            return Err(io::Error::other("the search is over"));
        }
        self.file.read(buffer)
    }
}

fn is_within_character(byte: u8) -> bool {
    byte & 0b1100_0000 == 0b1000_0000
}

struct Collector<'a> {
    plan: &'a Plan<'a>,
    matcher: &'a RegexMatcher,
    keeps_lines: bool,
    entry: Entry,
    is_binary: bool,
}

impl Collector<'_> {
    fn keep(&mut self, number: Option<u64>, bytes: &[u8], is_match: bool) {
        if self.keeps_lines && self.entry.lines.len() < self.plan.config.results {
            self.entry.lines.push(Line {
                number: number.unwrap_or_default(),
                text: self.plan.shown(bytes, self.matcher),
                is_match,
            });
        }
    }
}

impl Sink for Collector<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        self.entry.count += 1;
        self.keep(found.line_number(), found.bytes(), true);
        // Whether the search goes on is asked before each reading.
        Ok(!self.plan.is_first_enough)
    }

    fn context(&mut self, _: &Searcher, around: &SinkContext<'_>) -> Result<bool, io::Error> {
        self.keep(around.line_number(), around.bytes(), false);
        Ok(true)
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> Result<bool, io::Error> {
        self.is_binary = true;
        Ok(false)
    }

    fn finish(&mut self, _: &Searcher, end: &SinkFinish) -> Result<(), io::Error> {
        self.is_binary |= end.binary_byte_offset().is_some();
        Ok(())
    }
}
