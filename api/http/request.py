"""A request to the emulated web, or to a service imitated there, as its client sent it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import NamedTuple, TypeAlias
from urllib.parse import parse_qsl

from webemu.api.http.credentials import NO_SESSION, read_session
from webemu.api.http.listener_rules import OPEN, ListenerRules, read_rules
from webemu.api.http.response import Response, Scope
from webemu.emulator.session import Session
from webemu.emulator.world import World


class Request(NamedTuple):
    """An HTTP request with its session; immutable."""

    method: str
    scheme: str
    authority: str
    """The Host header as sent, with its port."""
    host: str
    """Host name in lower case, without the port."""
    path: str
    """Path as sent, with percent-escapes."""
    query: str
    """Query string as sent, without `?`."""
    headers: Mapping[bytes, bytes]
    """Headers by lower-case name; the values of a repeated header are joined by commas."""
    session: Session
    body: bytes = b""
    rules: ListenerRules = OPEN
    """Rules of the listener at which it arrived."""

    @property
    def origin(self) -> str:
        """Scheme and authority, such as `https://en.example.org`: the beginning of absolute links to the same host."""
        return f"{self.scheme}://{self.authority}"

    @property
    def target(self) -> str:
        """Path and query string."""
        return f"{self.path}?{self.query}" if self.query else self.path

    @property
    def url(self) -> str:
        """Absolute URL of the request."""
        return self.origin + self.target

    @property
    def parameters(self) -> list[tuple[str, str]]:
        """Decoded parameters of the query string, then of a posted form, in order; repeated names are kept."""
        is_form = self.headers.get(b"content-type", b"").startswith(b"application/x-www-form-urlencoded")
        form_text = self.body.decode("utf-8", "replace") if is_form else ""
        return [pair for text in (self.query, form_text) for pair in parse_qsl(text, keep_blank_values=True)]


Handler: TypeAlias = Callable[[World, Request], Response | None]
"""Function that answers requests in its domain and returns None for all others. It runs in a thread; an EmulatorError
that it raises becomes a 4xx or 5xx.
"""


def read_request(scope: Scope) -> Request:
    """Return the request of an ASGI scope, without its body. Raises BadRequest if its session cannot be parsed."""
    request = read_without_session(scope)
    return request._replace(session=request.rules.limit(read_session(request.headers)))


def read_without_session(scope: Scope) -> Request:
    """Return the request of an ASGI scope without its session and body. Never raises."""
    headers: dict[bytes, bytes] = {}
    for name, value in scope["headers"]:
        headers[name] = headers[name] + b", " + value if name in headers else value
    authority = headers.get(b"host", b"")
    return Request(
        scope["method"],
        scope["scheme"],
        authority.decode("latin-1"),
        extract_host(authority),
        scope["raw_path"].decode("latin-1"),
        scope["query_string"].decode("latin-1"),
        headers,
        NO_SESSION,
        rules=read_rules(scope),
    )


@lru_cache(4096)
def extract_host(authority: bytes) -> str:
    """Return the host name of a Host header: lower case, without port, brackets and a final dot."""
    text = authority.decode("latin-1").lower()
    return text[1:].partition("]")[0] if text.startswith("[") else text.partition(":")[0].rstrip(".")
