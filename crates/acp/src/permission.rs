//! Asking the user, through the client, whether a call may run.
//!
//! A question is asked about a card that the client has seen. The session's own calls have theirs; a call of a subagent
//! is given one on the session that the user works in, whose title says who asks ([`SessionView::member_question`]).
//! A client that is shown subagents as sessions of their own is asked on the subagent's.

use std::sync::{Arc, OnceLock, Weak};

use futures::FutureExt;
use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;
use weft_session::mint_session_id;
use weft_tools::{Access, AccessPath, Approval, ApprovalRequest, Approver, Question};
use weft_types::{AgentId, CallId};

use crate::projector::fenced;
use crate::sdk::{Client, schema};
use crate::view::SessionView;

const ALLOW: &str = "allow_once";
const REJECT: &str = "reject_once";

/// What the ids of answers that stand begin with, before their number.
const STANDING: &str = "always_";

/// The longest command that its card's title is taken to show, in bytes.
const SHORT_COMMAND: usize = 80;

/// The approver of one session.
///
/// It is withdrawn, `$/cancel_request` included, when its turn is cancelled. An option that was never offered counts as a
/// rejection. Several questions may be open at once; each has its own call's id.
#[derive(Debug)]
pub(crate) struct Permissions {
    session: Arc<str>,
    client: Client,
    /// Set once the session is open; before, there is nothing to ask about. Weak, since the agent's tools hold this
    /// approver and the view holds the tools.
    cards: OnceLock<(AgentId, Weak<SessionView>)>,
}

impl Permissions {
    pub(crate) fn new(session: Arc<str>, client: Client) -> Self {
        Self {
            session,
            client,
            cards: OnceLock::new(),
        }
    }

    /// Says whose cards are where; only the first word counts.
    pub(crate) fn look_at(&self, agent: AgentId, view: Weak<SessionView>) {
        self.cards.get_or_init(|| (agent, view));
    }

    /// The question for the client; `None` if there is no card to ask it about.
    fn question(&self, request: &ApprovalRequest) -> Option<schema::RequestPermissionRequest> {
        let (agent, view) = self.cards.get()?;
        let view = view.upgrade()?;
        let (session, card) = match &request.asker {
            Some(asker) => match view.child(&asker.session) {
                Some(child) => (asker.session.as_str().into(), child.question(request)?),
                None => (Arc::clone(&self.session), view.member_question(request, asker)?),
            },
            None => {
                let card = view.question(request).filter(|_| *agent == request.agent)?;
                (Arc::clone(&self.session), card)
            }
        };
        Some(schema::RequestPermissionRequest::new(session, card, options(request)))
    }
}

impl Approver for Permissions {
    fn ask(&self, request: ApprovalRequest, cancel: CancellationToken) -> BoxFuture<'static, Approval> {
        let Some(question) = self.question(&request) else {
            tracing::warn!(call = %request.call_id, "a question about a call that the client does not know");
            return std::future::ready(Approval::Unavailable).boxed();
        };
        let client = self.client.clone();
        async move {
            tokio::select! {
                biased;
                () = cancel.cancelled() => Approval::Cancelled,
                answer = client.ask_permission(question) => match answer {
                    Ok(outcome) => approval(&outcome, &request),
                    Err(error) => {
                        tracing::warn!(code = error.code.value(), "the client could not be asked for a permission");
                        Approval::Unavailable
                    }
                },
            }
        }
        .boxed()
    }

    fn confirm(&self, question: Question, cancel: CancellationToken) -> BoxFuture<'static, Approval> {
        let id = CallId::new(format!("question-{}", mint_session_id()));
        let view = self.cards.get().and_then(|(_, view)| view.upgrade());
        let Some((view, card)) = view.and_then(|view| Some((Arc::clone(&view), view.confirmation(&id, &question)?)))
        else {
            return std::future::ready(Approval::Unavailable).boxed();
        };
        let options = [
            (ALLOW, &question.yes, schema::PermissionOptionKind::AllowOnce),
            (REJECT, &question.no, schema::PermissionOptionKind::RejectOnce),
        ];
        let options = options.map(|(id, name, kind)| schema::PermissionOption::new(id, name.clone(), kind));
        let asked = schema::RequestPermissionRequest::new(Arc::clone(&self.session), card, options.to_vec());
        let client = self.client.clone();
        async move {
            let answer = tokio::select! {
                biased;
                () = cancel.cancelled() => Approval::Cancelled,
                answer = client.ask_permission(asked) => answer.map_or(Approval::Unavailable, |outcome| yes_or_no(&outcome)),
            };
            let told = match answer {
                Approval::AllowedOnce => question.yes.as_str(),
                Approval::Rejected | Approval::Standing(_) => &question.no,
                Approval::Cancelled => "Not answered",
                Approval::Unavailable => "Nobody could be asked",
            };
            view.confirmed(&id, answer == Approval::AllowedOnce, told);
            answer
        }
        .boxed()
    }
}

/// What was answered to a question that offers yes and no.
fn yes_or_no(outcome: &schema::RequestPermissionOutcome) -> Approval {
    match outcome {
        schema::RequestPermissionOutcome::Selected(selected) if &*selected.option_id.0 == ALLOW => {
            Approval::AllowedOnce
        }
        schema::RequestPermissionOutcome::Cancelled => Approval::Cancelled,
        _ => Approval::Rejected,
    }
}

/// What is offered: for this call, and beyond it.
fn options(request: &ApprovalRequest) -> Vec<schema::PermissionOption> {
    use schema::PermissionOptionKind::{AllowAlways, AllowOnce, RejectAlways, RejectOnce};
    let standing = |allows: bool, kind: schema::PermissionOptionKind| {
        let answers = request.standing.iter().enumerate();
        answers
            .filter(move |(_, answer)| answer.allows == allows)
            .map(move |(index, answer)| {
                schema::PermissionOption::new(format!("{STANDING}{index}"), answer.label.clone(), kind)
            })
    };
    let mut options = vec![schema::PermissionOption::new(ALLOW, "Allow once", AllowOnce)];
    options.extend(standing(true, AllowAlways));
    options.push(schema::PermissionOption::new(REJECT, "Reject", RejectOnce));
    options.extend(standing(false, RejectAlways));
    options
}

fn approval(outcome: &schema::RequestPermissionOutcome, request: &ApprovalRequest) -> Approval {
    let selected = match outcome {
        schema::RequestPermissionOutcome::Selected(selected) => &*selected.option_id.0,
        schema::RequestPermissionOutcome::Cancelled => return Approval::Cancelled,
        _ => return Approval::Rejected,
    };
    if selected == ALLOW {
        return Approval::AllowedOnce;
    }
    let offered = |index: &usize| *index < request.standing.len() && selected == format!("{STANDING}{index}");
    let index = selected.strip_prefix(STANDING).and_then(|index| index.parse().ok());
    index.filter(offered).map_or(Approval::Rejected, Approval::Standing)
}

/// What the user should read beside the card before answering: why care is needed, a command that a title cannot show,
/// and every place of a call that has several or is not in the session's folders.
pub(crate) fn further_words(request: &ApprovalRequest) -> Vec<String> {
    let mut words = Vec::new();
    if let Some(caution) = request.access.caution() {
        words.push(format!("Take care: {caution}"));
    }
    match &request.access {
        Access::Execute(command) if command.text.len() > SHORT_COMMAND || command.text.contains('\n') => {
            words.push(fenced(&command.text));
        }
        Access::Script(script) => {
            if !script.about.is_empty() {
                words.push(fenced(&script.about.join("\n")));
            }
            if !script.text.is_empty() {
                words.push(fenced(&script.text));
            }
        }
        Access::Read(places) | Access::Edit(places)
            if places.len() > 1 || places.iter().any(|place| !place.is_inside) =>
        {
            words.extend(places.iter().map(place_line));
        }
        _ => {}
    }
    words
}

fn place_line(place: &AccessPath) -> String {
    let mut line = place.shown.clone();
    if place.path != std::path::Path::new(&place.shown) {
        line.push_str(&format!(" ({})", place.path.display()));
    }
    if !place.is_inside {
        line.push_str(", outside of the session's folders");
    }
    line
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use weft_tools::{AccessCommand, StandingAnswer};

    use super::*;

    fn request(access: Access, standing: &[(&str, bool)]) -> ApprovalRequest {
        let answer = |(label, allows): &(&str, bool)| StandingAnswer {
            label: (*label).to_owned(),
            allows: *allows,
        };
        ApprovalRequest {
            agent: AgentId::mint(),
            call_id: "c".into(),
            root_call_id: "c".into(),
            tool: "bash".into(),
            arguments: Value::Null,
            access,
            standing: standing.iter().map(answer).collect(),
            asker: None,
        }
    }

    #[test]
    fn all_kinds_of_options_are_offered_and_only_what_is_offered_allows() {
        let request = request(
            Access::Other,
            &[("Always", true), ("Everywhere", true), ("Never", false)],
        );
        let offered: Vec<Value> = options(&request)
            .iter()
            .map(|option| json!([option.option_id, option.name, option.kind]))
            .collect();
        assert_eq!(
            json!(offered),
            json!([
                ["allow_once", "Allow once", "allow_once"],
                ["always_0", "Always", "allow_always"],
                ["always_1", "Everywhere", "allow_always"],
                ["reject_once", "Reject", "reject_once"],
                ["always_2", "Never", "reject_always"],
            ])
        );
        let answer = |outcome: Value| approval(&serde_json::from_value(outcome).unwrap(), &request);
        let selected = |id: &str| answer(json!({ "outcome": "selected", "optionId": id }));
        assert_eq!(selected("allow_once"), Approval::AllowedOnce);
        assert_eq!(selected("always_1"), Approval::Standing(1));
        assert_eq!(answer(json!({ "outcome": "cancelled" })), Approval::Cancelled);
        for id in [
            "reject_once",
            "allow_always",
            "always_3",
            "always_",
            "always_-1",
            "always_01",
            "always_+1",
            "",
            "always_99999999999999999999",
        ] {
            assert_eq!(selected(id), Approval::Rejected, "{id}");
        }
    }

    #[test]
    fn prm04_what_a_title_cannot_show_is_said_in_full() {
        let command = |text: &str, caution: Option<&str>| {
            let (text, caution) = (text.to_owned(), caution.map(str::to_owned));
            Access::Execute(AccessCommand {
                text,
                parts: None,
                caution,
            })
        };
        assert_eq!(further_words(&request(command("ls", None), &[])), Vec::<String>::new());
        let long = format!("{}; rm -rf ~", "echo x; ".repeat(2_500));
        let words = further_words(&request(command(&long, Some("it removes files")), &[]));
        assert_eq!(words[0], "Take care: it removes files");
        assert!(words[1].contains(&long));
        let place = |shown: &str, is_inside| AccessPath {
            path: format!("/real/{shown}").into(),
            shown: shown.to_owned(),
            is_inside,
            caution: None,
        };
        assert!(further_words(&request(Access::Edit(vec![place("a", true)]), &[])).is_empty());
        assert_eq!(
            further_words(&request(Access::Edit(vec![place("a", true), place("b", false)]), &[])),
            ["a (/real/a)", "b (/real/b), outside of the session's folders"]
        );
    }
}
