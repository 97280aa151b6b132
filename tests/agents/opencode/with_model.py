"""Runs opencode against an endpoint for chat completions whose answers are written down here.

usage: with_model.py HOME PROGRAM [ARGUMENT…]

The model calls the shell once, and then has a word about it. The program gets this one's stdin and stdout, a home of its
own, and a configuration that names nothing but this endpoint.
"""

import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

CALL = {"command": "echo 3 files", "description": "Counts the files"}


class Endpoint(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_arguments):
        """stderr is for what goes wrong."""

    def do_GET(self):
        models = {"object": "list", "data": [{"id": "local", "object": "model"}]}
        self.answer(json.dumps(models), "application/json")

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if request.get("tools") and request["messages"][-1]["role"] == "user":
            call = {"name": "bash", "arguments": json.dumps(CALL)}
            delta = {"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": call}]}
            end = "tool_calls"
        else:
            delta, end = {"content": "There are three."}, "stop"
        chunks = [chunk({"role": "assistant", **delta}, None), chunk({}, end)]
        lines = [f"data: {json.dumps(piece)}\n\n" for piece in chunks]
        self.answer("".join(lines) + "data: [DONE]\n\n", "text/event-stream")

    def answer(self, text, kind):
        body = text.encode()
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def chunk(delta, end):
    choice = {"index": 0, "delta": delta, "finish_reason": end}
    usage = {"prompt_tokens": 100, "completion_tokens": 7, "total_tokens": 107}
    named = {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "local"}
    return {**named, "choices": [choice], "usage": usage if end else None}


def configuration(port):
    model = {"name": "Local", "limit": {"context": 100000, "output": 4000}}
    options = {"baseURL": f"http://127.0.0.1:{port}/v1", "apiKey": "none"}
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "Local",
        "options": options,
        "models": {"local": model},
    }
    return {
        "autoupdate": False,
        "share": "disabled",
        "model": "local/local",
        "small_model": "local/local",
        "permission": {"bash": "ask"},
        "provider": {"local": provider},
    }


def main():
    home, command = Path(sys.argv[1]), sys.argv[2:]
    server = ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    file = home / "opencode.json"
    file.write_text(json.dumps(configuration(server.server_port)))
    own = {
        "HOME": home,
        "XDG_CONFIG_HOME": home / "config",
        "XDG_DATA_HOME": home / "data",
        "XDG_CACHE_HOME": home / "cache",
        "OPENCODE_CONFIG": file,
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
    }
    environment = {**os.environ, **{name: str(value) for name, value in own.items()}}
    sys.exit(subprocess.run(command, env=environment, check=False).returncode)


main()
