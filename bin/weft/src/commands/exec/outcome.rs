//! What became of a turn: the exit code, the last line of JSON, and the words on stderr.

use std::sync::Arc;

use serde_json::{Value, json};
use weft_agent::Agent;
use weft_types::{AssistantBlock, Event, EventBody, RunId, RunStop, SessionId, TurnEnd, Usage};

use super::denier::Denied;

/// How the turn ended, or what ended it.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Ending {
    /// By itself.
    Turn(TurnEnd),
    /// With an answer in the schema that was asked for.
    Answered(Value),
    /// Without one.
    Unfit(String),
    /// With the result of the call that it was for, or why that failed.
    Called(Result<Value, String>),
    /// A signal came; `stuck` where the turn did not end within its grace.
    Signal { signal: u8, stuck: bool },
    /// The time was over.
    TimedOut { stuck: bool },
    /// Nobody reads stdout any more.
    Unread { stuck: bool },
}

impl Ending {
    /// The same, where the turn did not end within its grace.
    pub(super) fn stuck(self) -> Self {
        match self {
            Self::Signal { signal, .. } => Self::Signal { signal, stuck: true },
            Self::TimedOut { .. } => Self::TimedOut { stuck: true },
            Self::Unread { .. } => Self::Unread { stuck: true },
            ended => ended,
        }
    }

    /// Whether the agent cannot be waited for.
    pub(super) fn is_stuck(&self) -> bool {
        match self {
            Self::Turn(_) | Self::Answered(_) | Self::Unfit(_) | Self::Called(_) => false,
            Self::Signal { stuck, .. } | Self::TimedOut { stuck } | Self::Unread { stuck } => *stuck,
        }
    }
}

/// All that is told of a turn at its end.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) session: SessionId,
    pub(super) ending: Ending,
    /// The last text that the model said in the turn; empty if there is none.
    pub(super) text: String,
    pub(super) usage: Option<Usage>,
    pub(super) denied: Vec<Denied>,
    /// The workflow run of the turn, the last one if there were several.
    pub(super) run: Option<RunId>,
    /// Whether it completed, so that nothing is left to resume.
    is_run_done: bool,
}

impl Outcome {
    pub(super) fn of(agent: &Agent, ending: Ending, denied: Vec<Denied>) -> Self {
        let events = agent.session().last_turn();
        let answers: Vec<_> = events
            .iter()
            .filter_map(|event| match &event.body {
                EventBody::AssistantMessage { content, usage, .. } => Some((text_of(content), *usage)),
                _ => None,
            })
            .collect();
        let usage = answers.iter().filter_map(|(_, usage)| *usage).reduce(sum);
        let text = answers.into_iter().rev().map(|(text, _)| text);
        let run = events.iter().rev().find_map(|event| match &event.body {
            EventBody::WorkflowRunStart { run_id, .. } => Some(run_id.clone()),
            _ => None,
        });
        Self {
            session: agent.session().id().clone(),
            ending,
            text: text
                .into_iter()
                .find(|text| !text.trim().is_empty())
                .unwrap_or_default(),
            usage,
            denied,
            is_run_done: run.as_ref().is_some_and(|run| is_done(run, &events)),
            run,
        }
    }

    /// What the process ends with.
    pub(super) fn code(&self) -> u8 {
        match &self.ending {
            Ending::Turn(TurnEnd::Completed) | Ending::Answered(_) | Ending::Called(Ok(_)) => 0,
            Ending::Unfit(_) => 4,
            Ending::Turn(TurnEnd::MaxTokens | TurnEnd::MaxSteps | TurnEnd::Refusal) => 3,
            Ending::Turn(TurnEnd::Aborted { .. } | TurnEnd::Interrupted | TurnEnd::Error { .. })
            | Ending::Called(Err(_)) => 1,
            Ending::TimedOut { .. } => 124,
            Ending::Signal { signal, .. } => 128 + signal,
            Ending::Unread { .. } => crate::SIGPIPE,
        }
    }

    /// What is printed as the answer: the whole of it, or as far as the model came.
    pub(super) fn answer(&self) -> Option<String> {
        match (&self.ending, self.code()) {
            (Ending::Answered(answer), _) => Some(answer.to_string()),
            (Ending::Called(Ok(value)), _) => Some(match &value["result"] {
                Value::String(text) => text.clone(),
                value => format!("{value:#}"),
            }),
            (Ending::Called(_), _) => None,
            (_, 0 | 3) if !self.text.trim().is_empty() => Some(self.text.trim_end().to_owned()),
            _ => None,
        }
    }

    /// Why there is no answer, or none that is whole.
    pub(super) fn problem(&self) -> Option<String> {
        Some(match &self.ending {
            Ending::Turn(TurnEnd::Completed) | Ending::Answered(_) | Ending::Called(Ok(_)) | Ending::Unread { .. } => {
                return None;
            }
            Ending::Called(Err(problem)) => problem.clone(),
            Ending::Unfit(problem) => problem.clone(),
            Ending::Turn(TurnEnd::Error { message }) => format!("{message}{}", self.resuming()),
            Ending::Turn(TurnEnd::MaxTokens) => "the answer ended at the model's token limit".to_owned(),
            Ending::Turn(TurnEnd::MaxSteps) => {
                "the turn ended at agent.max_steps\nhint: --max-steps N, or --continue to go on".to_owned()
            }
            Ending::Turn(TurnEnd::Refusal) => "the model refused".to_owned(),
            Ending::Turn(TurnEnd::Aborted { .. } | TurnEnd::Interrupted) => "the turn was cancelled".to_owned(),
            Ending::TimedOut { .. } => {
                format!(
                    "the turn was not done within --timeout and was cancelled\nhint: weft exec --session {} goes on{}",
                    self.session,
                    self.resuming()
                )
            }
            Ending::Signal { stuck: false, .. } => format!("cancelled; session {}{}", self.session, self.resuming()),
            Ending::Signal { stuck: true, .. } => {
                format!("ended without waiting; session {}{}", self.session, self.resuming())
            }
        })
    }

    /// How to go on with the workflow run that the end caught at work.
    fn resuming(&self) -> String {
        let run = self.run.as_ref().filter(|_| !self.is_run_done);
        run.map(|run| format!("\nhint: weft workflow resume {run}"))
            .unwrap_or_default()
    }

    /// What a run has to say beside its value.
    pub(super) fn notes(&self) -> impl Iterator<Item = &str> {
        let notes = match &self.ending {
            Ending::Called(Ok(value)) => value["notes"].as_array(),
            _ => None,
        };
        notes.into_iter().flatten().filter_map(Value::as_str)
    }

    /// The last line of `--json`.
    pub(super) fn to_json(&self) -> Value {
        let denied = self.denied.iter().map(|denied| {
            let Denied { call_id, tool, title } = denied;
            json!({"callId": call_id, "tool": tool, "title": title})
        });
        let mut data = json!({
            "session": self.session,
            "exitCode": self.code(),
            "reason": self.reason(),
            "text": self.text,
            "denied": denied.collect::<Vec<_>>(),
        });
        if let Ending::Answered(answer) = &self.ending {
            data["output"] = answer.clone();
        }
        if let Ending::Called(Ok(value)) = &self.ending {
            data["output"] = value["result"].clone();
            data["notes"] = json!(self.notes().collect::<Vec<_>>());
        }
        if let Some(run) = &self.run {
            data["run"] = json!(run);
        }
        if let Some(usage) = &self.usage {
            data["usage"] = json!(usage);
        }
        json!({"type": "result", "data": data})
    }

    /// How the turn ended, in the log's words where it has some.
    fn reason(&self) -> Value {
        match &self.ending {
            Ending::Turn(end) => json!(end),
            Ending::Answered(_) | Ending::Called(Ok(_)) => json!(TurnEnd::Completed),
            Ending::Called(Err(problem)) => json!({"kind": "failed", "message": problem}),
            Ending::Unfit(problem) => json!({"kind": "unfit", "message": problem}),
            Ending::TimedOut { .. } => json!({"kind": "timed_out"}),
            Ending::Signal { signal, .. } => json!({"kind": "signal", "signal": signal}),
            Ending::Unread { .. } => json!({"kind": "unread"}),
        }
    }
}

fn is_done(run: &RunId, events: &[Arc<Event>]) -> bool {
    let ends_it = |event: &Arc<Event>| matches!(&event.body, EventBody::WorkflowRunEnd { run_id, stop_reason: RunStop::Completed } if run_id == run);
    events.iter().any(ends_it)
}

fn text_of(content: &[AssistantBlock]) -> String {
    let texts = content.iter().filter_map(|block| match block {
        AssistantBlock::Text { text } => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

fn sum(one: Usage, other: Usage) -> Usage {
    Usage {
        input_tokens: one.input_tokens.saturating_add(other.input_tokens),
        output_tokens: one.output_tokens.saturating_add(other.output_tokens),
        cached_input_tokens: one.cached_input_tokens.saturating_add(other.cached_input_tokens),
        reasoning_tokens: one.reasoning_tokens.saturating_add(other.reasoning_tokens),
    }
}
