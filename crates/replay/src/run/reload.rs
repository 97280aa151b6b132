//! The last clause of T-check: what a client was shown live is what it is shown by a load.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::Failure;
use super::home::Home;
use super::logs::{LogFile, read_logs};
use crate::{Conversation, Exit, Row, WireClient, WireCommand, WireError, conversations, t_check};

/// What a load is compared with.
struct Live {
    /// The session's number, in order of first appearance in the transcript.
    number: usize,
    id: String,
    shown: Conversation,
}

/// Starts an agent in the home that the scenario has left, loads every session of its transcript twice, and compares what
/// is shown. The logs may change by the first load alone, and by what a killed agent had left to be repaired.
pub(super) async fn reload(
    agent: &WireCommand,
    home: &Home,
    capabilities: &Map<String, Value>,
    rows: &[Row],
) -> Result<Vec<Failure>, Failure> {
    let before = read_logs(&home.sessions())?;
    let live = logged(rows, &before);
    if live.is_empty() {
        return Ok(Vec::new());
    }
    let mut client = WireClient::spawn(agent).map_err(Failure::Agent)?;
    let params = json!({"protocolVersion": 1, "clientCapabilities": capabilities});
    client.request("initialize", params).await.map_err(Failure::Agent)?;
    let mut failures = load_all(&mut client, home, &live).await?;
    let (first, repaired) = (client.rows().to_vec(), read_logs(&home.sessions())?);
    failures.extend(load_all(&mut client, home, &live).await?);
    client.finish().await.map_err(Failure::Agent)?;

    failures.extend(compare(&live, &first, client.rows()));
    let was_killed = rows
        .iter()
        .any(|row| matches!(row, Row::Exit { exit: Exit::Signal(_) }));
    if !was_killed {
        failures.extend(unchanged(&before, &repaired));
    }
    failures.extend(unchanged(&repaired, &read_logs(&home.sessions())?));
    Ok(failures)
}

/// The sessions of a transcript that there is a log of.
fn logged(rows: &[Row], logs: &[LogFile]) -> Vec<Live> {
    let logs: HashSet<_> = logs.iter().map(|log| log.id.as_str()).collect();
    let sessions = conversations(rows).into_iter().enumerate();
    let live = sessions.map(|(at, (id, shown))| Live {
        number: at + 1,
        id,
        shown,
    });
    live.filter(|live| logs.contains(live.id.as_str())).collect()
}

/// Loads each session and closes it again.
async fn load_all(client: &mut WireClient, home: &Home, live: &[Live]) -> Result<Vec<Failure>, Failure> {
    let mut failures = Vec::new();
    for session in live {
        let params = json!({"sessionId": session.id, "cwd": home.cwd(), "mcpServers": []});
        match client.request("session/load", params).await {
            Ok(_) => client.close_session(&session.id).await.map_err(Failure::Agent)?,
            Err(WireError::Refused { error, .. }) => failures.push(Failure::Reload {
                session: session.number,
                problem: format!("it is refused: {error}"),
            }),
            Err(error) => return Err(Failure::Agent(error)),
        }
    }
    Ok(failures)
}

/// Compares the live sessions with those of the first load, and these with those of the second.
fn compare(live: &[Live], first: &[Row], both: &[Row]) -> Vec<Failure> {
    let broken = t_check(both).into_iter();
    let mut failures: Vec<_> = broken.map(Failure::ReloadViolation).collect();
    let (first, second) = (conversations(first), conversations(both));
    for session in live {
        let of = |loads: &[(String, Conversation)]| {
            let found = loads.iter().find(|(id, _)| *id == session.id);
            found.map(|(_, shown)| shown.clone()).unwrap_or_default()
        };
        let (first, second) = (of(&first), of(&second));
        let differences = session.shown.differences(&first).into_iter();
        let again = first.differences(&second).into_iter();
        let failed = |problem| Failure::Reload {
            session: session.number,
            problem,
        };
        failures.extend(differences.map(|difference| failed(difference.to_string())));
        failures.extend(again.map(|difference| failed(format!("a second load differs: {difference}"))));
    }
    failures
}

fn unchanged(before: &[LogFile], after: &[LogFile]) -> Vec<Failure> {
    let changed = before.iter().filter(|log| !after.contains(log));
    let mut failures: Vec<_> = changed
        .map(|log| Failure::ReloadWrote { path: log.path.clone() })
        .collect();
    let added = after
        .iter()
        .filter(|log| !before.iter().any(|known| known.id == log.id));
    failures.extend(added.map(|log| Failure::ReloadWrote { path: log.path.clone() }));
    failures
}
