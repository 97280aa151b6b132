//! The files that a scenario's outcome must equal.

use std::io;
use std::path::{Path, PathBuf};

use similar::TextDiff;

use super::Failure;

/// What keeps the lines from being the file's, if anything does.
pub(super) fn compare(path: &Path, lines: &[String]) -> Result<Option<Failure>, Failure> {
    let Some(expected) = read(path)? else {
        return Ok(Some(Failure::Missing { path: path.to_owned() }));
    };
    let found = text_of(lines);
    if found == expected {
        return Ok(None);
    }
    let diff = TextDiff::from_lines(&expected, &found);
    let diff = diff
        .unified_diff()
        .context_radius(2)
        .header("expected", "found")
        .to_string();
    Ok(Some(Failure::Differs {
        path: path.to_owned(),
        diff,
    }))
}

/// Makes the lines the file's, and tells whether that changed it.
pub(super) fn write(path: &Path, lines: &[String]) -> Result<Option<PathBuf>, Failure> {
    let found = text_of(lines);
    if read(path)?.as_deref() == Some(&found) {
        return Ok(None);
    }
    std::fs::write(path, found).map_err(|source| Failure::File {
        what: "write",
        path: path.to_owned(),
        source,
    })?;
    Ok(Some(path.to_owned()))
}

fn text_of(lines: &[String]) -> String {
    lines.iter().flat_map(|line| [line, "\n"]).collect()
}

fn read(path: &Path) -> Result<Option<String>, Failure> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(Failure::File {
            what: "read",
            path: path.to_owned(),
            source,
        }),
    }
}
