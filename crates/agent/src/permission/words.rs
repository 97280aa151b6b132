//! Patterns of simple commands: words, of which the last may stand for all that follow.

use super::glob::{TextGlob, escape};
use super::rule::RuleProblem;

/// Programs that run the command in their arguments.
const CARRIERS: &[&str] = &[
    "builtin", "chroot", "command", "doas", "env", "exec", "ionice", "nice", "nohup", "setsid", "stdbuf", "sudo",
    "time", "timeout", "xargs",
];

/// A pattern of a program and its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Words {
    words: Vec<TextGlob>,
    /// Whether any further words may follow.
    open: bool,
}

impl Words {
    /// Reads words as a shell would: quotes and backslashes make characters themselves, and outside of them `*` and `?`
    /// are wildcards. A last word `*` stands for any further words, none included.
    pub(super) fn parse(text: &str) -> Result<Self, RuleProblem> {
        let mut words = read_words(text)?;
        let open = words.last() == Some(&TextGlob::parse("*"));
        if open {
            words.pop();
        }
        if words.is_empty() {
            return Err(RuleProblem::NoProgram);
        }
        Ok(Self { words, open })
    }

    /// Whether this is such a command, word by word.
    pub(super) fn is_match(&self, command: &[String]) -> bool {
        let Some((program, arguments)) = command.split_first() else {
            return false;
        };
        self.fits(program, arguments, self.open)
    }

    /// Whether this is such a command, also by the last part of its program's path and behind programs that run others:
    /// for rules that hold back.
    pub(super) fn may_match(&self, command: &[String]) -> bool {
        let Some(first) = command.first() else { return false };
        let carries = CARRIERS.contains(&base_name(first));
        let starts = if carries { command.len() } else { 1 };
        (0..starts).any(|from| {
            let (program, arguments) = (&command[from], &command[from + 1..]);
            self.fits(program, arguments, self.open) || self.fits(base_name(program), arguments, self.open)
        })
    }

    /// Whether the text of a command whose parts cannot be told has such a command anywhere, as far as its words tell.
    pub(super) fn may_be_in(&self, text: &str) -> bool {
        let is_end = |c: char| c.is_whitespace() || ";|&(){}$`\"'<>".contains(c);
        let words: Vec<String> = (text.split(is_end).filter(|word| !word.is_empty()))
            .map(str::to_owned)
            .collect();
        // Where a simple command ends cannot be told: any further words may follow.
        (0..words.len()).any(|from| self.fits(base_name(&words[from]), &words[from + 1..], true))
    }

    fn fits(&self, program: &str, arguments: &[String], open: bool) -> bool {
        let Some((wanted, further)) = self.words.split_first() else {
            return false;
        };
        let enough = if open {
            arguments.len() >= further.len()
        } else {
            arguments.len() == further.len()
        };
        enough
            && wanted.is_match(program)
            && further
                .iter()
                .zip(arguments)
                .all(|(wanted, word)| wanted.is_match(word))
    }
}

/// The word as a pattern that fits just it.
pub(super) fn quote(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "_-./:=@%+,~^".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return escape(word);
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

fn read_words(text: &str) -> Result<Vec<TextGlob>, RuleProblem> {
    let mut words = Vec::new();
    let mut word: Option<TextGlob> = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c.is_whitespace() {
            words.extend(word.take());
            continue;
        }
        let piece = match c {
            '\'' | '"' => TextGlob::literal(&quoted(c, &mut chars)?),
            '\\' => TextGlob::literal(&chars.next().ok_or(RuleProblem::OpenEscape)?.to_string()),
            other => TextGlob::parse(&other.to_string()),
        };
        word.get_or_insert_with(|| TextGlob::parse("")).push(piece);
    }
    words.extend(word);
    Ok(words)
}

/// What stands up to the closing quote; within double quotes a backslash makes the next character itself.
fn quoted(quote: char, chars: &mut std::str::Chars<'_>) -> Result<String, RuleProblem> {
    let mut text = String::new();
    loop {
        match chars.next() {
            None => return Err(RuleProblem::OpenQuote(quote)),
            Some(c) if c == quote => return Ok(text),
            Some('\\') if quote == '"' => text.extend(chars.next()),
            Some(c) => text.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[track_caller]
    fn check(pattern: &str, text: &str, expected: bool) {
        let words = Words::parse(pattern).expect("a good pattern");
        assert_eq!(words.is_match(&command(text)), expected, "{pattern} on {text}");
    }

    #[test]
    fn words_fit_one_by_one() {
        check("git status", "git status", true);
        check("git status", "git status --short", false);
        check("git status", "git", false);
        check("git status *", "git status", true);
        check("git status *", "git status -s x", true);
        check("git status *", "git stash", false);
        check("git * main", "git push main", true);
        check("git * main", "git push --force main", false);
        check("npm run test*", "npm run test:unit", true);
        check("git", "/usr/bin/git", false);
        check("'git' \"status\"", "git status", true);
        check(r"echo '*'", "echo *", true);
        check(r"echo '*'", "echo x", false);
        check(r"echo \*", "echo x", false);
    }

    #[test]
    fn what_is_quoted_fits_itself_only() {
        for word in ["a b", "it's", "*", "", "$(x)", "a\\b", "-rf", "ü"] {
            let words = Words::parse(&format!("echo {}", quote(word))).expect("a good pattern");
            assert!(words.is_match(&["echo".to_owned(), word.to_owned()]), "{word}");
            assert!(!words.is_match(&["echo".to_owned(), "other".to_owned()]), "{word}");
        }
    }

    #[test]
    fn rules_that_hold_back_see_through_paths_and_carriers() {
        let rm = Words::parse("rm *").expect("a good pattern");
        for text in [
            "rm -rf /",
            "/bin/rm x",
            "sudo rm x",
            "sudo -u me /bin/rm x",
            "xargs -0 rm",
        ] {
            assert!(rm.may_match(&command(text)), "{text}");
        }
        for text in ["echo rm x", "firm x", "git rm x"] {
            assert!(!rm.may_match(&command(text)), "{text}");
        }
        for text in ["x=$(rm -rf /)", "a;rm x", "`rm`", "eval \"rm x\""] {
            assert!(rm.may_be_in(text), "{text}");
        }
        assert!(!rm.may_be_in("for f in *; do echo $f; done"));
        let exact = Words::parse("git push").expect("a good pattern");
        assert!(exact.may_be_in("for i in 1; do git push; done"));
    }

    #[test]
    fn what_is_no_command_is_refused() {
        for (text, problem) in [
            ("", RuleProblem::NoProgram),
            ("  *", RuleProblem::NoProgram),
            ("echo 'a", RuleProblem::OpenQuote('\'')),
            ("echo \"a", RuleProblem::OpenQuote('"')),
            ("echo \\", RuleProblem::OpenEscape),
        ] {
            assert_eq!(Words::parse(text), Err(problem), "{text}");
        }
    }
}
