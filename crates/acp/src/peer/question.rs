//! What becomes of an agent's question whether it may do something.
//!
//! The rules and the mode decide as they do about weft's own calls, by what the agent itself says that the call would
//! do: an agent that asks could as well have gone on without a question, so that there is nothing to gain by a lie. What
//! they leave to the user is asked through the agent that started it.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use tokio_util::sync::CancellationToken;
use weft_agent::AgentContext;
use weft_tools::{Access, AccessCommand, AccessPath, Approval, ApprovalRequest, Decision, ProposedCall};
use weft_types::{CallId, EventBody};

use super::call::tool_name;
use super::card::Card;
use super::inbox::{Asked, Inbox};
use crate::sdk::schema;

/// Answers a question. Dropping the future withdraws it from the user.
pub(super) async fn ask(
    inbox: Arc<Inbox>,
    agent: String,
    cwd: PathBuf,
    question: schema::RequestPermissionRequest,
) -> schema::RequestPermissionOutcome {
    let _open = inbox.ask();
    let call = question.tool_call.tool_call_id.0.to_string();
    inbox.note(question.tool_call);
    let (context, root) = match inbox.place_of(&call).await {
        Asked::On { context, root } => (context, root),
        Asked::Nowhere => return rejection(&question.options),
        Asked::TooLate => return schema::RequestPermissionOutcome::Cancelled,
    };
    let Some(card) = inbox.card(&call) else {
        return rejection(&question.options);
    };
    let wish = Wish {
        tool: tool_name(&agent),
        call: CallId::new(call),
        root,
        arguments: serde_json::to_value(card.arguments()).unwrap_or_default(),
        access: access_of(&card, &cwd),
        title: card.title().to_owned(),
    };
    let answer = wish.decide(&context);
    let over = async {
        inbox.quiet_or_cancelled().await;
        Approval::Cancelled
    };
    let answer = tokio::select! {
        biased;
        answer = answer => answer,
        cancelled = over => cancelled,
    };
    match answer {
        Approval::AllowedOnce => consent(&question.options),
        Approval::Cancelled => schema::RequestPermissionOutcome::Cancelled,
        Approval::Rejected | Approval::Standing(_) | Approval::Unavailable => rejection(&question.options),
    }
}

/// What the agent wants to do.
struct Wish {
    tool: String,
    call: CallId,
    root: CallId,
    arguments: Value,
    access: Access,
    title: String,
}

impl Wish {
    async fn decide(self, context: &AgentContext) -> Approval {
        let proposed = ProposedCall {
            name: &self.tool,
            arguments: &self.arguments,
            access: &self.access,
            is_approved: false,
        };
        match context.permissions.decide(&proposed) {
            Decision::Allow => return Approval::AllowedOnce,
            Decision::Deny { reason } => {
                self.tell(context, &format!("was denied: {reason}"));
                return Approval::Rejected;
            }
            Decision::Ask => {}
        }
        let Some(approver) = &context.approver else {
            self.tell(context, "was denied, since nobody can be asked");
            return Approval::Unavailable;
        };
        let cancel = CancellationToken::new();
        let _withdrawn = cancel.clone().drop_guard();
        let request = ApprovalRequest {
            agent: context.agent,
            call_id: self.call.clone(),
            root_call_id: self.root.clone(),
            tool: self.tool.clone(),
            arguments: self.arguments.clone(),
            access: self.access.clone(),
            standing: Vec::new(),
            asker: None,
        };
        let answer = approver.ask(request, cancel).await;
        if answer == Approval::Unavailable {
            self.tell(context, "was denied, since nobody can be asked");
        }
        answer
    }

    /// Says in the agent's own log what became of a question that no user saw.
    fn tell(&self, context: &AgentContext, what: &str) {
        let message = format!("`{}` {what}", self.title.replace('`', "'"));
        if let Err(error) = context.session.append(EventBody::SessionNotice { message }) {
            tracing::warn!(%error, "what became of an agent's question is not written down");
        }
    }
}

/// The option that allows this one call. What would stand for more is never chosen for the user.
fn consent(options: &[schema::PermissionOption]) -> schema::RequestPermissionOutcome {
    select(options, &[schema::PermissionOptionKind::AllowOnce]).unwrap_or_else(|| rejection(options))
}

fn rejection(options: &[schema::PermissionOption]) -> schema::RequestPermissionOutcome {
    use schema::PermissionOptionKind::{RejectAlways, RejectOnce};
    select(options, &[RejectOnce, RejectAlways]).unwrap_or(schema::RequestPermissionOutcome::Cancelled)
}

fn select(
    options: &[schema::PermissionOption],
    kinds: &[schema::PermissionOptionKind],
) -> Option<schema::RequestPermissionOutcome> {
    let found = kinds
        .iter()
        .find_map(|kind| options.iter().find(|option| option.kind == *kind))?;
    let selected = schema::SelectedPermissionOutcome::new(found.option_id.clone());
    Some(schema::RequestPermissionOutcome::Selected(selected))
}

/// What a call would do, by its kind, its places and its input.
fn access_of(card: &Card, cwd: &Path) -> Access {
    let arguments = card.arguments();
    let text = |key: &str| card.input().and_then(|input| input.get(key)).and_then(Value::as_str);
    let mut paths: Vec<String> = arguments.places.into_iter().map(|place| place.path).collect();
    paths.extend(arguments.changes.into_iter().map(|change| change.path));
    paths.dedup();
    let places = || paths.iter().map(|path| place(path, cwd)).collect();
    match card.kind() {
        schema::ToolKind::Edit | schema::ToolKind::Delete | schema::ToolKind::Move if !paths.is_empty() => {
            Access::Edit(places())
        }
        schema::ToolKind::Read | schema::ToolKind::Search if !paths.is_empty() => Access::Read(places()),
        schema::ToolKind::Execute => Access::Execute(AccessCommand {
            text: text("command").unwrap_or_else(|| card.title()).to_owned(),
            parts: None,
            caution: None,
        }),
        schema::ToolKind::Fetch => match text("url") {
            Some(url) => Access::Fetch { url: url.to_owned() },
            None => Access::Other,
        },
        _ => Access::Other,
    }
}

fn place(shown: &str, cwd: &Path) -> AccessPath {
    let path = plain(&cwd.join(shown));
    AccessPath {
        is_inside: path.starts_with(plain(cwd)),
        path,
        shown: shown.to_owned(),
        caution: None,
    }
}

/// The path without `.` and `..`. Links are followed as far as they are on this machine.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => drop(plain.pop()),
            other => plain.push(other),
        }
    }
    let mut existing = plain.as_path();
    loop {
        if let (Ok(real), Ok(rest)) = (existing.canonicalize(), plain.strip_prefix(existing)) {
            return if rest.as_os_str().is_empty() {
                real
            } else {
                real.join(rest)
            };
        }
        match existing.parent() {
            Some(parent) => existing = parent,
            None => return plain,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn options(kinds: &[&str]) -> Vec<schema::PermissionOption> {
        let options = kinds
            .iter()
            .enumerate()
            .map(|(number, kind)| json!({ "optionId": number.to_string(), "name": kind, "kind": kind }));
        serde_json::from_value(options.collect()).expect("options")
    }

    #[track_caller]
    fn check(kinds: &[&str], allowed: Option<&str>, rejected: Option<&str>) {
        let options = options(kinds);
        let chosen = |outcome: schema::RequestPermissionOutcome| match outcome {
            schema::RequestPermissionOutcome::Selected(selected) => Some(selected.option_id.0.to_string()),
            _ => None,
        };
        assert_eq!(chosen(consent(&options)).as_deref(), allowed, "{kinds:?}");
        assert_eq!(chosen(rejection(&options)).as_deref(), rejected, "{kinds:?}");
    }

    #[test]
    fn one_consent_never_stands_for_more() {
        check(
            &["allow_always", "allow_once", "reject_always", "reject_once"],
            Some("1"),
            Some("3"),
        );
        check(&["allow_always", "reject_always"], Some("1"), Some("1"));
        check(&["allow_always"], None, None);
        check(&[], None, None);
    }

    fn access(call: Value, cwd: &Path) -> Access {
        let mut card = Card::new("c", 1_000);
        card.apply(serde_json::from_value(call).expect("fields"), None);
        access_of(&card, cwd)
    }

    #[test]
    fn what_a_call_would_do_follows_from_what_the_agent_says_of_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let (cwd, real) = (folder.path(), folder.path().canonicalize().expect("it is there"));
        let edit = json!({ "kind": "edit", "locations": [{ "path": "new/../a" }, { "path": "/etc/../etc/x" }] });
        let Access::Edit(places) = access(edit, cwd) else {
            panic!("it edits")
        };
        assert_eq!(
            (places[0].path.as_path(), places[0].is_inside),
            (real.join("a").as_path(), true)
        );
        assert!(!places[1].is_inside);
        let escape = json!({ "kind": "read", "locations": [{ "path": "../x" }] });
        assert!(access(escape, cwd).is_risky());
        let Access::Execute(command) = access(json!({ "kind": "execute", "rawInput": { "command": "rm -rf x" } }), cwd)
        else {
            panic!("it runs a command")
        };
        assert_eq!(command.text, "rm -rf x");
        for vague in [
            json!({ "kind": "edit" }),
            json!({ "kind": "read" }),
            json!({ "kind": "fetch" }),
            json!({}),
        ] {
            assert_eq!(access(vague, cwd), Access::Other);
        }
    }
}
