"""Builders of the archives' own responses, so that every one has a true `Content-Type` and `Content-Length`."""

from __future__ import annotations

from urllib.parse import quote

from webemu.api.http.response import Headers, Response, compose_response

_SAFE_CHARACTERS = "!#$%&'()*+,-./:;=?@[]_|~"
"""Characters that need no escaping when a URL stands in a header or between angle brackets."""


def make_response(status: int, body: str | bytes, mime: str, headers: Headers | None = None) -> Response:
    """Return a complete response; text is encoded as UTF-8, `headers` follow the content headers."""
    content = body.encode("utf-8", "replace") if isinstance(body, str) else body
    return compose_response(status, mime.encode(), content, headers or [])


def text_response(status: int, text: str, headers: Headers | None = None) -> Response:
    """Return a response of plain text in UTF-8."""
    return make_response(status, text, "text/plain; charset=utf-8", headers)


def redirect_response(location: str, headers: Headers) -> Response:
    """Return a 302 to `location`, which is how an archive leads to a capture."""
    return make_response(302, "", "text/plain; charset=utf-8", [(b"Location", ascii_url(location).encode()), *headers])


def ascii_url(url: str) -> str:
    """Return the URL with everything escaped that could end a header, a line or a pair of angle brackets."""
    return (
        url if url.isascii() and url.isprintable() and not set(url) & set('<>" ') else quote(url, safe=_SAFE_CHARACTERS)
    )
