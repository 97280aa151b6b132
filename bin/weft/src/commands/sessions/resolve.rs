//! From what was typed to the session that is meant.

use weft_session::SessionRow;
use weft_types::{Origin, SessionId};

use super::list;

/// How many sessions an ambiguous beginning names.
const CANDIDATES: usize = 10;

/// The least of an id that is shown. Ids begin with their time, so that less fits many.
const SHOWN: usize = 13;

/// The session whose id is `given`, or else the only one of `rows` whose id begins so. A user's session goes before those
/// that it started, since their ids often begin alike.
///
/// An id that no row has is taken as it is where nothing begins so: what the list leaves out, such as a session whose
/// header is damaged, can still be named in full, and whoever looks for it says what is wrong.
pub(super) fn session(rows: &[SessionRow], given: &str) -> anyhow::Result<SessionId> {
    let whole = rows.iter().find(|row| row.id.as_str() == given);
    let beginning: Vec<_> = match whole {
        Some(row) => vec![row],
        None => beginning_with(rows, given),
    };
    anyhow::ensure!(!given.is_empty(), "failed to find a session: the id is empty");
    match beginning[..] {
        [] => Ok(SessionId::new(given)),
        [row] => Ok(row.id.clone()),
        _ => Err(ambiguous(&beginning, given)),
    }
}

/// The users' sessions whose ids begin so, or else all of them.
fn beginning_with<'a>(rows: &'a [SessionRow], given: &str) -> Vec<&'a SessionRow> {
    let all = rows.iter().filter(|row| row.id.as_str().starts_with(given));
    let (users, others): (Vec<_>, Vec<_>) = all.partition(|row| row.origin == Origin::User);
    if users.is_empty() { others } else { users }
}

/// As much of the id of `row` as names it among `rows`.
pub(super) fn beginning<'a>(row: &'a SessionRow, rows: &[SessionRow]) -> &'a str {
    let id = row.id.as_str();
    let in_the_way = rows.iter().filter(|other| {
        let is_ranked_lower = row.origin == Origin::User && other.origin != Origin::User;
        other.id != row.id && (!is_ranked_lower || id.starts_with(other.id.as_str()))
    });
    let shared = in_the_way.map(|other| {
        let same = id
            .bytes()
            .zip(other.id.as_str().bytes())
            .take_while(|(one, other)| one == other);
        same.count()
    });
    let least = shared.max().map_or(0, |shared| shared + 1).max(SHOWN);
    id.get(..least).unwrap_or(id)
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
            damaged: false,
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
    fn a_users_session_goes_before_its_members() {
        let mut rows = rows(&["abc-1", "abc-2", "abd-1", "abd-2"]);
        rows[1].origin = Origin::Subagent;
        rows[2].origin = Origin::Subagent;
        rows[3].origin = Origin::Subagent;
        assert_eq!(session(&rows, "ab").expect("found"), SessionId::new("abc-1"));
        assert_eq!(session(&rows, "abd-1").expect("found"), SessionId::new("abd-1"));
        let error = session(&rows, "abd").expect_err("must be refused").to_string();
        assert!(error.starts_with("2 sessions"), "{error}");
    }

    #[test]
    fn a_beginning_that_is_shown_names_its_session() {
        let ids = [
            "0198a5c2-1111-7aa",
            "0198a5c2-1111-7ab",
            "0198a5c2-2222-7aa",
            "0198a5c2-2222-7aab",
            "short",
        ];
        let mut rows = rows(&ids);
        rows[1].origin = Origin::Subagent;
        let shown: Vec<_> = rows.iter().map(|row| beginning(row, &rows)).collect();
        assert_eq!(shown, ["0198a5c2-1111", ids[1], ids[2], ids[3], "short"]);
        for (row, shown) in rows.iter().zip(shown) {
            assert_eq!(session(&rows, shown).expect("found"), row.id);
        }
    }

    #[test]
    fn an_empty_id_names_nothing() {
        assert!(session(&rows(&["abc"]), "").is_err());
    }
}
