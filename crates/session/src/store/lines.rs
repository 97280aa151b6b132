//! Reading a log line by line, holding one of them in memory.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use weft_types::SessionId;

use super::files::identity;
use super::{FileLayer, FileStore, StoreError};

/// How much is read at a time.
const BUFFER_BYTES: usize = 128 << 10;

/// The lines of one file, from anywhere in it on.
pub(crate) struct Lines {
    session: SessionId,
    path: PathBuf,
    input: BufReader<Input>,
    line: Vec<u8>,
    max_bytes: usize,
    at: Place,
}

/// Where a line begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// In bytes from the start of the file.
    pub(crate) offset: u64,
    /// From 1.
    pub(crate) line: u64,
}

impl Place {
    pub(crate) const START: Self = Self { offset: 0, line: 1 };
}

/// One line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line<'a> {
    /// Without its line feed.
    pub(crate) text: &'a [u8],
    pub(crate) at: Place,
    /// Whether a line feed ends it; only the last line of a file may lack one.
    pub(crate) whole: bool,
}

impl Line<'_> {
    /// How many bytes of the file it is, line feed included.
    pub(crate) fn bytes(&self) -> u64 {
        self.text.len() as u64 + u64::from(self.whole)
    }
}

impl Lines {
    /// The lines of the file at `path`, which is a log of `session`.
    ///
    /// # Errors
    /// It cannot be opened; that it is not there is an [`StoreError::Io`] too.
    pub(crate) fn open(store: &FileStore, session: &SessionId, path: &Path) -> Result<Self, StoreError> {
        let files = Arc::clone(&store.options().files);
        let file = files.open(path).map_err(StoreError::io("open", path))?;
        Ok(Self {
            session: session.clone(),
            path: path.to_owned(),
            input: BufReader::with_capacity(BUFFER_BYTES, Input { files, file }),
            line: Vec::new(),
            max_bytes: store.options().max_line_bytes,
            at: Place::START,
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the file still has its name, and is at least `len` bytes long.
    ///
    /// # Errors
    /// There is no file of that name, or it cannot be looked at.
    pub(crate) fn is_current(&self, len: u64) -> Result<bool, StoreError> {
        let look = |file: &File| Ok((file.metadata()?, self.path.metadata()?));
        let (here, there) = look(&self.input.get_ref().file).map_err(StoreError::io("look at", &self.path))?;
        Ok(identity(&here) == identity(&there) && there.len() >= len)
    }

    /// How long the file is.
    ///
    /// # Errors
    /// It cannot be looked at.
    pub(crate) fn len(&self) -> Result<u64, StoreError> {
        let metadata = self.input.get_ref().file.metadata();
        metadata
            .map(|metadata| metadata.len())
            .map_err(StoreError::io("look at", &self.path))
    }

    /// Where the next line begins.
    pub(crate) fn place(&self) -> Place {
        self.at
    }

    /// Goes on from there, forgetting what was read ahead.
    ///
    /// # Errors
    /// The disk fails.
    pub(crate) fn go_to(&mut self, place: Place) -> Result<(), StoreError> {
        self.input
            .seek(SeekFrom::Start(place.offset))
            .map_err(StoreError::io("read", &self.path))?;
        self.at = place;
        Ok(())
    }

    /// The next line; none at the end of the file, which may grow later.
    ///
    /// # Errors
    /// The disk fails, or the line is longer than the limit.
    pub(crate) fn next(&mut self) -> Result<Option<Line<'_>>, StoreError> {
        self.line.clear();
        // With its line feed, or one byte too much: what is too long is never read to its end.
        let mut bounded = (&mut self.input).take(self.max_bytes as u64 + 1);
        bounded
            .read_until(b'\n', &mut self.line)
            .map_err(StoreError::io("read", &self.path))?;
        if self.line.is_empty() {
            return Ok(None);
        }
        let whole = self.line.ends_with(b"\n");
        let text = &self.line[..self.line.len() - usize::from(whole)];
        let at = self.at;
        if text.len() > self.max_bytes {
            return Err(StoreError::LongLine {
                session: self.session.clone(),
                line: at.line,
                offset: at.offset,
                limit: self.max_bytes,
            });
        }
        self.at = Place {
            offset: at.offset + self.line.len() as u64,
            line: at.line + 1,
        };
        Ok(Some(Line { text, at, whole }))
    }
}

/// A file that is read through the layer.
struct Input {
    files: Arc<dyn FileLayer>,
    file: File,
}

impl Read for Input {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.files.read(&self.file, into)
    }
}

impl Seek for Input {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}
