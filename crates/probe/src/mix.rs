//! Turns as a session of real work has them: texts of 200 to 2,000 bytes, tool calls and their results, and now and
//! then a workflow with its records. The same turns every time.

use serde_json::json;
use weft_types::{
    AssistantBlock, CallId, ContentBlock, EventBody, HeaderReason, MemberOutcome, Origin, RunId, RunStop,
    SessionHeader, SessionId, StopReason, ToolSpec, TurnEnd, UnixMillis, Usage,
};

/// Every so many turns have a workflow.
const WORKFLOW_EVERY: u32 = 10;

/// Members of a workflow.
const MEMBERS: u64 = 8;

/// Makes the turns of one session, one after the other.
pub(crate) struct Mix {
    dice: Dice,
    turn: u32,
    calls: u64,
}

/// One turn.
#[derive(Default)]
pub(crate) struct Turn {
    /// Its events.
    pub(crate) events: Vec<EventBody>,
    /// How many of the events are appended when an agent waits until they are durable: before each request to the model
    /// and before each tool's body. In ascending order.
    pub(crate) check_points: Vec<usize>,
}

/// The header of a session of this mix.
pub(crate) fn header(id: SessionId, cwd: String) -> SessionHeader {
    SessionHeader {
        version: SessionHeader::VERSION,
        id,
        created_at: UnixMillis(1_700_000_000_000),
        cwd,
        origin: Origin::User,
        parent: None,
        depth: 0,
        label: None,
        run_id: None,
        run_seq: None,
    }
}

impl Turn {
    fn push(&mut self, event: EventBody) {
        self.events.push(event);
    }

    fn check_point(&mut self) {
        self.check_points.push(self.events.len());
    }
}

impl Mix {
    /// The mix of the session number `seed`.
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            dice: Dice::new(seed),
            turn: 0,
            calls: 0,
        }
    }

    /// The next turn: a question, one to four steps, an answer.
    pub(crate) fn turn(&mut self) -> Turn {
        self.turn += 1;
        let (turn, last) = (self.turn, 1 + self.dice.below(4) as u32);
        let mut made = Turn::default();
        made.push(EventBody::TurnStart { turn });
        let content = vec![ContentBlock::text(self.dice.text())];
        made.push(EventBody::UserMessage { turn, content });
        for step in 1..=last {
            made.push(EventBody::StepStart { turn, step });
            if (turn, step) == (1, 1) {
                made.push(request_header(&mut self.dice));
            }
            made.check_point();
            self.answer(&mut made, (turn, step), step < last);
            made.push(EventBody::StepEnd { turn, step });
        }
        let reason = TurnEnd::Completed;
        made.push(EventBody::TurnEnd { turn, reason });
        if turn == 1 {
            let title = "Mend the store's index".to_owned();
            made.push(EventBody::SessionTitle { title });
        }
        made
    }

    /// An answer; one that is not the last calls one to three tools.
    fn answer(&mut self, made: &mut Turn, (turn, step): (u32, u32), goes_on: bool) {
        let is_workflow = goes_on && step == 1 && turn.is_multiple_of(WORKFLOW_EVERY);
        let calls = match (goes_on, is_workflow) {
            (false, _) => Vec::new(),
            (true, true) => vec![self.workflow_call()],
            (true, false) => (0..=self.dice.below(3)).map(|_| self.shell_call()).collect(),
        };
        let mut content = vec![AssistantBlock::Text { text: self.dice.text() }];
        content.extend(calls.iter().cloned().map(AssistantBlock::from));
        made.push(EventBody::AssistantMessage {
            turn,
            step,
            content,
            stop: Some(if goes_on {
                StopReason::ToolUse
            } else {
                StopReason::EndTurn
            }),
            usage: Some(Usage {
                input_tokens: 12_000 + self.dice.below(9_000),
                output_tokens: self.dice.below(900),
                ..Usage::default()
            }),
            interrupted: false,
        });
        for Call { id, name, arguments } in calls {
            made.push(EventBody::ToolCall {
                turn,
                step,
                call_id: id.clone(),
                name: name.to_owned(),
                arguments,
                needs_approval: false,
            });
            made.check_point();
            if is_workflow {
                self.records(made, &RunId::new(format!("run-{id}")));
            }
            made.push(EventBody::ToolResult {
                turn,
                step,
                call_id: id,
                content: vec![ContentBlock::text(self.dice.text()), ContentBlock::text("exit code 0")],
                error: None,
                meta: (!is_workflow).then(|| json!({ "exitCode": 0 })),
            });
        }
    }

    fn records(&mut self, made: &mut Turn, run: &RunId) {
        let run_id = || run.clone();
        let name = "review-change".to_owned();
        made.push(EventBody::WorkflowRunStart { run_id: run_id(), name });
        made.events
            .extend((1..=MEMBERS).map(|seq| EventBody::WorkflowAgentStart {
                run_id: run_id(),
                seq,
                label: format!("review part {seq}"),
                phase: Some("Review".to_owned()),
                child_id: SessionId::new(format!("{run}-member-{seq}")),
            }));
        made.events.extend((1..=MEMBERS).map(|seq| EventBody::WorkflowAgentEnd {
            run_id: run_id(),
            seq,
            outcome: MemberOutcome::Completed,
        }));
        let stop_reason = RunStop::Completed;
        made.push(EventBody::WorkflowRunEnd {
            run_id: run_id(),
            stop_reason,
        });
    }

    fn shell_call(&mut self) -> Call {
        let command = format!("rg --line-number '{}' crates | head -40", self.dice.word());
        self.call("bash", json!({ "command": command }).to_string())
    }

    fn workflow_call(&mut self) -> Call {
        let script = "phase('Review');\nreturn await parallel(args.map((part) => () => agent(`Review ${part}`)));\n";
        let meta = json!({ "name": "review-change", "description": "Reviews a change part by part" });
        let arguments = json!({ "meta": meta, "script": script, "args": [self.dice.word()] });
        self.call("workflow", arguments.to_string())
    }

    fn call(&mut self, name: &'static str, arguments: String) -> Call {
        self.calls += 1;
        let id = CallId::new(format!("call_{:08x}", self.calls));
        Call { id, name, arguments }
    }
}

#[derive(Clone)]
struct Call {
    id: CallId,
    name: &'static str,
    arguments: String,
}

impl From<Call> for AssistantBlock {
    fn from(Call { id, name, arguments }: Call) -> Self {
        let name = name.to_owned();
        Self::ToolCall { id, name, arguments }
    }
}

fn request_header(dice: &mut Dice) -> EventBody {
    let tool = |name: &str, description: String| ToolSpec {
        name: name.to_owned(),
        description,
        parameters: json!({ "type": "object", "properties": { "command": { "type": "string" } } }),
    };
    EventBody::RequestHeader {
        reason: HeaderReason::Initial,
        model: "scripted/bench".to_owned(),
        system: dice.text(),
        tools: vec![tool("bash", dice.text()), tool("workflow", dice.text())],
    }
}

/// The same numbers every time (xorshift).
pub(crate) struct Dice(u64);

/// What texts are made of: prose, code that JSON has to escape, and letters of more than one byte.
const WORDS: [&str; 16] = [
    "the",
    "index",
    "is",
    "rebuilt",
    "when",
    "it is stale,",
    "\n",
    "\"quoted\"",
    "fn open(&self) -> Result<()> {\n",
    "    self.read()?;\n",
    "C:\\path",
    "naïve",
    "→",
    "of",
    "a log.",
    "`append`",
];

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(2).wrapping_add(1))
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        (self.next() >> 11) % end
    }

    fn word(&mut self) -> &'static str {
        WORDS[self.below(WORDS.len() as u64) as usize]
    }

    /// 200 to 2,000 bytes, and the rest of a word.
    pub(crate) fn text(&mut self) -> String {
        let bytes = 200 + self.below(1_800) as usize;
        let mut text = String::with_capacity(bytes + 40);
        while text.len() < bytes {
            text.push_str(self.word());
            text.push(' ');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_turns_are_the_same_every_time_and_different_for_each_session() {
        let turns = |seed| {
            let mut mix = Mix::new(seed);
            (0..20).flat_map(|_| mix.turn().events).collect::<Vec<_>>()
        };
        assert_eq!(turns(1), turns(1));
        assert_ne!(turns(1), turns(2));
    }

    #[test]
    fn there_is_a_check_point_before_each_request_and_each_body() {
        let turn = Mix::new(3).turn();
        let owed =
            |event: &&EventBody| matches!(event, EventBody::AssistantMessage { .. } | EventBody::ToolResult { .. });
        assert_eq!(turn.check_points.len(), turn.events.iter().filter(owed).count());
        for at in turn.check_points {
            let before = &turn.events[at - 1];
            let is_check_point = matches!(
                before,
                EventBody::StepStart { .. } | EventBody::RequestHeader { .. } | EventBody::ToolCall { .. }
            );
            assert!(is_check_point, "{before:?}");
        }
    }
}
