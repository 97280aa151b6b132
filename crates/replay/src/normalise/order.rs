//! Which of a transcript's rows are compared, and the order of rows and logs.

use std::collections::HashMap;

use serde_json::Value;

use super::names::Names;
use super::{HARNESS, SessionLog};
use crate::{Direction, Row};

/// The rows, with the response to each request of the harness directly behind the request, and without
/// the agent's withdrawals of requests.
pub(super) fn without_races(rows: &[Row]) -> Vec<Row> {
    let mut asked: HashMap<String, usize> = HashMap::new();
    let mut ordered: Vec<(usize, &Row)> = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        let mut place = at;
        if let Row::Line { dir, line } = row {
            let id = line["id"].to_string();
            match (dir, line["method"].as_str()) {
                (Direction::Received, Some("$/cancel_request")) => continue,
                (Direction::Sent, Some(method)) if method.starts_with(HARNESS) => drop(asked.insert(id, at)),
                (Direction::Received, None) => place = asked.remove(&id).unwrap_or(at),
                _ => {}
            }
        }
        if let Row::Exit { .. } = row {
            // What the next agent answers has nothing to do with what this one was asked.
            asked.clear();
        }
        ordered.push((place, row));
    }
    // The sort is stable, so that the response follows its request.
    ordered.sort_by_key(|(place, _)| *place);
    ordered.into_iter().map(|(_, row)| row.clone()).collect()
}

/// The logs by the number of their session, which is learnt here for those that only logs name.
///
/// A log that nothing names (a member of a run that was not recorded) comes after those that are
/// named, in an order that does not depend on when it was written.
pub(super) fn by_session<'a>(logs: &'a [SessionLog], names: &mut Names) -> Vec<&'a SessionLog> {
    let mut rest: Vec<_> = logs.iter().collect();
    let mut ordered = Vec::new();
    while !rest.is_empty() {
        let next = (0..rest.len())
            .min_by_key(|at| {
                (
                    names.session(&rest[*at].id).unwrap_or(usize::MAX),
                    stable_key(rest[*at], names),
                )
            })
            .expect("there is one left");
        let log = rest.remove(next);
        for (at, line) in log.lines.iter().enumerate() {
            if at == 0 {
                names.learn_header(line);
            }
            names.learn(line);
        }
        ordered.push(log);
    }
    ordered
}

fn stable_key(log: &SessionLog, names: &Names) -> (usize, u64, String, String) {
    let header = log.lines.first().unwrap_or(&Value::Null);
    let parent = header["parent"].as_str().and_then(|parent| names.session(parent));
    (
        parent.unwrap_or(usize::MAX),
        header["runSeq"].as_u64().unwrap_or(u64::MAX),
        header["label"].as_str().unwrap_or_default().to_owned(),
        log.id.clone(),
    )
}
