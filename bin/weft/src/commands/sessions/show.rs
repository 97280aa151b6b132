//! `weft sessions show`: a conversation in the terminal.

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;
use std::sync::Arc;

use weft_session::{Damage, FileStore, StoredSession};
use weft_types::{Event, SessionHeader};

use super::resolve;
use crate::args::ShowArgs;
use crate::config::Config;
use crate::terminal::{self, Redrawn, Size};
use crate::tools;
use drawing::{Drawing, Out};
use fold::Conversation;
use follow::Followed;

mod draw;
mod drawing;
mod fold;
mod follow;

/// How many events are read at a time; the store may give fewer.
const PAGE: usize = 1_024;

/// Shows what there is, and with `--follow` what comes.
pub(super) fn run(store: &FileStore, config: &Config, args: &ShowArgs, json: bool) -> anyhow::Result<ExitCode> {
    let rows = super::all(store)?;
    let id = resolve::session(&rows, &args.id)?;
    let title = rows.into_iter().find(|row| row.id == id).and_then(|row| row.title);
    let mut session = store.read(&id)?;
    let mut view: Box<dyn View> = if json {
        Box::new(Lines::new(io::stdout()))
    } else {
        let presenter = tools::registry(config, &[], None)?;
        let out = match (terminal::is_live(), args.follow) {
            (false, _) => Out::Plain(BufWriter::new(io::stdout())),
            (true, false) => Out::Coloured(BufWriter::new(io::stdout()), Size::of_stdout),
            (true, true) => Out::Live(Redrawn::new(io::stdout()), Size::of_stdout),
        };
        Box::new(Drawing::new(out, Conversation::new(presenter)).full(args.full))
    };
    view.header(session.header(), title.as_deref())?;
    let mut next = read(&session, 0, &mut *view)?;
    if args.follow && session.running() {
        match follow::run(store, &id, next, &mut *view)? {
            Followed::Interrupted => return Ok(ExitCode::from(128 + 2)),
            Followed::Closed(at) => next = at,
        }
        session = store.read(&id)?;
        read(&session, next, &mut *view)?;
    }
    view.end(session.header())?;
    if let Some(damage) = session.damage() {
        let _unread = writeln!(
            io::stderr(),
            "weft: the log of session {id} is {damage}; what stands before that is shown, and weft sessions export {id} \
             saves it"
        );
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}

/// Where a session is shown.
trait View {
    /// What stands before the events, and the session's last title.
    fn header(&mut self, header: &SessionHeader, title: Option<&str>) -> anyhow::Result<()>;
    /// The next events.
    fn events(&mut self, events: &[Arc<Event>]) -> anyhow::Result<()>;
    /// The log holds nothing sound from there on, though events follow that close the last turn.
    fn damaged(&mut self, damage: &Damage);
    /// There are no more.
    fn end(&mut self, header: &SessionHeader) -> anyhow::Result<()>;
}

/// Shows every event that there is from number `next` on, and gives the number of the one to come.
fn read(session: &StoredSession, mut next: u64, view: &mut dyn View) -> anyhow::Result<u64> {
    loop {
        let page = session.page(next, PAGE)?;
        if let Some(damage) = session.damage() {
            view.damaged(&damage);
        }
        let Some(last) = page.last() else { return Ok(next) };
        next = last.seq + 1;
        view.events(&page)?;
    }
}

/// Plain JSON Lines, as `export` writes them.
struct Lines<W: Write> {
    out: BufWriter<W>,
}

impl<W: Write> Lines<W> {
    fn new(out: W) -> Self {
        Self {
            out: BufWriter::new(out),
        }
    }

    fn line(&mut self, value: &impl serde::Serialize) -> anyhow::Result<()> {
        // Made whole first: a failed write is then an I/O error and nothing else.
        let line = serde_json::to_string(value)?;
        writeln!(self.out, "{line}")?;
        Ok(())
    }
}

impl<W: Write> View for Lines<W> {
    fn header(&mut self, header: &SessionHeader, _title: Option<&str>) -> anyhow::Result<()> {
        self.line(header)
    }

    fn events(&mut self, events: &[Arc<Event>]) -> anyhow::Result<()> {
        events.iter().try_for_each(|event| self.line(&**event))?;
        Ok(self.out.flush()?)
    }

    fn damaged(&mut self, _damage: &Damage) {}

    fn end(&mut self, _header: &SessionHeader) -> anyhow::Result<()> {
        Ok(self.out.flush()?)
    }
}
