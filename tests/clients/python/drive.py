"""Takes an agent through one prompt with the Python SDK.

    drive.py FOLDER PROMPT AGENT [ARGUMENT...]

Prints each update, and at last the answer to the prompt, as the SDK handed them out: one JSON object a
line, in the form they have on the wire.
"""

import asyncio
import json
import os
import sys

import acp
from acp import schema

LIMIT_SECONDS = 60


def show(message):
    print(json.dumps(message), flush=True)


class Editor:
    """The client's side of the connection: shows updates and allows everything once."""

    def on_connect(self, connection):
        pass

    async def session_update(self, session_id, update, **_):
        fields = update.model_dump(mode="json", by_alias=True, exclude_none=True)
        show({"method": "session/update", "params": {"sessionId": session_id, "update": fields}})

    async def request_permission(self, options, session_id, tool_call, **_):
        allow = next(option for option in options if option.kind == "allow_once")
        outcome = schema.AllowedOutcome(outcome="selected", option_id=allow.option_id)
        return schema.RequestPermissionResponse(outcome=outcome)

    async def ext_method(self, method, params):
        raise acp.RequestError.method_not_found(method)

    async def ext_notification(self, method, params):
        pass


async def drive(folder, prompt, agent):
    async with acp.spawn_agent_process(Editor(), *agent, env=os.environ) as (connection, _):
        await connection.initialize(
            protocol_version=acp.PROTOCOL_VERSION,
            client_capabilities=schema.ClientCapabilities(),
            client_info=schema.Implementation(name="weft-python-driver", version="1"),
        )
        session = await connection.new_session(cwd=folder, mcp_servers=[])
        answer = await connection.prompt(session_id=session.session_id, prompt=[acp.text_block(prompt)])
        show({"result": {"stopReason": answer.stop_reason}})


asyncio.run(asyncio.wait_for(drive(sys.argv[1], sys.argv[2], sys.argv[3:]), LIMIT_SECONDS))
