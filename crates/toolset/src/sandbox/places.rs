//! Where commands may write.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// Devices that anybody may write to, and memory that programs share by name.
const DEVICES: [&str; 7] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/pts",
    "/dev/shm",
];

/// Caches by the program whose they are. A place that is not there cannot be made writable, and in the sandbox the
/// program could not make it itself.
const CACHES: [(&str, &str); 8] = [
    ("~/.cargo/registry", "cargo"),
    ("~/.cargo/git", "cargo"),
    ("~/.npm", "npm"),
    ("~/.local/share/pnpm", "pnpm"),
    ("~/.yarn", "yarn"),
    ("~/.bun/install", "bun"),
    ("~/go/pkg", "go"),
    ("~/.m2/repository", "mvn"),
];

/// The folders, what git keeps of them elsewhere, the devices and the places listed; only what exists. A listed cache of
/// a program that is found in `path` is made first, as the program would make it.
pub(super) fn writable(folders: &[&Path], listed: &[String], path: &OsStr) -> Vec<PathBuf> {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let moved = |variable: &str| std::env::var_os(variable).map(PathBuf::from);
    let moved = [("~/.cargo", moved("CARGO_HOME")), ("~/.cache", moved("XDG_CACHE_HOME"))];
    let mut places: Vec<PathBuf> = folders.iter().map(|folder| folder.to_path_buf()).collect();
    places.extend(folders.iter().filter_map(|folder| repository_of(folder)));
    places.extend(DEVICES.iter().map(PathBuf::from));
    for place in listed {
        let Some(expanded) = expand(place, home.as_deref(), &moved) else {
            continue;
        };
        if expanded.is_absolute() && is_unmade_cache(place, &expanded, path) {
            // What cannot be made is not writable either, of which a command that fails is told.
            let _unmade = fs::create_dir_all(&expanded);
        }
        places.push(expanded);
    }
    places.retain(|place| place.is_absolute() && place.exists());
    places
}

/// Whether a listed place is a cache that is not there, of a program that is.
fn is_unmade_cache(listed: &str, place: &Path, path: &OsStr) -> bool {
    let program = match CACHES.iter().find(|(known, _)| *known == listed.trim_end_matches('/')) {
        Some((_, program)) => Some(*program),
        // Any program may keep something there.
        None if listed.trim_end_matches('/') == "~/.cache" => None,
        None => return false,
    };
    let is_there = |program: &str| std::env::split_paths(path).any(|folder| folder.join(program).is_file());
    fs::symlink_metadata(place).is_err() && program.is_none_or(is_there)
}

/// A place as the configuration names it: `~/` is the home folder, and a folder that a variable moves is where it says.
fn expand(place: &str, home: Option<&Path>, moved: &[(&str, Option<PathBuf>)]) -> Option<PathBuf> {
    for (prefix, elsewhere) in moved {
        if let (Some(elsewhere), Some(rest)) = (elsewhere, place.strip_prefix(prefix))
            && (rest.is_empty() || rest.starts_with('/'))
            && elsewhere.is_absolute()
        {
            return Some(elsewhere.join(rest.trim_start_matches('/')));
        }
    }
    match place.strip_prefix("~/") {
        Some(rest) => Some(home?.join(rest)),
        None => Some(PathBuf::from(place)),
    }
}

/// The repository of a linked worktree, which lies elsewhere. It must know of the worktree itself: a project could
/// otherwise name any folder as its repository.
fn repository_of(folder: &Path) -> Option<PathBuf> {
    let link = folder.join(".git");
    if !fs::symlink_metadata(&link).ok()?.is_file() {
        return None;
    }
    let text = fs::read_to_string(&link).ok()?;
    let git = folder.join(text.strip_prefix("gitdir:")?.trim()).canonicalize().ok()?;
    let back = fs::read_to_string(git.join("gitdir")).ok()?;
    if git.join(back.trim()).canonicalize().ok()? != link.canonicalize().ok()? {
        return None;
    }
    let common = fs::read_to_string(git.join("commondir")).ok()?;
    let common = git.join(common.trim()).canonicalize().ok()?;
    let is_its_own = git.parent()? == common.join("worktrees") && common.file_name() == Some(OsStr::new(".git"));
    is_its_own.then_some(common)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_expanded_as_the_environment_says() {
        let home = Some(Path::new("/people/u"));
        let moved = [("~/.cargo", Some(PathBuf::from("/cargo"))), ("~/.cache", None)];
        let at = |place| expand(place, home, &moved).expect("it is somewhere");
        assert_eq!(at("~/.cargo/registry"), Path::new("/cargo/registry"));
        assert_eq!(at("~/.cargo-other"), Path::new("/people/u/.cargo-other"));
        assert_eq!(at("~/.cache"), Path::new("/people/u/.cache"));
        assert_eq!(at("/opt/x"), Path::new("/opt/x"));
        assert_eq!(expand("~/x", None, &[]), None);
    }

    #[test]
    fn a_cache_is_made_for_a_program_that_is_there_and_for_no_other() {
        let root = tempfile::tempdir().expect("a folder can be made");
        let programs = root.path().join("bin");
        fs::create_dir(&programs).expect("made");
        fs::write(programs.join("npm"), "").expect("written");
        let (path, gone) = (programs.as_os_str(), root.path().join("gone"));
        for (listed, expected) in [
            ("~/.npm", true),
            ("~/.npm/", true),
            ("~/.cache", true),
            ("~/.cargo/registry", false),
            ("~/.ssh", false),
            ("/opt/.npm", false),
        ] {
            assert_eq!(is_unmade_cache(listed, &gone, path), expected, "{listed}");
            assert!(!is_unmade_cache(listed, &programs, path), "{listed} is there");
        }
        // A link that leads nowhere is somebody's, and no cache of ours to make.
        std::os::unix::fs::symlink("nowhere", &gone).expect("made");
        assert!(!is_unmade_cache("~/.npm", &gone, path));
    }

    #[test]
    fn the_repository_of_a_worktree_must_know_it() {
        let root = tempfile::tempdir().expect("a folder can be made");
        let root = root.path().canonicalize().expect("it exists");
        let (work, git) = (root.join("work"), root.join("main/.git/worktrees/work"));
        fs::create_dir_all(&work).expect("made");
        fs::create_dir_all(&git).expect("made");
        fs::write(work.join(".git"), format!("gitdir: {}\n", git.display())).expect("written");
        // The claim of the worktree alone counts for nothing.
        assert_eq!(repository_of(&work), None);
        fs::write(git.join("commondir"), "../..\n").expect("written");
        fs::write(git.join("gitdir"), format!("{}\n", root.join("other/.git").display())).expect("written");
        assert_eq!(repository_of(&work), None);
        fs::write(git.join("gitdir"), format!("{}\n", work.join(".git").display())).expect("written");
        assert_eq!(repository_of(&work), Some(root.join("main/.git")));
    }
}
