//! The settings, a pure table: the one source of their names, defaults, ranges and documentation.

use std::time::Duration;

use super::{Kind, Setting};

const fn count(key: &'static str, default: u64, min: u64, max: u64, doc: &'static str) -> Setting {
    Setting {
        key,
        kind: Kind::Count { default, min, max },
        project: true,
        doc,
    }
}

const fn millis(key: &'static str, default: u64, min: u64, max: u64, doc: &'static str) -> Setting {
    let kind = Kind::Span {
        default: Duration::from_millis(default),
        min: Duration::from_millis(min),
        max: Duration::from_millis(max),
    };
    Setting {
        key,
        kind,
        project: true,
        doc,
    }
}

const fn texts(key: &'static str, default: &'static [&'static str], doc: &'static str) -> Setting {
    Setting {
        key,
        kind: Kind::Texts { default },
        project: true,
        doc,
    }
}

const fn rules(key: &'static str, doc: &'static str) -> Setting {
    Setting {
        key,
        kind: Kind::Rules,
        project: true,
        doc,
    }
}

/// A setting of the whole process, which no single project may set.
const fn of_process(setting: Setting) -> Setting {
    Setting {
        project: false,
        ..setting
    }
}

const SECOND: u64 = 1_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

pub(crate) static MODEL: Setting = Setting {
    key: "model",
    kind: Kind::Text,
    project: true,
    doc: "The model to use, `provider/model`, where the provider is one of `[providers.…]`.",
};
pub(crate) static MODE: Setting = Setting {
    key: "mode",
    kind: Kind::Word {
        default: "ask",
        words: &["plan", "ask", "accept-edits", "full"],
    },
    project: false,
    doc: "What a tool may do without a question: `plan` changes nothing, `ask` asks before commands and changes of files, \
          `accept-edits` asks before commands, `full` never asks.",
};
pub(crate) static ALLOW: Setting = rules(
    "permissions.allow",
    "Calls that run without a question, such as `bash(npm run test *)`, `edit(src/**)`, `fetch(https://docs.rs/*)` or \
     `mcp__github__*`.",
);
pub(crate) static ASK: Setting = rules(
    "permissions.ask",
    "Calls that are asked about even if they are allowed elsewhere.",
);
pub(crate) static DENY: Setting = rules(
    "permissions.deny",
    "Calls that are denied in every mode, such as `read(~/.ssh/**)`.",
);
pub(crate) static MAX_STEPS: Setting = count(
    "agent.max_steps",
    200,
    1,
    10_000,
    "Model requests of one turn; a turn that needs more ends there.",
);
pub(crate) static MAX_REPEATS: Setting = count(
    "agent.max_repeats",
    8,
    2,
    1_000,
    "How many requests in a row may lead to the very same tool calls although all of them fail; then the turn ends.",
);
pub(crate) static MAX_ATTEMPTS: Setting = count(
    "agent.max_attempts",
    5,
    1,
    20,
    "How often one model request is sent when the provider is overloaded, limits the rate or cannot be reached.",
);
pub(crate) static MAX_RETRY_WAIT: Setting = millis(
    "agent.max_retry_wait",
    2 * MINUTE,
    0,
    HOUR,
    "The longest wait before a request is sent again; a provider that asks for more ends the turn.",
);
pub(crate) static MAX_DEPTH: Setting = count(
    "agent.max_depth",
    2,
    1,
    8,
    "How deep agents may start agents, a workflow's members included; 1 lets only the session's own agent start any.",
);
pub(crate) static COMPACT_AT: Setting = count(
    "context.compact_at",
    85,
    20,
    100,
    "How full the model's context may be, in percent, before the conversation is summed up; at 100 it is summed up only \
     when the provider refuses a request as too long.",
);
pub(crate) static INSTRUCTIONS_BYTES: Setting = count(
    "context.instructions_bytes",
    64 * KIB,
    KIB,
    MIB,
    "The most bytes of instructions (`AGENTS.md`) that an agent is told at the start, and of one file later on.",
);
pub(crate) static SKILLS_BYTES: Setting = count(
    "context.skills_bytes",
    16 * KIB,
    KIB,
    256 * KIB,
    "The most bytes of the list of skills that an agent is told.",
);
pub(crate) static RESULTS_PERCENT: Setting = count(
    "context.results_percent",
    30,
    5,
    90,
    "How much of the model's context the results of one step may take together, in percent; what is too long loses its \
     middle. A context that nobody told the size of is taken for 100000 tokens.",
);
pub(crate) static TOOL_CANCEL_GRACE: Setting = millis(
    "tools.cancel_grace",
    10 * SECOND,
    100,
    10 * MINUTE,
    "How long a cancelled tool may take to stop before its call is failed without it.",
);
pub(crate) static MAX_PARALLEL_CALLS: Setting = count(
    "tools.max_parallel_calls",
    10,
    1,
    100,
    "Tool calls of one step that may run at the same time.",
);
pub(crate) static PROGRESS_TITLE: Setting = count(
    "tools.progress_title_bytes",
    4 * KIB,
    64,
    64 * KIB,
    "The longest title of one progress report.",
);
pub(crate) static PROGRESS_CONTENT: Setting = count(
    "tools.progress_content_bytes",
    64 * KIB,
    KIB,
    MIB,
    "The most text of one progress report.",
);
pub(crate) static READ_LINES: Setting = count(
    "files.read_lines",
    2_000,
    1,
    100_000,
    "The most lines of a file that the model is given at a time.",
);
pub(crate) static READ_BYTES: Setting = count(
    "files.read_bytes",
    64 * KIB,
    KIB,
    4 * MIB,
    "The most text of a file that the model is given at a time.",
);
pub(crate) static LINE_CHARS: Setting = count(
    "files.line_chars",
    2_000,
    80,
    100_000,
    "The most characters of one line that the model is given; the rest of the line is cut off.",
);
pub(crate) static FILE_BYTES: Setting = count(
    "files.max_bytes",
    16 * MIB,
    64 * KIB,
    256 * MIB,
    "The largest file that is edited or written; larger ones are read in parts only.",
);
pub(crate) static DIFF_BYTES: Setting = count(
    "files.diff_bytes",
    64 * KIB,
    0,
    MIB,
    "The most text of either side of a change that a card shows; a larger change is told in words.",
);
pub(crate) static PICTURE_BYTES: Setting = count(
    "files.image_bytes",
    3 * MIB,
    0,
    16 * MIB,
    "The largest picture that `read` shows to the model; larger ones are refused.",
);
pub(crate) static SEARCH_RESULTS: Setting = count(
    "search.results",
    200,
    1,
    10_000,
    "The most paths, or lines with those around them, that one search gives the model.",
);
pub(crate) static SEARCH_LINE: Setting = count(
    "search.line_chars",
    400,
    80,
    10_000,
    "The most characters of a found line that the model is given.",
);
pub(crate) static SEARCH_TIME: Setting = millis(
    "search.time",
    30 * SECOND,
    100,
    10 * MINUTE,
    "How long one search may take; then it gives what it has found.",
);
pub(crate) static FETCH: Setting = of_process(Setting {
    key: "fetch.enabled",
    kind: Kind::Switch,
    project: false,
    doc: "Whether the model may get pages of the public web with `fetch`.",
});
pub(crate) static FETCH_TIME: Setting = millis(
    "fetch.time",
    30 * SECOND,
    SECOND,
    10 * MINUTE,
    "How long getting one page may take, redirects included.",
);
pub(crate) static FETCH_BYTES: Setting = count(
    "fetch.max_bytes",
    2 * MIB,
    KIB,
    16 * MIB,
    "The most bytes that are taken of a page; the rest is not waited for.",
);
pub(crate) static FETCH_REDIRECTS: Setting = count(
    "fetch.max_redirects",
    5,
    0,
    20,
    "How many redirects within its site a page may be behind.",
);
pub(crate) static FETCH_TEXT: Setting = count(
    "fetch.text_chars",
    50_000,
    1_000,
    1_000_000,
    "The most characters of a page that the model is given.",
);
pub(crate) static FETCH_PICTURE: Setting = count(
    "fetch.image_bytes",
    3 * MIB,
    0,
    16 * MIB,
    "The largest picture that `fetch` shows to the model; of larger ones it is told.",
);
pub(crate) static BASH_TIMEOUT: Setting = millis(
    "bash.timeout",
    2 * MINUTE,
    SECOND,
    HOUR,
    "How long a command may run when the model sets no limit; at most `bash.max_timeout`.",
);
pub(crate) static BASH_MAX_TIMEOUT: Setting = millis(
    "bash.max_timeout",
    10 * MINUTE,
    SECOND,
    24 * HOUR,
    "The longest limit the model may set for a command.",
);
pub(crate) static BASH_OUTPUT: Setting = count(
    "bash.output_chars",
    30_000,
    1_000,
    1_000_000,
    "The most characters of a command's output that the model is given; the middle is left out.",
);
pub(crate) static BASH_SPILL: Setting = count(
    "bash.spill_bytes",
    64 * MIB,
    0,
    1_024 * MIB,
    "How much of an output that is too long is kept in a file of the session's, where the model can read on; `0` keeps none.",
);
pub(crate) static BASH_BACKGROUND: Setting = count(
    "bash.max_background",
    8,
    0,
    64,
    "Commands of one agent that may run in the background at the same time.",
);
pub(crate) static BASH_TAIL: Setting = count(
    "bash.tail_bytes",
    8 * KIB,
    256,
    32 * KIB,
    "How much of a running command's output its card shows.",
);
pub(crate) static ENVIRONMENT_PASS: Setting = of_process(texts(
    "environment.pass",
    &[],
    "Variables that commands and servers get although they look like credentials, such as `GITHUB_TOKEN`.",
));
pub(crate) static SANDBOX_MODE: Setting = of_process(Setting {
    key: "sandbox.mode",
    kind: Kind::Word {
        default: "auto",
        words: &["auto", "required", "off"],
    },
    project: false,
    doc: "Whether commands run in the kernel's sandbox: `auto` as far as there is one, `required` not without it, `off` \
          without.",
});
pub(crate) static SANDBOX_NETWORK: Setting = of_process(Setting {
    key: "sandbox.network",
    kind: Kind::Word {
        default: "allow",
        words: &["allow", "deny"],
    },
    project: false,
    doc: "Whether commands in the sandbox may use the network.",
});
pub(crate) static SANDBOX_WRITABLE: Setting = of_process(texts(
    "sandbox.writable",
    &[
        "~/.cache",
        "~/.cargo/registry",
        "~/.cargo/git",
        "~/.cargo/.package-cache",
        "~/.cargo/.package-cache-mutate",
        "~/.cargo/.global-cache",
        "~/.npm",
        "~/.local/share/pnpm",
        "~/.yarn",
        "~/.bun/install",
        "~/go/pkg",
        "~/.gradle",
        "~/.m2/repository",
    ],
    "Where commands in the sandbox may write besides the session's folders and their temporary one; `~/` is the home \
     folder. Of what is not there, the caches of installed package managers are made.",
));
pub(crate) static SCHEMA_TRIES: Setting = count(
    "subagents.schema_tries",
    5,
    1,
    20,
    "Answers in a schema that may fail to fit it, each told its violations, before the agent counts as failed.",
);
pub(crate) static SCHEMA_REMINDERS: Setting = count(
    "subagents.reminders",
    2,
    0,
    10,
    "How often an agent that has finished without its answer in a schema is asked for it.",
);
pub(crate) static WORKFLOW_CONCURRENT: Setting = count(
    "workflow.max_concurrent_agents",
    16,
    1,
    256,
    "Members of one run that work at the same time; more calls wait their turn.",
);
pub(crate) static WORKFLOW_TOTAL: Setting = count(
    "workflow.max_total_agents",
    1_000,
    1,
    100_000,
    "Members that one run may start in all.",
);
pub(crate) static WORKFLOW_ITEMS: Setting = count(
    "workflow.max_items_per_call",
    4_096,
    1,
    65_535,
    "Items of one `parallel` or `pipeline` call.",
);
pub(crate) static WORKFLOW_SLICE: Setting = millis(
    "workflow.max_slice",
    5 * SECOND,
    100,
    5 * MINUTE,
    "How much processor time a script may use without waiting for anything.",
);
pub(crate) static WORKFLOW_SANDBOX: Setting = of_process(Setting {
    key: "workflow.sandbox",
    kind: Kind::Word {
        default: "auto",
        words: &["auto", "required", "off"],
    },
    project: false,
    doc: "Whether the process of a script is shut in by the kernel: `auto` as far as it can, `required` runs no script \
          where something is missing, `off` leaves it at a process of its own and its limits.",
});
pub(crate) static WORKFLOW_CPU: Setting = millis(
    "workflow.max_cpu",
    10 * MINUTE,
    SECOND,
    24 * HOUR,
    "How much CPU time a script may use in all, in whole seconds.",
);
pub(crate) static WORKFLOW_WALL: Setting = millis(
    "workflow.max_run_time",
    6 * HOUR,
    SECOND,
    7 * 24 * HOUR,
    "How long one run may take in all.",
);
pub(crate) static WORKFLOW_AGENT_TIME: Setting = millis(
    "workflow.max_agent_time",
    6 * HOUR,
    SECOND,
    7 * 24 * HOUR,
    "How long one member may take, however busy it is; then it counts as failed and the run goes on.",
);
pub(crate) static WORKFLOW_STALL_AFTER: Setting = millis(
    "workflow.stall_after",
    2 * MINUTE,
    SECOND,
    24 * HOUR,
    "After how long without any activity a run's card shows a member as stalled. Waiting for the user's answer is none.",
);
pub(crate) static WORKFLOW_MAX_STALL: Setting = millis(
    "workflow.max_stall",
    30 * MINUTE,
    0,
    7 * 24 * HOUR,
    "How long a member may go without any activity; then it counts as failed and the run goes on. \"0s\" is no limit.",
);
pub(crate) static WORKFLOW_TOKENS: Setting = of_process(count(
    "workflow.max_tokens",
    0,
    0,
    1_000_000_000_000,
    "Tokens that the members of one run may use, and the agents below them, requests and answers together; then no \
     further one is started. 0 is no limit.",
));
pub(crate) static WORKFLOW_COST: Setting = of_process(count(
    "workflow.max_cost_cents",
    0,
    0,
    100_000_000,
    "US cents that they may cost, as far as prices are known; then no further one is started. 0 is no limit.",
));
pub(crate) static WORKFLOW_NARRATION: Setting = count(
    "workflow.max_narration_per_second",
    100,
    1,
    1_000_000,
    "Phases and log lines of one run that are passed on in a second; of faster ones only the newest are.",
);
pub(crate) static WORKFLOW_GRACE: Setting = millis(
    "workflow.dispose_grace",
    5 * SECOND,
    0,
    MINUTE,
    "How long a cancelled or finished run may take to become quiet before its worker is killed.",
);
pub(crate) static WORKFLOW_HEAP: Setting = count(
    "workflow.max_heap_bytes",
    128 * MIB,
    4 * MIB,
    4_096 * MIB,
    "The memory a script's values may take.",
);
pub(crate) static WORKFLOW_SCRIPT: Setting = count(
    "workflow.max_script_bytes",
    256 * KIB,
    KIB,
    4 * MIB,
    "The longest script.",
);
pub(crate) static WORKFLOW_RESULT: Setting = count(
    "workflow.result_chars",
    50_000,
    1,
    1_000_000,
    "The most characters of a run's return value that the model is given.",
);
pub(crate) static MCP_STARTUP: Setting = millis(
    "mcp.startup_timeout",
    10 * SECOND,
    100,
    25 * SECOND,
    "How long an MCP server may take until it has said what it offers; a slower one is left out of the session.",
);
pub(crate) static MCP_CALL: Setting = millis(
    "mcp.call_timeout",
    10 * MINUTE,
    SECOND,
    24 * HOUR,
    "How long a call of an MCP server's tool may go without an answer and without progress.",
);
pub(crate) static MCP_OUTPUT: Setting = count(
    "mcp.max_output_chars",
    50_000,
    1_000,
    1_000_000,
    "The most characters of an MCP server's result that the model is given; the rest is left out.",
);
pub(crate) static MCP_TOOLS: Setting = count(
    "mcp.max_tools",
    200,
    1,
    10_000,
    "The most tools that all MCP servers of a session may offer together; more are left out.",
);
pub(crate) static LINE_LIMIT: Setting = of_process(count(
    "acp.line_limit_bytes",
    32 * MIB,
    64 * KIB,
    1_024 * MIB,
    "The longest line taken from the client; a longer one is answered with an error.",
));
pub(crate) static IMAGE_BYTES: Setting = of_process(count(
    "acp.image_bytes",
    5 * MIB,
    KIB,
    64 * MIB,
    "The largest picture taken in a prompt.",
));
pub(crate) static FILE_TIMEOUT: Setting = of_process(millis(
    "acp.file_timeout",
    30 * SECOND,
    100,
    10 * MINUTE,
    "How long an editor may take to read or write a file for the agent.",
));
pub(crate) static OUTBOX: Setting = of_process(count(
    "acp.outbox_bytes",
    MIB,
    16 * KIB,
    256 * MIB,
    "How much may wait for a slow client before progress updates are replaced by newer ones.",
));
pub(crate) static MAX_SESSIONS: Setting = of_process(count(
    "acp.max_sessions",
    1_000,
    1,
    100_000,
    "Sessions that may be open at the same time.",
));
pub(crate) static CLOSE_GRACE: Setting = of_process(millis(
    "acp.close_grace",
    4 * SECOND,
    100,
    MINUTE,
    "How long the end of the connection may take; what is not quiet then is given up.",
));
pub(crate) static STALL_TIMEOUT: Setting = of_process(millis(
    "acp.stall_timeout",
    MINUTE,
    100,
    HOUR,
    "How long a request waits for a client that does not read what it was sent; then the client counts as gone.",
));
pub(crate) static MIN_INTERVAL: Setting = of_process(millis(
    "acp.progress.min_interval",
    50,
    0,
    5 * SECOND,
    "The least time between two progress updates of one tool call; `0ms` sends every report.",
));
pub(crate) static STORE_SYNC: Setting = of_process(millis(
    "store.sync_interval",
    200,
    0,
    10 * SECOND,
    "How long what was written to a session's log may wait to be safe from a power failure while nothing waits for it.",
));
pub(crate) static STORE_LINE: Setting = of_process(count(
    "store.max_line_bytes",
    64 * MIB,
    64 * KIB,
    1_024 * MIB,
    "The longest line of a session's log, and so the largest event; a larger one is refused.",
));
pub(crate) static STORE_PAGE_EVENTS: Setting = of_process(count(
    "store.page_events",
    1_024,
    1,
    65_536,
    "How many events of a log are in memory at a time while it is read.",
));
pub(crate) static STORE_PAGE_BYTES: Setting = of_process(count(
    "store.page_bytes",
    4 * MIB,
    4 * KIB,
    1_024 * MIB,
    "How much of a log is in memory at a time while it is read; a larger event is read alone.",
));

/// Every setting, in the order of the documentation.
pub(crate) static SETTINGS: &[&Setting] = &[
    &MODEL,
    &MODE,
    &ALLOW,
    &ASK,
    &DENY,
    &MAX_STEPS,
    &MAX_REPEATS,
    &MAX_ATTEMPTS,
    &MAX_RETRY_WAIT,
    &MAX_DEPTH,
    &COMPACT_AT,
    &RESULTS_PERCENT,
    &INSTRUCTIONS_BYTES,
    &SKILLS_BYTES,
    &TOOL_CANCEL_GRACE,
    &MAX_PARALLEL_CALLS,
    &PROGRESS_TITLE,
    &PROGRESS_CONTENT,
    &READ_LINES,
    &READ_BYTES,
    &LINE_CHARS,
    &FILE_BYTES,
    &DIFF_BYTES,
    &PICTURE_BYTES,
    &SEARCH_RESULTS,
    &SEARCH_LINE,
    &SEARCH_TIME,
    &FETCH,
    &FETCH_TIME,
    &FETCH_BYTES,
    &FETCH_REDIRECTS,
    &FETCH_TEXT,
    &FETCH_PICTURE,
    &BASH_TIMEOUT,
    &BASH_MAX_TIMEOUT,
    &BASH_OUTPUT,
    &BASH_SPILL,
    &BASH_BACKGROUND,
    &BASH_TAIL,
    &ENVIRONMENT_PASS,
    &SANDBOX_MODE,
    &SANDBOX_NETWORK,
    &SANDBOX_WRITABLE,
    &SCHEMA_TRIES,
    &SCHEMA_REMINDERS,
    &WORKFLOW_CONCURRENT,
    &WORKFLOW_TOTAL,
    &WORKFLOW_ITEMS,
    &WORKFLOW_SLICE,
    &WORKFLOW_CPU,
    &WORKFLOW_SANDBOX,
    &WORKFLOW_WALL,
    &WORKFLOW_AGENT_TIME,
    &WORKFLOW_STALL_AFTER,
    &WORKFLOW_MAX_STALL,
    &WORKFLOW_TOKENS,
    &WORKFLOW_COST,
    &WORKFLOW_NARRATION,
    &WORKFLOW_GRACE,
    &WORKFLOW_HEAP,
    &WORKFLOW_SCRIPT,
    &WORKFLOW_RESULT,
    &MCP_STARTUP,
    &MCP_CALL,
    &MCP_OUTPUT,
    &MCP_TOOLS,
    &LINE_LIMIT,
    &IMAGE_BYTES,
    &FILE_TIMEOUT,
    &OUTBOX,
    &MAX_SESSIONS,
    &CLOSE_GRACE,
    &STALL_TIMEOUT,
    &MIN_INTERVAL,
    &STORE_SYNC,
    &STORE_LINE,
    &STORE_PAGE_EVENTS,
    &STORE_PAGE_BYTES,
];
