//! File text that reads the same raw and rendered as Markdown.

/// The text in a fenced block; the fence is longer than any run of backticks in it.
pub(crate) fn fenced(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat((longest + 1).max(3));
    let end = if text.ends_with('\n') { "" } else { "\n" };
    format!("{fence}\n{text}{end}{fence}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fence_is_longer_than_any_run_of_backticks_inside() {
        assert_eq!(fenced("a `b`"), "```\na `b`\n```");
        assert_eq!(fenced("```\n"), "````\n```\n````");
    }
}
