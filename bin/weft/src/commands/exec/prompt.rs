//! What the agent is asked: an argument, stdin, or both.

use std::io::{self, IsTerminal as _, Read};
use std::sync::mpsc;
use std::time::Duration;

use anyhow::Context as _;

/// How long stdin may say nothing before the user is told that it is waited for.
const SILENCE: Duration = Duration::from_secs(2);

/// The prompt, of at most `limit` bytes. The inner error is wrong usage.
pub(super) fn of(argument: Option<&str>, limit: usize) -> anyhow::Result<Result<String, String>> {
    let is_terminal = io::stdin().is_terminal();
    let piped = match argument {
        None if is_terminal => {
            return Ok(Err(
                "there is no prompt\nhint: weft exec 'What does this project do?'".to_owned()
            ));
        }
        Some(text) if text != "-" && is_terminal => None,
        _ => Some(stdin(limit)?),
    };
    let Some(piped) = piped else {
        return Ok(joined(argument, "", limit));
    };
    let Ok(piped) = String::from_utf8(piped) else {
        return Ok(Err("what is piped into stdin is not UTF-8 text".to_owned()));
    };
    Ok(joined(argument, &piped, limit))
}

/// The argument with what was piped below it.
fn joined(argument: Option<&str>, piped: &str, limit: usize) -> Result<String, String> {
    let asked = argument.filter(|text| *text != "-").unwrap_or_default();
    let prompt = match (asked.trim().is_empty(), piped.trim().is_empty()) {
        (_, true) => asked.to_owned(),
        (true, false) => piped.to_owned(),
        (false, false) => format!("{asked}\n\n{piped}"),
    };
    if prompt.trim().is_empty() {
        return Err("the prompt is blank".to_owned());
    }
    if prompt.len() > limit {
        return Err(format!(
            "the prompt has more than {limit} bytes, the limit acp.line_limit_bytes\nhint: put it into a file and name \
             that"
        ));
    }
    Ok(prompt)
}

/// All of stdin, up to a byte more than the limit.
fn stdin(limit: usize) -> anyhow::Result<Vec<u8>> {
    let (done, result) = mpsc::sync_channel(1);
    // It ends with stdin, or with the process.
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let limit = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
        let read = io::stdin().lock().take(limit).read_to_end(&mut bytes).map(|_| bytes);
        let _nobody_waits = done.send(read);
    });
    let read = match result.recv_timeout(SILENCE) {
        Err(mpsc::RecvTimeoutError::Timeout) => {
            crate::complain(
                "waiting for the end of stdin, which is no terminal; </dev/null says that there is nothing",
            );
            result.recv().context("failed to read stdin")?
        }
        Ok(read) => read,
        Err(error) => return Err(error).context("failed to read stdin"),
    };
    read.context("failed to read stdin")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(argument: Option<&str>, piped: &str, expected: Result<&str, &str>) {
        let found = joined(argument, piped, 12);
        match expected {
            Ok(expected) => assert_eq!(found.as_deref(), Ok(expected)),
            Err(part) => assert!(found.expect_err("must be refused").contains(part)),
        }
    }

    #[test]
    fn argument_and_stdin_are_joined() {
        check(Some("ask"), "", Ok("ask"));
        check(Some("ask"), "\n", Ok("ask"));
        check(Some("ask"), "more\n", Ok("ask\n\nmore\n"));
        check(Some("-"), "more", Ok("more"));
        check(None, "more", Ok("more"));
        check(Some(" "), "more", Ok("more"));
    }

    #[test]
    fn a_prompt_that_is_blank_or_too_long_is_refused() {
        check(None, " \n", Err("blank"));
        check(Some("-"), "", Err("blank"));
        check(Some("ask"), "more than fits", Err("acp.line_limit_bytes"));
        check(Some("much more than fits"), "", Err("acp.line_limit_bytes"));
    }
}
