//! L-check: what the program under test itself finds wrong with the logs it has written.

use serde::Deserialize;
use serde_json::Value;
use tokio::process::Command;
use tokio::time::timeout;

use super::Failure;
use crate::{WireCommand, WireError};

/// One line of `weft sessions verify --json`.
#[derive(Deserialize)]
struct Verified {
    id: String,
    sound: bool,
    #[serde(flatten)]
    rest: Value,
}

/// Has every log of a home verified; those of `ids` must be among them, and all must be sound.
pub(super) async fn verify(weft: WireCommand, ids: &[&str]) -> Result<Vec<Failure>, Failure> {
    let weft = weft.arg("sessions").arg("verify").arg("--json");
    let mut command = Command::new(&weft.program);
    command
        .args(&weft.args)
        .env_clear()
        .envs(weft.env.iter().cloned())
        .kill_on_drop(true);
    let output = timeout(weft.limits.exit, command.output()).await;
    let output = output
        .map_err(|_| Failure::Verify(format!("it took more than {} s", weft.limits.exit.as_secs_f64())))?
        .map_err(|source| {
            Failure::Agent(WireError::Spawn {
                program: weft.program.display().to_string(),
                source,
            })
        })?;
    let said = String::from_utf8_lossy(&output.stderr);
    let told = String::from_utf8_lossy(&output.stdout);
    let mut failures = judge(&told, ids)?;
    if failures.is_empty() && !output.status.success() {
        failures.push(Failure::Verify(format!("it ended with {}: {said}", output.status)));
    }
    Ok(failures)
}

fn judge(told: &str, ids: &[&str]) -> Result<Vec<Failure>, Failure> {
    let parse =
        |line| serde_json::from_str::<Verified>(line).map_err(|error| Failure::Verify(format!("{error}: {line}")));
    let verified: Vec<_> = told.lines().map(parse).collect::<Result<_, _>>()?;
    let unsound = verified.iter().filter(|log| !log.sound);
    let unsound = unsound.map(|log| Failure::Verify(format!("session {} is not sound: {}", log.id, log.rest)));
    let missing = ids.iter().filter(|id| !verified.iter().any(|log| log.id == **id));
    let missing = missing.map(|id| Failure::Verify(format!("session {id} was not verified")));
    Ok(unsound.chain(missing).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn judged(told: &str, expected: &[&str]) {
        let found = judge(told, &["a", "b"]).unwrap_or_else(|failure| vec![failure]);
        let found: Vec<_> = found.iter().map(Failure::to_string).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn every_log_must_be_verified_and_sound() {
        let a = r#"{"id":"a","sound":true,"events":1,"damage":null}"#;
        let b = r#"{"id":"b","sound":false,"damage":{"seq":3}}"#;
        judged(&format!("{a}\n{}\n", b.replace("false", "true")), &[]);
        let unsound = r#"verifying the logs failed: session b is not sound: {"damage":{"seq":3}}"#;
        judged(&format!("{a}\n{b}\n"), &[unsound]);
        judged(a, &["verifying the logs failed: session b was not verified"]);
        judged(
            "a is sound",
            &["verifying the logs failed: expected value at line 1 column 1: a is sound"],
        );
    }
}
