use super::*;

fn rules(rules: &[&str]) -> Vec<String> {
    rules.iter().map(|rule| (*rule).to_owned()).collect()
}

#[test]
fn each_project_has_its_own_rules_and_keeps_those_it_has() {
    let folder = tempfile::tempdir().expect("a folder");
    let home = folder.path().join("home");
    for project in ["a", "b"] {
        fs::create_dir(folder.path().join(project)).expect("made");
    }
    let (a, b) = (folder.path().join("a"), folder.path().join("b"));
    let (a, b) = (ProjectFile::of(&home, &a), ProjectFile::of(&home, &b));
    assert!(a.read().expect("no file is no rule").is_empty());
    a.keep(RuleEffect::Allow, &rules(&["bash(git status *)", "edit(src/**)"]))
        .expect("kept");
    a.keep(RuleEffect::Allow, &rules(&["bash(git status *)"]))
        .expect("kept");
    b.keep(RuleEffect::Deny, &rules(&["bash(rm 'it''s')"])).expect("kept");
    assert_eq!(
        a.read().expect("sound"),
        [
            (RuleEffect::Allow, "bash(git status *)".to_owned()),
            (RuleEffect::Allow, "edit(src/**)".to_owned()),
        ]
    );
    assert_eq!(
        b.read().expect("sound"),
        [(RuleEffect::Deny, "bash(rm 'it''s')".to_owned())]
    );
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = fs::metadata(&a.path).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    let left: Vec<_> = fs::read_dir(&home).expect("there").collect();
    assert_eq!(left.len(), 2, "the file and its lock");
}

#[test]
fn two_that_add_at_once_lose_nothing() {
    let home = tempfile::tempdir().expect("a folder");
    let file = ProjectFile::of(home.path(), home.path());
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let file = file.clone();
            scope.spawn(move || {
                for number in 0..5 {
                    let rule = format!("tool_{writer}_{number}");
                    file.keep(RuleEffect::Allow, &[rule]).expect("kept");
                }
            });
        }
    });
    assert_eq!(file.read().expect("sound").len(), 20);
}

/// The error that a file is answered with, its path left out.
#[track_caller]
fn told(text: &str) -> String {
    let home = tempfile::tempdir().expect("a folder");
    let file = ProjectFile {
        path: home.path().join("permissions.toml"),
        project: "/mine".to_owned(),
    };
    fs::write(&file.path, text).expect("written");
    let told = file.read().expect_err("not sound").to_string();
    // Nor is anything added to it: what is there would be lost.
    let kept = file.keep(RuleEffect::Allow, &rules(&["bash"])).expect_err("not sound");
    assert_eq!(kept.to_string(), told);
    assert_eq!(fs::read_to_string(&file.path).expect("there"), text);
    let told = told.replace(&file.path.display().to_string(), "FILE");
    let (place, hint) = told.split_once('\n').expect("a hint");
    assert_eq!(
        hint,
        "hint: mend that place, or delete the file to lose the rules in it"
    );
    place
        .strip_prefix("failed to read FILE:")
        .expect("the file is named")
        .to_owned()
}

#[test]
fn a_file_that_is_not_what_it_should_be_is_refused_with_the_place_and_stays_as_it_is() {
    let shape = "expected [projects.\"FOLDER\"] with allow, ask and deny, lists of rules";
    for (text, expected) in [
        (
            "projects = 3\n",
            format!("1:12: projects: found a value of type integer, {shape}"),
        ),
        ("\n[project]\n", format!("2:2: project: unknown key, {shape}")),
        ("allow = [\"bash\"]\n", format!("1:1: allow: unknown key, {shape}")),
        (
            "[projects]\n\"/mine\" = []\n",
            format!("2:11: projects.\"/mine\": found a value of type array, {shape}"),
        ),
        (
            "[projects.\"/mine\"]\nalow = [\"bash\"]\n",
            format!("2:1: projects.\"/mine\".alow: unknown key, {shape}"),
        ),
        (
            "[projects.\"/mine\"]\nallow = \"bash\"\n",
            format!("2:9: projects.\"/mine\".allow: found a value of type string, {shape}"),
        ),
        (
            "[projects.\"/mine\"]\nallow = [\"bash\",\n  1]\n",
            format!("3:3: projects.\"/mine\".allow: found a value of type integer, {shape}"),
        ),
        // Another project's shape counts as well: what is written again is the whole file.
        (
            "[projects.\"/other\"]\ndeny = true\n",
            format!("2:8: projects.\"/other\".deny: found a value of type boolean, {shape}"),
        ),
    ] {
        assert_eq!(told(text), expected, "{text:?}");
    }
    assert!(told("not toml").starts_with("1:"));
    let rule = told("[projects.\"/mine\"]\nallow = [\"bash(\"]\n");
    assert!(rule.starts_with("2:10: projects.\"/mine\".allow: "), "{rule}");
}

#[test]
fn a_rule_of_another_project_that_cannot_be_used_is_that_project_s_alone() {
    let home = tempfile::tempdir().expect("a folder");
    let file = ProjectFile::of(home.path(), home.path());
    let other = "[projects.\"/other\"]\nallow = [\"bash(\"]\n";
    fs::write(&file.path, other).expect("written");
    assert!(file.read().expect("sound").is_empty());
    file.keep(RuleEffect::Deny, &rules(&["bash"])).expect("kept");
    assert_eq!(file.read().expect("sound"), [(RuleEffect::Deny, "bash".to_owned())]);
    assert!(fs::read_to_string(&file.path).expect("there").contains("\"bash(\""));
}
