use std::fs;
use std::os::unix::fs::symlink;

use tempfile::TempDir;

use super::*;

/// A folder `work` with a folder beside it, and links between them.
struct Ground {
    _keep: TempDir,
    root: PathBuf,
    work: PathBuf,
}

impl Ground {
    fn new() -> Self {
        let keep = tempfile::tempdir().expect("a folder can be made");
        let root = fs::canonicalize(keep.path()).expect("the folder exists");
        let work = root.join("work");
        fs::create_dir_all(work.join("in/deep")).expect("a folder can be made");
        fs::create_dir(root.join("beside")).expect("a folder can be made");
        for (target, name) in [
            ("../beside", "out"),
            ("in", "within"),
            ("../beside/not-yet", "dangling-out"),
            ("in/not-yet", "dangling-in"),
            ("loop-b", "loop-a"),
            ("loop-a", "loop-b"),
        ] {
            symlink(target, work.join(name)).expect("a link can be made");
        }
        Self {
            _keep: keep,
            root,
            work,
        }
    }

    fn folders(&self) -> Folders {
        self.work.as_path().into()
    }

    fn write(&self, path: &str) -> Result<PathBuf, String> {
        let place = Place::to_write(&self.folders(), path).map_err(|error| error.message().to_owned())?;
        Ok(place
            .real
            .strip_prefix(&self.root)
            .expect("all is below the root")
            .to_owned())
    }

    fn read(&self, path: &str) -> Result<PathBuf, String> {
        let place = Place::to_read(&self.folders(), path).map_err(|error| error.message().to_owned())?;
        Ok(place.real)
    }

    #[track_caller]
    fn writes(&self, path: &str, expected: &str) {
        assert_eq!(self.write(path), Ok(PathBuf::from(expected)), "{path}");
    }

    #[track_caller]
    fn refuses_to_write(&self, path: &str) {
        let error = self.write(path).expect_err(path);
        assert!(error.contains("outside the session's folder"), "{path}: {error}");
    }
}

#[test]
fn a_path_within_the_folder_is_found_through_links_dots_and_what_does_not_exist() {
    let ground = Ground::new();
    ground.writes("a.txt", "work/a.txt");
    ground.writes("./in/../b.txt", "work/b.txt");
    ground.writes("within/deep/c.txt", "work/in/deep/c.txt");
    ground.writes("within/../d.txt", "work/d.txt");
    ground.writes("dangling-in", "work/in/not-yet");
    ground.writes("new/folder/e.txt", "work/new/folder/e.txt");
    ground.writes("../work/f.txt", "work/f.txt");
    ground.writes("back\\slash.txt", "work/back\\slash.txt");
    ground.writes("C:drive.txt", "work/C:drive.txt");
    let absolute = ground.work.join("g.txt");
    ground.writes(absolute.to_str().expect("a plain name"), "work/g.txt");
}

#[test]
fn no_path_leads_a_write_out_of_the_folder() {
    let ground = Ground::new();
    for path in [
        "../x",
        "/etc/x",
        "out/x",
        "out",
        "dangling-out",
        "in/../../x",
        "within/../../x",
        "new/../../x",
    ] {
        ground.refuses_to_write(path);
    }
    // A folder beside it whose name begins like its own is another folder.
    ground.refuses_to_write("../work2/x");
}

#[test]
fn links_in_a_circle_and_names_with_nul_are_errors() {
    let ground = Ground::new();
    let error = ground.write("loop-a/x").expect_err("a circle");
    assert!(error.contains("more than 40 links"), "{error}");
    let error = ground.write("a\0b").expect_err("a NUL");
    assert!(error.contains("NUL"), "{error}");
}

#[test]
fn a_read_outside_must_be_named_and_not_reached_through_a_link() {
    let ground = Ground::new();
    let secret = ground.root.join("beside/secret");
    assert_eq!(ground.read(secret.to_str().expect("a plain name")), Ok(secret.clone()));
    assert_eq!(ground.read("../beside/secret"), Ok(secret.clone()));
    let error = ground.read("out/secret").expect_err("a link out");
    assert!(error.contains(secret.to_str().expect("a plain name")), "{error}");
    assert!(error.contains("name it itself"), "{error}");
    assert_eq!(ground.read("within/a"), Ok(ground.work.join("in/a")));
}

#[test]
fn by_its_wording_a_path_is_inside_or_outside() {
    let ground = Ground::new();
    let outside = |path: &str| leaves_folder(&ground.work, path);
    for path in [
        "a",
        "./a",
        "in/../a",
        "../work/a",
        ground.work.join("a").to_str().expect("a plain name"),
    ] {
        assert!(!outside(path), "{path}");
    }
    for path in ["..", "../a", "/etc/passwd", "in/../../a", "../work2/a"] {
        assert!(outside(path), "{path}");
    }
}

#[test]
fn a_folder_that_is_reached_through_a_link_may_be_named_either_way() {
    let ground = Ground::new();
    let link = ground.root.join("link");
    symlink(&ground.work, &link).expect("a link can be made");
    for path in [ground.work.join("a"), link.join("a")] {
        let path = path.to_str().expect("a plain name");
        assert!(!leaves_folder(&link, path), "{path}");
        let place = Place::to_write(&link.as_path().into(), path).expect("a place within");
        assert_eq!(place.real, ground.work.join("a"));
    }
}

#[test]
fn additional_directories_count_as_the_sessions_folder() {
    let ground = Ground::new();
    let lent = weft_tools::Extensions::new()
        .with(std::sync::Arc::new(weft_tools::WorkingDirectory(ground.work.clone())))
        .with(std::sync::Arc::new(weft_tools::AdditionalDirectories(vec![
            ground.root.join("beside"),
        ])));
    let folders = Folders::lent(&lent).expect("a folder is lent");
    let beside = ground.root.join("beside");
    for path in ["out/x", "../beside/x", "dangling-out"] {
        assert!(
            Place::to_write(&folders, path).is_ok_and(|place| place.real.starts_with(&beside)),
            "{path}"
        );
        assert!(Place::to_read(&folders, path).is_ok(), "{path}");
    }
    assert!(!folders.are_left_by("../beside/x"));
    assert!(!folders.are_left_by(&beside.join("x").display().to_string()));
    assert!(folders.are_left_by("../elsewhere") && folders.are_left_by("../beside/../elsewhere"));
    assert!(Place::to_write(&folders, "../elsewhere").is_err());
}
