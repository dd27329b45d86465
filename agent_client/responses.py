"""Parses responses of the native API: JSON and headers in, frozen values or errors out. It sends nothing."""

from __future__ import annotations

import json
import time
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, NotRequired, TypeAlias, TypedDict

import httpx

from webemu.agent_client.errors import (
    BadRequest,
    ClientError,
    InfrastructureError,
    NotCaptured,
    ViewUnavailable,
    WebError,
)
from webemu.agent_client.types import FindAnswer, Health, Match, PageAnswer, RawAnswer, SearchAnswer, SearchResult

if TYPE_CHECKING:
    from webemu.agent_client.raw_response import RawResponse

Response: TypeAlias = "httpx.Response | RawResponse"
"""A response of httpx or of our own transports."""


class ResultShape(TypedDict):
    """JSON of one search result."""

    rank: int
    url: str
    title: str
    snippet: str
    date: str
    score: float
    others: NotRequired[list[str]]


class SearchShape(TypedDict):
    """JSON of a page of results."""

    query: str
    page: int
    size: int
    as_of: str | None
    results: list[ResultShape]
    more: bool
    snapshot: str
    relaxed: NotRequired[list[str]]
    corrected: NotRequired[dict[str, str]]


class PageShape(TypedDict):
    """JSON of a window of a page; the fields are those of `PageAnswer`."""

    url: str
    final_url: str
    redirects: list[str]
    status: int
    fetched: str
    mime: str
    truncated: str
    title: str
    format: str
    start: int
    length: int
    total: int
    line: int
    next: int | None
    next_line: int | None
    content: str
    snapshot: str


class MatchShape(TypedDict):
    """JSON of one occurrence of a text."""

    start: int
    line: int
    text: str


class FindShape(TypedDict):
    """JSON of the occurrences of a text."""

    url: str
    final_url: str
    pattern: str
    total: int
    matches: list[MatchShape]
    snapshot: str


class HealthShape(TypedDict):
    """JSON of the server's health."""

    status: str
    snapshot: str


class ErrorShape(TypedDict):
    """JSON of an error."""

    status: int
    reason: str
    message: str
    action: NotRequired[str]


class BatchShape(TypedDict):
    """JSON of a batch: one entry per request, each an answer or an object with the member `error`."""

    answers: list[Any]


ERROR_TYPES: dict[int, type[WebError]] = {400: BadRequest, 404: NotCaptured, 406: ViewUnavailable, 413: BadRequest}
"""Error type by HTTP status."""
RECORDED_PREFIX = b"x-archive-orig-"
"""Prefix of the recorded headers in a raw response."""


def parse_search_answer(shape: SearchShape) -> SearchAnswer:
    """Return a page of results from its JSON."""
    results = tuple(
        SearchResult(r["rank"], r["url"], r["title"], r["snippet"], r["date"], r["score"], tuple(r.get("others", ())))
        for r in shape["results"]
    )
    return SearchAnswer(
        shape["query"],
        shape["page"],
        shape["size"],
        shape["as_of"],
        results,
        shape["more"],
        shape["snapshot"],
        tuple(shape.get("relaxed", ())),
        tuple(shape.get("corrected", {}).items()),
    )


def parse_page_answer(shape: PageShape) -> PageAnswer:
    """Return a window of a page from its JSON."""
    return PageAnswer(
        url=shape["url"],
        final_url=shape["final_url"],
        redirects=tuple(shape["redirects"]),
        status=shape["status"],
        fetched=shape["fetched"],
        mime=shape["mime"],
        truncated=shape["truncated"],
        title=shape["title"],
        format=shape["format"],
        start=shape["start"],
        length=shape["length"],
        total=shape["total"],
        line=shape["line"],
        next=shape["next"],
        next_line=shape["next_line"],
        content=shape["content"],
        snapshot=shape["snapshot"],
    )


def parse_find_answer(shape: FindShape) -> FindAnswer:
    """Return the occurrences of a text from their JSON."""
    matches = tuple(Match(m["start"], m["line"], m["text"]) for m in shape["matches"])
    return FindAnswer(shape["url"], shape["final_url"], shape["pattern"], shape["total"], matches, shape["snapshot"])


def parse_health(shape: HealthShape) -> Health:
    """Return the server's health from its JSON."""
    return Health(shape["status"], shape["snapshot"])


def parse_raw_answer(response: Response) -> RawAnswer:
    """Return the recorded response in a `format=raw` response; body and headers are untouched."""
    headers = response.headers
    status, _, reason = headers["X-Webemu-Status"].partition(" ")
    recorded = tuple(
        (name[len(RECORDED_PREFIX) :].decode("latin-1"), value.decode("latin-1"))
        for name, value in headers.raw
        if name.lower().startswith(RECORDED_PREFIX)
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


def error_of(response: Response) -> ClientError | None:
    """Return the error that a response stands for; None for a 200 that lacks no part of the index."""
    if response.status_code == 200:
        missing = response.headers.get("X-Webemu-Missing-Parts", "")
        return _thin_answer_error(missing) if missing else None
    shape = _error_object(response)
    if shape is None:
        return _foreign_error(response)
    failure = parse_error(shape)
    if isinstance(failure, InfrastructureError):
        failure.retry_after = _retry_after_seconds(response.headers.get("Retry-After", ""))
    return failure


def parse_error(shape: ErrorShape) -> ClientError:
    """Return the error of a documented JSON error object. Damaged payloads stay damaged, so they are not retried."""
    status, reason = int(shape["status"]), str(shape["reason"])
    message, action = str(shape["message"]), str(shape.get("action", ""))
    if status < 500 and reason not in ("no-such-route", "method-not-allowed"):
        return ERROR_TYPES.get(status, WebError)(message, status=status, reason=reason, action=action)
    failure = InfrastructureError(message, status=status, reason=reason, action=action)
    failure.can_retry = status >= 500 and not reason.startswith("payload-")
    return failure


def _error_object(response: Response) -> ErrorShape | None:
    """Return the documented error object of a response; None if it has none."""
    try:
        shape: ErrorShape = json.loads(response.content)["error"]
        return shape if {"status", "reason", "message"} <= shape.keys() else None
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def _thin_answer_error(missing: str) -> InfrastructureError:
    """Return the error for results that lack partitions of the index: a whole index would have given others."""
    failure = InfrastructureError(
        f"the answer lacks parts {missing} of the index",
        status=200,
        reason="missing-parts",
        action="retry after a second",
    )
    failure.can_retry = True
    return failure


def _foreign_error(response: Response) -> InfrastructureError:
    """Return the error for a response that is not webemu's, but of a gateway, a proxy or another server."""
    status = response.status_code
    failure = InfrastructureError(
        f"HTTP {status} from {response.url} without webemu's error object",
        status=status,
        reason="foreign-answer",
        action="check base_url, and any proxy or gateway in between",
    )
    failure.can_retry = status >= 500 or status == 429
    failure.retry_after = _retry_after_seconds(response.headers.get("Retry-After", ""))
    return failure


def _retry_after_seconds(retry_after: str) -> float:
    """Return the wait that Retry-After requests, in seconds (RFC 9110, 10.2.3: a number or a date); 0 if unreadable."""
    if retry_after.isascii() and retry_after.isdigit():
        return float(retry_after)
    try:
        return max(0.0, parsedate_to_datetime(retry_after).timestamp() - time.time())
    except (ValueError, OverflowError):
        return 0.0


def batch_entries(shape: BatchShape, count: int) -> list[Any]:
    """Return the entries of a batch response. Raises ValueError if there are not `count` of them."""
    entries = shape["answers"]
    if len(entries) != count:
        raise ValueError(f"the batch response has {len(entries)} entries, expected {count}")
    return entries
