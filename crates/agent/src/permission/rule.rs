//! One rule: a tool's name and, in parentheses, which of its calls.

use std::fmt;
use std::path::{Path, PathBuf};

use weft_tools::Access;

use super::glob::{PathGlob, TextGlob};
use super::url::UrlGlob;
use super::words::Words;

/// The longest rule, in bytes.
const MAX_BYTES: usize = 4_096;

/// Where the patterns of paths in rules start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuleFolders {
    /// The session's folder: relative patterns start there.
    pub cwd: PathBuf,
    /// What `~` stands for; without it such patterns are refused.
    pub home: Option<PathBuf>,
}

/// A rule about calls, as `[permissions]` writes it: `bash(git status)`, `edit(src/**)`, `mcp__github__*`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Rule {
    text: String,
    name: TextGlob,
    /// What the name stands for beside tools of that name.
    class: Option<Class>,
    which: Which,
}

/// Tools that are alike in what they do to the world, by the name of the first of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Read,
    Edit,
    Execute,
    Fetch,
    Script,
}

/// Which calls of the tool are meant.
#[derive(Clone, Debug, PartialEq)]
enum Which {
    All,
    Commands(Words),
    /// Any of these patterns: as written, and with the links in its beginning followed.
    Places(Vec<PathGlob>),
    Urls(UrlGlob),
    /// The script with this digest.
    Script(String),
}

/// Why a text is no rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("failed to read the rule `{rule}`: {problem}")]
pub struct RuleError {
    rule: String,
    problem: RuleProblem,
}

/// What is wrong with the text of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RuleProblem {
    TooLong,
    Name,
    Unclosed,
    NoPattern,
    Patternless,
    OpenQuote(char),
    OpenEscape,
    NoProgram,
    NoHome,
    Scheme,
    Host,
    Digest,
}

impl fmt::Display for RuleProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong => write!(f, "it has more than {MAX_BYTES} bytes"),
            Self::Name => f.write_str(
                "it must begin with a tool's name of letters, digits, `_`, `-`, `.` and `*`, such as `bash` or `mcp__github__*`",
            ),
            Self::Unclosed => f.write_str("the pattern must end with `)`, and nothing may follow it"),
            Self::NoPattern => f.write_str("there is nothing between the parentheses; leave them out to mean every call"),
            Self::Patternless => f.write_str(
                "this tool takes no pattern in parentheses; only `read`, `grep`, `glob`, `edit`, `write`, `bash`, `fetch` and `workflow` do",
            ),
            Self::OpenQuote(quote) => write!(f, "the quote {quote} is not closed"),
            Self::OpenEscape => f.write_str("a backslash stands at the end, with nothing to escape"),
            Self::NoProgram => f.write_str("a pattern of commands must begin with a program"),
            Self::NoHome => f.write_str("`~` stands for your home, which is not known; write the path in full"),
            Self::Digest => f.write_str(
                "a workflow is meant by its digest, `sha256:` and 64 hexadecimal digits, which `weft workflow show NAME --json` tells",
            ),
            Self::Scheme => f.write_str("the pattern of a URL must begin with `https://`, `http://` or a host"),
            Self::Host => f.write_str("the pattern of a URL must have a host, without a user's name or blanks"),
        }
    }
}

impl Rule {
    pub(super) fn parse(text: &str, folders: &RuleFolders) -> Result<Self, RuleError> {
        Self::read(text, folders).map_err(|problem| RuleError {
            rule: text.chars().take(200).collect(),
            problem,
        })
    }

    fn read(text: &str, folders: &RuleFolders) -> Result<Self, RuleProblem> {
        if text.len() > MAX_BYTES {
            return Err(RuleProblem::TooLong);
        }
        let text = text.trim();
        let (name, pattern) = match text.split_once('(') {
            Some((name, rest)) => (name, Some(rest.strip_suffix(')').ok_or(RuleProblem::Unclosed)?)),
            None => (text, None),
        };
        let is_named = |c: char| c.is_ascii_alphanumeric() || "_-.*".contains(c);
        if name.is_empty() || !name.chars().all(is_named) {
            return Err(RuleProblem::Name);
        }
        let which = match pattern.map(str::trim) {
            None => Which::All,
            Some("") => return Err(RuleProblem::NoPattern),
            Some(pattern) => Which::read(name, pattern, folders)?,
        };
        Ok(Self {
            text: text.to_owned(),
            name: TextGlob::parse(name),
            class: class_of(name),
            which,
        })
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Whether the rule is about such a tool.
    fn is_about(&self, tool: &str, access: &Access) -> bool {
        let of_class = matches!(
            (self.class, access),
            (Some(Class::Read), Access::Read(_))
                | (Some(Class::Edit), Access::Edit(_))
                | (Some(Class::Execute), Access::Execute(_))
                | (Some(Class::Fetch), Access::Fetch { .. })
                | (Some(Class::Script), Access::Script(_))
        );
        of_class || self.name.is_match(tool)
    }

    /// Whether the rule lets this much of a call pass.
    pub(super) fn allows(&self, tool: &str, access: &Access, unit: Unit<'_>) -> bool {
        self.is_about(tool, access)
            && match (&self.which, unit) {
                (Which::All, _) => true,
                (Which::Commands(words), Unit::Command(part)) => words.is_match(part),
                (Which::Places(globs), Unit::Place(path)) => globs.iter().any(|glob| glob.is_match(path)),
                (Which::Urls(glob), Unit::Url(url)) => glob.is_match(url),
                (Which::Script(digest), Unit::Script(found)) => digest == found,
                _ => false,
            }
    }

    /// Whether the rule holds a call back, by anything of it.
    pub(super) fn holds_back(&self, tool: &str, access: &Access) -> bool {
        self.is_about(tool, access)
            && match (&self.which, access) {
                (Which::All, _) => true,
                (Which::Commands(words), Access::Execute(command)) => match &command.parts {
                    Some(parts) => parts.iter().any(|part| words.may_match(part)),
                    None => words.may_be_in(&command.text),
                },
                (Which::Places(globs), Access::Read(places) | Access::Edit(places)) => places
                    .iter()
                    .any(|place| globs.iter().any(|glob| glob.is_match(&place.path))),
                (Which::Urls(glob), Access::Fetch { url }) => glob.may_match(url),
                (Which::Script(digest), Access::Script(script)) => *digest == script.digest,
                _ => false,
            }
    }

    /// Whether the rule is about some commands of such a tool and not about all.
    pub(super) fn looks_at_commands(&self, tool: &str, access: &Access) -> bool {
        matches!(self.which, Which::Commands(_)) && self.is_about(tool, access)
    }
}

/// What of a call has to be allowed by itself.
#[derive(Clone, Copy, Debug)]
pub(super) enum Unit<'a> {
    Command(&'a [String]),
    Place(&'a Path),
    Url(&'a str),
    /// The digest of a script.
    Script(&'a str),
    /// The call as a whole, of which nothing more is known.
    Call,
}

impl Which {
    fn read(name: &str, pattern: &str, folders: &RuleFolders) -> Result<Self, RuleProblem> {
        match name {
            "bash" => Ok(Self::Commands(Words::parse(pattern)?)),
            "fetch" => Ok(Self::Urls(UrlGlob::parse(pattern)?)),
            "workflow" => script(pattern),
            "read" | "grep" | "glob" | "edit" | "write" => Ok(Self::Places(places(pattern, folders)?)),
            _ => Err(RuleProblem::Patternless),
        }
    }
}

fn class_of(name: &str) -> Option<Class> {
    match name {
        "read" => Some(Class::Read),
        "edit" => Some(Class::Edit),
        "bash" => Some(Class::Execute),
        "fetch" => Some(Class::Fetch),
        "workflow" => Some(Class::Script),
        _ => None,
    }
}

/// A script is meant by its text alone: a name could be given to any other.
fn script(pattern: &str) -> Result<Which, RuleProblem> {
    let digits = pattern.strip_prefix("sha256:").ok_or(RuleProblem::Digest)?;
    let is_digest = digits.len() == 64 && digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    is_digest
        .then(|| Which::Script(pattern.to_owned()))
        .ok_or(RuleProblem::Digest)
}

fn places(pattern: &str, folders: &RuleFolders) -> Result<Vec<PathGlob>, RuleProblem> {
    let glob = if pattern == "~" || pattern.starts_with("~/") {
        let home = folders.home.as_deref().ok_or(RuleProblem::NoHome)?;
        PathGlob::parse(home, &pattern[1..])
    } else if pattern.starts_with('/') {
        PathGlob::parse(Path::new("/"), pattern)
    } else {
        PathGlob::parse(&folders.cwd, pattern)
    };
    let followed = with_links_followed(&glob);
    Ok(std::iter::once(glob).chain(followed).collect())
}

/// The pattern whose beginning has no links, if it has any as it is: what a call does is told by such paths.
fn with_links_followed(glob: &PathGlob) -> Option<PathGlob> {
    (1..=glob.literal_parts()).rev().find_map(|count| {
        let path = glob.path_of(count);
        let real = std::fs::canonicalize(&path).ok()?;
        Some((real != path).then(|| glob.moved(count, &real)))
    })?
}
