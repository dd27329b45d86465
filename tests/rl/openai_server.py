"""Stands in for a model: a real HTTP server that speaks `/v1/chat/completions`, with replies given by a function."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

KEY = "key-of-the-stand-in"


@dataclass(frozen=True)
class ScriptedMessage:
    """A message: text, and tool calls as (name, arguments); arguments that are a text go out as they are."""

    text: str = ""
    calls: tuple[tuple[str, Mapping[str, Any] | str], ...] = ()
    thought: str = ""
    finish: str = ""


@dataclass(frozen=True)
class Fault:
    """An answer that is none."""

    status: int = 500
    message: str = "scripted failure"
    raw: bytes | None = None
    """The body as it is; else an error in OpenAI's words."""
    seconds: float = 0
    """The time for which the answer is held back."""
    closes: bool = False
    """True if the connection is closed instead."""
    headers: Mapping[str, str] = field(default_factory=dict)


Script = Callable[[dict[str, Any]], "str | ScriptedMessage | Fault"]
"""A function from the body of a request to the reply. A text stands for a message without calls."""


@dataclass
class OpenAIServer:
    url: str
    """The base URL, with /v1."""
    requests: list[dict[str, Any]] = field(default_factory=list)
    """Body of every request, in order of arrival."""
    headers: list[dict[str, str]] = field(default_factory=list)
    peak_open: int = 0
    """Requests that were open at once."""
    open: int = 0


@contextmanager
def openai_server(script: Script, seconds: float = 0) -> Iterator[OpenAIServer]:
    """A server in a thread of its own; each answer takes so many seconds, without holding up others."""
    loop, ready = asyncio.new_event_loop(), threading.Event()
    server = OpenAIServer("")
    runner = web.AppRunner(_application(script, server, seconds), access_log=None)

    async def start() -> None:
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0, backlog=2048).start()
        server.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"

    def serve() -> None:
        loop.run_until_complete(start())
        # A stop before the loop runs for ever would be forgotten.
        loop.call_soon(ready.set)
        loop.run_forever()
        loop.run_until_complete(runner.cleanup())
        loop.close()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    assert ready.wait(10)
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)


def _application(script: Script, server: OpenAIServer, seconds: float) -> web.Application:
    async def chat(request: web.Request) -> web.StreamResponse:
        body = await request.json()
        server.requests.append(body)
        server.headers.append(dict(request.headers))
        server.open += 1
        server.peak_open = max(server.peak_open, server.open)
        try:
            reply = script(body)
            await asyncio.sleep(seconds or (reply.seconds if isinstance(reply, Fault) else 0))
        finally:
            server.open -= 1
        if isinstance(reply, Fault) and reply.closes and request.transport is not None:
            request.transport.close()
        return _fault(reply) if isinstance(reply, Fault) else web.json_response(_completion(body, reply))

    async def models(request: web.Request) -> web.StreamResponse:
        return web.json_response({"object": "list", "data": [{"id": "stand-in", "object": "model"}]})

    application = web.Application(client_max_size=1 << 28)
    application.add_routes([web.post("/v1/chat/completions", chat), web.get("/v1/models", models)])
    return application


def _fault(fault: Fault) -> web.Response:
    error_text = json.dumps({"error": {"message": fault.message, "type": "scripted", "code": None}}).encode()
    body = fault.raw if fault.raw is not None else error_text
    return web.Response(status=fault.status, headers=dict(fault.headers), body=body, content_type="application/json")


def _completion(body: dict[str, Any], reply: str | ScriptedMessage) -> dict[str, Any]:
    reply = ScriptedMessage(reply) if isinstance(reply, str) else reply
    message: dict[str, Any] = {"role": "assistant", "content": reply.text or None}
    if reply.thought:
        message["reasoning_content"] = reply.thought
    if reply.calls:
        message["tool_calls"] = [
            {"id": f"call-{len(body['messages'])}-{number}", "type": "function",
             "function": {"name": name, "arguments": text if isinstance(text, str) else json.dumps(text)}}
            for number, (name, text) in enumerate(reply.calls)
        ]  # fmt: skip
    prompt, written = _tokens(json.dumps(body["messages"])), _tokens(json.dumps(message))
    return {
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": body["model"],
        "choices": [{"index": 0, "message": message, "logprobs": None,
                     "finish_reason": reply.finish or ("tool_calls" if reply.calls else "stop")}],
        "usage": {"prompt_tokens": prompt, "completion_tokens": written, "total_tokens": prompt + written},
    }  # fmt: skip


def _tokens(text: str) -> int:
    return len(text) // 4
