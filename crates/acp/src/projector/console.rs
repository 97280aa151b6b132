//! Terminal output for clients without terminals.

/// Output as a fenced block, without the newlines at its end.
///
/// The fence is longer than any run of backticks inside, so that no output can end it.
pub(crate) fn fenced(output: &str) -> String {
    let output = output.trim_end_matches(['\n', '\r']);
    let fence = "`".repeat(longest_run(output).max(2) + 1);
    format!("{fence}console\n{output}\n{fence}")
}

fn longest_run(text: &str) -> usize {
    text.split(|char| char != '`').map(str::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_cannot_leave_its_fence() {
        assert_eq!(fenced("a\nb\r\n\n"), "```console\na\nb\n```");
        assert_eq!(fenced("  a"), "```console\n  a\n```");
        assert_eq!(fenced("x ``` y ```` z"), "`````console\nx ``` y ```` z\n`````");
    }
}
