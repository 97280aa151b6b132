//! `weft sessions list`.

use std::io::Write as _;

use anyhow::Context as _;
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr as _;
use weft_session::{FileStore, ListQuery, SessionRow};
use weft_types::{Origin, UnixMillis};

use crate::args::ListArgs;
use crate::terminal::{clip, one_line};

/// How much of a title is shown.
const TITLE_COLUMNS: usize = 48;

/// Prints one page of the list.
pub(super) fn run(store: &FileStore, args: ListArgs, json: bool, now: UnixMillis) -> anyhow::Result<()> {
    // Not the folder that links lead to: sessions are listed under the name that their editor gave. Nor need it exist.
    let cwd = args.cwd.map(std::path::absolute).transpose();
    let cwd = cwd.context("failed to find out which folder --cwd means")?;
    let list = store.list(&ListQuery {
        cwd,
        origin: (!args.all).then_some(Origin::User),
        include_blank: args.all,
        cursor: args.cursor,
        limit: args.limit.into(),
    })?;
    let mut out = std::io::stdout().lock();
    if json {
        let sessions: Vec<_> = list.rows.iter().map(document).collect();
        let document = json!({"sessions": sessions, "nextCursor": list.next});
        writeln!(out, "{document}")?;
        return Ok(());
    }
    for line in table(&list.rows, now) {
        writeln!(out, "{line}")?;
    }
    if let Some(cursor) = list.next {
        let _unread = writeln!(
            std::io::stderr(),
            "there are more: weft sessions list --cursor {cursor}"
        );
    }
    Ok(())
}

/// A session as a program is told of it.
fn document(row: &SessionRow) -> Value {
    json!({
        "id": row.id,
        "title": row.title,
        "cwd": row.cwd,
        "parent": row.parent,
        "origin": row.origin,
        "label": row.label,
        "createdAt": row.created_at,
        "updatedAt": row.updated_at,
        "running": row.running,
        "blank": row.blank,
    })
}

/// The rows under their headings; nothing for no rows.
fn table(rows: &[SessionRow], now: UnixMillis) -> Vec<String> {
    if rows.is_empty() {
        return Vec::new();
    }
    let headings = ["ID", "UPDATED", "RUNNING", "TITLE", "FOLDER"].map(str::to_owned);
    let cells: Vec<_> = std::iter::once(headings)
        .chain(rows.iter().map(|row| cells(row, now)))
        .collect();
    let widths: [usize; 4] = std::array::from_fn(|n| cells.iter().map(|cells| cells[n].width()).max().unwrap_or(0));
    let line = |cells: &[String; 5]| {
        let mut line = String::new();
        for (cell, width) in cells.iter().zip(widths) {
            line.push_str(cell);
            line.extend(std::iter::repeat_n(' ', width - cell.width() + 2));
        }
        line + &cells[4]
    };
    cells.iter().map(line).collect()
}

fn cells(row: &SessionRow, now: UnixMillis) -> [String; 5] {
    let running = if row.running { "yes" } else { "no" };
    [
        one_line(row.id.as_str()),
        age(row.updated_at, now),
        running.to_owned(),
        clip(&name(row), TITLE_COLUMNS).into_owned(),
        one_line(&row.cwd),
    ]
}

/// What a session is called, on one line.
pub(super) fn name(row: &SessionRow) -> String {
    let name = one_line(row.title.as_deref().or(row.label.as_deref()).unwrap_or_default());
    match row.origin {
        Origin::User => name,
        Origin::Subagent => format!("subagent: {name}"),
    }
}

/// How long ago something was, roughly.
fn age(then: UnixMillis, now: UnixMillis) -> String {
    let seconds = now.0.saturating_sub(then.0) / 1_000;
    match seconds {
        0..60 => "just now".to_owned(),
        60..3_600 => format!("{} min ago", seconds / 60),
        3_600..86_400 => format!("{} h ago", seconds / 3_600),
        86_400..172_800 => "1 day ago".to_owned(),
        _ => format!("{} days ago", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weft_types::SessionId;

    fn row(id: &str, title: Option<&str>) -> SessionRow {
        SessionRow {
            id: SessionId::new(id),
            title: title.map(str::to_owned),
            cwd: "/w".into(),
            parent: None,
            origin: Origin::User,
            label: None,
            created_at: UnixMillis(0),
            updated_at: UnixMillis(0),
            running: false,
            blank: false,
        }
    }

    #[test]
    fn columns_stand_under_their_headings_and_titles_command_nothing() {
        let member = SessionRow {
            origin: Origin::Subagent,
            label: Some("reader".to_owned()),
            running: true,
            ..row("cc", None)
        };
        let rows = [row("a", Some("日本\n\x1b[2J")), row("bbb", None), member];
        let lines = table(&rows, UnixMillis(61_000));
        assert_eq!(
            lines,
            [
                "ID   UPDATED    RUNNING  TITLE             FOLDER",
                "a    1 min ago  no       日本 ␛[2J         /w",
                "bbb  1 min ago  no                         /w",
                "cc   1 min ago  yes      subagent: reader  /w",
            ]
        );
        assert!(table(&[], UnixMillis(0)).is_empty());
    }

    #[test]
    fn a_long_title_is_cut() {
        let line = &table(&[row("a", Some(&"t".repeat(100)))], UnixMillis(0))[1];
        assert!(line.contains(&format!("{}…", "t".repeat(TITLE_COLUMNS - 1))), "{line}");
    }

    #[test]
    fn ages_are_told_roughly_and_never_from_the_future() {
        for (seconds, text) in [
            (59, "just now"),
            (60, "1 min ago"),
            (7_200, "2 h ago"),
            (86_400, "1 day ago"),
            (864_000, "10 days ago"),
        ] {
            assert_eq!(age(UnixMillis(0), UnixMillis(seconds * 1_000)), text);
        }
        assert_eq!(age(UnixMillis(5_000_000), UnixMillis(0)), "just now");
    }

    #[test]
    fn a_document_says_null_where_nothing_is_known() {
        let document = document(&row("a", None));
        assert_eq!(document["title"], Value::Null);
        assert_eq!(document["origin"], "user");
        assert_eq!(document["updatedAt"], 0);
    }
}
