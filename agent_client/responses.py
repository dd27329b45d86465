"""Parses responses of the native API: JSON and headers in, frozen values or errors out. It sends nothing."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, TypeAlias

import httpx

from webemu.agent_client.errors import BadRequest, ClientError, InfrastructureError, NotCaptured, NoView, WebError
from webemu.agent_client.types import FindAnswer, Health, Match, PageAnswer, RawAnswer, SearchAnswer, SearchResult

if TYPE_CHECKING:
    from webemu.agent_client.raw_response import Received

Response: TypeAlias = "httpx.Response | Received"
"""A response of httpx or of our own transports."""
Shape = Mapping[str, Any]
"""A decoded JSON object."""
KINDS: dict[int, type[WebError]] = {400: BadRequest, 404: NotCaptured, 406: NoView, 413: BadRequest}
"""Error type by HTTP status."""
RECORDED = b"x-archive-orig-"
"""Prefix of the recorded headers in a raw response."""


def search_answer(shape: Shape) -> SearchAnswer:
    """Return a page of results from its JSON."""
    results = tuple(
        SearchResult(r["rank"], r["url"], r["title"], r["snippet"], r["date"], r["score"], tuple(r.get("others", ())))
        for r in shape["results"]
    )
    return SearchAnswer(
        shape["query"], shape["page"], shape["size"], shape["as_of"], results, shape["more"], shape["snapshot"]
    )


def page_answer(shape: Shape) -> PageAnswer:
    """Return a window of a page from its JSON."""
    fields = {name: shape[name] for name in PageAnswer.__dataclass_fields__}
    return PageAnswer(**fields | {"redirects": tuple(shape["redirects"])})


def find_answer(shape: Shape) -> FindAnswer:
    """Return the occurrences of a text from their JSON."""
    matches = tuple(Match(m["start"], m["line"], m["text"]) for m in shape["matches"])
    return FindAnswer(shape["url"], shape["final_url"], shape["pattern"], shape["total"], matches, shape["snapshot"])


def health(shape: Shape) -> Health:
    """Return the server's health from its JSON."""
    return Health(shape["status"], shape["snapshot"])


def raw_answer(response: Response) -> RawAnswer:
    """Return the recorded response in a `format=raw` response; body and headers are untouched."""
    headers = response.headers
    status, _, reason = headers["X-Webemu-Status"].partition(" ")
    recorded = tuple(
        (name[len(RECORDED) :].decode("latin-1"), value.decode("latin-1"))
        for name, value in headers.raw
        if name.lower().startswith(RECORDED)
    )
    return RawAnswer(
        headers["X-Webemu-Url"],
        int(status),
        reason,
        headers["X-Webemu-Fetched"],
        headers.get("X-Webemu-Content-Encoding", ""),
        recorded,
        response.content,
        headers.get("X-Webemu-Snapshot", ""),
    )


def problem(response: Response) -> ClientError | None:
    """Return the error that a response stands for; None for a 200."""
    if response.status_code == 200:
        return None
    shape = _error_shape(response)
    if shape is None:
        return _foreign(response)
    found = error(shape)
    if isinstance(found, InfrastructureError):
        found.after = _seconds(response.headers.get("Retry-After", ""))
    return found


def error(shape: Shape) -> ClientError:
    """Return the error of a documented JSON error object. Damaged payloads stay damaged, so they are not retried."""
    status, reason = int(shape["status"]), str(shape["reason"])
    message, action = str(shape["message"]), str(shape.get("action", ""))
    if status < 500 and reason not in ("no-such-route", "method-not-allowed"):
        return KINDS.get(status, WebError)(message, status=status, reason=reason, action=action)
    found = InfrastructureError(message, status=status, reason=reason, action=action)
    found.again = status >= 500 and not reason.startswith("payload-")
    return found


def _error_shape(response: Response) -> Shape | None:
    """Return the documented error object of a response; None if it has none."""
    try:
        shape = response.json()["error"]
        return shape if {"status", "reason", "message"} <= shape.keys() else None
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def _foreign(response: Response) -> InfrastructureError:
    """Return the error for a response that is not webemu's, but of a gateway, a proxy or another server."""
    status = response.status_code
    found = InfrastructureError(
        f"HTTP {status} from {response.url} without webemu's error object",
        status=status,
        reason="foreign-answer",
        action="check base_url, and any proxy or gateway in between",
    )
    found.again = status >= 500 or status == 429
    found.after = _seconds(response.headers.get("Retry-After", ""))
    return found


def _seconds(retry_after: str) -> float:
    """Return the wait that Retry-After requests, in seconds (RFC 9110, 10.2.3: a number or a date); 0 if unreadable."""
    if retry_after.isascii() and retry_after.isdigit():
        return float(retry_after)
    try:
        return max(0.0, parsedate_to_datetime(retry_after).timestamp() - time.time())
    except (ValueError, OverflowError):
        return 0.0


def answers(shape: Shape, count: int) -> Sequence[Shape]:
    """Return the entries of a batch response. Raises ValueError if there are not `count` of them."""
    entries: Sequence[Shape] = shape["answers"]
    if len(entries) != count:
        raise ValueError(f"the batch response has {len(entries)} entries, expected {count}")
    return entries
