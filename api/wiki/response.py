"""Answers of a wiki's APIs as they go over the wire."""

from __future__ import annotations

import json
from http import HTTPStatus

from webemu.api.services.origin import Headers, Reply

MADE = (b"X-Webemu-Made", b"mediawiki")


def answered(body: bytes, kind: str, status: int = 200, headers: Headers | None = None) -> Reply:
    """Any body."""
    told: Headers = [(b"Content-Type", kind.encode()), (b"Content-Length", b"%d" % len(body)), *(headers or []), MADE]
    return Reply(status, HTTPStatus(status).phrase.encode(), told, body)


def as_json(tree: object, status: int = 200, kind: str = "application/json") -> Reply:
    """As the REST APIs write it."""
    text = json.dumps(tree, ensure_ascii=False, separators=(",", ":"))
    return answered(text.encode("utf-8", "replace"), kind, status)


def moved(location: str) -> Reply:
    return answered(b"", "text/plain", 302, [(b"Location", location.encode())])
