"""Responses of a wiki's APIs as they go over the wire, marked as computed rather than captured."""

from __future__ import annotations

import json
from http import HTTPStatus

from webemu.api.services.origin import Headers, Reply

MADE = (b"X-Webemu-Made", b"mediawiki")
"""Header that marks a response computed from captured pages."""


def answered(body: bytes, kind: str, status: int = 200, headers: Headers | None = None) -> Reply:
    """Return a complete response with any body; `content_type` is its `Content-Type`."""
    told: Headers = [(b"Content-Type", kind.encode()), (b"Content-Length", b"%d" % len(body)), *(headers or []), MADE]
    return Reply(status, HTTPStatus(status).phrase.encode(), told, body)


def as_json(tree: object, status: int = 200, kind: str = "application/json") -> Reply:
    """Return a JSON response in the compact form of the REST APIs."""
    text = json.dumps(tree, ensure_ascii=False, separators=(",", ":"))
    return answered(text.encode("utf-8", "replace"), kind, status)


def moved(location: str) -> Reply:
    """Return a 302 to another path of the wiki."""
    return answered(b"", "text/plain", 302, [(b"Location", location.encode())])
