//! Why a script does not parse, for its author.

use crate::protocol::Rejection;
use crate::script::{Position, excerpt};

/// The parser's own message, the place in the script as written with its line, and a hint where the line itself tells
/// what went wrong. There is no hint on a mere suspicion: a wrong one costs more than none.
pub(crate) fn explain(rejection: &Rejection, body: &str) -> String {
    let Rejection { message, position } = rejection;
    let Some(position) = position else {
        let deep = message.contains("call stack");
        let message = if deep { "it is nested too deeply" } else { message };
        return format!("script does not parse: {message}");
    };
    let line = body.split('\n').nth(position.line - 1).unwrap_or_default();
    let hint = hint(line, *position)
        .map(|hint| format!("; {hint}"))
        .unwrap_or_default();
    let excerpt = excerpt(body, *position).unwrap_or_default();
    format!("script does not parse: SyntaxError: {message} at {position}{hint}\n{excerpt}")
}

fn hint(line: &str, position: Position) -> Option<String> {
    let start = line.trim_start();
    if start.starts_with("export") {
        return Some(
            "the only `export` of a script is an `export const meta = {…}` literal, before any other statement"
                .to_owned(),
        );
    }
    if start.starts_with("import ") || start.starts_with("import{") {
        return Some("a script has no modules to import; agents do the work".to_owned());
    }
    let at = line
        .char_indices()
        .nth(position.column - 1)
        .map_or(line.len(), |(at, _)| at);
    type_syntax(&line[..at], &line[at..]).map(|what| {
        format!(
            "{what} is TypeScript, and a script is plain JavaScript (line {})",
            position.line
        )
    })
}

/// What of TypeScript stands where the parser stopped, between these two parts of a line. Behind a backtick nothing is
/// guessed: what follows a stray one is prose.
fn type_syntax(before: &str, after: &str) -> Option<&'static str> {
    if before.contains('`') {
        return None;
    }
    let word = |text: &str| text.chars().take_while(|c| is_word(*c)).count();
    let last = before.trim_end().chars().next_back();
    let declares = |keyword: &str| before.trim() == keyword && word(after) > 0;
    if declares("interface") || declares("enum") || declares("namespace") || declares("declare") {
        return Some("a declaration of types");
    }
    if declares("type") && after.contains('=') {
        return Some("a type alias");
    }
    let follows_value = last.is_some_and(|c| is_word(c) || matches!(c, ')' | ']' | '}' | '?'));
    if let Some(kind) = after.strip_prefix(':') {
        return (follows_value && is_type(kind.trim_start())).then_some("a type behind `:`");
    }
    if let Some(kind) = after.strip_prefix("as ") {
        return (follows_value && is_type(kind.trim_start())).then_some("`as` with a type");
    }
    if after.starts_with('<')
        && before
            .trim_start()
            .trim_start_matches("async ")
            .starts_with("function ")
    {
        return Some("a type parameter");
    }
    None
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

/// Whether a text begins with what is a type and hardly anything else.
fn is_type(text: &str) -> bool {
    const NAMES: [&str; 12] = [
        "any",
        "bigint",
        "boolean",
        "const",
        "never",
        "null",
        "number",
        "object",
        "string",
        "undefined",
        "unknown",
        "void",
    ];
    let name: String = text.chars().take_while(|c| is_word(*c)).collect();
    NAMES.contains(&name.as_str()) || name.starts_with(char::is_uppercase) || text.starts_with('{')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(before: &str, after: &str, expected: Option<&str>) {
        assert_eq!(type_syntax(before, after), expected, "{before}|{after}");
    }

    #[test]
    fn types_are_recognised_where_the_parser_stops_at_them() {
        let behind = Some("a type behind `:`");
        check("const found", ": string[] = []", behind);
        check("const f = (a?", ": number) => a", behind);
        check("function f(a)", ": Promise<void> {", behind);
        check(
            "const found = {} ",
            "as Record<string, number>",
            Some("`as` with a type"),
        );
        check("interface ", "Finding { text: string }", Some("a declaration of types"));
        check("type ", "Finding = { text: string }", Some("a type alias"));
        check("async function first", "<T>(list) {", Some("a type parameter"));
    }

    #[test]
    fn wfs16_prose_behind_a_stray_backtick_is_no_type() {
        check("const p = `Explain the command `", "last -F` to me`;", None);
        check("const p = `It is ` ", "as String` to me`;", None);
        check("const p = `see `x`", ": Number`", None);
        check("const a = b ", "c", None);
        check("const a = 1 ", ": 2", None);
        check("", "as one", None);
    }
}
