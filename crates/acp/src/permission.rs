//! Asking the user, through the client, whether a call may run.

use std::sync::{Arc, OnceLock, Weak};

use futures::FutureExt as _;
use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;
use weft_tools::{Approval, ApprovalRequest, Approver};
use weft_types::AgentId;

use crate::sdk::{Client, schema};
use crate::view::SessionView;

const ALLOW: &str = "allow_once";
const REJECT: &str = "reject_once";

/// The approver of one session.
///
/// A question is asked only about a card that the client has seen, so never for another agent: its calls
/// have none here. It is withdrawn, `$/cancel_request` included, when its turn is cancelled. An option that
/// was never offered counts as a rejection.
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

    fn card(&self, request: &ApprovalRequest) -> Option<schema::ToolCallUpdate> {
        let (agent, view) = self.cards.get()?;
        view.upgrade()?.question(request).filter(|_| *agent == request.agent)
    }
}

impl Approver for Permissions {
    fn ask(&self, request: ApprovalRequest, cancel: CancellationToken) -> BoxFuture<'static, Approval> {
        let Some(card) = self.card(&request) else {
            tracing::warn!(call = %request.call_id, "a question about a call that the client does not know");
            return std::future::ready(Approval::Unavailable).boxed();
        };
        let options = vec![
            schema::PermissionOption::new(ALLOW, "Allow once", schema::PermissionOptionKind::AllowOnce),
            schema::PermissionOption::new(REJECT, "Reject", schema::PermissionOptionKind::RejectOnce),
        ];
        let question = schema::RequestPermissionRequest::new(Arc::clone(&self.session), card, options);
        let client = self.client.clone();
        async move {
            tokio::select! {
                biased;
                () = cancel.cancelled() => Approval::Cancelled,
                answer = client.ask_permission(question) => match answer {
                    Ok(outcome) => approval(&outcome),
                    Err(error) => {
                        tracing::warn!(code = error.code.value(), "the client could not be asked for a permission");
                        Approval::Unavailable
                    }
                },
            }
        }
        .boxed()
    }
}

fn approval(outcome: &schema::RequestPermissionOutcome) -> Approval {
    match outcome {
        schema::RequestPermissionOutcome::Selected(selected) if &*selected.option_id.0 == ALLOW => {
            Approval::AllowedOnce
        }
        schema::RequestPermissionOutcome::Cancelled => Approval::Cancelled,
        _ => Approval::Rejected,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn only_the_offered_allowance_allows() {
        let answer = |outcome: Value| approval(&serde_json::from_value(outcome).unwrap());
        let selected = |id: &str| json!({ "outcome": "selected", "optionId": id });
        assert_eq!(answer(selected(ALLOW)), Approval::AllowedOnce);
        assert_eq!(answer(selected(REJECT)), Approval::Rejected);
        assert_eq!(answer(selected("allow_always")), Approval::Rejected);
        assert_eq!(answer(json!({ "outcome": "cancelled" })), Approval::Cancelled);
    }
}
