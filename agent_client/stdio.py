"""The command `webemu mcp`: MCP over standard input and output, for hosts that start their tools as processes.

Each line is a JSON-RPC 2.0 message and is forwarded to `/mcp` of a running server; only what its HTTP headers need is
parsed here. Diagnostics go to standard error, since standard output carries the protocol.
"""

from __future__ import annotations

import json
import sys
from base64 import b64encode
from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Annotated

import httpx
import typer

from webemu.agent_client.address import parse_address
from webemu.agent_client.client import DEFAULT_URL
from webemu.agent_client.command import ServerOption

UNREACHABLE_CODE = -32000
"""JSON-RPC error code for an unreachable server; MCP reserves -32000 to -32019 for implementations."""
_VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
"""Member of `_meta` that names the protocol version."""


class ToolSet(StrEnum):
    """Sets of tools that can be offered."""

    research = "research"
    browse = "browse"
    documents = "documents"


def mcp(
    tools: Annotated[
        ToolSet, typer.Option(help="research: search, fetch; browse: search, open, find.")
    ] = ToolSet.research,
    session: Annotated[str, typer.Option(help="Session of all requests, as NAME;at=DATE.")] = "",
    server: ServerOption = DEFAULT_URL,
) -> None:
    """Run an MCP server on standard input and output, for the web of a running server.

    \b
    Example:
      webemu mcp --tools browse
    """
    try:
        server_address = parse_address(server)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--server") from error
    url = server_address.url + ("/mcp" if tools is ToolSet.research else f"/mcp/{tools.value}")
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    if session:
        headers["X-Webemu-Session"] = session
    transport = httpx.HTTPTransport(uds=server_address.path) if server_address.path else None
    with httpx.Client(transport=transport, trust_env=False, timeout=60, headers=headers) as client:
        for answer in relay_messages(client, url, sys.stdin.buffer):
            sys.stdout.buffer.write(answer + b"\n")
            sys.stdout.buffer.flush()


def relay_messages(client: httpx.Client, url: str, lines: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the response to each message that expects one, in order."""
    for line in lines:
        if line.strip() and (answer := _relay_message(client, url, line.strip())):
            yield answer


def _relay_message(client: httpx.Client, url: str, line: bytes) -> bytes:
    """Forward one message and return the response line; empty if none is expected."""
    message = _parse_message(line)
    try:
        response = client.post(url, content=line, headers=_message_headers(message))
    except httpx.RequestError as error:
        print(f"webemu mcp: {url} cannot be reached: {error}", file=sys.stderr)
        return _error_response(message, "the server cannot be reached; start it with `webemu serve`")
    if response.headers.get("Content-Type", "").startswith("application/json"):
        # One message per line. JSON strings cannot contain line breaks, so replacing them changes no value.
        return response.content.replace(b"\n", b" ")
    return (
        b"" if response.status_code == 202 else _error_response(message, f"the server answered {response.status_code}")
    )


def _parse_message(line: bytes) -> dict[str, object]:
    """Return a message as an object; empty if it is not one."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _message_headers(message: dict[str, object]) -> dict[str, str]:
    """Return the HTTP headers that repeat parts of a message, for protocol versions without handshake."""
    params = message.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    version = meta.get(_VERSION_KEY) if isinstance(meta, dict) else None
    if not isinstance(params, dict) or not isinstance(version, str):
        return {}
    name = params.get("name") or params.get("uri")
    headers = {"MCP-Protocol-Version": version, "Mcp-Method": str(message.get("method"))}
    return headers | ({"Mcp-Name": _encode_header(str(name))} if name else {})


def _encode_header(value: str) -> str:
    """Return a header value, base64-encoded (MCP's `=?base64?…?=`) if it is not printable ASCII."""
    if value.isascii() and value.isprintable():
        return value
    return f"=?base64?{b64encode(value.encode('utf-8', 'replace')).decode()}?="


def _error_response(message: dict[str, object], text: str) -> bytes:
    """Return the error response to a message; empty if it expects no response."""
    if message.get("id") is None:
        return b""
    error = {"code": UNREACHABLE_CODE, "message": text, "data": {"failure": "infrastructure"}}
    return json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error}).encode()
