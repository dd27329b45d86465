"""What the retrieval servers of trainers have in common: their documents, errors as FastAPI says them."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

from webemu.api.dialects.dialect import fields, reply
from webemu.api.http.request import Request
from webemu.api.services.origin import Reply
from webemu.emulator.errors import BadRequest, EmulatorError
from webemu.emulator.types import Hit

MOST = 100
"""Results that are given for one query at most."""


def document(hit: Hit, text: str) -> dict[str, Any]:
    """A passage: all the names under which clients look for its text, `contents` being the title in quotes, then it."""
    title = hit.title
    return {"id": _id(hit.url), "url": hit.url, "title": title, "text": text, "contents": f'"{title}"\n{text}'}


def _id(url: str) -> str:
    """The URL; of a row of a dump that has none, the row's own id (`docs/dumps.md`)."""
    host, _, path = url.partition("://")[2].partition("/")
    return unquote(path) if host.endswith(".invalid") else url


def asked_of(request: Request, *required: str) -> dict[str, Any]:
    """`fields`, in which each of these is a text. Raises BadRequest."""
    asked = fields(request)
    for name in required:
        if not isinstance(asked.get(name), str):
            raise (
                missing(name)
                if asked.get(name) is None
                else BadRequest("Input should be a string", reason=f"bad-{name}")
            )
    return asked


def missing(name: str) -> BadRequest:
    """That a field is not there."""
    return BadRequest("Field required", reason=f"missing-{name}")


def refuse(error: EmulatorError, request: Request) -> Reply:
    """422 with a list for what cannot be read, else a text."""
    if not isinstance(error, BadRequest):
        told = {"no-such-route": "Not Found", "method-not-allowed": "Method Not Allowed"}
        return reply({"detail": told.get(error.reason, error.message)}, error.status)
    kind, _, name = error.reason.partition("-")
    where = ["query" if request.method == "GET" else "body", *([name] if name != "request" else [])]
    named = {"missing": "missing"}.get(kind, "value_error")
    return reply({"detail": [{"type": named, "loc": where, "msg": error.message}]}, 422)
