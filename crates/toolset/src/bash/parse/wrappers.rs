//! Programs that run other programs.

use super::words::{Word, assignment};
use super::{Computed, MAX_SHELLS, Walk};

/// A program that runs the one that its arguments name, and changes nothing about which that is.
struct Wrapper {
    name: &'static str,
    /// Options by themselves.
    flags: &'static [&'static str],
    /// Options with a value, in the same word or the next.
    values: &'static [&'static str],
    /// How many operands stand before the program.
    operands: usize,
}

const fn wrapper(
    name: &'static str,
    flags: &'static [&'static str],
    values: &'static [&'static str],
    operands: usize,
) -> Wrapper {
    Wrapper {
        name,
        flags,
        values,
        operands,
    }
}

const WRAPPERS: [Wrapper; 11] = [
    wrapper("env", &["-i", "-", "--ignore-environment"], &["-u", "--unset"], 0),
    wrapper("nohup", &[], &[], 0),
    wrapper("setsid", &["-c", "-f", "-w", "--fork", "--wait"], &[], 0),
    wrapper(
        "time",
        &["-p", "-v", "--verbose", "--portability"],
        &["-f", "--format"],
        0,
    ),
    wrapper(
        "timeout",
        &["--preserve-status", "--foreground", "-v", "--verbose"],
        &["-s", "--signal", "-k", "--kill-after"],
        1,
    ),
    wrapper("nice", &[], &["-n", "--adjustment"], 0),
    wrapper(
        "ionice",
        &["-t", "--ignore"],
        &["-c", "--class", "-n", "--classdata"],
        0,
    ),
    wrapper("stdbuf", &[], &["-i", "--input", "-o", "--output", "-e", "--error"], 0),
    wrapper("command", &["-p"], &[], 0),
    wrapper("builtin", &[], &[], 0),
    wrapper("exec", &["-c", "-l"], &["-a"], 0),
];

/// Programs that run what they read, are given as text, or find; and builtins that change what other words mean.
const COMPUTING: [&str; 60] = [
    ".",
    "alias",
    "at",
    "batch",
    "bind",
    "busybox",
    "bwrap",
    "capsh",
    "chroot",
    "chrt",
    "compgen",
    "complete",
    "coproc",
    "crontab",
    "csh",
    "dbus-run-session",
    "enable",
    "entr",
    "eval",
    "expect",
    "faketime",
    "fc",
    "firejail",
    "fish",
    "flock",
    "gdb",
    "hash",
    "ltrace",
    "mapfile",
    "mksh",
    "nsenter",
    "numactl",
    "parallel",
    "pkexec",
    "prlimit",
    "proot",
    "rbash",
    "readarray",
    "rlwrap",
    "runuser",
    "script",
    "setpriv",
    "shopt",
    "source",
    "ssh",
    "strace",
    "su",
    "systemd-run",
    "taskset",
    "tcsh",
    "toybox",
    "trap",
    "unalias",
    "unshare",
    "unset",
    "watch",
    "xargs",
    "xvfb-run",
    "zsh",
    "ld.so",
];

/// Shells whose scripts are parsed.
const SHELLS: [&str; 5] = ["sh", "bash", "dash", "ash", "ksh"];

/// Builtins that evaluate subscripts in the words they are given, commands within them included.
const EVALUATING: [&str; 7] = ["printf", "read", "test", "[", "let", "wait", "getopts"];

/// Programs whose first argument is no subcommand.
const WITHOUT_SUBCOMMANDS: [&str; 44] = [
    "awk", "basename", "cat", "cd", "chmod", "chown", "cmp", "cp", "cut", "df", "diff", "dirname", "du", "echo",
    "egrep", "fgrep", "file", "find", "grep", "head", "jq", "kill", "ln", "ls", "mkdir", "mv", "printf", "pwd",
    "readlink", "realpath", "rg", "rm", "rmdir", "sed", "seq", "sleep", "sort", "stat", "tail", "tee", "touch", "tr",
    "uniq", "wc",
];

/// Whether the program is a shell.
pub(super) fn is_shell(program: &str) -> bool {
    SHELLS.contains(&program.rsplit('/').next().unwrap_or(program))
}

impl Walk {
    /// Takes a simple command, and what it runs in turn.
    pub(super) fn simple(&mut self, words: &[Word]) -> Result<(), Computed> {
        let (program, arguments) = words.split_first().ok_or(Computed)?;
        if !program.is_literal || program.text.is_empty() {
            return Err(Computed);
        }
        let known = known_as(&program.text);
        // A program of that name elsewhere is most likely what the name says.
        let name = program.text.rsplit('/').next().unwrap_or(known);
        if COMPUTING.contains(&name) {
            return Err(Computed);
        }
        if is_shell(name) {
            return self.shell(known, arguments);
        }
        if let Some(wrapper) = WRAPPERS.iter().find(|wrapper| wrapper.name == name) {
            let looks_up = name == "command"
                && arguments
                    .first()
                    .is_some_and(|word| matches!(word.text.as_str(), "-v" | "-V"));
            let inner = if looks_up {
                &[][..]
            } else {
                self.unwrap(wrapper, arguments)?
            };
            return match inner {
                [] if name == "exec" => Err(Computed),
                [] => self.part(known, arguments),
                inner => self.simple(inner),
            };
        }
        if matches!(name, "sudo" | "doas") {
            return self.as_another_user(known, arguments);
        }
        if name == "find" {
            self.find(arguments)?;
        }
        if name == "weft" && arguments.iter().any(|word| word.text == "trust") {
            self.cautions
                .push("it answers in your place whether the project's own settings may run programs".to_owned());
        }
        self.part(known, arguments)
    }

    fn part(&mut self, program: &str, arguments: &[Word]) -> Result<(), Computed> {
        let is_code = |word: &Word| word.text.contains("$(") || word.text.contains('`');
        if EVALUATING.contains(&program) && arguments.iter().any(is_code) {
            return Err(Computed);
        }
        let mut before_subcommand = arguments
            .iter()
            .take_while(|word| !word.is_literal || word.text.starts_with('-'));
        if !WITHOUT_SUBCOMMANDS.contains(&program)
            && let Some(hidden) = before_subcommand.find(|word| !word.is_literal)
        {
            self.cautions
                .push(format!("what {program} does depends on {}", hidden.text));
        }
        let words = arguments.iter().map(|word| word.text.clone());
        self.parts
            .push(std::iter::once(program.to_owned()).chain(words).collect());
        Ok(())
    }

    /// What stands behind a wrapper's own options and operands.
    fn unwrap<'w>(&mut self, wrapper: &Wrapper, arguments: &'w [Word]) -> Result<&'w [Word], Computed> {
        let mut rest = arguments;
        while let [first, behind @ ..] = rest {
            let text = first.text.as_str();
            if text == "--" {
                rest = behind;
                break;
            }
            if wrapper.name == "env"
                && let Some(name) = assignment(text)
            {
                self.sets(name);
                rest = behind;
                continue;
            }
            if !text.starts_with('-') {
                break;
            }
            rest = match (takes_next(wrapper, first)?, behind) {
                (false, behind) => behind,
                (true, [value, behind @ ..]) if value.is_literal => behind,
                (true, _) => return Err(Computed),
            };
        }
        if rest.is_empty() {
            return Ok(rest);
        }
        let (operands, inner) = rest.split_at_checked(wrapper.operands).ok_or(Computed)?;
        if operands.iter().any(|word| !word.is_literal) {
            return Err(Computed);
        }
        // Only what the shell itself starts with assignments is taken for such; a program would be called that.
        Ok(inner)
    }

    fn shell(&mut self, program: &str, arguments: &[Word]) -> Result<(), Computed> {
        let mut rest = arguments;
        let mut is_script = false;
        while let [first, behind @ ..] = rest {
            let option = first.text.as_str();
            match option {
                _ if !first.is_literal => return Err(Computed),
                "--norc" | "--noprofile" | "--posix" | "--login" => {}
                _ if !option.starts_with(['-', '+']) => break,
                _ => {
                    let letters = &option[1..];
                    if letters.is_empty() || !letters.chars().all(|letter| "celouxv".contains(letter)) {
                        return Err(Computed);
                    }
                    is_script |= option.starts_with('-') && letters.contains('c');
                    if letters.contains('o') {
                        let named = behind.first().filter(|word| is_harmless_option(&word.text));
                        named.ok_or(Computed)?;
                        rest = &behind[1..];
                        continue;
                    }
                }
            }
            rest = behind;
        }
        match rest {
            // It would run what it reads.
            [] => Err(Computed),
            [script, ..] if is_script => self.inner_script(&script.text),
            _ => self.part(program, arguments),
        }
    }

    fn inner_script(&mut self, script: &str) -> Result<(), Computed> {
        if self.shells == MAX_SHELLS {
            return Err(Computed);
        }
        self.shells += 1;
        let done = self.script(script);
        self.shells -= 1;
        done
    }

    /// Both the program that changes the user and the one that it runs are parts.
    fn as_another_user(&mut self, program: &str, arguments: &[Word]) -> Result<(), Computed> {
        const SUDO: Wrapper = wrapper(
            "sudo",
            &[
                "-n",
                "-E",
                "-H",
                "-k",
                "-b",
                "-S",
                "--non-interactive",
                "--preserve-env",
                "--set-home",
            ],
            &["-u", "--user", "-g", "--group"],
            0,
        );
        self.cautions.push("it runs a program as another user".to_owned());
        self.part(program, arguments)?;
        match self.unwrap(&SUDO, arguments)? {
            [] => Err(Computed),
            inner if inner.iter().take(1).any(|word| assignment(&word.text).is_some()) => Err(Computed),
            inner => self.simple(inner),
        }
    }

    /// What `find` does besides finding.
    fn find(&mut self, arguments: &[Word]) -> Result<(), Computed> {
        for word in arguments {
            match word.text.as_str() {
                "-exec" | "-execdir" | "-ok" | "-okdir" => return Err(Computed),
                "-delete" => self.cautions.push("it deletes what it finds".to_owned()),
                "-fprint" | "-fprint0" | "-fprintf" | "-fls" => {
                    self.cautions.push("it writes what it finds to a file".to_owned());
                }
                // It may be any of those.
                _ if !word.is_literal && word.text.starts_with('$') => return Err(Computed),
                _ => {}
            }
        }
        Ok(())
    }
}

/// Whether an option of a wrapper has its value in the next word; an unknown one makes it impossible to say.
fn takes_next(wrapper: &Wrapper, option: &Word) -> Result<bool, Computed> {
    let text = option.text.as_str();
    if !option.is_literal {
        return Err(Computed);
    }
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if wrapper.flags.contains(&text) || (wrapper.name == "nice" && is_number(&text[1..])) {
        return Ok(false);
    }
    if wrapper.values.contains(&text) {
        return Ok(true);
    }
    let is_attached = |value: &&str| {
        let rest = text.strip_prefix(*value);
        rest.is_some_and(|rest| rest.starts_with('=') || !value.starts_with("--"))
    };
    if wrapper.values.iter().any(is_attached) {
        return Ok(false);
    }
    Err(Computed)
}

fn is_harmless_option(name: &str) -> bool {
    matches!(name, "pipefail" | "errexit" | "nounset" | "xtrace")
}

/// The name by which a program is known: without its folder, if that is one of the system's.
fn known_as(program: &str) -> &str {
    let of_system = ["/bin/", "/usr/bin/", "/sbin/", "/usr/sbin/"];
    let name = of_system.iter().find_map(|folder| program.strip_prefix(folder));
    name.filter(|name| !name.is_empty() && !name.contains('/'))
        .unwrap_or(program)
}
