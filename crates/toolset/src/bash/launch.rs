//! How a shell is started: which one, with which environment, in which sandbox.

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A shell that lacks nothing but its command.
#[derive(Clone, Debug)]
pub(super) struct Launch {
    /// The program, which may be that of a sandbox, and its arguments.
    pub(super) words: Vec<OsString>,
    /// The whole environment.
    pub(super) variables: Vec<(OsString, OsString)>,
    /// Where it starts.
    pub(super) folder: PathBuf,
}

impl Launch {
    /// A shell in the folder: `bash`, or `sh` where there is no `bash`. `prefix` stands before it.
    pub(super) fn new(folder: &Path, variables: Vec<(OsString, OsString)>, prefix: Vec<OsString>) -> Self {
        let path = variables.iter().find(|(name, _)| name == "PATH");
        let shell = shell_in(path.map_or(OsStr::new(""), |(_, path)| path));
        let mut words = prefix;
        words.extend([shell.into_os_string(), "-c".into(), "--".into()]);
        Self {
            words,
            variables,
            folder: folder.to_owned(),
        }
    }
}

/// The shell by its absolute path: a program that is looked up costs a copy of this process when it is started with an
/// environment of its own.
fn shell_in(path: &OsStr) -> PathBuf {
    let named = |name: &'static str| std::env::split_paths(path).map(move |folder| folder.join(name));
    let is_program = |file: &PathBuf| {
        let found = std::fs::metadata(file);
        file.is_absolute() && found.is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    let mut shells = named("bash").chain([PathBuf::from("/bin/bash")]).chain(named("sh"));
    shells.find(is_program).unwrap_or_else(|| PathBuf::from("/bin/sh"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_bash_of_the_path_is_taken_and_no_other_file_of_that_name() {
        let root = tempfile::tempdir().expect("a folder can be made");
        let (plain, folder, good) = (
            root.path().join("plain"),
            root.path().join("folder"),
            root.path().join("good"),
        );
        for place in [&plain, &good, &folder.join("bash")] {
            std::fs::create_dir_all(place).expect("made");
        }
        for place in [&plain, &good] {
            std::fs::write(place.join("bash"), "").expect("written");
        }
        std::fs::set_permissions(good.join("bash"), PermissionsExt::from_mode(0o755)).expect("changed");
        let path = std::env::join_paths([&plain, &folder, &good]).expect("a path");
        assert_eq!(shell_in(&path), good.join("bash"));
        assert!(shell_in(OsStr::new("relative")).is_absolute());
    }
}
