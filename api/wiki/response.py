"""Responses of a wiki's APIs as they go over the wire, marked as computed rather than captured."""

from __future__ import annotations

import json

from webemu.api.http.response import Headers, Response, compose_response

MADE_HEADER = (b"X-Webemu-Made", b"mediawiki")
"""Header that marks a response computed from captured pages."""


def make_response(body: bytes, content_type: str, status: int = 200, headers: Headers | None = None) -> Response:
    """Return a complete response with any body; `content_type` is its `Content-Type`."""
    return compose_response(status, content_type.encode(), body, [*(headers or []), MADE_HEADER])


def json_response(tree: object, status: int = 200, content_type: str = "application/json") -> Response:
    """Return a JSON response in the compact form of the REST APIs."""
    text = json.dumps(tree, ensure_ascii=False, separators=(",", ":"))
    return make_response(text.encode("utf-8", "replace"), content_type, status)


def redirect_response(location: str) -> Response:
    """Return a 302 to another path of the wiki."""
    return make_response(b"", "text/plain", 302, [(b"Location", location.encode())])
