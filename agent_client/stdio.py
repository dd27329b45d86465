"""`webemu mcp`: MCP over standard input and output, for hosts that start their tools as processes.

Each line is a message (JSON-RPC 2.0), sent on to a running server's `/mcp`; nothing is understood here but what its
HTTP needs. All diagnostics go to standard error, since standard output bears the protocol.
"""

from __future__ import annotations

import json
import sys
from base64 import b64encode
from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Annotated, Any

import httpx
import typer

from webemu.agent_client.address import address
from webemu.agent_client.client import DEFAULT_URL
from webemu.agent_client.command import Server

UNREACHABLE = -32000
"""Error code of ours; MCP leaves -32000 to -32019 to implementations."""
_VERSION = "io.modelcontextprotocol/protocolVersion"


class Tools(StrEnum):
    """Which tools are offered."""

    research = "research"
    browse = "browse"
    documents = "documents"


def mcp(
    tools: Annotated[Tools, typer.Option(help="research: search, fetch; browse: search, open, find.")] = Tools.research,
    session: Annotated[str, typer.Option(help="Session of all requests: NAME;at=DATE.")] = "",
    server: Server = DEFAULT_URL,
) -> None:
    """Be an MCP server on standard input and output, for a running server's web.

    \\b
    Example:
      webemu mcp --tools browse
    """
    try:
        place = address(server)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--server") from error
    url = place.url + ("/mcp" if tools is Tools.research else f"/mcp/{tools.value}")
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    if session:
        headers["X-Webemu-Session"] = session
    local = httpx.HTTPTransport(uds=place.path) if place.path else None
    with httpx.Client(transport=local, trust_env=False, timeout=60, headers=headers) as client:
        for answer in answers(client, url, sys.stdin.buffer):
            sys.stdout.buffer.write(answer + b"\n")
            sys.stdout.buffer.flush()


def answers(client: httpx.Client, url: str, lines: Iterable[bytes]) -> Iterator[bytes]:
    """What is said to each message that wants an answer, in order."""
    for line in lines:
        if line.strip() and (answer := _answer(client, url, line.strip())):
            yield answer


def _answer(client: httpx.Client, url: str, line: bytes) -> bytes:
    message = _read(line)
    try:
        response = client.post(url, content=line, headers=_headers(message))
    except httpx.RequestError as error:
        print(f"webemu mcp: {url} cannot be reached: {error}", file=sys.stderr)
        return _failed(message, "the server cannot be reached; start it with `webemu serve`")
    if response.headers.get("Content-Type", "").startswith("application/json"):
        # One line each; JSON texts hold no line breaks, and ours has none between its members.
        return response.content.replace(b"\n", b" ")
    return b"" if response.status_code == 202 else _failed(message, f"the server answered {response.status_code}")


def _read(line: bytes) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _headers(message: dict[str, Any]) -> dict[str, str]:
    """What a request of a version without handshake says in HTTP too."""
    params = message.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    version = meta.get(_VERSION) if isinstance(meta, dict) else None
    if not isinstance(params, dict) or not isinstance(version, str):
        return {}
    name = params.get("name") or params.get("uri")
    told = {"MCP-Protocol-Version": version, "Mcp-Method": str(message.get("method"))}
    return told | ({"Mcp-Name": _header(str(name))} if name else {})


def _header(value: str) -> str:
    if value.isascii() and value.isprintable():
        return value
    return f"=?base64?{b64encode(value.encode('utf-8', 'replace')).decode()}?="


def _failed(message: dict[str, Any], text: str) -> bytes:
    """Nothing where no answer is waited for."""
    if message.get("id") is None:
        return b""
    error = {"code": UNREACHABLE, "message": text, "data": {"failure": "infrastructure"}}
    return json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error}).encode()
