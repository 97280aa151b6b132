//! What must hold of every transcript, whatever a test is about.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

/// Updates about a session itself, which may come whenever the client has it.
const OF_THE_SESSION: [&str; 3] = [
    "available_commands_update",
    "current_mode_update",
    "config_option_update",
];

/// The lines seen by a client, judged as they come.
#[derive(Default)]
pub(crate) struct Check {
    asked: HashMap<String, (String, Value)>,
    sessions: HashSet<String>,
    /// Those that are being loaded.
    loads: HashSet<String>,
    prompts: HashMap<String, usize>,
    /// The status of each announced call, by session and id.
    calls: HashMap<(String, String), String>,
}

impl Check {
    /// The client sends a message.
    pub(crate) fn sent(&mut self, message: &Value) {
        let (Some(id), Some(method)) = (message.get("id"), message["method"].as_str()) else {
            return;
        };
        if method == "session/prompt"
            && let Some(session) = message["params"]["sessionId"].as_str()
        {
            *self.prompts.entry(session.to_owned()).or_default() += 1;
        }
        if method == "session/load"
            && let Some(session) = message["params"]["sessionId"].as_str()
            && self.prompts.get(session).is_none_or(|prompts| *prompts == 0)
            && self.loads.insert(session.to_owned())
        {
            // A replay announces them anew, also those of a session that is open.
            self.calls.retain(|(of, _), _| of != session);
        }
        self.asked
            .insert(id.to_string(), (method.to_owned(), message["params"].clone()));
    }

    /// The client gets a message.
    #[track_caller]
    pub(crate) fn got(&mut self, message: &Value) {
        assert_eq!(message["jsonrpc"], "2.0", "{message}");
        match (message["method"].as_str(), message.get("id")) {
            (None, Some(id)) => self.response(id, message),
            (Some("session/update"), None) => self.update(&message["params"]),
            (Some("session/request_permission"), Some(_)) => {
                let call = key(
                    &message["params"]["sessionId"],
                    &message["params"]["toolCall"]["toolCallId"],
                );
                let status = self.calls.get(&call).expect("announced before it is asked about");
                assert!(!is_final(status), "asked about after the final update: {message}");
            }
            (Some("fs/read_text_file" | "fs/write_text_file"), Some(_)) => {
                let session = message["params"]["sessionId"].as_str().expect("it names the session");
                assert!(self.sessions.contains(session), "an unknown session: {message}");
            }
            (Some("$/cancel_request"), None) => {}
            _ => panic!("not a message that this agent sends: {message}"),
        }
    }

    #[track_caller]
    fn response(&mut self, id: &Value, message: &Value) {
        assert_ne!(
            message.get("result").is_some(),
            message.get("error").is_some(),
            "{message}"
        );
        if id.is_null() {
            return;
        }
        let (method, params) = self
            .asked
            .remove(&id.to_string())
            .expect("one answer to what was asked");
        if method == "session/new"
            && let Some(session) = message["result"]["sessionId"].as_str()
        {
            assert!(self.sessions.insert(session.to_owned()), "a fresh id");
        }
        let went_well = message.get("result").is_some();
        match (method.as_str(), params["sessionId"].as_str()) {
            ("session/load", Some(session)) if went_well => {
                assert!(self.loads.remove(session), "loaded twice: {message}");
                let open = self
                    .calls
                    .iter()
                    .find(|((of, _), status)| of == session && !is_final(status));
                assert_eq!(open, None, "not final after the replay");
                self.sessions.insert(session.to_owned());
            }
            ("session/resume", Some(session)) if went_well => {
                self.sessions.insert(session.to_owned());
            }
            ("session/close" | "session/delete", Some(session)) if went_well => self.forget(session),
            ("session/load", Some(session)) if !self.is_loading(session) => match self.sessions.contains(session) {
                true => drop(self.loads.remove(session)),
                false => self.forget(session),
            },
            _ => {}
        }
        if method == "session/prompt"
            && let Some(session) = params["sessionId"].as_str()
        {
            let prompts = self.prompts.get_mut(session).expect("it was sent");
            *prompts -= 1;
            let open = self
                .calls
                .iter()
                .find(|((of, _), status)| of == session && !is_final(status));
            assert!(
                *prompts > 0 || open.is_none(),
                "{open:?} is open when the prompt is answered"
            );
        }
    }

    /// Whether a load of the session has not been answered.
    fn is_loading(&self, session: &str) -> bool {
        let mut asked = self.asked.values();
        asked.any(|(method, params)| method == "session/load" && params["sessionId"] == session)
    }

    /// The client may load it anew.
    fn forget(&mut self, session: &str) {
        self.sessions.remove(session);
        self.loads.remove(session);
        self.calls.retain(|(of, _), _| of != session);
    }

    #[track_caller]
    fn update(&mut self, params: &Value) {
        let session = params["sessionId"].as_str().expect("every update has a session");
        let kind = params["update"]["sessionUpdate"].as_str().unwrap_or_default();
        let replayed = self.loads.contains(session);
        assert!(
            replayed || self.sessions.contains(session),
            "an unknown session: {params}"
        );
        if OF_THE_SESSION.contains(&kind) {
            assert!(
                replayed || self.sessions.contains(session),
                "before the client knows the session: {params}"
            );
            return;
        }
        assert!(
            replayed || self.prompts.get(session).is_some_and(|prompts| *prompts > 0),
            "outside of a turn: {params}"
        );
        let update = &params["update"];
        let call = key(&params["sessionId"], &update["toolCallId"]);
        match update["sessionUpdate"].as_str() {
            Some("tool_call") => {
                let status = update["status"].as_str().unwrap_or("pending");
                assert!(
                    self.calls.insert(call, status.to_owned()).is_none(),
                    "announced twice: {params}"
                );
            }
            Some("tool_call_update") => {
                let status = self.calls.get_mut(&call).expect("announced before it is updated");
                assert!(!is_final(status), "an update after the final one: {params}");
                let next = update["status"].as_str().expect("every update has a status");
                assert_ne!(next, "pending", "{params}");
                assert!(!replayed || is_final(next), "progress in a replay: {params}");
                next.clone_into(status);
                for fixed in ["kind", "rawInput", "locations", "name"] {
                    assert_eq!(update.get(fixed), None, "{params}");
                }
            }
            Some("agent_message_chunk" | "agent_thought_chunk" | "session_info_update" | "usage_update") => {}
            Some("user_message_chunk") if replayed => {}
            _ => panic!("not an update that this agent sends live: {params}"),
        }
    }

    /// Nothing more comes.
    #[track_caller]
    pub(crate) fn ended(&self) {
        assert!(self.asked.is_empty(), "never answered: {:?}", self.asked);
    }
}

fn key(session: &Value, call: &Value) -> (String, String) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    (text(session), text(call))
}

fn is_final(status: &str) -> bool {
    matches!(status, "completed" | "failed")
}
