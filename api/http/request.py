"""A request to the emulated web or to a service that lives there, as its client sent it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import NamedTuple, TypeAlias
from urllib.parse import parse_qsl

from webemu.api.http.credentials import NOBODY, session_of
from webemu.api.http.response import Scope
from webemu.api.services.origin import Reply
from webemu.emulator.session import Session
from webemu.emulator.world import World


class Request(NamedTuple):
    """What is asked, of whom, by whom."""

    method: str
    scheme: str
    authority: str
    """As the Host header has it, port and all."""
    host: str
    """Its name: lower case, without port."""
    path: str
    """As sent, percent-escapes kept."""
    query: str
    """As sent, without `?`."""
    headers: Mapping[bytes, bytes]
    """By lower-case name; of repeated ones, all values joined by commas."""
    session: Session
    body: bytes = b""

    @property
    def origin(self) -> str:
        """`https://en.example.org`: what an absolute link to the same host begins with."""
        return f"{self.scheme}://{self.authority}"

    @property
    def target(self) -> str:
        """Path and query."""
        return f"{self.path}?{self.query}" if self.query else self.path

    @property
    def url(self) -> str:
        return self.origin + self.target

    @property
    def parameters(self) -> list[tuple[str, str]]:
        """Of the query, and of a form that was posted; decoded, in order, repeated ones kept."""
        is_form = self.headers.get(b"content-type", b"").startswith(b"application/x-www-form-urlencoded")
        posted = self.body.decode("utf-8", "replace") if is_form else ""
        return [pair for text in (self.query, posted) for pair in parse_qsl(text, keep_blank_values=True)]


Handler: TypeAlias = Callable[[World, Request], Reply | None]
"""Answers what is in its domain, None on what is not; called in a thread. EmulatorErrors become 4xx and 5xx."""


def read(scope: Scope) -> Request:
    """The request of an ASGI scope. Raises BadRequest on a session that cannot be read."""
    request = read_plain(scope)
    return request._replace(session=session_of(request.headers))


def read_plain(scope: Scope) -> Request:
    """Return the request without its session. Raises nothing."""
    headers: dict[bytes, bytes] = {}
    for name, value in scope["headers"]:
        headers[name] = headers[name] + b", " + value if name in headers else value
    authority = headers.get(b"host", b"")
    return Request(
        scope["method"],
        scope["scheme"],
        authority.decode("latin-1"),
        bare(authority),
        scope["raw_path"].decode("latin-1"),
        scope["query_string"].decode("latin-1"),
        headers,
        NOBODY,
    )


@lru_cache(4096)
def bare(authority: bytes) -> str:
    """Lower-case name of a Host header."""
    text = authority.decode("latin-1").lower()
    return text[1:].partition("]")[0] if text.startswith("[") else text.partition(":")[0].rstrip(".")
