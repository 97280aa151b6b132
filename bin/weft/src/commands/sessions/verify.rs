//! `weft sessions verify`.

use std::io::{self, Write as _};
use std::process::ExitCode;

use serde_json::{Value, json};
use weft_session::{FileStore, Holder, StoreError, Verification};
use weft_types::SessionId;

use super::resolve;
use crate::args::VerifyArgs;
use crate::terminal::one_line;

/// Checks sessions and prints a line for each.
pub(super) fn run(store: &FileStore, args: &VerifyArgs, json: bool) -> anyhow::Result<ExitCode> {
    let rows = super::all(store)?;
    let ids: Vec<_> = match &args.ids[..] {
        [] => rows.into_iter().map(|row| row.id).collect(),
        given => given
            .iter()
            .map(|given| resolve::session(&rows, given))
            .collect::<Result<_, _>>()?,
    };
    let (mut checked, mut unsound) = (0_usize, 0_usize);
    let mut out = io::stdout().lock();
    for id in &ids {
        let found = store.verify(id);
        if args.ids.is_empty() && matches!(found, Err(StoreError::NotFound { .. })) {
            // It was deleted since it was listed.
            continue;
        }
        checked += 1;
        unsound += usize::from(!is_sound(&found));
        if json {
            writeln!(out, "{}", document(id, &found))?;
        } else {
            writeln!(out, "{}", line(id, &found, store.holder(id).as_ref()))?;
        }
    }
    let _unread = writeln!(io::stderr(), "{checked} checked, {unsound} damaged");
    Ok(if unsound == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn is_sound(found: &Result<Verification, StoreError>) -> bool {
    found.as_ref().is_ok_and(|found| found.damage.is_none())
}

/// What was found, as a program is told of it.
fn document(id: &SessionId, found: &Result<Verification, StoreError>) -> Value {
    let mut document = json!({"id": id, "sound": is_sound(found)});
    match found {
        Ok(found) => {
            document["turns"] = found.turns.into();
            document["events"] = found.events.into();
            document["bytes"] = found.bytes.into();
            document["running"] = found.running.into();
            document["openTurn"] = found.open_turn.into();
            document["tornTail"] = found.torn_tail.into();
            document["debris"] = found.debris.into();
            document["damage"] = found.damage.as_ref().map_or(Value::Null, |damage| {
                json!({"seq": damage.seq, "line": damage.line, "offset": damage.offset, "reason": damage.reason})
            });
        }
        Err(error) => document["error"] = error.to_string().into(),
    }
    document
}

/// What was found, as a person is told of it.
fn line(id: &SessionId, found: &Result<Verification, StoreError>, holder: Option<&Holder>) -> String {
    let found = match found {
        Ok(found) => found,
        Err(error) => return format!("{id}  {}", one_line(&error.to_string())),
    };
    if let Some(damage) = &found.damage {
        return format!("{id}  {}", one_line(&damage.to_string()));
    }
    let (turns, events) = (count(found.turns, "turn"), count(found.events, "event"));
    let mut line = format!("{id}  sound: {turns}, {events}, {}", count(found.bytes, "byte"));
    if found.running {
        line.push_str("; it is open");
        line.extend(holder.map(|holder| format!(" in {holder}")));
    } else if let Some(turn) = found.open_turn {
        line.push_str(&format!("; turn {turn} was interrupted"));
    }
    if found.torn_tail > 0 && !found.running {
        let bytes = count(found.torn_tail, "byte");
        line.push_str(&format!("; {bytes} of a half-written event at the end"));
    }
    if found.debris > 0 {
        let lines = count(found.debris, "half-written line");
        line.push_str(&format!("; {lines} of which nothing is missing"));
    }
    line
}

fn count(n: u64, what: &str) -> String {
    let plural = if n == 1 { "" } else { "s" };
    format!("{n} {what}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use weft_session::Damage;
    use weft_types::{Origin, SessionHeader, UnixMillis};

    fn found() -> Verification {
        Verification {
            header: SessionHeader {
                version: SessionHeader::VERSION,
                id: SessionId::new("a"),
                created_at: UnixMillis(0),
                cwd: "/w".to_owned(),
                origin: Origin::User,
                parent: None,
                depth: 0,
                label: None,
                run_id: None,
                run_seq: None,
            },
            events: 3,
            turns: 2,
            bytes: 400,
            damage: None,
            open_turn: None,
            torn_tail: 0,
            debris: 0,
            running: false,
        }
    }

    #[track_caller]
    fn told(found: Verification, expected: &str) {
        assert_eq!(line(&SessionId::new("a"), &Ok(found), None), expected);
    }

    #[test]
    fn what_the_next_opening_mends_is_sound_and_told() {
        told(found(), "a  sound: 2 turns, 3 events, 400 bytes");
        let crashed = Verification {
            open_turn: Some(2),
            torn_tail: 17,
            debris: 1,
            ..found()
        };
        told(
            crashed.clone(),
            "a  sound: 2 turns, 3 events, 400 bytes; turn 2 was interrupted; 17 bytes of a half-written event at the end; \
             1 half-written line of which nothing is missing",
        );
        let running = Verification {
            running: true,
            debris: 0,
            ..crashed
        };
        told(running, "a  sound: 2 turns, 3 events, 400 bytes; it is open");
    }

    #[test]
    fn damage_is_told_with_its_place() {
        let damaged = Verification {
            damage: Some(Damage {
                seq: 3,
                offset: 400,
                line: 5,
                reason: "its checksum is wrong".to_owned(),
            }),
            ..found()
        };
        let document = document(&SessionId::new("a"), &Ok(damaged.clone()));
        assert_eq!(document["sound"], false);
        assert_eq!(
            document["damage"],
            json!({"seq": 3, "line": 5, "offset": 400, "reason": "its checksum is wrong"})
        );
        told(
            damaged,
            "a  damaged at event 3, line 5, byte 400: its checksum is wrong",
        );
    }

    #[test]
    fn a_log_that_cannot_be_read_is_not_sound() {
        let error = || StoreError::NotFound {
            session: SessionId::new("a"),
            reason: "it is empty",
        };
        assert_eq!(document(&SessionId::new("a"), &Err(error()))["sound"], false);
        assert_eq!(
            line(&SessionId::new("a"), &Err(error()), None),
            "a  failed to find session a: it is empty"
        );
    }
}
