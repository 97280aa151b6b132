// Generated from the types of weft-types; change those instead.
// Events of types that are not listed may come: a reader passes over those that are marked as ignorable.

/** Who stopped a turn. */
export type AbortCause = "user" | "parent" | "closed";

/** One piece of an assistant message. */
export type AssistantBlock = { "type": "text",
  /** The text. */
  text: string, }
| { "type": "reasoning",
  /** The reasoning. */
  text: string,
  /** What the provider wants back with it, unread, such as a signature. */
  sealed?: unknown, }
| { "type": "tool_call",
  /** The model's id of the call. */
  id: CallId,
  /** The tool's name, as the model wrote it. */
  name: string,
  /** The arguments as the model wrote them; not necessarily JSON. */
  arguments: string, };

/**
 * The id a model gave to one tool call. Unique within its session only: two sessions may well
 * hold equal ids.
 */
export type CallId = string;

/** Why a conversation was summed up. */
export type CompactionReason = "threshold" | "overflow" | "command";

/** One piece of content of a user message or a tool result. */
export type ContentBlock = { "type": "text",
  /** The text, of any length. */
  text: string, }
| { "type": "image",
  /** Its media type, such as `image/png`. */
  mimeType: string,
  /** Its bytes in base64. */
  data: string, };

/**
 * One entry of a session log.
 *
 * As JSON it is an object of `seq`, `time`, `type` and `data`. Fields that a reader does not know are passed over, in
 * the event and in its data.
 */
export type Event = {
  /** Its index in the log: contiguous from 0. At most 2^53 - 1. */
  seq: number,
  /** When it was appended. At most 2^53 - 1. */
  time: UnixMillis, } & ({ "type": "turn/start", "data": {
      /** Its number. */
      turn: number, } }
  | { "type": "user/message", "data": {
      /** The turn. */
      turn: number,
      /** What was said. */
      content: Array<ContentBlock>, } }
  | { "type": "session/title", "data": {
      /** The title, one line. */
      title: string, } }
  | { "type": "session/mode", "data": {
      /** The mode's name: `plan`, `ask`, `accept-edits` or `full`. */
      mode: string, } }
  | { "type": "session/model", "data": {
      /** Provider and model, `provider/model`. */
      model: string, } }
  | { "type": "session/rule", "data": {
      /** The rule, as the configuration writes it. */
      rule: string,
      /** Whether it allows or denies. */
      effect: RuleEffect, } }
  | { "type": "session/notice", "data": {
      /** What, one paragraph. */
      message: string, } }
  | { "type": "session/compaction", "data": {
      /** The turn in which it happened. */
      turn: number,
      /** Why. */
      reason: CompactionReason,
      /** What the model is given in place of the earlier conversation. */
      summary: string,
      /** The number of the first event whose message is still given as it is. */
      keptFrom: number,
      /** The tokens of the context before, if they are known. */
      tokensBefore?: number,
      /** The tokens that making the summary took, if the provider told. */
      usage?: Usage, } }
  | { "type": "tool/context", "data": {
      /** The turn. */
      turn: number,
      /** What they gave. */
      content: Array<ContentBlock>, } }
  | { "type": "step/start", "data": {
      /** The turn. */
      turn: number,
      /** The step. */
      step: number, } }
  | { "type": "request/header", "data": {
      /** Why it was written. */
      reason: HeaderReason,
      /** Provider and model, `provider/model`. */
      model: string,
      /** The system prompt. */
      system: string,
      /** The tools. */
      tools: Array<ToolSpec>, } }
  | { "type": "model/retry", "data": {
      /** The turn. */
      turn: number,
      /** The step. */
      step: number,
      /** The number of the attempt that failed, from 1. */
      attempt: number,
      /** How long the loop waits first. */
      delayMs: number,
      /** Why it failed. */
      message: string, } }
  | { "type": "assistant/message", "data": {
      /** The turn. */
      turn: number,
      /** The step. */
      step: number,
      /** The answer. An interrupted one holds no tool calls. */
      content: Array<AssistantBlock>,
      /** Why the model stopped; absent when it was interrupted. */
      stop?: StopReason,
      /** Tokens, if the provider told. */
      usage?: Usage,
      /** Whether a cancel or an error cut it off. */
      interrupted?: boolean, } }
  | { "type": "tool/call", "data": {
      /** The turn. */
      turn: number,
      /** The step. */
      step: number,
      /** The call. */
      callId: CallId,
      /** The tool's name, as the model wrote it. */
      name: string,
      /** The arguments as the model wrote them. */
      arguments: string,
      /** Whether the user is asked before it may run. */
      needsApproval?: boolean, } }
  | { "type": "tool/result", "data": {
      /** The turn. */
      turn: number,
      /** The step. */
      step: number,
      /** The call. */
      callId: CallId,
      /** What the model gets. */
      content: Array<ContentBlock>,
      /** Set when the call failed. */
      error?: ToolErrorRecord,
      /** What the result's presenter needs besides the content. */
      meta?: unknown, } }
  | { "type": "step/end", "data": {
      /** The turn. */
      turn: number,
      /** The step. */
      step: number, } }
  | { "type": "turn/end", "data": {
      /** The turn. */
      turn: number,
      /** How. */
      reason: TurnEnd, } }
  | { "type": "tool-workflow/run-start", "data": {
      /** The run. */
      runId: RunId,
      /** The workflow's name. */
      name: string, } }
  | { "type": "tool-workflow/agent-start", "data": {
      /** The run. */
      runId: RunId,
      /** The member's number, from 1, in call order. */
      seq: number,
      /** Its label; may be empty. */
      label: string,
      /** Its phase. Absent and empty are two different things, and `null` is neither. */
      phase?: string,
      /** Its session. */
      childId: SessionId, } }
  | { "type": "tool-workflow/agent-end", "data": {
      /** The run. */
      runId: RunId,
      /** The member's number. */
      seq: number,
      /** How it ended. */
      outcome: MemberOutcome, } }
  | { "type": "tool-workflow/run-end", "data": {
      /** The run. */
      runId: RunId,
      /** How it ended. */
      stopReason: RunStop, } });

/** Why a request header was written. */
export type HeaderReason = "initial" | "changed";

/** How one member of a run ended. */
export type MemberOutcome = "completed" | "failed" | "cancelled";

/** What made a session. */
export type Origin = "user" | "subagent";

/** One intended phase. */
export type PhaseMeta = {
  /** Its title; not empty. */
  title: string,
  /** What happens in it. */
  detail?: string,
  /** The subagent provider it intends to use; routes nothing. */
  provider?: string,
  /** The model it intends to use; routes nothing. */
  model?: string, };

/** What a rule of the user's does with the calls that it covers. */
export type RuleEffect = "allow" | "ask" | "deny";

/** The id of one workflow run, minted by the engine, unique for ever. */
export type RunId = string;

/** Which run an observation is about. */
export type RunInfo = {
  /** Its id. */
  id: RunId,
  /** Its metadata. */
  meta: WorkflowMeta, };

/** How a run ended. */
export type RunStop = "completed" | "cancelled" | "error";

/** What stands before a session's events. */
export type SessionHeader = {
  /** The version of the vocabulary that the log was written in. */
  version: number,
  /** The session's id. */
  id: SessionId,
  /** When it was created. */
  createdAt: UnixMillis,
  /** The absolute folder it works in. */
  cwd: string,
  /** What made it. */
  origin: Origin,
  /** The session that started it, for a subagent. */
  parent?: SessionId,
  /** How many parents stand above it; 0 for a user's session. */
  depth: number,
  /** The name its starter gave it. */
  label?: string,
  /** The workflow run it is a member of. */
  runId?: RunId,
  /** Its member number in that run. */
  runSeq?: number, };

/** The id of a session, durable and shown to clients. */
export type SessionId = string;

/** Why a model stopped. */
export type StopReason = "end_turn" | "tool_use" | "max_tokens" | "refusal";

/** Why a tool call failed. */
export type ToolErrorRecord = {
  /** The message, without a prefix. */
  message: string,
  /** A code such as `INVALID_ARGS`, for failures of the registry's own making. */
  code?: string, };

/** What a model is told of one tool. */
export type ToolSpec = {
  /** The name to call it by. */
  name: string,
  /** What it does and how to use it. */
  description: string,
  /** JSON Schema (draft 2020-12) of its arguments, an object schema. */
  parameters: unknown, };

/** How a turn ended. */
export type TurnEnd = { "kind": "completed" }
| { "kind": "aborted",
  /** By whom. */
  by: AbortCause, }
| { "kind": "error",
  /** Why, for the user. */
  message: string, }
| { "kind": "max_tokens" }
| { "kind": "max_steps" }
| { "kind": "refusal" }
| { "kind": "interrupted" };

/** Milliseconds since the Unix epoch. Order in a log is by `seq`, never by time: clocks jump. */
export type UnixMillis = number;

/** Tokens of one model request. */
export type Usage = {
  /** All tokens of the request, cached ones included. */
  inputTokens: number,
  /** All tokens of the answer, reasoning included. */
  outputTokens: number,
  /** Those of the request that came from the provider's cache. */
  cachedInputTokens?: number,
  /** Those of the answer that were reasoning. */
  reasoningTokens?: number, };

/** What a workflow says about itself. */
export type WorkflowMeta = {
  /** Its name; not empty. */
  name: string,
  /** What it does; not empty. */
  description: string,
  /** When to use it. */
  whenToUse?: string,
  /** The phases it intends to have: vocabulary for people, compared with nothing. */
  phases?: Array<PhaseMeta>, };

/** One thing that happened in a run. Observed only: never stored, never shown to a model. */
export type WorkflowObservation = {
  /** The run. */
  run: RunInfo, } & ({ "type": "workflow/start" }
  | { "type": "workflow/phase", "data": {
      /** Its title, as the script gave it. */
      title: string, } }
  | { "type": "workflow/log", "data": {
      /** One line as a rule; as the script gave it. */
      message: string, } }
  | { "type": "workflow/agent-start", "data": {
      /** Its number, from 1, in call order; numbers of refused starts are missing. */
      seq: number,
      /** Its label; may be empty. */
      label: string,
      /** Its phase. Absent and empty are two different things. */
      phase?: string,
      /** Its session. */
      childId: SessionId, } }
  | { "type": "workflow/agent-end", "data": {
      /** Its number. */
      seq: number,
      /** Its label, as at its start. */
      label: string,
      /** Its phase, as at its start. */
      phase?: string,
      /** Its session, as at its start. */
      childId: SessionId,
      /** How it ended. */
      outcome: MemberOutcome, } }
  | { "type": "workflow/end", "data": {
      /** How. */
      stop: RunStop,
      /** Why it did not complete; present exactly if it did not. */
      error?: string,
      /** How many members the script asked for and the engine accepted. */
      agentsStarted: number, } });
