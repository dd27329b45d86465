"""Versions of MCP: those that begin with a handshake, and those in which every request describes its client.

The second kind begins with 2026-07-28, a draft.
"""

from __future__ import annotations

import binascii
import re
from base64 import b64decode

from webemu.api.http.request import Request
from webemu.api.mcp.rpc import HEADER_MISMATCH, INVALID_PARAMS, UNSUPPORTED_VERSION, Message, RpcError

HANDSHAKE = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""Versions with a handshake, oldest first."""
MODERN = ("2026-07-28",)
"""Versions without a handshake."""
DEFAULT_VERSION = "2025-03-26"
"""Version of a request that names none (2025-11-25, transports)."""
BATCHING = HANDSHAKE[:2]
"""Versions that allow arrays of messages."""
META_MEMBERS = ("io.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/clientCapabilities")
"""Members that `_meta` of each request without a handshake must have."""
_SUBJECT_PARAMS = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
"""Methods whose subject is repeated in the header `Mcp-Name`, with the parameter that holds it."""
_ENCODED = re.compile(r"=\?base64\?(.*)\?=")
"""Header value in Base64."""


def version_of(request: Request) -> str:
    """Return the version of a request. Raises RpcError if it is not supported."""
    version = _get_header(request, b"mcp-protocol-version") or DEFAULT_VERSION
    if version not in HANDSHAKE + MODERN:
        error_data = {"supported": [*HANDSHAKE, *MODERN], "requested": version}
        raise RpcError(UNSUPPORTED_VERSION, "Unsupported protocol version", data=error_data)
    return version


def negotiate_version(requested: object) -> str:
    """Return the version of a handshake: the client's if it is supported, else the latest."""
    return str(requested) if requested in HANDSHAKE else HANDSHAKE[-1]


def check_envelope(request: Request, message: Message, version: str) -> None:
    """Check that headers and `_meta` of a request without handshake agree with its body. Raises RpcError if not."""
    meta = message.params.get("_meta")
    meta = meta if isinstance(meta, dict) else {}
    if missing := [name for name in META_MEMBERS if name not in meta]:
        raise RpcError(INVALID_PARAMS, f"params._meta must have {', '.join(missing)}")
    subject = message.params.get(_SUBJECT_PARAMS.get(message.method, ""))
    pairs = [
        ("MCP-Protocol-Version", version, meta[META_MEMBERS[0]]),
        ("Mcp-Method", _get_header(request, b"mcp-method"), message.method),
        ("Mcp-Name", _decode_name(_get_header(request, b"mcp-name")) if subject else subject, subject),
    ]
    for name, header_value, body_value in pairs:
        if header_value != body_value:
            raise RpcError(
                HEADER_MISMATCH,
                f"the header {name} is {str(header_value)[:80]!r}, but the body has {str(body_value)[:80]!r}",
            )


def _get_header(request: Request, name: bytes) -> str:
    return request.headers.get(name, b"").decode("latin-1").strip()


def _decode_name(value: str) -> str:
    """Decode a name that comes in Base64 because no header could hold it; any other value is returned as it is."""
    if not (match := _ENCODED.fullmatch(value)):
        return value
    try:
        return b64decode(match[1], validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return value
