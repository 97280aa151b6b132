//! How found files are named, so that the name can be used in a call.

use std::path::{Path, PathBuf};

/// Names files by their paths from the session's folder, or absolutely if they are outside of it.
#[derive(Debug)]
pub(crate) struct Names {
    folder: PathBuf,
    has_quoted: bool,
    unnameable: usize,
}

impl Names {
    /// Names from this folder on.
    pub(crate) fn from(folder: &Path) -> Self {
        Self {
            folder: folder.canonicalize().unwrap_or_else(|_| folder.to_owned()),
            has_quoted: false,
            unnameable: 0,
        }
    }

    /// The name of a file, on one line.
    pub(crate) fn of(&mut self, path: &Path) -> String {
        let path = path.strip_prefix(&self.folder).unwrap_or(path);
        let Some(name) = path.to_str() else {
            self.unnameable += 1;
            return path.to_string_lossy().replace(char::is_control, "\u{fffd}");
        };
        if name.contains(char::is_control) || name.starts_with('"') {
            self.has_quoted = true;
            return serde_json::Value::from(name).to_string();
        }
        name.to_owned()
    }

    /// What is to be said of the names.
    pub(crate) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.has_quoted {
            notes.push("names in double quotes are written as JSON strings".to_owned());
        }
        if self.unnameable > 0 {
            notes.push(format!(
                "{} of the names are not UTF-8: they are shown with U+FFFD, and only a shell command can open them",
                self.unnameable
            ));
        }
        notes
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    #[test]
    fn names_are_relative_on_one_line_and_say_what_is_odd_about_them() {
        let mut names = Names::from(Path::new("/no-such-folder/w"));
        assert_eq!(names.of(Path::new("/no-such-folder/w/a b/c.rs")), "a b/c.rs");
        assert_eq!(names.of(Path::new("/etc/x")), "/etc/x");
        assert_eq!(names.notes(), Vec::<String>::new());
        assert_eq!(names.of(Path::new("/no-such-folder/w/a\nb")), r#""a\nb""#);
        assert_eq!(names.of(Path::new(OsStr::from_bytes(b"/x/bad\xff"))), "/x/bad\u{fffd}");
        assert_eq!(names.notes().len(), 2);
    }
}
