use serde_json::Value;
use weft_tools::{AccessCommand, AccessPath};

use super::*;

fn rules(allow: &[&str], ask: &[&str], deny: &[&str]) -> Rules {
    let mut rules = Rules::new(RuleFolders {
        cwd: "/srv".into(),
        home: Some("/people/me".into()),
    });
    for (effect, texts) in [
        (RuleEffect::Allow, allow),
        (RuleEffect::Ask, ask),
        (RuleEffect::Deny, deny),
    ] {
        for text in texts {
            rules.add(effect, text).expect("a good rule");
        }
    }
    rules
}

fn command(text: &str) -> Access {
    let part = |part: &str| part.split_whitespace().map(str::to_owned).collect();
    Access::Execute(AccessCommand {
        text: text.to_owned(),
        parts: Some(text.split("&&").map(part).collect()),
        caution: None,
    })
}

fn computed(text: &str) -> Access {
    Access::Execute(AccessCommand {
        text: text.to_owned(),
        parts: None,
        caution: None,
    })
}

fn places(paths: &[&str]) -> Vec<AccessPath> {
    let place = |path: &&str| AccessPath {
        path: path.into(),
        shown: (*path).to_owned(),
        is_inside: path.starts_with("/srv/"),
        caution: None,
    };
    paths.iter().map(place).collect()
}

#[track_caller]
fn check(rules: &Rules, tool: &str, access: &Access, expected: &Ruling) {
    let call = ProposedCall {
        name: tool,
        arguments: &Value::Null,
        access,
        is_approved: false,
    };
    assert_eq!(rules.judge(&call), *expected, "{tool} {access:?}");
}

fn denied(rule: &str) -> Ruling {
    Ruling::Denied(rule.to_owned())
}

#[test]
fn strictness_decides_and_neither_order_nor_length() {
    let rules = rules(
        &["bash", "bash(git push origin *)"],
        &["bash(git push *)"],
        &["bash(git push --force *)"],
    );
    check(&rules, "bash", &command("git status"), &Ruling::Allowed);
    check(&rules, "bash", &command("git push origin main"), &Ruling::Asked);
    check(
        &rules,
        "bash",
        &command("git push --force x"),
        &denied("bash(git push --force *)"),
    );
}

#[test]
fn each_part_of_a_command_has_to_be_allowed_and_one_is_enough_to_deny() {
    let rules = rules(&["bash(git status)", "bash(ls *)"], &[], &["bash(rm *)"]);
    check(&rules, "bash", &command("git status && ls -l"), &Ruling::Allowed);
    check(&rules, "bash", &command("git status && curl x"), &Ruling::Open);
    check(&rules, "bash", &command("ls && sudo /bin/rm x"), &denied("bash(rm *)"));
}

#[test]
fn a_command_that_computes_what_it_runs_is_never_allowed_by_its_words() {
    check(
        &rules(&["bash(git *)"], &[], &[]),
        "bash",
        &computed("git $(x)"),
        &Ruling::Open,
    );
    check(
        &rules(&["bash"], &[], &[]),
        "bash",
        &computed("git $(x)"),
        &Ruling::Allowed,
    );
    let careful = rules(&["bash"], &[], &["bash(rm *)"]);
    check(&careful, "bash", &computed("x=$(rm -rf /)"), &denied("bash(rm *)"));
    check(&careful, "bash", &computed("for f in *; do $f; done"), &Ruling::Unclear);
    let other = rules(&[], &[], &["read(/etc/**)"]);
    check(&other, "bash", &computed("for f in *; do $f; done"), &Ruling::Open);
}

#[test]
fn places_are_meant_by_what_is_done_with_them_whatever_the_tool() {
    let rules = rules(
        &["edit(src/**)"],
        &["write(src/gen/**)"],
        &["read(~/.ssh/**)", "edit(**/*.lock)"],
    );
    check(
        &rules,
        "write",
        &Access::Edit(places(&["/srv/src/a"])),
        &Ruling::Allowed,
    );
    check(
        &rules,
        "edit",
        &Access::Edit(places(&["/srv/src/gen/a"])),
        &Ruling::Allowed,
    );
    check(
        &rules,
        "write",
        &Access::Edit(places(&["/srv/src/gen/a"])),
        &Ruling::Asked,
    );
    check(
        &rules,
        "edit",
        &Access::Edit(places(&["/srv/src/a", "/srv/b"])),
        &Ruling::Open,
    );
    check(
        &rules,
        "edit",
        &Access::Edit(places(&["/srv/src/a", "/srv/x/Cargo.lock"])),
        &denied("edit(**/*.lock)"),
    );
    for tool in ["read", "grep", "glob"] {
        let access = Access::Read(places(&["/people/me/.ssh/id"]));
        check(&rules, tool, &access, &denied("read(~/.ssh/**)"));
    }
    check(
        &rules,
        "read",
        &Access::Read(places(&["/people/me/.sshx/id"])),
        &Ruling::Open,
    );
    check(&rules, "read", &Access::Read(Vec::new()), &Ruling::Open);
}

#[test]
fn tools_are_meant_by_their_names() {
    let rules = rules(
        &["mcp__github__*", "fetch(https://docs.rs/*)"],
        &["workflow"],
        &["mcp__*__delete"],
    );
    check(&rules, "mcp__github__list", &Access::Other, &Ruling::Allowed);
    check(&rules, "mcp__github__delete", &Access::Other, &denied("mcp__*__delete"));
    check(&rules, "mcp__gitlab__list", &Access::Other, &Ruling::Open);
    check(&rules, "workflow", &Access::Harmless, &Ruling::Asked);
    let url = |url: &str| Access::Fetch { url: url.to_owned() };
    check(&rules, "fetch", &url("https://docs.rs/x"), &Ruling::Allowed);
    check(&rules, "fetch", &url("https://docs.rs@evil/x"), &Ruling::Open);
}

#[test]
fn what_is_no_rule_is_refused_with_what_was_expected() {
    for (text, expected) in [
        ("", "must begin with a tool's name"),
        ("(x)", "must begin with a tool's name"),
        ("bash git", "must begin with a tool's name"),
        ("bäsh", "must begin with a tool's name"),
        ("bash(git", "must end with `)`"),
        ("bash(git) ", ""),
        ("bash(git) x", "must end with `)`"),
        ("bash()", "nothing between the parentheses"),
        ("bash( )", "nothing between the parentheses"),
        ("bash(*)", "must begin with a program"),
        ("bash(echo 'x)", "the quote ' is not closed"),
        ("mcp__x(y)", "takes no pattern"),
        ("fetch(ftp://x)", "`https://`"),
        ("fetch(https://a@b/)", "must have a host"),
        ("edit(a(b).txt)", ""),
    ] {
        match Rules::check(text) {
            Ok(()) => assert_eq!(expected, "", "{text}"),
            Err(error) => {
                let told = error.to_string();
                assert!(!expected.is_empty() && told.contains(expected), "{text}: {told}");
                assert!(told.starts_with("failed to read the rule"), "{told}");
            }
        }
    }
    let long = format!("bash({})", "x".repeat(5_000));
    let told = Rules::check(&long).expect_err("too long").to_string();
    assert!(told.contains("more than 4096 bytes") && told.len() < 400, "{told}");
    let mut homeless = Rules::new(RuleFolders::default());
    assert!(homeless.add(RuleEffect::Deny, "read(~/.ssh/**)").is_err());
}

#[cfg(unix)]
#[test]
fn a_path_of_a_rule_is_followed_through_the_links_in_its_beginning() {
    let folder = tempfile::tempdir().expect("a folder");
    let real = folder.path().canonicalize().expect("it exists");
    std::fs::create_dir(real.join("real")).expect("made");
    std::os::unix::fs::symlink(real.join("real"), real.join("link")).expect("made");
    let mut rules = Rules::new(RuleFolders {
        cwd: real.join("link"),
        home: None,
    });
    rules.add(RuleEffect::Deny, "edit(x/**)").expect("a good rule");
    let at = |path: &str| Access::Edit(places(&[real.join(path).to_str().expect("UTF-8")]));
    check(&rules, "edit", &at("real/x/y"), &denied("edit(x/**)"));
    check(&rules, "edit", &at("link/x/y"), &denied("edit(x/**)"));
    check(&rules, "edit", &at("real/y"), &Ruling::Open);
}
