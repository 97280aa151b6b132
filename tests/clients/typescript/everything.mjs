// The MCP server of the protocol's own authors that does a bit of everything, with a record of what it is sent.
//
//     node everything.mjs stdio RECORD
//     node everything.mjs http RECORD
//
// Over HTTP it takes a free port of the loopback and prints its URL. RECORD gets the messages, one a line.

import { appendFileSync } from "node:fs";
import http from "node:http";

const [transport, record] = process.argv.slice(2);

// Keeps what is read from the stream before anybody else sees it; a message over HTTP has no newline of its own.
function keep(stream, end) {
  const push = stream.push;
  stream.push = function (piece, ...rest) {
    appendFileSync(record, piece ?? end);
    return push.call(this, piece, ...rest);
  };
}

if (transport === "stdio") {
  keep(process.stdin, "");
  await import("@modelcontextprotocol/server-everything/dist/transports/stdio.js");
} else {
  const { emit, listen } = http.Server.prototype;
  http.Server.prototype.listen = function (port, ...rest) {
    return listen.call(this, port, "127.0.0.1", ...rest);
  };
  http.Server.prototype.emit = function (event, request, ...rest) {
    if (event === "request" && request.method === "POST") keep(request, "\n");
    if (event === "listening") process.stdout.write(`http://127.0.0.1:${this.address().port}/mcp\n`);
    return emit.call(this, event, request, ...rest);
  };
  // It tells of each request on stdout.
  console.log = () => {};
  process.env.PORT = "0";
  await import("@modelcontextprotocol/server-everything/dist/transports/streamableHttp.js");
}
