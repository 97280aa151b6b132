//! From what was typed to the session that is meant.

use weft_session::SessionRow;
use weft_types::SessionId;

use super::list;

/// How many sessions an ambiguous beginning names.
const CANDIDATES: usize = 10;

/// The session whose id is `given`, or else the only one of `rows` whose id begins so.
///
/// An id that no row has is taken as it is where nothing begins so: what the list leaves out, such as a session whose
/// header is damaged, can still be named in full, and whoever looks for it says what is wrong.
pub(super) fn session(rows: &[SessionRow], given: &str) -> anyhow::Result<SessionId> {
    let whole = rows.iter().find(|row| row.id.as_str() == given);
    let beginning: Vec<_> = match whole {
        Some(row) => vec![row],
        None => rows.iter().filter(|row| row.id.as_str().starts_with(given)).collect(),
    };
    anyhow::ensure!(!given.is_empty(), "failed to find a session: the id is empty");
    match beginning[..] {
        [] => Ok(SessionId::new(given)),
        [row] => Ok(row.id.clone()),
        _ => Err(ambiguous(&beginning, given)),
    }
}

fn ambiguous(rows: &[&SessionRow], given: &str) -> anyhow::Error {
    let mut text = format!("{} sessions have an id that begins with {given}:", rows.len());
    for row in rows.iter().take(CANDIDATES) {
        let name = list::name(row);
        text.push_str(format!("\n  {} {name}", row.id).trim_end());
    }
    if rows.len() > CANDIDATES {
        text.push_str(&format!("\n  and {} more", rows.len() - CANDIDATES));
    }
    anyhow::anyhow!("{text}\nhint: type more of it")
}

#[cfg(test)]
mod tests {
    use super::*;
    use weft_types::{Origin, UnixMillis};

    fn rows(ids: &[&str]) -> Vec<SessionRow> {
        let row = |id: &&str| SessionRow {
            id: SessionId::new(*id),
            title: Some(format!("title of {id}")),
            cwd: "/w".into(),
            parent: None,
            origin: Origin::User,
            label: None,
            created_at: UnixMillis(0),
            updated_at: UnixMillis(0),
            running: false,
            blank: false,
        };
        ids.iter().map(row).collect()
    }

    #[test]
    fn a_unique_beginning_or_a_whole_id_names_a_session() {
        let rows = rows(&["abc", "abcd", "xyz"]);
        for (given, id) in [("x", "xyz"), ("abc", "abc"), ("abcd", "abcd"), ("other", "other")] {
            assert_eq!(session(&rows, given).expect("found"), SessionId::new(id));
        }
    }

    #[test]
    fn an_ambiguous_beginning_lists_the_candidates() {
        let error = session(&rows(&["abc", "abd", "x"]), "ab").expect_err("must be refused");
        assert_eq!(
            error.to_string(),
            "2 sessions have an id that begins with ab:\n  abc title of abc\n  abd title of abd\nhint: type more of it"
        );
        let many: Vec<_> = (0..12).map(|n| format!("a{n:02}")).collect();
        let many: Vec<_> = many.iter().map(String::as_str).collect();
        let error = session(&rows(&many), "a").expect_err("must be refused").to_string();
        assert!(error.contains("\n  a09 title of a09\n  and 2 more\n"), "{error}");
    }

    #[test]
    fn an_empty_id_names_nothing() {
        assert!(session(&rows(&["abc"]), "").is_err());
    }
}
