//! What the engine and a worker tell each other.
//!
//! The engine sends [`ToWorker::Setup`] and [`ToWorker::Load`], to which the worker answers [`FromWorker::Loaded`] or
//! [`FromWorker::Rejected`]; then [`ToWorker::Go`] or [`ToWorker::Cancel`], then a reply for each call, in any order.
//! The worker sends calls with growing numbers, requests for saved workflows, one after the other, narration, and at
//! last [`FromWorker::Finished`], after which it exits.
//!
//! The enums are tagged from outside: the other representations of serde buffer what they read, which raw JSON
//! values do not survive.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use weft_workflow::RunOrigin;

use crate::sandbox::{SandboxMode, SandboxReport};
use crate::script::Position;

/// The largest frame a worker reads. It has to trust its parent with more than it may send itself, since the setup
/// that tells its limits is a frame as well.
pub(crate) const WORKER_READ_LIMIT: usize = 256 * 1024 * 1024;

/// Exit status of a worker that ended itself because a built-in function did not stop.
pub(crate) const EXIT_STUCK: u8 = 70;

/// A message to a worker.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum ToWorker {
    /// The first frame: limits, which are in force before any byte of a script is read.
    Setup(Setup),
    /// The script, to be parsed.
    Load(Load),
    /// Run it.
    Go(Go),
    /// The outcome of a call. One to an unknown number is ignored.
    Reply {
        /// The call's number.
        seq: u64,
        /// Its outcome.
        reply: Reply,
        /// How many tokens the run's members have used by then.
        #[serde(default)]
        spent: u64,
    },
    /// The answer to [`FromWorker::Saved`].
    Saved(Saved),
    /// Stop. In place of `Go`, the script never runs.
    Cancel,
}

/// The limits of one worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Setup {
    pub(crate) sandbox: SandboxMode,
    /// 0 for none.
    pub(crate) max_address_space_bytes: u64,
    pub(crate) max_cpu_seconds: u64,
    pub(crate) niceness: u8,
    pub(crate) max_heap_bytes: usize,
    pub(crate) max_stack_bytes: usize,
    pub(crate) max_slice_ms: u64,
    pub(crate) max_frame_bytes: usize,
    pub(crate) max_calls_in_flight: usize,
    pub(crate) max_items_per_call: usize,
    pub(crate) max_log_bytes: usize,
    pub(crate) max_phase_chars: usize,
    pub(crate) max_narration_per_second: u32,
    pub(crate) max_prompt_bytes: usize,
    pub(crate) max_options_bytes: usize,
    pub(crate) max_result_bytes: usize,
    pub(crate) max_args_bytes: usize,
}

/// The script.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Load {
    /// What stack traces call the script.
    pub(crate) file: String,
    /// The body, without its metadata but with its lines as written.
    pub(crate) body: String,
}

/// A saved workflow that the script asked for.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Saved {
    /// Its script, to be parsed.
    Script(Load),
    /// It cannot be had, for this reason.
    Refused(String),
}

/// What the script is run with.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Go {
    pub(crate) args: Args,
    pub(crate) max_total_agents: u64,
    /// How many tokens the run's members may use.
    pub(crate) max_tokens: Option<u64>,
    pub(crate) origin: RunOrigin,
}

/// The `args`. No option, since one cannot tell an absent value from `null`.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Args {
    Absent,
    Json(Box<RawValue>),
}

/// How a call of `agent()` came out.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Reply {
    /// The answer is a text.
    Text(String),
    /// The answer is a JSON value.
    Value(Box<RawValue>),
    /// There is no answer: the script gets `null`.
    Nothing,
    /// The member could not be started.
    StartFailed(String),
    /// The run has used up what it may spend.
    Exhausted(String),
    /// The member's result could not be had.
    ResultFailed(String),
}

/// A message from a worker.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum FromWorker {
    /// The script parses. Tells how far the worker is shut in, which it is by then.
    Loaded(SandboxReport),
    /// The script does not parse.
    Rejected(Rejection),
    /// The script called `agent()`.
    Call(Call),
    /// The script wants to run the saved workflow of this name. Until it is answered, nothing more is asked.
    Saved {
        /// The name.
        name: String,
    },
    /// The script called `phase()`.
    Phase {
        /// The phase.
        title: String,
    },
    /// The script called `log()`.
    Log {
        /// The line.
        message: String,
        /// How many lines before it were left out.
        left_out: u64,
    },
    /// The last frame.
    Finished(Finished),
}

/// Why a script does not parse.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Rejection {
    /// The engine's own message.
    pub(crate) message: String,
    /// Where, if it tells.
    pub(crate) position: Option<Position>,
}

/// A call of `agent()`, after all checks.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Call {
    pub(crate) seq: u64,
    /// The line of the script that makes it, if that can be told.
    pub(crate) line: Option<usize>,
    pub(crate) label: String,
    pub(crate) phase: Option<String>,
    pub(crate) prompt: String,
    pub(crate) schema: Option<Box<RawValue>>,
    pub(crate) provider: Option<String>,
    pub(crate) model: Option<String>,
    #[serde(default)]
    pub(crate) tools: Option<Vec<String>>,
}

/// How the script ended.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Finished {
    pub(crate) outcome: Outcome,
    /// The code of the error that it failed with, if that was one of the hooks' own.
    #[serde(default)]
    pub(crate) code: Option<String>,
    /// How many calls of `agent()` were accepted.
    pub(crate) accepted: u64,
    /// The labels of those that were not handed over any more, the first few of them.
    pub(crate) unsent: Vec<String>,
    /// How many there were.
    pub(crate) unsent_total: u64,
    /// What the author of the script should know.
    pub(crate) notes: Vec<String>,
}

/// In which way the script ended.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Outcome {
    /// It returned this.
    Returned(Box<RawValue>),
    /// It failed.
    Failed(String),
    /// It was told to stop and did.
    Cancelled,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frames::{Decoder, encode};

    #[test]
    fn raw_values_cross_as_they_are_however_deep() {
        let deep = format!("{}{}", "[".repeat(5_000), "]".repeat(5_000));
        let value: Box<RawValue> = serde_json::from_str(&deep).expect("brackets are JSON");
        let reply = Reply::Value(value);
        let frame = encode(
            &ToWorker::Reply {
                seq: 1,
                reply,
                spent: 0,
            },
            WORKER_READ_LIMIT,
        )
        .expect("small");
        let mut decoder = Decoder::new(WORKER_READ_LIMIT);
        decoder.push(&frame);
        let message = decoder.next().expect("well formed").expect("whole");
        let ToWorker::Reply {
            reply: Reply::Value(value),
            ..
        } = message
        else {
            panic!("{message:?}");
        };
        assert_eq!(value.get(), deep);
    }
}
