// Takes an agent through one prompt with the TypeScript SDK.
//
//     node drive.mjs FOLDER PROMPT AGENT [ARGUMENT...]
//
// Prints each update, and at last the answer to the prompt, as the SDK handed them out: one JSON object a
// line, in the form they have on the wire.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { Readable, Writable } from "node:stream";

import * as acp from "@agentclientprotocol/sdk";

const LIMIT_MS = 60_000;
const [cwd, prompt, command, ...args] = process.argv.slice(2);
const show = (message) => console.log(JSON.stringify(message));

const agent = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
const limit = setTimeout(() => {
  console.error(`no end after ${LIMIT_MS} ms`);
  agent.kill();
  process.exit(1);
}, LIMIT_MS);

const editor = acp
  .client({ name: "weft-typescript-driver" })
  .onNotification(acp.methods.client.session.update, ({ params }) => show({ method: "session/update", params }))
  .onRequest(acp.methods.client.session.requestPermission, ({ params }) => {
    const { optionId } = params.options.find((option) => option.kind === "allow_once");
    return { outcome: { outcome: "selected", optionId } };
  });

const stream = acp.ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout));
await editor.connectWith(stream, async (connection) => {
  await connection.request(acp.methods.agent.initialize, {
    protocolVersion: acp.PROTOCOL_VERSION,
    clientInfo: { name: "weft-typescript-driver", version: "1" },
    clientCapabilities: {},
  });
  const { sessionId } = await connection.request(acp.methods.agent.session.new, { cwd, mcpServers: [] });
  const content = [{ type: "text", text: prompt }];
  const { stopReason } = await connection.request(acp.methods.agent.session.prompt, { sessionId, prompt: content });
  show({ result: { stopReason } });
});

agent.stdin.end();
const [status] = await once(agent, "exit");
clearTimeout(limit);
process.exit(status ?? 1);
