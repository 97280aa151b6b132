//! `weft sessions delete`.

use std::collections::HashSet;
use std::io::{self, IsTerminal as _, Write};
use std::process::ExitCode;

use serde_json::json;
use weft_session::{FileStore, SessionRow};
use weft_types::SessionId;

use super::{list, resolve};
use crate::args::DeleteArgs;

/// Deletes sessions, one after the other, and prints what is gone. What went before a failure stays gone, and is told.
pub(super) fn run(store: &FileStore, args: &DeleteArgs, json: bool) -> anyhow::Result<ExitCode> {
    let rows = super::all(store)?;
    let ids: Vec<_> = args
        .ids
        .iter()
        .map(|given| resolve::session(&rows, given))
        .collect::<Result<_, _>>()?;
    if !args.yes && io::stdin().is_terminal() && !confirmed(&rows, &ids)? {
        let _unread = writeln!(io::stderr(), "nothing was deleted");
        return Ok(ExitCode::FAILURE);
    }
    let mut deleted = Vec::new();
    let mut failure = None;
    for id in ids {
        if deleted.contains(&id) {
            // It was named twice, or went with the session that started it.
            continue;
        }
        let gone = in_nobodys_hands(store, &rows, &id).and_then(|()| Ok(store.delete(&id)?));
        match gone {
            Ok(gone) => deleted.extend(gone),
            Err(error) => {
                failure = Some(error);
                break;
            }
        }
    }
    tell(&deleted, json)?;
    failure.map_or(Ok(ExitCode::SUCCESS), Err)
}

/// What started a session, and is open, may be at work with it.
fn in_nobodys_hands(store: &FileStore, rows: &[SessionRow], id: &SessionId) -> anyhow::Result<()> {
    let row = rows.iter().find(|row| row.id == *id);
    let Some(parent) = row.and_then(|row| row.parent.as_ref()) else {
        return Ok(());
    };
    match store.holder(parent) {
        Some(holder) => anyhow::bail!(
            "failed to delete session {id}: session {parent}, which started it, is in use by {holder}; close it there first"
        ),
        None => Ok(()),
    }
}

fn tell(deleted: &[SessionId], json: bool) -> io::Result<()> {
    let mut out = io::stdout().lock();
    if json {
        return writeln!(out, "{}", json!({"deleted": deleted}));
    }
    deleted.iter().try_for_each(|id| writeln!(out, "{id}"))
}

fn confirmed(rows: &[SessionRow], ids: &[SessionId]) -> io::Result<bool> {
    let mut err = io::stderr().lock();
    for line in doomed(rows, ids) {
        writeln!(err, "{line}")?;
    }
    write!(err, "{} [y/N] ", question(rows, ids))?;
    err.flush()?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    Ok(is_yes(&answer))
}

/// What is asked below the names of everything that goes.
fn question(rows: &[SessionRow], ids: &[SessionId]) -> String {
    let named: HashSet<_> = ids.iter().collect();
    let sessions = match named.len() {
        1 => "this session".to_owned(),
        n => format!("these {n} sessions"),
    };
    let its = if named.len() == 1 { "its" } else { "their" };
    match doomed(rows, ids).len() - named.len() {
        0 => format!("Delete {sessions} for good?"),
        1 => format!("Delete {sessions} and the session of {its} member for good?"),
        n => format!("Delete {sessions} and the {n} sessions of {its} members for good?"),
    }
}

fn is_yes(answer: &str) -> bool {
    matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes")
}

/// A line for each session that goes; those that others started stand below them.
fn doomed(rows: &[SessionRow], ids: &[SessionId]) -> Vec<String> {
    let mut lines = Vec::new();
    let mut seen = HashSet::new();
    let mut open: Vec<_> = ids.iter().rev().map(|id| (id, 0)).collect();
    while let Some((id, depth)) = open.pop() {
        if !seen.insert(id) {
            continue;
        }
        let row = rows.iter().find(|row| row.id == *id);
        let name = row.map(list::name).unwrap_or_default();
        let running = row.is_some_and(|row| row.running);
        let state = if running { "  (running)" } else { "" };
        let line = format!("{:indent$}{id}  {name}{state}", "", indent = 2 * depth);
        lines.push(line.trim_end().to_owned());
        let children = rows.iter().filter(|row| row.parent.as_ref() == Some(id));
        open.extend(children.map(|row| (&row.id, depth + 1)));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use weft_types::{Origin, UnixMillis};

    fn row(id: &str, parent: Option<&str>, running: bool) -> SessionRow {
        SessionRow {
            id: SessionId::new(id),
            title: Some(format!("title of {id}")),
            cwd: "/w".into(),
            parent: parent.map(SessionId::new),
            origin: parent.map_or(Origin::User, |_| Origin::Subagent),
            label: None,
            created_at: UnixMillis(0),
            updated_at: UnixMillis(0),
            running,
            blank: false,
            damaged: false,
        }
    }

    #[test]
    fn what_goes_is_named_with_everything_that_goes_with_it() {
        let rows = [
            row("a", None, false),
            row("a1", Some("a"), true),
            row("a11", Some("a1"), false),
            row("b", None, false),
        ];
        let ids = ["a", "a11", "gone"].map(SessionId::new);
        assert_eq!(
            doomed(&rows, &ids),
            [
                "a  title of a",
                "  a1  subagent: title of a1  (running)",
                "    a11  subagent: title of a11",
                "gone",
            ]
        );
    }

    #[test]
    fn the_question_tells_how_many_go_along() {
        let rows = [
            row("a", None, false),
            row("a1", Some("a"), false),
            row("a2", Some("a"), false),
            row("b", None, false),
            row("b1", Some("b"), false),
        ];
        for (ids, expected) in [
            (
                &["a"][..],
                "Delete this session and the 2 sessions of its members for good?",
            ),
            (&["b"], "Delete this session and the session of its member for good?"),
            (&["a1"], "Delete this session for good?"),
            (
                &["a", "a1", "b", "b"],
                "Delete these 3 sessions and the 2 sessions of their members for good?",
            ),
        ] {
            let ids: Vec<_> = ids.iter().copied().map(SessionId::new).collect();
            assert_eq!(question(&rows, &ids), expected);
        }
    }

    #[test]
    fn a_loop_of_parents_ends() {
        let rows = [row("a", Some("b"), false), row("b", Some("a"), false)];
        assert_eq!(doomed(&rows, &[SessionId::new("a")]).len(), 2);
    }

    #[test]
    fn only_a_yes_is_a_yes() {
        assert!(is_yes("y\n") && is_yes(" YES \n"));
        assert!(!is_yes("\n") && !is_yes("") && !is_yes("yep"));
    }
}
