"""Versions of MCP: those with a handshake, and those in which every request says who asks (2026-07-28, a draft)."""

from __future__ import annotations

import binascii
import re
from base64 import b64decode

from webemu.api.http.request import Request
from webemu.api.mcp.rpc import HEADER_MISMATCH, INVALID_PARAMS, NO_VERSION, Message, RpcError

HANDSHAKE = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN = ("2026-07-28",)
UNSAID = "2025-03-26"
"""What a request without a version is of (2025-11-25, transports)."""
BATCHING = HANDSHAKE[:2]
"""Versions that have arrays of messages."""
MEMBERS = ("io.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/clientCapabilities")
"""What `_meta` of each modern request must have."""
_NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
"""Methods whose subject is said in the header `Mcp-Name` too."""
_ENCODED = re.compile(r"=\?base64\?(.*)\?=")


def of(request: Request) -> str:
    """The version a request is of. Raises RpcError on one that is not spoken here."""
    version = _header(request, b"mcp-protocol-version") or UNSAID
    if version not in HANDSHAKE + MODERN:
        told = {"supported": [*HANDSHAKE, *MODERN], "requested": version}
        raise RpcError(NO_VERSION, "Unsupported protocol version", data=told)
    return version


def agreed(wanted: object) -> str:
    """The version of a handshake: the one wanted if it is known, else the latest that is."""
    return str(wanted) if wanted in HANDSHAKE else HANDSHAKE[-1]


def check(request: Request, message: Message, version: str) -> None:
    """That the headers and the envelope of a modern request say the same as its body. Raises RpcError."""
    meta = message.params.get("_meta")
    meta = meta if isinstance(meta, dict) else {}
    if missing := [name for name in MEMBERS if name not in meta]:
        raise RpcError(INVALID_PARAMS, f"params._meta lacks {', '.join(missing)}")
    subject = message.params.get(_NAMED.get(message.method, ""))
    pairs = [
        ("MCP-Protocol-Version", version, meta[MEMBERS[0]]),
        ("Mcp-Method", _header(request, b"mcp-method"), message.method),
        ("Mcp-Name", _decoded(_header(request, b"mcp-name")) if subject else subject, subject),
    ]
    for name, said, meant in pairs:
        if said != meant:
            raise RpcError(HEADER_MISMATCH, f"the header {name} does not say what the body does")


def _header(request: Request, name: bytes) -> str:
    return request.headers.get(name, b"").decode("latin-1").strip()


def _decoded(value: str) -> str:
    """Names that no header may hold come as base64 between marks."""
    if not (found := _ENCODED.fullmatch(value)):
        return value
    try:
        return b64decode(found[1], validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return value
