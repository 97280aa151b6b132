"""Takes an agent through a task with the Python SDK.

    drive.py TASK AGENT [ARGUMENT...]

TASK is a JSON file: `cwd`, `prompts` (each with its `text`) and `unsaved`, the texts of files that are open and not
saved, by path. The client lends its files and says that it has terminals.

Prints each update, each request of the agent for a file, and the answer to each prompt, as the SDK handed them out: one
JSON object a line, in the form they have on the wire.
"""

import asyncio
import json
import os
import sys
from pathlib import Path

import acp
from acp import schema

LIMIT_SECONDS = 60


def show(message):
    print(json.dumps(message), flush=True)


class Editor:
    """The client's side of the connection: shows updates, allows everything once, and has files open."""

    def __init__(self, unsaved):
        self.unsaved = dict(unsaved)

    def on_connect(self, connection):
        pass

    async def session_update(self, session_id, update, **_):
        fields = update.model_dump(mode="json", by_alias=True, exclude_none=True)
        show({"method": "session/update", "params": {"sessionId": session_id, "update": fields}})

    async def request_permission(self, options, session_id, tool_call, **_):
        allow = next(option for option in options if option.kind == "allow_once")
        outcome = schema.AllowedOutcome(outcome="selected", option_id=allow.option_id)
        return schema.RequestPermissionResponse(outcome=outcome)

    async def read_text_file(self, path, session_id, limit=None, line=None, **_):
        show({"method": "fs/read_text_file", "params": {"path": path}})
        if path not in self.unsaved and not Path(path).exists():
            raise acp.RequestError.resource_not_found(path)
        text = self.unsaved[path] if path in self.unsaved else Path(path).read_text()
        lines = text.splitlines(keepends=True)[(line or 1) - 1 :]
        return schema.ReadTextFileResponse(content="".join(lines[:limit]))

    async def write_text_file(self, content, path, session_id, **_):
        show({"method": "fs/write_text_file", "params": {"path": path, "content": content}})
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(content)
        self.unsaved.pop(path, None)

    async def ext_method(self, method, params):
        raise acp.RequestError.method_not_found(method)

    async def ext_notification(self, method, params):
        pass


async def drive(task, agent):
    async with acp.spawn_agent_process(Editor(task["unsaved"]), *agent, env=os.environ) as (connection, _):
        await connection.initialize(
            protocol_version=acp.PROTOCOL_VERSION,
            client_capabilities=schema.ClientCapabilities(
                fs=schema.FileSystemCapabilities(read_text_file=True, write_text_file=True),
                terminal=True,
            ),
            client_info=schema.Implementation(name="weft-python-driver", version="1"),
        )
        session = await connection.new_session(cwd=task["cwd"], mcp_servers=[])
        for prompt in task["prompts"]:
            content = [acp.text_block(prompt["text"])]
            answer = await connection.prompt(session_id=session.session_id, prompt=content)
            show({"result": {"stopReason": answer.stop_reason}})


with open(sys.argv[1], encoding="utf-8") as file:
    task = json.load(file)
asyncio.run(asyncio.wait_for(drive(task, sys.argv[2:]), LIMIT_SECONDS))
