//! What a command runs, as far as its text alone tells: the simple commands that it is made of.
//!
//! Rules about commands are kept by this, so it is suspicious: whatever it does not know for certain makes the whole
//! command a *computed* one, about which nothing is said. What is known:
//!
//! - Lists, pipelines, subshells, groups, `if`, `for`, `while`, `until` and `!`: each simple command is a part.
//! - Quotes and backslashes are taken away, so that `\git` and `g"i"t` are `git`; a program of `/bin` or `/usr/bin` is
//!   known by its name alone.
//! - Programs that run another one ([`wrappers`]) are unwrapped; what is given to `sh -c` is parsed in turn.
//! - A variable, a pattern for names or a brace expansion may stand among the arguments, and stays there as it is
//!   written. It may not stand for the program.
//! - A redirection that writes a file, a variable that is set for a program, and arguments that hide a program's
//!   subcommand are said in the caution.
//!
//! Computed are: substitutions of commands and processes, `${…}` with an operator, arithmetic, functions, `case`,
//! `eval` and its kin, here-documents for shells, text that is longer than [`MAX_BYTES`], does not parse, or holds
//! characters that shells and people read differently.

#[cfg(test)]
mod tests;
mod words;
mod wrappers;

use tree_sitter::{Node, Parser};

use self::words::Word;

/// The longest command that is parsed: beyond it parsing takes long enough to be felt.
const MAX_BYTES: usize = 64 << 10;
/// How deep statements may be nested.
const MAX_DEPTH: usize = 64;
/// How deep shells may be nested in shells.
const MAX_SHELLS: usize = 4;
/// How many cautions are told.
const MAX_CAUTIONS: usize = 3;

/// Tokens between statements; any other one is unknown.
const TOKENS: [&str; 22] = [
    "if", "then", "elif", "else", "fi", "for", "in", "while", "until", "do", "done", "(", ")", "{", "}", ";", "\n",
    "&&", "||", "|", "|&", "&",
];

/// What is known of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Parsed {
    /// The simple commands, each a program and its arguments; absent if the command computes what it runs.
    pub(super) parts: Option<Vec<Vec<String>>>,
    /// What it does besides running them.
    pub(super) caution: Option<String>,
}

/// The command computes what it runs, or is not understood.
#[derive(Debug)]
struct Computed;

/// Takes a command apart.
pub(super) fn parse(command: &str) -> Parsed {
    let mut walk = Walk::default();
    match walk.script(command) {
        Ok(()) if !walk.parts.is_empty() => {
            let mut cautions = walk.cautions;
            cautions.dedup();
            cautions.truncate(MAX_CAUTIONS);
            Parsed {
                parts: Some(walk.parts),
                caution: (!cautions.is_empty()).then(|| cautions.join("; ")),
            }
        }
        // A script without a single command says nothing either.
        Ok(()) | Err(Computed) => Parsed::default(),
    }
}

/// A walk over everything that a command says.
#[derive(Default)]
struct Walk {
    parts: Vec<Vec<String>>,
    cautions: Vec<String>,
    shells: usize,
}

/// A piece of a script with the text it is of.
#[derive(Clone, Copy)]
struct Piece<'a> {
    node: Node<'a>,
    source: &'a str,
}

impl<'a> Piece<'a> {
    fn text(self) -> &'a str {
        &self.source[self.node.byte_range()]
    }

    fn kind(self) -> &'a str {
        self.node.kind()
    }

    /// The children, with the names of their fields; tokens included.
    fn children(self) -> Vec<(Option<&'a str>, Piece<'a>)> {
        let mut cursor = self.node.walk();
        let mut children = Vec::new();
        let mut more = cursor.goto_first_child();
        while more {
            let (node, source) = (cursor.node(), self.source);
            children.push((cursor.field_name(), Piece { node, source }));
            more = cursor.goto_next_sibling();
        }
        children
    }
}

impl Walk {
    fn script(&mut self, source: &str) -> Result<(), Computed> {
        if source.len() > MAX_BYTES || !is_plain(source) {
            return Err(Computed);
        }
        let mut parser = Parser::new();
        parser
            .set_language(&tree_sitter_bash::LANGUAGE.into())
            .map_err(|_| Computed)?;
        let tree = parser.parse(source, None).ok_or(Computed)?;
        let node = tree.root_node();
        if node.has_error() {
            return Err(Computed);
        }
        self.statement(Piece { node, source }, 0)
    }

    fn statement(&mut self, piece: Piece<'_>, depth: usize) -> Result<(), Computed> {
        if depth > MAX_DEPTH {
            return Err(Computed);
        }
        match piece.kind() {
            "program" | "list" | "pipeline" | "subshell" | "compound_statement" | "do_group" | "if_statement"
            | "elif_clause" | "else_clause" | "while_statement" => self.statements(piece, depth),
            "negated_command" => {
                let mut children = piece.children().into_iter();
                children.try_for_each(|(_, child)| match child.kind() {
                    "!" => Ok(()),
                    _ => self.statement(child, depth + 1),
                })
            }
            "for_statement" => self.loop_over(piece, depth),
            "redirected_statement" => self.redirected(piece, depth),
            "command" => self.command(piece),
            "declaration_command" => self.declaration(piece),
            "variable_assignment" | "variable_assignments" => {
                self.parts.push(vec![assigned(piece)?]);
                Ok(())
            }
            "test_command" => test(piece),
            "comment" => Ok(()),
            _ => Err(Computed),
        }
    }

    fn statements(&mut self, piece: Piece<'_>, depth: usize) -> Result<(), Computed> {
        for (_, child) in piece.children() {
            if child.node.is_named() {
                self.statement(child, depth + 1)?;
            } else if !TOKENS.contains(&child.kind()) {
                return Err(Computed);
            }
        }
        Ok(())
    }

    fn loop_over(&mut self, piece: Piece<'_>, depth: usize) -> Result<(), Computed> {
        for (field, child) in piece.children() {
            match field {
                Some("body") => self.statement(child, depth + 1)?,
                Some("variable") => self.sets(child.text()),
                Some("value") => {
                    Word::of(child)?;
                }
                _ if TOKENS.contains(&child.kind()) => {}
                _ => return Err(Computed),
            }
        }
        Ok(())
    }

    fn redirected(&mut self, piece: Piece<'_>, depth: usize) -> Result<(), Computed> {
        let before = self.parts.len();
        let mut reads_text = false;
        for (field, child) in piece.children() {
            match field {
                Some("body") => self.statement(child, depth + 1)?,
                _ => {
                    reads_text |= is_text(child);
                    self.redirect(child, depth)?;
                }
            }
        }
        self.check_readers(before, reads_text)
    }

    /// The text that a shell is given is what it runs.
    fn check_readers(&self, since: usize, reads_text: bool) -> Result<(), Computed> {
        let is_shell = |part: &Vec<String>| part.first().is_some_and(|program| wrappers::is_shell(program));
        if reads_text && self.parts[since..].iter().any(is_shell) {
            return Err(Computed);
        }
        Ok(())
    }

    fn redirect(&mut self, piece: Piece<'_>, depth: usize) -> Result<(), Computed> {
        match piece.kind() {
            "file_redirect" => self.redirect_file(piece),
            "herestring_redirect" => {
                let mut named = piece.children().into_iter().filter(|(_, child)| child.node.is_named());
                named.try_for_each(|(_, child)| match child.kind() {
                    "file_descriptor" => Ok(()),
                    _ => Word::of(child).map(drop),
                })
            }
            "heredoc_redirect" => self.here_document(piece, depth),
            _ => Err(Computed),
        }
    }

    fn redirect_file(&mut self, piece: Piece<'_>) -> Result<(), Computed> {
        let mut operator = "";
        for (field, child) in piece.children() {
            match (field, child.kind()) {
                (_, "file_descriptor") => {}
                (Some("destination"), "number") if operator.ends_with('&') => {}
                (Some("destination"), _) => {
                    let word = Word::of(child)?;
                    self.goes_to(&word, operator);
                }
                (_, kind) if !child.node.is_named() && kind.contains(['<', '>']) => operator = kind,
                _ => return Err(Computed),
            }
        }
        if operator.is_empty() { Err(Computed) } else { Ok(()) }
    }

    fn goes_to(&mut self, word: &Word, operator: &str) {
        const HARMLESS: [&str; 5] = ["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "-"];
        let writes = operator.contains('>');
        let is_network = word.text.starts_with("/dev/tcp/") || word.text.starts_with("/dev/udp/");
        if is_network {
            self.cautions.push(format!("it connects to {}", word.text));
        } else if writes && !(word.is_literal && HARMLESS.contains(&word.text.as_str())) {
            self.cautions.push(format!("it writes to {}", word.text));
        }
    }

    /// Takes a here-document only if its end is beyond doubt.
    fn here_document(&mut self, piece: Piece<'_>, depth: usize) -> Result<(), Computed> {
        let (mut start, mut end, mut body) = (None, None, "");
        for (field, child) in piece.children() {
            match (field, child.kind()) {
                (_, "heredoc_start") => start = Some(child.text()),
                (_, "heredoc_end") => end = Some(child.text()),
                (_, "heredoc_body") => {
                    body = child.text();
                    let is_text = |(_, child): (_, Piece<'_>)| {
                        matches!(child.kind(), "heredoc_content" | "simple_expansion" | "variable_name")
                    };
                    if !child.children().into_iter().all(is_text) {
                        return Err(Computed);
                    }
                }
                (_, "file_redirect") => self.redirect_file(child)?,
                (Some("right"), _) | (_, "pipeline") => {
                    self.statement(child, depth + 1)?;
                }
                (_, "<<" | "<<-" | "&&" | "||" | "\n" | "file_descriptor") => {}
                _ => return Err(Computed),
            }
        }
        let name = words::delimiter(start.ok_or(Computed)?).ok_or(Computed)?;
        let ends_within = body.lines().any(|line| line.trim_start_matches('\t') == name);
        let is_sure = end.map(str::trim) == Some(name) && !ends_within;
        if is_sure { Ok(()) } else { Err(Computed) }
    }

    fn command(&mut self, piece: Piece<'_>) -> Result<(), Computed> {
        let mut words = Vec::new();
        let mut reads_text = false;
        for (field, child) in piece.children() {
            match (field, child.kind()) {
                (_, "variable_assignment") => self.assigns(child)?,
                (_, "command_name") => match &child.children()[..] {
                    [(_, name)] => words.push(Word::of(*name)?),
                    _ => return Err(Computed),
                },
                (_, "file_redirect" | "herestring_redirect" | "heredoc_redirect") => {
                    reads_text |= is_text(child);
                    self.redirect(child, 0)?;
                }
                (Some("argument"), _) if child.node.is_named() => words.push(Word::of(child)?),
                _ => return Err(Computed),
            }
        }
        let before = self.parts.len();
        self.simple(&words)?;
        self.check_readers(before, reads_text)
    }

    fn declaration(&mut self, piece: Piece<'_>) -> Result<(), Computed> {
        let mut part = Vec::new();
        for (_, child) in piece.children() {
            part.push(match child.kind() {
                "variable_assignment" => assigned(child)?,
                _ if !child.node.is_named() => child.text().to_owned(),
                "variable_name" => child.text().to_owned(),
                _ => Word::of(child)?.literal()?,
            });
        }
        self.parts.push(part);
        Ok(())
    }

    /// A variable that is set for one program.
    fn assigns(&mut self, piece: Piece<'_>) -> Result<(), Computed> {
        let text = assigned(piece)?;
        self.sets(text.split(['=', '+']).next().unwrap_or(&text));
        Ok(())
    }

    /// Says that a variable is set, unless nothing can come of it.
    fn sets(&mut self, name: &str) {
        if !words::is_harmless_variable(name) {
            self.cautions.push(format!("it sets the variable {name}"));
        }
    }
}

/// An assignment as it is written, if nothing in it is computed.
fn assigned(piece: Piece<'_>) -> Result<String, Computed> {
    if piece.kind() == "variable_assignments" {
        let texts: Result<Vec<String>, Computed> =
            piece.children().into_iter().map(|(_, child)| assigned(child)).collect();
        return texts.map(|texts| texts.join(" "));
    }
    for (field, child) in piece.children() {
        match (field, child.kind()) {
            (Some("name"), "variable_name") | (_, "=" | "+=") => {}
            (Some("value"), _) => {
                Word::of(child)?;
            }
            _ => return Err(Computed),
        }
    }
    Ok(piece.text().to_owned())
}

/// A test runs nothing, but for what it evaluates.
fn test(piece: Piece<'_>) -> Result<(), Computed> {
    let text = piece.text();
    let evaluates = text.contains('`') || text.contains("$(") || text.contains("${") || text.contains("<(");
    if evaluates || text.starts_with("((") {
        Err(Computed)
    } else {
        Ok(())
    }
}

/// Whether a redirection gives a program text to read.
fn is_text(piece: Piece<'_>) -> bool {
    matches!(piece.kind(), "herestring_redirect" | "heredoc_redirect")
}

/// Whether shells, parsers and people read the text alike: no blanks but those of ASCII, no control characters, nothing
/// invisible, and no word that goes on behind the end of a line.
fn is_plain(text: &str) -> bool {
    let is_invisible = |c: char| matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}');
    let is_odd = |c: char| !matches!(c, ' ' | '\t' | '\n') && (c.is_whitespace() || c.is_control() || is_invisible(c));
    let joins_words = |at: usize| !text[..at].ends_with([' ', '\t']);
    !text.contains(is_odd) && !text.match_indices("\\\n").any(|(at, _)| joins_words(at))
}
