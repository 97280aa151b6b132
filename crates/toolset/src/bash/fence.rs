//! Console text that reads the same raw and rendered as Markdown.

/// The text in a fenced block; the fence is longer than any run of backticks in it.
pub(super) fn console(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat((longest + 1).max(3));
    format!("{fence}console\n{text}\n{fence}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fence_is_longer_than_any_run_of_backticks_inside() {
        assert_eq!(console("a `b`"), "```console\na `b`\n```");
        assert_eq!(console("```\n````x"), "`````console\n```\n````x\n`````");
    }
}
