//! Names of servers' tools that a model can call.

use std::collections::HashSet;

/// The longest name that endpoints take, in bytes.
const MAX_BYTES: usize = 64;
/// How much of it the server's name may take where the whole is too long.
const SERVER_BYTES: usize = 24;

/// Gives each tool a name: `mcp__SERVER__TOOL`, of letters, digits, `_` and `-`, at most 64 bytes, and no two alike.
#[derive(Debug, Default)]
pub(crate) struct Names {
    taken: HashSet<String>,
}

impl Names {
    /// The name of a tool. Where it is taken already, a number is put behind it: who asks in the same order gets the
    /// same names.
    pub(crate) fn of(&mut self, server: &str, tool: &str) -> String {
        let (server, tool) = (plain(server), plain(tool));
        let mut name = format!("mcp__{server}__{tool}");
        if name.len() > MAX_BYTES {
            name = format!("mcp__{}__{tool}", cut(&server, SERVER_BYTES));
        }
        name.truncate(MAX_BYTES);
        let mut free = name.clone();
        for number in 2.. {
            if self.taken.insert(free.clone()) {
                break;
            }
            let end = format!("_{number}");
            free = format!("{}{end}", cut(&name, MAX_BYTES - end.len()));
        }
        free
    }
}

/// The text with `_` in place of what a name cannot have. All of it is ASCII.
fn plain(text: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    text.chars().map(|c| if fits(c) { c } else { '_' }).collect()
}

fn cut(ascii: &str, bytes: usize) -> &str {
    ascii.get(..bytes).unwrap_or(ascii)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(server: &str, tool: &str, expected: &str) {
        assert_eq!(Names::default().of(server, tool), expected);
    }

    #[test]
    fn names_have_only_what_endpoints_take() {
        check("github", "get-issue", "mcp__github__get-issue");
        check("my server", "a.b/c", "mcp__my_server__a_b_c");
        check("größe", "日本", "mcp__gr__e____");
        check("", "", "mcp____");
    }

    #[test]
    fn long_names_are_cut_and_keep_their_tool() {
        let name = Names::default().of(&"s".repeat(100), &"t".repeat(100));
        assert_eq!(name.len(), MAX_BYTES);
        assert!(
            name.starts_with(&format!("mcp__{}__ttt", "s".repeat(SERVER_BYTES))),
            "{name}"
        );
    }

    #[test]
    fn names_that_fall_together_get_numbers_in_order() {
        let mut names = Names::default();
        assert_eq!(names.of("a", "x.y"), "mcp__a__x_y");
        assert_eq!(names.of("a", "x/y"), "mcp__a__x_y_2");
        assert_eq!(names.of("a", "x y"), "mcp__a__x_y_3");
        let long = "t".repeat(100);
        let (first, second) = (names.of("a", &long), names.of("a", &long));
        assert_ne!(first, second);
        assert!(second.ends_with("_2") && second.len() == MAX_BYTES, "{second}");
    }
}
