// Takes an agent through a task with the TypeScript SDK.
//
//     node drive.mjs TASK AGENT [ARGUMENT...]
//
// TASK is a JSON file:
// - `cwd`: the session's folder;
// - `prompts`: each with its `text`; one with `cancelAt` is cancelled once so many calls have shown progress;
// - `unsaved`: the texts of files that are open and not saved, by path;
// - `mcpServers`: MCP servers as they go to the agent; one with `serve`, a program and its arguments, is started here
//   and reached at the URL that it prints.
//
// The client lends its files and says that it has terminals. Prints each update, each request of the agent for a file,
// and the answer to each prompt, as the SDK handed them out: one JSON object a line, in the form they have on the wire.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { createInterface } from "node:readline";
import { Readable, Writable } from "node:stream";

import * as acp from "@agentclientprotocol/sdk";

const LIMIT_MS = 60_000;
const [file, command, ...args] = process.argv.slice(2);
const task = JSON.parse(await readFile(file, "utf8"));
const show = (message) => console.log(JSON.stringify(message));

const started = [];
const start = (program, programArgs) => {
  const child = spawn(program, programArgs, { stdio: ["pipe", "pipe", "inherit"] });
  started.push(child);
  return child;
};
const limit = setTimeout(() => {
  console.error(`no end after ${LIMIT_MS} ms`);
  for (const child of started) child.kill();
  process.exit(1);
}, LIMIT_MS);

async function serverOf({ serve, ...server }) {
  if (!serve) return server;
  const [line] = await once(createInterface(start(serve[0], serve.slice(1)).stdout), "line");
  return { ...server, url: line };
}
const mcpServers = await Promise.all(task.mcpServers.map(serverOf));

// The calls that have shown progress since the last prompt, and what is done about it.
const running = new Set();
let onProgress = () => {};
const unsaved = new Map(Object.entries(task.unsaved));

const editor = acp
  .client({ name: "weft-typescript-driver" })
  .onNotification(acp.methods.client.session.update, ({ params }) => {
    show({ method: "session/update", params });
    const { sessionUpdate, status, content, toolCallId } = params.update;
    if (sessionUpdate === "tool_call_update" && status === "in_progress" && content) {
      running.add(toolCallId);
      onProgress();
    }
  })
  .onRequest(acp.methods.client.session.requestPermission, ({ params }) => {
    const { optionId } = params.options.find((option) => option.kind === "allow_once");
    return { outcome: { outcome: "selected", optionId } };
  })
  .onRequest(acp.methods.client.fs.readTextFile, async ({ params }) => {
    show({ method: "fs/read_text_file", params });
    if (!unsaved.has(params.path) && !existsSync(params.path)) throw acp.RequestError.resourceNotFound(params.path);
    const text = unsaved.get(params.path) ?? (await readFile(params.path, "utf8"));
    const first = (params.line ?? 1) - 1;
    return { content: text.split(/(?<=\n)/).slice(first, first + (params.limit ?? Infinity)).join("") };
  })
  .onRequest(acp.methods.client.fs.writeTextFile, async ({ params }) => {
    show({ method: "fs/write_text_file", params });
    await mkdir(dirname(params.path), { recursive: true });
    await writeFile(params.path, params.content);
    unsaved.delete(params.path);
    return {};
  });

const agent = start(command, args);
const stream = acp.ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout));
await editor.connectWith(stream, async (connection) => {
  await connection.request(acp.methods.agent.initialize, {
    protocolVersion: acp.PROTOCOL_VERSION,
    clientInfo: { name: "weft-typescript-driver", version: "1" },
    clientCapabilities: { fs: { readTextFile: true, writeTextFile: true }, terminal: true },
  });
  const { sessionId } = await connection.request(acp.methods.agent.session.new, { cwd: task.cwd, mcpServers });
  for (const { text, cancelAt } of task.prompts) {
    running.clear();
    onProgress = () => {
      if (running.size === cancelAt) connection.notify(acp.methods.agent.session.cancel, { sessionId });
    };
    const content = [{ type: "text", text }];
    const { stopReason } = await connection.request(acp.methods.agent.session.prompt, { sessionId, prompt: content });
    show({ result: { stopReason } });
  }
});

agent.stdin.end();
const [status] = await once(agent, "exit");
for (const child of started) child.kill();
clearTimeout(limit);
process.exit(status ?? 1);
