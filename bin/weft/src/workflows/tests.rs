use serde_json::json;

use super::*;

/// A home, a user's folder and a project with its root above the working folder.
struct Site {
    folder: tempfile::TempDir,
}

const META: &str = "export const meta = { name: 'x', description: 'What it does.' };\n";

impl Site {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let site = Self { folder };
        for made in ["home", "user", "repo/.git", "repo/work"] {
            fs::create_dir_all(site.path(made)).expect("made");
        }
        for (path, text) in files {
            site.write(path, text);
        }
        site
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().canonicalize().expect("there").join(path)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, text).expect("written");
    }

    fn trust(&self) -> Trust {
        Trust::below(&self.path("home"))
    }

    fn workflows(&self) -> Workflows {
        let (home, user) = (self.path("home"), self.path("user"));
        Workflows::new(&home, Some(&user), &self.path("repo/work"), &self.trust())
    }

    /// Each file by name, owner and state.
    fn states(&self) -> Vec<String> {
        let all = self.workflows().all().into_iter();
        let states = all.map(|found| {
            let state = match found.standing {
                Standing::Usable(_) => "usable",
                Standing::Untrusted(_) => "untrusted",
                Standing::Broken(_) => "broken",
                Standing::Hidden(_) => "hidden",
            };
            format!("{} {} {state}", found.name, found.owner)
        });
        states.collect()
    }

    /// Says yes to all that the project brings along now.
    fn grant(&self) {
        let cwd = self.path("repo/work");
        let mut powers = Powers::default();
        add_powers(&cwd, &mut powers);
        self.trust().grant(&cwd, &powers).expect("granted");
    }
}

#[test]
fn folders_of_project_and_user_are_read_and_the_project_goes_first() {
    let site = Site::new(&[
        ("home/workflows/mine.js", META),
        ("home/workflows/both.js", META),
        ("user/.claude/workflows/other.js", META),
        ("user/.claude/workflows/mine.js", META),
        ("repo/.claude/workflows/far.js", META),
        ("repo/.weft/workflows/both.js", META),
        ("repo/work/.weft/workflows/near.js", META),
        ("repo/work/.weft/workflows/no.txt", META),
        ("repo/work/.weft/workflows/not a name.js", META),
    ]);
    site.grant();
    assert_eq!(
        site.states(),
        [
            "both project usable",
            "both user hidden",
            "far project usable",
            "mine user usable",
            "mine user hidden",
            "near project usable",
            "other user usable",
        ]
    );
}

#[test]
fn a_projects_workflow_counts_for_nothing_until_exactly_its_text_is_trusted() {
    let site = Site::new(&[("home/workflows/x.js", META), ("repo/.weft/workflows/x.js", META)]);
    assert_eq!(site.states(), ["x project untrusted", "x user usable"]);
    let users = site.workflows().find("x").expect("the user's").0.path;
    assert_eq!(users, site.path("home/workflows/x.js"));
    site.grant();
    assert_eq!(site.states(), ["x project usable", "x user hidden"]);
    site.write("repo/.weft/workflows/x.js", &format!("{META}return 1"));
    assert_eq!(site.states(), ["x project untrusted", "x user usable"]);
}

#[test]
fn what_an_untrusted_project_brings_is_refused_and_told() {
    let site = Site::new(&[("repo/.weft/workflows/x.js", META)]);
    let workflows = site.workflows();
    let error = workflows.script("x").expect_err("untrusted").to_string();
    assert!(error.contains("trust"), "{error}");
    assert!(workflows.list().is_empty() && workflows.commands().is_empty());
    let notices = workflows.notices();
    assert!(
        matches!(&notices[..], [notice] if notice.contains("x.\nhint: weft workflow show")),
        "{notices:?}"
    );
}

#[test]
fn changed_workflows_take_no_trust_from_the_projects_settings_nor_the_other_way_round() {
    let site = Site::new(&[("repo/work/.weft/workflows/x.js", META)]);
    let cwd = site.path("repo/work");
    let settings: Powers = ["mcp.db.command = \"npx\"".to_owned()].into_iter().collect();
    let mut all = settings.clone();
    add_powers(&cwd, &mut all);
    site.trust().grant(&cwd, &all).expect("granted");
    site.write("repo/work/.weft/workflows/x.js", &format!("{META}return 2"));
    assert_eq!(site.trust().of(&cwd, &settings), crate::trust::TrustState::Trusted);
    let mut wanted = settings;
    add_powers(&cwd, &mut wanted);
    assert!(site.trust().of(&cwd, &wanted).ignored().is_some(), "/trust asks");
    site.grant();
    assert_eq!(site.states(), ["x project usable"]);
}

#[test]
fn what_is_no_workflow_is_left_out_with_the_reason() {
    let site = Site::new(&[
        ("home/workflows/bare.js", "return 1"),
        (
            "home/workflows/code.js",
            "export const meta = { name: f(), description: 'd' };",
        ),
    ]);
    #[cfg(unix)]
    {
        fs::create_dir_all(site.path("repo/.weft/workflows")).expect("made");
        let link = site.path("repo/.weft/workflows/out.js");
        std::os::unix::fs::symlink(site.path("home/workflows/bare.js"), link).expect("linked");
    }
    let notices = site.workflows().notices().join("\n");
    for part in [
        "bare.js is left out: it does not begin",
        "code.js is left out",
        "outside the project",
    ] {
        assert!(notices.contains(part), "{part}: {notices}");
    }
    assert!(site.workflows().script("../workflows/bare").is_err());
    let error = site.workflows().script("nope").expect_err("unknown").to_string();
    assert!(error.contains("there are none"), "{error}");
}

#[test]
fn wfs17_what_stands_behind_a_command_is_json_if_it_is_a_list_or_an_object() {
    let check = |text: &str, expected: Option<Value>| assert_eq!(args_of(text), expected, "{text}");
    check("", None);
    check("  \n", None);
    check("{\"k\": [1]}", Some(json!({ "k": [1] })));
    check(" [1, 2] ", Some(json!([1, 2])));
    check("7", Some(json!("7")));
    check("\"quoted\"", Some(json!("\"quoted\"")));
    check("{broken", Some(json!("{broken")));
    check("the parser", Some(json!("the parser")));
}

#[test]
fn a_command_tells_the_model_the_exact_call() {
    let site = Site::new(&[("home/workflows/review.js", META)]);
    let workflows = site.workflows();
    let commands: Vec<_> = workflows.commands().into_iter().map(|command| command.name).collect();
    assert_eq!(commands, ["review"]);
    let order = workflows.order("review", "[\"a.rs\"]").expect("there");
    assert!(order.ends_with("{\"name\":\"review\",\"args\":[\"a.rs\"]}"), "{order}");
    let order = workflows.order("review", "").expect("there");
    assert!(order.ends_with("{\"name\":\"review\"}"), "{order}");
}
