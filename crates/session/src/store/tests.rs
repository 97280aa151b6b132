//! The store against crashes, disks that fail, damage, and others that use it at the same time.

mod crash;
mod damage;
mod endings;
mod faults;
mod intruders;
mod journal;
mod layer;
mod locking;
mod older;
mod pages;
mod reading;
mod syncing;

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use tempfile::TempDir;
use weft_types::{
    AssistantBlock, ContentBlock, Event, EventBody, Origin, SessionHeader, SessionId, StopReason, TurnEnd, UnixMillis,
};

use super::*;
use layer::Layer;

/// A store of its own in a folder of its own.
struct Fixture {
    store: FileStore,
    layer: Arc<Layer>,
    dir: TempDir,
}

impl Fixture {
    fn new() -> Self {
        Self::with(|_| {})
    }

    fn with(change: impl FnOnce(&mut StoreOptions)) -> Self {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let layer = Arc::new(Layer::default());
        let store = store(&dir, &layer, change);
        Self { store, layer, dir }
    }

    /// The same folder as another process would see it.
    fn other(&self) -> FileStore {
        store(&self.dir, &Arc::new(Layer::default()), |_| {})
    }

    fn create(&self, bodies: impl IntoIterator<Item = EventBody>) -> Arc<Session> {
        let session = self.store.create(header("s")).expect("created");
        for body in bodies {
            session.append(body).expect("a legal event");
        }
        session
    }

    fn folder(&self) -> PathBuf {
        self.store.root().join("s")
    }

    fn log(&self) -> PathBuf {
        self.folder().join("log.jsonl")
    }

    fn bytes(&self) -> Vec<u8> {
        fs::read(self.log()).expect("there is a log")
    }

    fn write(&self, bytes: &[u8]) {
        fs::create_dir_all(self.folder()).expect("a folder");
        fs::write(self.log(), bytes).expect("a log");
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder()).expect("a folder");
        let name =
            |entry: std::io::Result<fs::DirEntry>| entry.expect("an entry").file_name().into_string().expect("text");
        let mut names: Vec<String> = entries.map(name).collect();
        names.sort();
        names
    }

    fn open(&self) -> Opened {
        Opened::of(self.store.open(&id()).expect("it opens"))
    }
}

/// A session that was opened, and what was seen of that.
struct Opened {
    events: Vec<Arc<Event>>,
    notes: Vec<Note>,
    damage: Option<Damage>,
    session: Arc<Session>,
}

impl Opened {
    fn of(mut opening: Opening) -> Self {
        let mut events = Vec::new();
        loop {
            let page = opening.next_page().expect("readable");
            if page.is_empty() {
                break;
            }
            events.extend(page);
        }
        let (notes, damage) = (opening.notes().to_vec(), opening.damage().cloned());
        let session = opening.finish().expect("nothing is left to read");
        assert_eq!(
            session.events().expect("readable"),
            events,
            "the session holds what was given out"
        );
        Self {
            events,
            notes,
            damage,
            session,
        }
    }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime");
    runtime.block_on(future)
}

fn store(dir: &TempDir, layer: &Arc<Layer>, change: impl FnOnce(&mut StoreOptions)) -> FileStore {
    let mut options = StoreOptions {
        files: Arc::clone(layer) as Arc<dyn FileLayer>,
        clock: Arc::new(|| UnixMillis(5)),
        ..StoreOptions::new("weft test")
    };
    change(&mut options);
    FileStore::new(dir.path().join("sessions"), options).expect("valid options")
}

fn id() -> SessionId {
    "s".into()
}

fn header(id: &str) -> SessionHeader {
    SessionHeader {
        version: SessionHeader::VERSION,
        id: id.into(),
        created_at: UnixMillis(7),
        cwd: "/work".to_owned(),
        origin: Origin::User,
        parent: None,
        depth: 0,
        label: None,
        run_id: None,
        run_seq: None,
    }
}

fn start(turn: u32) -> EventBody {
    EventBody::TurnStart { turn }
}

fn user(turn: u32, text: &str) -> EventBody {
    let content = vec![ContentBlock::text(text)];
    EventBody::UserMessage { turn, content }
}

fn end(turn: u32) -> EventBody {
    let reason = TurnEnd::Completed;
    EventBody::TurnEnd { turn, reason }
}

fn answer(turn: u32, calls: &[&str]) -> EventBody {
    let call = |id: &&str| AssistantBlock::ToolCall {
        id: (*id).into(),
        name: "bash".to_owned(),
        arguments: "{\"command\":\"é\"}".to_owned(),
    };
    EventBody::AssistantMessage {
        turn,
        step: 1,
        content: calls.iter().map(call).collect(),
        stop: Some(StopReason::ToolUse),
        usage: None,
        interrupted: false,
    }
}

fn call(turn: u32, call: &str) -> EventBody {
    EventBody::ToolCall {
        turn,
        step: 1,
        call_id: call.into(),
        name: "bash".to_owned(),
        arguments: "{}".to_owned(),
        needs_approval: false,
    }
}

fn result(turn: u32, call: &str) -> EventBody {
    EventBody::ToolResult {
        turn,
        step: 1,
        call_id: call.into(),
        content: vec![ContentBlock::text("done")],
        error: None,
        meta: None,
    }
}

/// A turn with two calls.
fn turn(turn: u32) -> Vec<EventBody> {
    let (first, second) = (format!("{turn}a"), format!("{turn}b"));
    let step = 1;
    vec![
        start(turn),
        user(turn, "häppy\u{2028}\n"),
        EventBody::StepStart { turn, step },
        answer(turn, &[&first, &second]),
        call(turn, &first),
        result(turn, &first),
        call(turn, &second),
        result(turn, &second),
        EventBody::StepEnd { turn, step },
        end(turn),
    ]
}

/// The start of the turn after those.
fn next_turn(events: &[Arc<Event>]) -> EventBody {
    let turns = events
        .iter()
        .filter(|event| matches!(event.body, EventBody::TurnStart { .. }));
    start(1 + u32::try_from(turns.count()).expect("few"))
}

/// `count` turns of three events each.
fn short_turns(count: u32) -> impl Iterator<Item = EventBody> {
    (1..=count).flat_map(|turn| [start(turn), user(turn, &format!("message {turn}")), end(turn)])
}

/// The log of two turns, and its events.
fn sample() -> (Vec<u8>, Vec<Arc<Event>>) {
    log_of(turn(1).into_iter().chain(turn(2)))
}

fn log_of(bodies: impl IntoIterator<Item = EventBody>) -> (Vec<u8>, Vec<Arc<Event>>) {
    let fixture = Fixture::new();
    let session = fixture.create(bodies);
    (fixture.bytes(), session.events().expect("readable"))
}
