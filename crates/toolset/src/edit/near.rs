//! What a text that does not occur in a file may have been meant to be.

/// How much of a file's text an explanation shows, in characters.
const MAX_SHOWN: usize = 600;
/// How many lines it lists.
const MAX_LINES: usize = 5;

/// Why `old` may not occur, and where what it resembles is.
pub(super) fn explain(body: &str, old: &str) -> String {
    let lines: Vec<&str> = body.lines().collect();
    if has_line_numbers(old) {
        return "it seems to begin its lines with the line numbers of read; leave them out".to_owned();
    }
    let wanted: Vec<String> = old.lines().map(folded).collect();
    if wanted.iter().all(String::is_empty) {
        return "it is white space only, and not that of the file".to_owned();
    }
    let folded_lines: Vec<String> = lines.iter().copied().map(folded).collect();
    if let Some(at) = folded_lines
        .windows(wanted.len())
        .position(|window| resembles(window, &wanted))
    {
        let there: String = lines[at..at + wanted.len()]
            .join("\n")
            .chars()
            .take(MAX_SHOWN)
            .collect();
        return format!(
            "what is on line {} differs from it only in white space, case, quotes or dashes; as a JSON string the \
             file has {}",
            at + 1,
            serde_json::Value::from(there)
        );
    }
    let first = wanted.iter().find(|line| !line.is_empty());
    let places: Vec<String> = first.map_or_else(Vec::new, |first| {
        let like = |(number, line): (usize, &String)| line.contains(first.as_str()).then(|| (number + 1).to_string());
        folded_lines
            .iter()
            .enumerate()
            .filter_map(like)
            .take(MAX_LINES)
            .collect()
    });
    match (places.as_slice(), wanted.len()) {
        ([], _) => "nothing in the file resembles it; read the file again".to_owned(),
        (places, _) => format!(
            "its first line is like line {}, but what follows differs; read the file again there",
            places.join(" and ")
        ),
    }
}

/// Whether every line begins the way the `read` tool begins its lines.
fn has_line_numbers(old: &str) -> bool {
    old.lines().all(|line| {
        let rest = line
            .trim_start_matches(' ')
            .trim_start_matches(|c: char| c.is_ascii_digit());
        rest.starts_with('\t') && rest.len() < line.trim_start_matches(' ').len()
    })
}

/// Whether lines of the file hold the wanted ones: whole in the middle, in part at both ends.
fn resembles(window: &[String], wanted: &[String]) -> bool {
    match wanted {
        [only] => window[0].contains(only.as_str()),
        [first, middle @ .., last] => {
            window[0].ends_with(first.as_str())
                && window[1..wanted.len() - 1] == *middle
                && window[wanted.len() - 1].starts_with(last.as_str())
        }
        [] => false,
    }
}

/// A line without what is easily got wrong.
fn folded(line: &str) -> String {
    line.chars()
        .filter(|c| !c.is_whitespace() && *c != '\u{feff}')
        .flat_map(char::to_lowercase)
        .map(|c| match c {
            '‘' | '’' | '‚' | '`' => '\'',
            '“' | '”' | '„' => '"',
            '‐' | '‑' | '‒' | '–' | '—' | '−' => '-',
            c => c,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(body: &str, old: &str, expected: &str) {
        let why = explain(body, old);
        assert!(why.contains(expected), "{old:?}: {why}");
    }

    #[test]
    fn differences_that_are_easily_overlooked_are_named_with_the_place() {
        check(
            "a\n\tlet x = 1;\n",
            "    let x = 1;",
            "on line 2 differs from it only in white space",
        );
        check("a\n\tlet x = 1;\n", "    let x = 1;", r#""\tlet x = 1;""#);
        check("say “hi” – now\n", "say \"hi\" - now", "line 1 differs");
        check("a\nif x {\n\ty\n}\n", "if x {\n  y\n}", "line 2 differs");
        check("let Name = 1\n", "let name = 1", "case");
        check("a  \nb\n", "a\nb", "line 1 differs");
    }

    #[test]
    fn line_numbers_of_read_are_recognised() {
        check("one\ntwo\n", "     1\tone\n     2\ttwo", "line numbers of read");
        check("one\n", "\tone two", "nothing in the file resembles it");
    }

    #[test]
    fn the_place_of_the_first_line_is_told_when_the_rest_differs() {
        check(
            "a\nfn f() {\n  1\n}\nfn f() {\n",
            "fn f() {\n  2\n}",
            "like line 2 and 5",
        );
    }

    #[test]
    fn what_is_nowhere_is_said_to_be() {
        check("a\nb\n", "zzz", "nothing in the file resembles it");
        check("", "zzz", "nothing in the file resembles it");
        check("a\n", " \n ", "white space only");
    }
}
