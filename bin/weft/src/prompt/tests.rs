use std::fs;

use tempfile::TempDir;
use weft_agent::Library as _;

use super::*;
use crate::trust::Trust;

/// A repository with a folder in it, and a home.
struct Site {
    folder: TempDir,
}

impl Site {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir_all(folder.path().join("repo/.git")).expect("a folder");
        fs::create_dir_all(folder.path().join("repo/work")).expect("a folder");
        let site = Self { folder };
        for (path, text) in files {
            site.write(path, text);
        }
        site
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().canonicalize().expect("it exists").join(path)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("written");
    }

    fn sources(&self) -> Sources {
        Sources {
            home: self.path("home"),
            cwd: self.path("repo/work"),
            additional: Vec::new(),
            instructions_bytes: 1_000,
            skills_bytes: 1_000,
            workflows: Workflows::new(&self.path("home"), None, &self.path("repo/work"), &Trust::default()),
        }
    }

    fn briefing(&self) -> Briefing {
        Briefing::gather(&self.sources())
    }

    fn shelf(&self) -> Shelf {
        let briefing = self.briefing();
        Shelf::new(
            briefing.places,
            &briefing.additional,
            (briefing.skills, briefing.workflows),
            1_000,
        )
    }
}

const SKILL: &str = "---\nname: review\ndescription: Finds bugs.\n---\nLook twice.\n";

#[test]
fn instructions_are_told_from_the_users_to_the_nearest() {
    let site = Site::new(&[
        ("home/AGENTS.md", "of the user"),
        ("AGENTS.md", "outside of the repository"),
        ("repo/AGENTS.md", "of the repository"),
        ("repo/work/AGENTS.md", "of the folder"),
        ("repo/work/below/AGENTS.md", "of a folder below"),
    ]);
    let told = site.briefing().main_agent(UnixMillis(0));
    let at = |text: &str| told.find(text).unwrap_or_else(|| panic!("{text} is missing in {told}"));
    assert!(at("of the user") < at("of the repository") && at("of the repository") < at("of the folder"));
    assert!(
        !told.contains("outside of the repository") && !told.contains("of a folder below"),
        "{told}"
    );
    assert!(told.contains("- The session began on 1970-01-01."), "{told}");
    let subagent = site.briefing().subagent();
    assert!(
        subagent.contains("of the folder"),
        "subagents keep to them too: {subagent}"
    );
    assert!(!subagent.contains("`workflow`"), "{subagent}");
}

#[test]
fn the_same_sources_give_the_same_bytes() {
    let site = Site::new(&[("repo/AGENTS.md", "x"), ("repo/.weft/skills/review/SKILL.md", SKILL)]);
    let first = site.briefing().main_agent(UnixMillis(86_400_000));
    assert_eq!(first, site.briefing().main_agent(UnixMillis(86_400_001)));
}

#[test]
fn long_instructions_are_cut_the_farthest_first_and_the_cut_says_so() {
    let site = Site::new(&[
        ("repo/AGENTS.md", &"far ä".repeat(300)),
        ("repo/work/AGENTS.md", &"near ".repeat(150)),
    ]);
    let told = site.briefing().main_agent(UnixMillis(0));
    assert!(told.contains(&"near ".repeat(149)), "{told}");
    assert!(
        told.contains("bytes are left out here: context.instructions_bytes"),
        "{told}"
    );
}

#[cfg(unix)]
#[test]
fn links_out_of_the_project_and_what_is_no_file_are_left_out_with_a_word() {
    let site = Site::new(&[("secret", "the secret")]);
    std::os::unix::fs::symlink(site.path("secret"), site.path("repo/AGENTS.md")).expect("a link");
    fs::create_dir(site.path("repo/work/AGENTS.md")).expect("a folder");
    let briefing = site.briefing();
    assert!(!briefing.main_agent(UnixMillis(0)).contains("the secret"));
    assert_eq!(briefing.notices.len(), 2, "{:?}", briefing.notices);
    assert!(
        briefing.notices[0].contains("outside the project"),
        "{:?}",
        briefing.notices
    );
    assert!(
        briefing.notices[1].contains("it is not a file"),
        "{:?}",
        briefing.notices
    );
}

#[test]
fn skills_are_listed_and_the_nearest_of_a_name_counts() {
    let site = Site::new(&[
        ("repo/.claude/skills/review/SKILL.md", SKILL),
        (
            "repo/work/.agents/skills/r/SKILL.md",
            "---\nname: review\ndescription: |\n  Nearer.\n  \u{1b}Two lines.\n---\n",
        ),
        ("home/skills/deploy/SKILL.md", "---\ndescription: Ships it.\n---\nGo.\n"),
        ("repo/.weft/skills/broken/SKILL.md", "no front matter"),
        ("repo/.weft/skills/empty/other.md", ""),
        (
            "repo/.weft/skills/odd/SKILL.md",
            "---\nname: ../x\ndescription: d\n---\n",
        ),
    ]);
    let briefing = site.briefing();
    let told = briefing.main_agent(UnixMillis(0));
    assert!(told.contains("- review: Nearer. Two lines. ("), "{told}");
    assert!(told.contains("- deploy: Ships it. ("), "{told}");
    let names: Vec<String> = briefing.commands().into_iter().map(|command| command.name).collect();
    assert_eq!(names, ["deploy", "review"]);
    assert_eq!(briefing.notices.len(), 2, "{:?}", briefing.notices);
    assert!(
        briefing.notices[0].contains("does not begin with front matter"),
        "{:?}",
        briefing.notices
    );
    assert!(
        briefing.notices[1].contains("its name is \"../x\""),
        "{:?}",
        briefing.notices
    );
}

#[test]
fn skills_that_do_not_fit_the_list_are_named_to_the_user_and_stay_commands() {
    let site = Site::new(&[]);
    for number in 0..5 {
        let text = format!("---\ndescription: {}\n---\n", "x".repeat(300));
        site.write(&format!("home/skills/s{number}/SKILL.md"), &text);
    }
    let briefing = site.briefing();
    assert_eq!(briefing.commands().len(), 5);
    assert!(
        briefing.notices[0].contains("(context.skills_bytes)"),
        "{:?}",
        briefing.notices
    );
    assert!(briefing.notices[0].contains("s4"), "{:?}", briefing.notices);
}

#[tokio::test]
async fn a_skill_is_read_when_it_is_started() {
    let site = Site::new(&[("repo/.weft/skills/review/SKILL.md", SKILL)]);
    let shelf = site.shelf();
    let text = shelf.expand("review", "").await.expect("a skill");
    assert!(text.ends_with("Look twice."), "{text}");
    assert!(
        text.starts_with(&format!("(from {}", site.path("repo/.weft/skills/review").display())),
        "{text}"
    );
    fs::remove_file(site.path("repo/.weft/skills/review/SKILL.md")).expect("removed");
    let error = shelf.expand("review", "").await.expect_err("it is gone");
    assert!(error.ends_with("SKILL.md is gone"), "{error}");
}

#[tokio::test]
async fn a_place_brings_the_instructions_of_its_folders_below_the_working_folder() {
    let site = Site::new(&[
        ("repo/AGENTS.md", "of the repository"),
        ("repo/work/AGENTS.md", "of the folder"),
        ("repo/work/a/AGENTS.md", "of a"),
        ("repo/work/a/b/AGENTS.md", "of b"),
        ("repo/other/AGENTS.md", "of another"),
    ]);
    let shelf = site.shelf();
    let places = ["repo/work/a/b/c.rs", "repo/work/x.rs", "repo/other/y.rs"].map(|path| site.path(path));
    let notes = shelf.notes(places.to_vec()).await;
    let texts: Vec<&str> = notes.iter().map(|note| note.text.as_str()).collect();
    assert_eq!(texts, ["of a", "of b"]);
    assert!(
        notes[1].title.starts_with("Instructions of a/b/AGENTS.md"),
        "{:?}",
        notes[1]
    );
}
