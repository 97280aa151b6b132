//! The answers to a question that stand for more than one call, derived from the call in question.

use std::path::Path;

use weft_tools::{Access, AccessPath, StandingAnswer};
use weft_types::RuleEffect;

use super::glob::escape;
use super::url::site_of;
use super::words::quote;

/// How many rules one answer may give.
const MAX_RULES: usize = 3;

/// Programs whose second word says what they do.
const WITH_SUBCOMMANDS: &[&str] = &[
    "apt",
    "brew",
    "bun",
    "bundle",
    "cargo",
    "composer",
    "conda",
    "deno",
    "docker",
    "dotnet",
    "gh",
    "git",
    "glab",
    "go",
    "gradle",
    "gradlew",
    "helm",
    "just",
    "kubectl",
    "make",
    "mix",
    "mvn",
    "nix",
    "npm",
    "pip",
    "pip3",
    "pnpm",
    "podman",
    "poetry",
    "rustup",
    "swift",
    "terraform",
    "uv",
    "yarn",
    "zig",
];

/// Programs whose `run` names a script of the project.
const WITH_SCRIPTS: &[&str] = &["bun", "npm", "pnpm", "yarn"];

/// Second words behind which any command may stand.
const CARRYING: &[&str] = &["dlx", "eval", "exec", "r", "run", "shell", "tool", "x"];

/// How long an answer holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    Session,
    Project,
}

/// One answer and the rules that it gives.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Offer {
    pub(super) label: String,
    pub(super) effect: RuleEffect,
    pub(super) scope: Scope,
    pub(super) rules: Vec<String>,
}

impl Offer {
    pub(super) fn answer(&self) -> StandingAnswer {
        StandingAnswer {
            label: self.label.clone(),
            allows: self.effect == RuleEffect::Allow,
        }
    }
}

/// What is offered for a call in this folder. Nothing for one that needs caution, since such calls are always asked
/// about, and nothing for one of which no rule could say what it does.
pub(super) fn offers(tool: &str, access: &Access, cwd: &Path, with_project: bool) -> Vec<Offer> {
    if access.caution().is_some() {
        return Vec::new();
    }
    let Some((subject, rules)) = meant(tool, access, cwd) else {
        return Vec::new();
    };
    let offer = |effect, scope| Offer {
        label: format!(
            "Always {} {subject} in this {}",
            if effect == RuleEffect::Allow { "allow" } else { "reject" },
            if scope == Scope::Session { "session" } else { "project" }
        ),
        effect,
        scope,
        rules: rules.clone(),
    };
    let mut offers = vec![offer(RuleEffect::Allow, Scope::Session)];
    if with_project {
        offers.push(offer(RuleEffect::Allow, Scope::Project));
    }
    offers.push(offer(RuleEffect::Deny, Scope::Session));
    offers
}

/// What "always" would stand for: in words, and as rules.
fn meant(tool: &str, access: &Access, cwd: &Path) -> Option<(String, Vec<String>)> {
    match access {
        Access::Harmless | Access::Other => is_name(tool).then(|| (code(tool), vec![tool.to_owned()])),
        Access::Execute(command) => {
            let parts = command.parts.as_deref()?;
            several("", "bash", parts.iter().map(|part| pattern_of(part)).collect())
        }
        Access::Edit(places) => several("changes of ", "edit", patterns_of(places, cwd, true)?),
        Access::Read(places) => several("reading ", "read", patterns_of(places, cwd, false)?),
        Access::Script(script) if script.digest.is_empty() => None,
        Access::Script(script) => Some((
            format!("exactly this script of {}", code(&script.name)),
            vec![format!("workflow({})", script.digest)],
        )),
        Access::Fetch { url } => several("fetching ", "fetch", vec![site_of(url)?]),
    }
}

fn several(words: &str, name: &str, mut patterns: Vec<String>) -> Option<(String, Vec<String>)> {
    let mut seen = std::collections::HashSet::new();
    patterns.retain(|pattern| seen.insert(pattern.clone()));
    if patterns.is_empty() || patterns.len() > MAX_RULES {
        return None;
    }
    let named: Vec<String> = patterns.iter().map(|pattern| code(pattern)).collect();
    let rules = patterns.iter().map(|pattern| format!("{name}({pattern})")).collect();
    Some((format!("{words}{}", named.join(" and ")), rules))
}

/// The program and what it is told to do, with any arguments; or just this command, if that cannot be told.
fn pattern_of(part: &[String]) -> String {
    let words: Vec<&str> = part.iter().map(String::as_str).collect();
    let known = match words.as_slice() {
        [program, "run", script, ..] if WITH_SCRIPTS.contains(program) && is_word(script) => 3,
        [program, verb, ..] if WITH_SUBCOMMANDS.contains(program) && is_word(verb) && !CARRYING.contains(verb) => 2,
        _ => 0,
    };
    let quoted = |words: &[&str]| words.iter().map(|word| quote(word)).collect::<Vec<_>>().join(" ");
    match known {
        0 => quoted(&words),
        known => format!("{} *", quoted(&words[..known])),
    }
}

fn is_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_:".contains(c))
}

/// For changes in the session's folder, all of the folder that a file is in, unless that is the session's own; else just
/// these places.
fn patterns_of(places: &[AccessPath], cwd: &Path, with_folder: bool) -> Option<Vec<String>> {
    let pattern = |place: &AccessPath| {
        let inside = place.path.strip_prefix(cwd).ok().and_then(Path::to_str);
        match (inside.filter(|path| !path.is_empty()), place.path.to_str()) {
            (Some(path), _) => Some(match path.rsplit_once('/').filter(|_| with_folder) {
                Some((folder, _)) => format!("{}/**", escape(folder)),
                None => escape(path),
            }),
            (None, Some(path)) => Some(escape(path)),
            // A name that is no text could not be told from others.
            (None, None) => None,
        }
    };
    places.iter().map(pattern).collect()
}

fn is_name(tool: &str) -> bool {
    !tool.is_empty() && tool.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c))
}

/// Text as code, in one line.
fn code(text: &str) -> String {
    format!("`{}`", text.replace(['`', '\n', '\r'], " "))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;
    use weft_tools::{AccessCommand, AccessScript, ProposedCall};

    use super::super::rule::RuleFolders;
    use super::super::rules::{Rules, Ruling};
    use super::*;

    fn command(parts: &[&[&str]]) -> Access {
        let part = |part: &&[&str]| part.iter().map(|word| (*word).to_owned()).collect();
        Access::Execute(AccessCommand {
            text: "as it is".into(),
            parts: Some(parts.iter().map(part).collect()),
            caution: None,
        })
    }

    fn edit(path: &str) -> Access {
        Access::Edit(vec![AccessPath {
            path: path.into(),
            shown: path.into(),
            is_inside: true,
            caution: None,
        }])
    }

    /// Checks what is offered, and that the rules of each offer do what it says to this very call.
    #[track_caller]
    fn check(tool: &str, access: &Access, expected: Option<&str>) {
        let offers = offers(tool, access, Path::new("/srv"), true);
        assert_eq!(
            offers.first().map(|offer| offer.label.clone()),
            expected.map(|subject| format!("Always allow {subject} in this session"))
        );
        for offer in offers {
            let mut rules = Rules::new(RuleFolders {
                cwd: "/srv".into(),
                home: None,
            });
            for rule in &offer.rules {
                rules.add(offer.effect, rule).expect("a good rule");
            }
            let call = ProposedCall {
                name: tool,
                arguments: &Value::Null,
                access,
                is_approved: false,
            };
            match offer.effect {
                RuleEffect::Allow => assert_eq!(rules.judge(&call), Ruling::Allowed, "{:?}", offer.rules),
                _ => assert!(matches!(rules.judge(&call), Ruling::Denied(_)), "{:?}", offer.rules),
            }
        }
    }

    #[test]
    fn a_command_stands_for_its_program_and_what_that_is_told_to_do() {
        check("bash", &command(&[&["git", "status", "-s"]]), Some("`git status *`"));
        check(
            "bash",
            &command(&[&["npm", "run", "test", "--", "x"]]),
            Some("`npm run test *`"),
        );
        check("bash", &command(&[&["rm", "-rf", "build"]]), Some("`rm -rf build`"));
        check(
            "bash",
            &command(&[&["git", "-C", "x", "push"]]),
            Some("`git -C x push`"),
        );
        check("bash", &command(&[&["docker", "run", "x"]]), Some("`docker run x`"));
        check(
            "bash",
            &command(&[&["echo", "it's `x`", "*"]]),
            Some(r"`echo 'it'\''s  x ' '*'`"),
        );
        let two = command(&[&["cd", "a"], &["git", "log"], &["cd", "a"]]);
        check("bash", &two, Some("`cd a` and `git log *`"));
    }

    #[test]
    fn a_place_stands_for_its_folder_a_url_for_its_site_and_a_tool_for_itself() {
        check("edit", &edit("/srv/src/a(1).rs"), Some("changes of `src/**`"));
        check("write", &edit("/srv/R*ADME"), Some(r"changes of `R\*ADME`"));
        check("edit", &edit("/other/x/y"), Some("changes of `/other/x/y`"));
        let url = "https://Docs.rs/tokio?q";
        check(
            "fetch",
            &Access::Fetch { url: url.into() },
            Some("fetching `https://docs.rs/*`"),
        );
        let script = |digest: &str| {
            Access::Script(AccessScript {
                name: "review".into(),
                about: Vec::new(),
                text: "return 1".into(),
                digest: digest.into(),
            })
        };
        check(
            "workflow",
            &script(&format!("sha256:{}", "0a".repeat(32))),
            Some("exactly this script of `review`"),
        );
        check("workflow", &script(""), None);
        check("mcp__x__y", &Access::Other, Some("`mcp__x__y`"));
    }

    #[test]
    fn nothing_stands_for_what_no_rule_can_tell_or_what_needs_caution() {
        let computed = Access::Execute(AccessCommand {
            text: "$x".into(),
            parts: None,
            caution: None,
        });
        check("bash", &computed, None);
        check("bash", &command(&[&["a"], &["b"], &["c"], &["d"]]), None);
        check(
            "fetch",
            &Access::Fetch {
                url: "https://a@b/".into(),
            },
            None,
        );
        let Access::Edit(mut places) = edit("/srv/.git/hooks/x") else {
            unreachable!()
        };
        places[0].caution = Some("git runs it".into());
        check("write", &Access::Edit(places), None);
        check("a tool", &Access::Other, None);
    }
}
