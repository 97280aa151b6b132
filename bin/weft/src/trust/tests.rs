use std::path::Path;

use tempfile::TempDir;

use super::*;
use crate::config::{Config, Overrides};

/// A home and a project beside it.
struct World {
    root: TempDir,
}

impl World {
    fn new() -> Self {
        let world = Self {
            root: tempfile::tempdir().expect("a temp folder"),
        };
        for folder in ["home", "project/.weft"] {
            std::fs::create_dir_all(world.root.path().join(folder)).expect("made");
        }
        world
    }

    fn home(&self) -> PathBuf {
        self.root.path().join("home")
    }

    fn project(&self) -> PathBuf {
        self.root.path().join("project")
    }

    fn sets(&self, text: &str) {
        std::fs::write(self.project().join(".weft/config.toml"), text).expect("written");
    }

    fn trust(&self) -> Trust {
        Trust::below(&self.home())
    }

    fn powers(&self) -> Powers {
        Layer::parse(&self.text()).powers
    }

    fn text(&self) -> String {
        std::fs::read_to_string(self.project().join(".weft/config.toml")).expect("read")
    }

    #[track_caller]
    fn state(&self) -> TrustState {
        let user = Config::load(&self.home(), &Overrides::default()).expect("sound");
        user.for_project(&self.project()).expect("sound").project
    }

    fn grant(&self) {
        self.trust().grant(&self.project(), &self.powers()).expect("granted");
    }
}

/// Powers of a text, whether weft knows the settings or not.
struct Layer {
    powers: Powers,
}

impl Layer {
    fn parse(text: &str) -> Self {
        let mut powers = Powers::default();
        let root = toml::de::DeTable::parse(text).expect("TOML");
        for (name, value) in root.get_ref() {
            match (name.get_ref().as_ref(), value.get_ref()) {
                ("permissions", DeValue::Table(table)) => {
                    for (name, value) in table {
                        let key = format!("permissions.{}", name.get_ref());
                        if needs_trust(&key) {
                            powers.add(&key, value.get_ref());
                        }
                    }
                }
                (key, value) if needs_trust(key) => powers.add(key, value),
                _ => {}
            }
        }
        Self { powers }
    }
}

const SERVER: &str = "[mcp.db]\ncommand = \"npx\"\nargs = [\"-y\", \"db\"]\n";

#[test]
fn what_needs_trust_is_left_aside_until_the_user_says_yes_to_exactly_that() {
    let world = World::new();
    world.sets(SERVER);
    let powers = world.powers();
    assert_eq!(
        powers.lines().collect::<Vec<_>>(),
        [r#"mcp.db.args = ["-y","db"]"#, r#"mcp.db.command = "npx""#]
    );
    assert_eq!(world.state(), TrustState::Untrusted(powers.clone()));
    world.grant();
    assert_eq!(world.trust().of(&world.project(), &powers), TrustState::Trusted);
    world.sets(&SERVER.replace("npx", "curl"));
    assert_eq!(world.state(), TrustState::Changed(world.powers()));
    assert!(world.trust().revoke(&world.project()).expect("revoked"));
    assert!(!world.trust().revoke(&world.project()).expect("revoked twice"));
    assert_eq!(world.state(), TrustState::Untrusted(world.powers()));
}

#[test]
fn what_needs_no_trust_counts_at_once() {
    let world = World::new();
    world.sets(&format!("[agent]\nmax_steps = 7\n{SERVER}"));
    let user = Config::load(&world.home(), &Overrides::default()).expect("sound");
    let config = user.for_project(&world.project()).expect("sound");
    assert_eq!(config.count(&crate::config::settings::MAX_STEPS), 7);
    assert!(config.project.ignored().is_some());
}

#[test]
fn the_same_settings_written_otherwise_are_the_same() {
    let same = [
        "[mcp.db]\ncommand = \"npx\"\nargs = [\"-y\", \"db\"]\nn = 16\n",
        "mcp = { db = { n = 0x10, args = ['-y', 'db'], command = 'npx' } }\n",
        "mcp.\"db\".command = \"\\u006epx\"\nmcp.db.args = [\n  \"-y\", # a comment\n  \"db\",\n]\nmcp.db.n = 1_6\n",
    ];
    let powers: Vec<_> = same.iter().map(|text| Layer::parse(text).powers).collect();
    assert_eq!(powers[0], powers[1]);
    assert_eq!(powers[0], powers[2]);
}

#[test]
fn no_two_different_settings_look_the_same() {
    let texts = [
        "mcp.a.b = \"x\"",
        "mcp.\"a.b\" = \"x\"",
        "mcp.a.b = [\"x\"]",
        "mcp.a.\"b = \\\"x\\\"\\nmcp.a.c\" = \"x\"",
        "mcp.a.b = 1",
        "mcp.a.b = \"1\"",
        "mcp.a.b = true",
        "mcp.a = {}",
        "mcp = {}",
        "permissions.allow = [\"x\"]",
    ];
    let powers: Vec<_> = texts.iter().map(|text| Layer::parse(text).powers).collect();
    for (n, one) in powers.iter().enumerate() {
        assert!(!one.is_empty(), "{}", texts[n]);
        assert!(one.lines().all(|line| !line.contains('\n')), "{}", texts[n]);
        let twins = powers.iter().filter(|other| *other == one).count();
        assert_eq!(twins, 1, "{}", texts[n]);
    }
}

#[cfg(unix)]
#[test]
fn links_change_nothing_about_whose_word_it_is() {
    let world = World::new();
    world.sets(SERVER);
    world.grant();
    // Another project borrows the folder that is trusted here.
    let other = world.root.path().join("other");
    std::fs::create_dir(&other).expect("made");
    std::os::unix::fs::symlink(world.project().join(".weft"), other.join(".weft")).expect("linked");
    let user = Config::load(&world.home(), &Overrides::default()).expect("sound");
    let state = user.for_project(&other).expect("sound").project;
    assert_eq!(state, TrustState::Untrusted(world.powers()));
    // The same project by another name is the same project.
    let alias = world.root.path().join("alias");
    std::os::unix::fs::symlink(world.project(), &alias).expect("linked");
    assert_eq!(world.trust().of(&alias, &world.powers()), TrustState::Trusted);
}

#[test]
fn a_file_in_place_of_the_folder_sets_nothing() {
    let world = World::new();
    std::fs::remove_dir(world.project().join(".weft")).expect("removed");
    std::fs::write(world.project().join(".weft"), SERVER).expect("written");
    assert_eq!(world.state(), TrustState::NotNeeded);
}

#[cfg(unix)]
#[test]
fn a_pipe_in_place_of_the_file_is_refused_and_not_waited_for() {
    let world = World::new();
    let path = world.project().join(".weft/config.toml");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &path,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RWXU,
        0,
    )
    .expect("a pipe");
    let user = Config::load(&world.home(), &Overrides::default()).expect("sound");
    let error = user.for_project(&world.project()).expect_err("must be refused");
    assert!(error.to_string().ends_with("it is not a file"), "{error}");
}

#[test]
fn a_record_that_cannot_be_read_trusts_nothing_and_is_never_overwritten() {
    let world = World::new();
    world.sets(SERVER);
    let file = world.home().join("trust.json");
    for bad in [
        "",
        "{",
        "{\"version\":2,\"projects\":{}}",
        "{\"version\":1,\"projects\":{\"/\":{\"all\":true}}}",
    ] {
        std::fs::write(&file, bad).expect("written");
        let TrustState::Unknown { powers, reason } = world.state() else {
            panic!("{bad}: {:?}", world.state());
        };
        assert_eq!(powers, world.powers());
        assert!(reason.contains("trust.json"), "{reason}");
        assert!(world.trust().grant(&world.project(), &powers).is_err());
        assert_eq!(std::fs::read_to_string(&file).expect("read"), bad);
    }
}

#[cfg(unix)]
#[test]
fn a_record_that_others_can_write_is_not_believed_and_a_written_one_is_private() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = World::new();
    world.sets(SERVER);
    world.grant();
    let file = world.home().join("trust.json");
    let mode = std::fs::metadata(&file).expect("there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o666)).expect("set");
    let state = world.state();
    let TrustState::Unknown { reason, .. } = &state else {
        panic!("{state:?}");
    };
    assert!(reason.contains("others than you can write it"), "{reason}");
}

#[test]
fn of_several_writers_none_loses_what_another_said() {
    let world = World::new();
    let folders: Vec<_> = (0..8).map(|n| world.root.path().join(format!("p{n}"))).collect();
    std::thread::scope(|scope| {
        for folder in &folders {
            std::fs::create_dir(folder).expect("made");
            let trust = world.trust();
            scope.spawn(move || {
                let powers = Powers::from_iter(["mcp.x.command = \"x\"".to_owned()]);
                trust.grant(folder, &powers).expect("granted");
            });
        }
    });
    assert_eq!(world.trust().list().expect("read").len(), folders.len());
}

#[test]
fn a_notice_names_what_is_left_aside_and_cannot_write_to_the_terminal() {
    let powers = Powers::from_iter((0..20).map(|n| format!("mcp.s{n:02}.command = \"a\u{1b}[2J{}\"", "x".repeat(300))));
    let notice = TrustState::Untrusted(powers).notice(Path::new("/a b")).expect("one");
    assert!(notice.contains("mcp.s00.command"), "{notice}");
    assert!(notice.contains("\n  … 12 more\n"), "{notice}");
    assert!(notice.contains("weft trust '/a b'"), "{notice}");
    assert!(!notice.contains('\u{1b}'));
    assert!(notice.lines().all(|line| line.chars().count() <= 170), "{notice}");
    assert_eq!(TrustState::Trusted.notice(Path::new("/p")), None);
}
