"""Versions of MCP: those that begin with a handshake, and those in which every request describes its client.

The second kind begins with 2026-07-28, a draft.
"""

from __future__ import annotations

import binascii
import re
from base64 import b64decode

from webemu.api.http.request import Request
from webemu.api.mcp.rpc import HEADER_MISMATCH, INVALID_PARAMS, NO_VERSION, Message, RpcError

HANDSHAKE = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""Versions with a handshake, oldest first."""
MODERN = ("2026-07-28",)
"""Versions without a handshake."""
UNSAID = "2025-03-26"
"""Version of a request that names none (2025-11-25, transports)."""
BATCHING = HANDSHAKE[:2]
"""Versions that allow arrays of messages."""
MEMBERS = ("io.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/clientCapabilities")
"""Members that `_meta` of each request without a handshake must have."""
_NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
"""Methods whose subject is repeated in the header `Mcp-Name`, with the parameter that holds it."""
_ENCODED = re.compile(r"=\?base64\?(.*)\?=")
"""Header value in Base64."""


def of(request: Request) -> str:
    """Return the version of a request. Raises RpcError if it is not supported."""
    version = _header(request, b"mcp-protocol-version") or UNSAID
    if version not in HANDSHAKE + MODERN:
        told = {"supported": [*HANDSHAKE, *MODERN], "requested": version}
        raise RpcError(NO_VERSION, "Unsupported protocol version", data=told)
    return version


def agreed(wanted: object) -> str:
    """Return the version of a handshake: the client's if it is supported, else the latest."""
    return str(wanted) if wanted in HANDSHAKE else HANDSHAKE[-1]


def check(request: Request, message: Message, version: str) -> None:
    """Check that headers and `_meta` of a request without handshake agree with its body. Raises RpcError if not."""
    meta = message.params.get("_meta")
    meta = meta if isinstance(meta, dict) else {}
    if missing := [name for name in MEMBERS if name not in meta]:
        raise RpcError(INVALID_PARAMS, f"params._meta must have {', '.join(missing)}")
    subject = message.params.get(_NAMED.get(message.method, ""))
    pairs = [
        ("MCP-Protocol-Version", version, meta[MEMBERS[0]]),
        ("Mcp-Method", _header(request, b"mcp-method"), message.method),
        ("Mcp-Name", _decoded(_header(request, b"mcp-name")) if subject else subject, subject),
    ]
    for name, said, meant in pairs:
        if said != meant:
            raise RpcError(
                HEADER_MISMATCH, f"the header {name} is {str(said)[:80]!r}, but the body has {str(meant)[:80]!r}"
            )


def _header(request: Request, name: bytes) -> str:
    return request.headers.get(name, b"").decode("latin-1").strip()


def _decoded(value: str) -> str:
    """Decode a name that comes in Base64 because no header could hold it; any other value is returned as it is."""
    if not (found := _ENCODED.fullmatch(value)):
        return value
    try:
        return b64decode(found[1], validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return value
