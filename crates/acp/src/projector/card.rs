//! One tool call's card, from its announcement to its final state.
//!
//! An update of a card names only what changes, and a list in it replaces the whole list. Progress therefore
//! repeats what must stay (diffs, the terminal), and the final update restores what progress had replaced.
//! Kind, input and locations come from the arguments alone and are sent once.

use std::path::{Path, PathBuf};

use serde_json::json;
use weft_tools::{Asker, CallView, ExitStatus, FileDiff, Location, ProgressView, ResultView, ToolKind};
use weft_types::{CallId, ContentBlock, SessionId, text_of};

use super::Scene;
use super::console::fenced;
use super::title::relativise;
use crate::sdk::schema;
use crate::wire;

/// How many subagents a card leads to. There may be thousands, and each update names them anew.
pub(super) const MAX_LINKS: usize = 20;

/// A card that has been announced and is not final.
#[derive(Debug)]
pub(super) struct Card {
    name: String,
    arguments: String,
    announced: schema::ToolCall,
    form: Form,
    /// The path that the call's view names first.
    path: Option<String>,
    /// Whether progress has ever replaced the title. From then on every update carries one: an update that
    /// waits may be superseded, and what it restored with it.
    title_replaced: bool,
    /// Whether progress has ever replaced the content.
    content_replaced: bool,
    /// The subagents that the call has started, as many as it leads to.
    children: Vec<SessionId>,
}

/// The key of the metadata that says whose call a card shows that is not the session's own.
const ASKER: &str = "weft/asker";

/// What a card's content is made of, chosen when it is announced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Generic,
    Diff,
    /// A terminal that the client draws.
    Terminal,
    /// A terminal for a client that cannot draw one.
    Console,
}

impl Card {
    /// The card of a call of a tool by name and raw arguments.
    pub(super) fn new(
        scene: &Scene,
        id: &CallId,
        (name, arguments): (&str, &str),
        view: CallView,
        needs_approval: bool,
    ) -> Self {
        let path = first_path(&view).map(str::to_owned);
        let title = relativise(view.title(), &scene.cwd, path.as_deref());
        let status = if needs_approval {
            schema::ToolCallStatus::Pending
        } else {
            schema::ToolCallStatus::InProgress
        };
        let call = schema::ToolCall::new(wire_id(id), title)
            .name(name.to_owned())
            .status(status);
        let (form, announced) = draw(call, scene, id, view);
        Self {
            name: name.to_owned(),
            arguments: arguments.to_owned(),
            announced,
            form,
            path,
            title_replaced: false,
            content_replaced: false,
            children: Vec::new(),
        }
    }

    pub(super) fn announced(&self) -> &schema::ToolCall {
        &self.announced
    }

    /// The same card for a call of another agent, whose id there is `call`.
    pub(super) fn asked_by(mut self, asker: &Asker, call: &CallId) -> Self {
        self.announced.title = format!("{}: {}", asker.name, self.announced.title);
        let origin = json!({ "sessionId": asker.session, "callId": call, "within": asker.within });
        let meta = self.announced.meta.get_or_insert_default();
        meta.insert(ASKER.to_owned(), origin);
        self
    }

    /// The card for a question, with words before what it shows. They go when the answer is there.
    pub(super) fn question(&mut self, words: Vec<String>) -> schema::ToolCallUpdate {
        self.content_replaced |= !words.is_empty();
        let mut shown = self.announced.clone();
        shown.content = (words.into_iter())
            .map(schema::ToolCallContent::from)
            .chain(shown.content)
            .collect();
        shown.into()
    }

    /// The tool's name and raw arguments.
    pub(super) fn call(&self) -> (&str, &str) {
        (&self.name, &self.arguments)
    }

    /// The body starts; only a card that waited for an approval changes.
    pub(super) fn started(&mut self) -> Option<schema::SessionUpdate> {
        if self.announced.status != schema::ToolCallStatus::Pending {
            return None;
        }
        self.announced.status = schema::ToolCallStatus::InProgress;
        let restored = self.content_replaced.then(|| self.announced.content.clone());
        let fields = schema::ToolCallUpdateFields::new()
            .status(schema::ToolCallStatus::InProgress)
            .content(restored);
        Some(self.update(fields))
    }

    /// The call has started a subagent. A card with progress shows it with its next one.
    pub(super) fn link(&mut self, child: &SessionId) -> Option<schema::SessionUpdate> {
        if self.children.len() == MAX_LINKS {
            return None;
        }
        self.children.push(child.clone());
        if self.content_replaced {
            return None;
        }
        let mut content = self.announced.content.clone();
        content.extend(links(&self.children));
        self.content_replaced = true;
        self.announced.status = schema::ToolCallStatus::InProgress;
        let fields = schema::ToolCallUpdateFields::new()
            .status(schema::ToolCallStatus::InProgress)
            .content(content);
        Some(self.update(fields))
    }

    /// The live state of the call.
    pub(super) fn progress(&mut self, scene: &Scene, view: &ProgressView) -> schema::SessionUpdate {
        self.announced.status = schema::ToolCallStatus::InProgress;
        self.title_replaced |= view.title.is_some();
        self.content_replaced |= !view.content.is_empty();
        let title = match &view.title {
            Some(title) => Some(relativise(title, &scene.cwd, self.path.as_deref())),
            None => self.restored_title(),
        };
        let mut content = if self.form == Form::Generic && !view.content.is_empty() {
            Vec::new()
        } else {
            self.announced.content.clone()
        };
        content.extend(content_blocks(&view.content));
        content.extend(links(&self.children));
        let fields = schema::ToolCallUpdateFields::new()
            .status(schema::ToolCallStatus::InProgress)
            .title(title)
            .content(content);
        self.update(fields)
    }

    /// The final state. `raw` is what the model gets, `children` are the subagents whose answer it is, `data` is what the
    /// card tells programs.
    pub(super) fn finish(
        self,
        scene: &Scene,
        view: ResultView,
        (raw, children, data): (&[ContentBlock], &[SessionId], Option<serde_json::Value>),
        is_error: bool,
    ) -> schema::SessionUpdate {
        let (title, mut outcome) = self.outcome(scene, view, raw);
        if !children.is_empty() {
            outcome.content.get_or_insert_default().extend(links(children));
        }
        let title = title.map(|title| relativise(&title, &scene.cwd, outcome.path.as_deref().or(self.path.as_deref())));
        let fields = schema::ToolCallUpdateFields::new()
            .status(final_status(is_error))
            .title(title.or_else(|| self.restored_title()))
            .content(outcome.content)
            .raw_output(data);
        let update = schema::ToolCallUpdate::new(self.announced.tool_call_id, fields).meta(outcome.meta);
        schema::SessionUpdate::ToolCallUpdate(update)
    }

    /// The card of a question ends with its answer below what was asked.
    pub(super) fn answered(self, is_yes: bool, answer: &str) -> schema::SessionUpdate {
        let mut content = self.announced.content.clone();
        content.push(answer.to_owned().into());
        let fields = schema::ToolCallUpdateFields::new()
            .status(final_status(!is_yes))
            .content(content);
        self.update(fields)
    }

    /// The card fails because nothing more will come.
    pub(super) fn abandon(self) -> schema::SessionUpdate {
        let mut content = self.announced.content.clone();
        content.push("stopped: the connection ended".into());
        let fields = schema::ToolCallUpdateFields::new()
            .status(schema::ToolCallStatus::Failed)
            .title(self.restored_title())
            .content(content);
        self.update(fields)
    }

    fn outcome(&self, scene: &Scene, view: ResultView, raw: &[ContentBlock]) -> (Option<String>, Outcome) {
        match (view, self.form) {
            (ResultView::Generic { title, content }, _) => (
                title,
                Outcome::content(content_blocks(content.as_deref().unwrap_or(raw))),
            ),
            (ResultView::Diff { title, diffs }, _) if !diffs.is_empty() => {
                let path = diffs.first().map(|diff| diff.path.clone());
                let content = Outcome::content(diffs.into_iter().map(|diff| diff_block(scene, diff)).collect());
                (title, Outcome { path, ..content })
            }
            (ResultView::Terminal { title, output, exit }, Form::Terminal) => {
                let output = output.unwrap_or_else(|| text_of(raw));
                let restored = self.content_replaced.then(|| self.announced.content.clone());
                let meta = Some(terminal_end(&self.announced.tool_call_id, &output, exit));
                (
                    title,
                    Outcome {
                        content: restored,
                        meta,
                        path: None,
                    },
                )
            }
            (ResultView::Terminal { title, output, exit }, Form::Console) => {
                let output = output.unwrap_or_else(|| text_of(raw));
                let content = vec![fenced(&with_exit(output, exit.as_ref())).into()];
                (title, Outcome::content(content))
            }
            (ResultView::Diff { title, .. } | ResultView::Terminal { title, .. }, _) => {
                (title, Outcome::content(content_blocks(raw)))
            }
        }
    }

    fn restored_title(&self) -> Option<String> {
        self.title_replaced.then(|| self.announced.title.clone())
    }

    fn update(&self, fields: schema::ToolCallUpdateFields) -> schema::SessionUpdate {
        let id = self.announced.tool_call_id.clone();
        schema::SessionUpdate::ToolCallUpdate(schema::ToolCallUpdate::new(id, fields))
    }
}

/// What a result does to a card.
struct Outcome {
    content: Option<Vec<schema::ToolCallContent>>,
    meta: Option<schema::Meta>,
    /// The path that the result's view names first.
    path: Option<String>,
}

impl Outcome {
    fn content(content: Vec<schema::ToolCallContent>) -> Self {
        Self {
            content: Some(content),
            meta: None,
            path: None,
        }
    }
}

/// A result whose call was never announced: a card of its own, final from the start.
pub(super) fn orphan(id: &CallId, raw: &[ContentBlock], is_error: bool) -> schema::SessionUpdate {
    let call = schema::ToolCall::new(wire_id(id), "tool result")
        .status(final_status(is_error))
        .content(content_blocks(raw));
    schema::SessionUpdate::ToolCall(call)
}

fn draw(call: schema::ToolCall, scene: &Scene, id: &CallId, view: CallView) -> (Form, schema::ToolCall) {
    match view {
        CallView::Generic {
            kind,
            raw_input,
            content,
            locations,
            ..
        } => {
            let call = call.kind(wire_kind(kind)).raw_input(raw_input);
            (
                Form::Generic,
                call.content(content_blocks(&content))
                    .locations(wire_locations(scene, locations)),
            )
        }
        CallView::Diff { diffs, locations, .. } => {
            let content = diffs.into_iter().map(|diff| diff_block(scene, diff)).collect();
            let call = call.kind(schema::ToolKind::Edit).content(content);
            (Form::Diff, call.locations(wire_locations(scene, locations)))
        }
        CallView::Terminal {
            title,
            description,
            cwd,
        } => {
            let call = call.kind(schema::ToolKind::Execute).raw_input(json!(title));
            let mut content: Vec<_> = description.map(schema::ToolCallContent::from).into_iter().collect();
            if !scene.client.terminal_output {
                return (Form::Console, call.content(content));
            }
            content.push(schema::ToolCallContent::Terminal(schema::Terminal::new(
                id.as_str().to_owned(),
            )));
            let cwd = terminal_cwd(&scene.cwd, cwd.as_deref());
            let start = json!({ "terminal_id": id.as_str(), "cwd": cwd.to_string_lossy() });
            let meta = schema::Meta::from_iter([("terminal_info".to_owned(), start)]);
            (Form::Terminal, call.content(content).meta(meta))
        }
    }
}

fn links(children: &[SessionId]) -> impl Iterator<Item = schema::ToolCallContent> {
    let link = |child: &SessionId| schema::SessionReference::new(child.as_str().to_owned()).into();
    children.iter().map(link)
}

fn terminal_cwd(session: &Path, cwd: Option<&str>) -> PathBuf {
    // Joining an absolute path gives that path.
    cwd.map_or_else(|| session.to_owned(), |cwd| session.join(cwd))
}

/// The output and, unless it ended well, how the command ended: a client without terminals is told no other way.
fn with_exit(mut output: String, exit: Option<&ExitStatus>) -> String {
    let line = match exit {
        None | Some(ExitStatus::Code(0)) => return output,
        Some(ExitStatus::Code(code)) => format!("exit code {code}"),
        Some(ExitStatus::Signal(signal)) => format!("killed by {signal}"),
    };
    if !output.is_empty() && !output.ends_with('\n') {
        output.push('\n');
    }
    output + &line
}

fn terminal_end(id: &schema::ToolCallId, output: &str, exit: Option<ExitStatus>) -> schema::Meta {
    let mut end = json!({ "terminal_id": id });
    match exit {
        Some(ExitStatus::Code(code)) => end["exit_code"] = json!(code),
        Some(ExitStatus::Signal(signal)) => end["signal"] = json!(signal),
        None => {}
    }
    let output = json!({ "terminal_id": id, "data": output });
    schema::Meta::from_iter([
        ("terminal_output".to_owned(), output),
        ("terminal_exit".to_owned(), end),
    ])
}

fn final_status(is_error: bool) -> schema::ToolCallStatus {
    if is_error {
        schema::ToolCallStatus::Failed
    } else {
        schema::ToolCallStatus::Completed
    }
}

fn wire_id(id: &CallId) -> schema::ToolCallId {
    schema::ToolCallId::new(id.as_str())
}

fn first_path(view: &CallView) -> Option<&str> {
    let (locations, diffs): (&[Location], &[FileDiff]) = match view {
        CallView::Generic { locations, .. } => (locations, &[]),
        CallView::Diff { diffs, locations, .. } => (locations, diffs),
        CallView::Terminal { .. } => (&[], &[]),
    };
    let location = locations.first().map(|location| location.path.as_str());
    location.or_else(|| diffs.first().map(|diff| diff.path.as_str()))
}

fn content_blocks(blocks: &[ContentBlock]) -> Vec<schema::ToolCallContent> {
    let wire = |block| schema::ToolCallContent::Content(schema::Content::new(wire::content(block)));
    blocks.iter().map(wire).collect()
}

/// The protocol knows absolute paths only; a tool may name a file by its place in the session's folder.
fn wire_path(scene: &Scene, path: &str) -> PathBuf {
    scene.cwd.join(path)
}

fn diff_block(scene: &Scene, diff: FileDiff) -> schema::ToolCallContent {
    schema::Diff::new(wire_path(scene, &diff.path), diff.new_text)
        .old_text(diff.old_text)
        .into()
}

fn wire_locations(scene: &Scene, locations: Vec<Location>) -> Vec<schema::ToolCallLocation> {
    let wire = |location: Location| schema::ToolCallLocation::new(wire_path(scene, &location.path)).line(location.line);
    locations.into_iter().map(wire).collect()
}

fn wire_kind(kind: ToolKind) -> schema::ToolKind {
    match kind {
        ToolKind::Read => schema::ToolKind::Read,
        ToolKind::Edit => schema::ToolKind::Edit,
        ToolKind::Delete => schema::ToolKind::Delete,
        ToolKind::Move => schema::ToolKind::Move,
        ToolKind::Search => schema::ToolKind::Search,
        ToolKind::Execute => schema::ToolKind::Execute,
        ToolKind::Fetch => schema::ToolKind::Fetch,
        ToolKind::Think => schema::ToolKind::Think,
        ToolKind::Other => schema::ToolKind::Other,
    }
}
