//! `weft sessions list`.

use std::borrow::Cow;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr as _;
use weft_session::{FileStore, ListQuery, SessionRow};
use weft_types::{Origin, UnixMillis};

use super::resolve;
use crate::args::ListArgs;
use crate::terminal::{Size, clip, one_line};

/// How much of a title is shown.
const TITLE_COLUMNS: usize = 48;
/// What stands between two columns.
const GAP: usize = 2;

/// Prints one page of the list.
pub(super) fn run(store: &FileStore, args: &ListArgs, json: bool, now: UnixMillis) -> anyhow::Result<()> {
    // Not the folder that links lead to: sessions are listed under the name that their editor gave. Nor need it exist.
    let cwd = args.cwd.as_deref().map(std::path::absolute).transpose();
    let cwd = cwd.context("failed to find out which folder --cwd means")?;
    let list = store.list(&ListQuery {
        cwd: cwd.clone(),
        origin: (!args.all).then_some(Origin::User),
        include_blank: args.all,
        find_damage: true,
        cursor: args.cursor.clone(),
        limit: args.limit.into(),
    })?;
    let mut out = io::stdout().lock();
    if json {
        let sessions: Vec<_> = list.rows.iter().map(document).collect();
        let document = json!({"sessions": sessions, "nextCursor": list.next});
        writeln!(out, "{document}")?;
        return Ok(());
    }
    let table = match io::stdout().is_terminal() {
        true => Table::Fitted {
            columns: Size::of_stdout().columns,
            all: super::all(store)?,
            home: etcetera::home_dir().ok(),
        },
        false => Table::Whole,
    };
    for line in table.lines(&list.rows, now) {
        writeln!(out, "{line}")?;
    }
    let told = match &list.next {
        Some(cursor) => Some(format!("there are more: {}", next_page(args, cwd.as_deref(), cursor))),
        None if list.rows.is_empty() && args.cursor.is_none() => Some(nothing(store.root(), cwd.as_deref())),
        None => None,
    };
    if let Some(told) = told {
        let _unread = writeln!(io::stderr(), "{told}");
    }
    Ok(())
}

/// What lists the next page of the same list.
fn next_page(args: &ListArgs, cwd: Option<&Path>, cursor: &str) -> String {
    let mut command = "weft sessions list".to_owned();
    if let Some(cwd) = cwd {
        command.push_str(&format!(" --cwd {}", quoted(&cwd.to_string_lossy())));
    }
    if args.all {
        command.push_str(" --all");
    }
    if args.limit != ListArgs::LIMIT {
        command.push_str(&format!(" --limit {}", args.limit));
    }
    command + " --cursor " + &quoted(cursor)
}

/// A word as a shell takes it.
fn quoted(word: &str) -> Cow<'_, str> {
    let is_plain = |letter: char| letter.is_alphanumeric() || "/._-+:@%,=".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        return Cow::Borrowed(word);
    }
    Cow::Owned(format!("'{}'", word.replace('\'', r"'\''")))
}

fn nothing(root: &Path, cwd: Option<&Path>) -> String {
    let place = cwd.map(|cwd| format!(" that work in {}", cwd.display()));
    let told = format!("no sessions in {}{}", root.display(), place.unwrap_or_default());
    one_line(&told)
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
        "damaged": row.damaged,
    })
}

/// How the rows are laid out.
enum Table {
    /// Everything in full, for pipes.
    Whole,
    /// No line is longer than the terminal is wide; of ids there is as much as names a session among `all`.
    Fitted {
        columns: usize,
        all: Vec<SessionRow>,
        home: Option<PathBuf>,
    },
}

impl Table {
    /// The rows under their headings; nothing for no rows.
    fn lines(&self, rows: &[SessionRow], now: UnixMillis) -> Vec<String> {
        if rows.is_empty() {
            return Vec::new();
        }
        let headings = ["ID", "UPDATED", "OPEN", "TITLE", "FOLDER"].map(str::to_owned);
        let mut cells: Vec<_> = std::iter::once(headings)
            .chain(rows.iter().map(|row| self.cells(row, now)))
            .collect();
        self.fit(&mut cells);
        let widths = widths(&cells);
        let line = |cells: &[String; 5]| {
            let mut line = String::new();
            for (cell, width) in cells.iter().zip(widths) {
                line.push_str(cell);
                line.extend(std::iter::repeat_n(' ', width - cell.width() + GAP));
            }
            line.trim_end().to_owned()
        };
        cells.iter().map(line).collect()
    }

    fn cells(&self, row: &SessionRow, now: UnixMillis) -> [String; 5] {
        let (id, folder) = match self {
            Self::Whole => (row.id.as_str(), row.cwd.clone()),
            Self::Fitted { all, home, .. } => (resolve::beginning(row, all), below(&row.cwd, home.as_deref())),
        };
        let open = if row.running { "yes" } else { "" };
        [
            one_line(id),
            age(row.updated_at, now),
            open.to_owned(),
            clip(&name(row), TITLE_COLUMNS).into_owned(),
            one_line(&folder),
        ]
    }

    /// Cuts titles and folders to what the other columns leave: folders to half of it, if both are long.
    fn fit(&self, cells: &mut [[String; 5]]) {
        let Self::Fitted { columns, .. } = self else { return };
        let [id, updated, open, title, folder] = widths(cells);
        let room = columns.saturating_sub(id + updated + open + 4 * GAP);
        let folder = folder.min((room / 2).max(room.saturating_sub(title)));
        let title = title.min(room - folder);
        for cells in cells {
            cells[3] = clip(&cells[3], title).into_owned();
            cells[4] = clip(&cells[4], folder).into_owned();
        }
    }
}

fn widths(cells: &[[String; 5]]) -> [usize; 5] {
    std::array::from_fn(|n| cells.iter().map(|cells| cells[n].width()).max().unwrap_or(0))
}

/// A folder as a shell shows it.
fn below(folder: &str, home: Option<&Path>) -> String {
    match home.and_then(|home| Path::new(folder).strip_prefix(home).ok()) {
        Some(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
        Some(rest) => Path::new("~").join(rest).display().to_string(),
        None => folder.to_owned(),
    }
}

/// What a session is called, on one line.
pub(super) fn name(row: &SessionRow) -> String {
    let name = one_line(row.title.as_deref().or(row.label.as_deref()).unwrap_or_default());
    let name = match row.origin {
        Origin::User => name,
        Origin::Subagent => format!("subagent: {name}"),
    };
    if row.damaged { format!("(damaged) {name}") } else { name }
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
            damaged: false,
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
        let lines = Table::Whole.lines(&rows, UnixMillis(61_000));
        assert_eq!(
            lines,
            [
                "ID   UPDATED    OPEN  TITLE             FOLDER",
                "a    1 min ago        日本 ␛[2J         /w",
                "bbb  1 min ago                          /w",
                "cc   1 min ago  yes   subagent: reader  /w",
            ]
        );
        assert!(Table::Whole.lines(&[], UnixMillis(0)).is_empty());
    }

    #[test]
    fn a_long_title_is_cut() {
        let line = &Table::Whole.lines(&[row("a", Some(&"t".repeat(100)))], UnixMillis(0))[1];
        assert!(line.contains(&format!("{}…", "t".repeat(TITLE_COLUMNS - 1))), "{line}");
    }

    #[test]
    fn a_terminal_gets_no_line_that_it_would_break() {
        let long = SessionRow {
            cwd: format!("/users/me/{}", "f".repeat(60)),
            ..row("0198a5c2-1111-7aaa-8000-000000000000", Some(&"t".repeat(100)))
        };
        let own = SessionRow {
            cwd: "/users/me".to_owned(),
            ..row("0198a5c2-2222-7aaa-8000-000000000000", Some("日本"))
        };
        let rows = [long, own];
        for columns in [10, 40, 80, 200] {
            let table = Table::Fitted {
                columns,
                all: rows.to_vec(),
                home: Some("/users/me".into()),
            };
            let lines = table.lines(&rows, UnixMillis(0));
            assert!(lines[1].starts_with("0198a5c2-1111  "), "{lines:#?}");
            if columns >= 40 {
                assert!(lines.iter().all(|line| line.width() <= columns), "{lines:#?}");
                assert!(lines[1].contains("  ~/"), "{lines:#?}");
                assert!(columns == 40 || lines[2].ends_with("  ~"), "{lines:#?}");
            }
        }
    }

    #[test]
    fn words_are_quoted_for_the_shell_where_they_must() {
        for (word, expected) in [
            ("/a-b/c.d", "/a-b/c.d"),
            ("/a b", "'/a b'"),
            ("it's", r"'it'\''s'"),
            ("", "''"),
        ] {
            assert_eq!(quoted(word), expected);
        }
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
