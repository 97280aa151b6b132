//! Files that fail when they are told to.

use std::fmt;
use std::fs::File;
use std::io;
use std::sync::Mutex;

use weft_session::{FileLayer, RealFiles};

/// The real files, but for one line.
#[derive(Debug, Default)]
pub(crate) struct FailingFiles {
    armed: Mutex<Option<(&'static str, Fault)>>,
}

/// How the writing of a line fails.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fault {
    /// The disk fills up in the middle of it.
    DiskFull,
    /// With an error whose own code panics when it is printed.
    Unprintable,
    /// By a panic.
    Panic,
}

impl FailingFiles {
    /// The next line that contains this text fails, that one alone.
    pub(crate) fn fail(&self, line: &'static str, fault: Fault) {
        *self.armed.lock().expect("not poisoned") = Some((line, fault));
    }

    /// Whether the line has not come yet.
    pub(crate) fn is_armed(&self) -> bool {
        self.armed.lock().expect("not poisoned").is_some()
    }
}

impl FileLayer for FailingFiles {
    fn write(&self, file: &File, bytes: &[u8]) -> io::Result<()> {
        let text = String::from_utf8_lossy(bytes);
        let hit = {
            let mut armed = self.armed.lock().expect("not poisoned");
            armed.take_if(|(line, _)| text.contains(*line))
        };
        let Some((_, fault)) = hit else {
            return RealFiles.write(file, bytes);
        };
        RealFiles.write(file, &bytes[..bytes.len() / 2])?;
        match fault {
            Fault::DiskFull => Err(io::ErrorKind::StorageFull.into()),
            Fault::Unprintable => Err(io::Error::other(Unprintable)),
            Fault::Panic => panic!("the file panics on purpose"),
        }
    }
}

#[derive(Debug)]
struct Unprintable;

impl fmt::Display for Unprintable {
    fn fmt(&self, _f: &mut fmt::Formatter<'_>) -> fmt::Result {
        panic!("it cannot be printed on purpose")
    }
}

impl std::error::Error for Unprintable {}
