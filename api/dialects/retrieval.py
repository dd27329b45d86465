"""Parts that the retrieval servers of RL trainers share: their document format, and errors in FastAPI's shape."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import unquote

from webemu.api.dialects.dialect import build_response
from webemu.api.http.request import Request
from webemu.api.http.response import Response
from webemu.emulator.errors import BadRequest, EmulatorError
from webemu.emulator.types import Hit

MAX_RESULTS = 100
"""Most results for one query."""


def render_document(hit: Hit, text: str) -> dict[str, str]:
    """Return a passage under all the names by which clients look for its text.

    `contents` is the title in quotes, a line break, and the text.
    """
    title = hit.title
    return {"id": _document_id(hit.url), "url": hit.url, "title": title, "text": text, "contents": f'"{title}"\n{text}'}


def _document_id(url: str) -> str:
    """Return the URL, or the row's own id for a row of a text dump that has no URL (`docs/dumps.md`)."""
    host, _, path = url.partition("://")[2].partition("/")
    return unquote(path) if host.endswith(".invalid") else url


def require_text(params: Mapping[str, object], name: str) -> str:
    """Return a parameter that has to be text. Raises BadRequest if it is missing or not text."""
    value = params.get(name)
    if value is None:
        raise missing_error(name)
    if not isinstance(value, str):
        raise BadRequest("Input should be a string", reason=f"bad-{name}")
    return value


def missing_error(name: str) -> BadRequest:
    """Return the error for a parameter that is missing."""
    return BadRequest("Field required", reason=f"missing-{name}")


def render_error(error: EmulatorError, request: Request) -> Response:
    """Render an error as FastAPI does: 422 with a list for a bad request, else `{"detail": "..."}`."""
    if not isinstance(error, BadRequest):
        messages = {"no-such-route": "Not Found", "method-not-allowed": "Method Not Allowed"}
        return build_response({"detail": messages.get(error.reason, error.message)}, error.status)
    kind, _, name = error.reason.partition("-")
    location = ["query" if request.method == "GET" else "body", *([name] if name != "request" else [])]
    error_type = {"missing": "missing"}.get(kind, "value_error")
    return build_response({"detail": [{"type": error_type, "loc": location, "msg": error.message}]}, 422)
