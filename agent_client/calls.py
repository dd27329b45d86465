"""Builds the calls of the native API: each `ApiCall` knows its request and how to parse the response.

Pure: the clients only send. The synchronous and the asynchronous client therefore cannot differ in what they request
or understand.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from urllib.parse import urlencode

import httpx

from webemu.agent_client import responses
from webemu.agent_client.errors import BadRequest, ClientError, InfrastructureError
from webemu.agent_client.responses import Response
from webemu.agent_client.types import FindAnswer, Health, PageAnswer, RawAnswer, SearchAnswer, View

T = TypeVar("T")
S = TypeVar("S")

QUERY_CHARACTERS = 4096
"""Maximum length of a query; the server ignores the rest."""
BATCH_QUERIES, BATCH_URLS = 4096, 256
BATCH_RESULTS = 100_000
"""Maximum number of results that one batch may request in total."""
BATCH_BYTES = 4 << 20
"""Maximum size of a batch: half of what the server accepts."""


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """One API call: path with parameters, body of a POST, and the parser of a 200 response."""

    path: str
    """Path and query string of the request."""
    read: Callable[[Response], T]
    """Parses a 200 response."""
    body: bytes | None = None
    """JSON body of a POST; None for a GET."""

    def request(self, base_url: str, headers: Mapping[str, str], timeout: httpx.Timeout) -> httpx.Request:
        """Return the complete request, ready for `httpx.Client.send`. Raises BadRequest if the URL is too long."""
        method = "GET" if self.body is None else "POST"
        extensions = {"timeout": timeout.as_dict()}
        try:
            return httpx.Request(
                method, base_url + self.path, headers=headers, content=self.body, extensions=extensions
            )
        except httpx.InvalidURL as error:
            raise BadRequest(f"the request cannot be sent: {error}", reason="bad-request") from error

    def answer(self, response: Response) -> T:
        """Return the parsed response.

        Raises: WebError if the server refused; InfrastructureError if it failed or did not send the documented JSON.
        """
        if (found := responses.problem(response)) is not None:
            raise found
        try:
            return self.read(response)
        except (ValueError, KeyError, TypeError) as error:
            raise InfrastructureError(
                f"{response.url} answered what is not the documented JSON ({type(error).__name__}: {error})",
                status=response.status_code,
                reason="foreign-answer",
                action="check that base_url is a webemu server of this version",
            ) from error

    def then(self, read: Callable[[T], S]) -> Call[S]:
        """Return the same call with `read` applied to its result."""
        return Call(self.path, lambda response: read(self.read(response)), self.body)


def search(
    query: str, page: int = 1, size: int = 10, as_of: str | None = None, engine: str | None = None
) -> Call[SearchAnswer]:
    """Return the call for one page of results."""
    path = _path("/v1/search", q=query[:QUERY_CHARACTERS], page=page, size=size, as_of=as_of, engine=engine)
    return Call(path, _json(responses.search_answer))


def page(
    url: str,
    format: View = "text",
    at: str | None = None,
    start: int = 0,
    length: int = 20000,
    line: int | None = None,
    lines: int | None = None,
    follow: bool = True,
) -> Call[PageAnswer]:
    """Return the call for a window of a page: by lines if `line` or `lines` is given, else by characters."""
    by_line = line is not None or lines is not None
    window = {"line": line or 0, "lines": lines} if by_line else {"start": start, "length": length}
    path = _path("/v1/fetch", url=url, format=format, at=at, follow=int(follow), **window)
    return Call(path, _json(responses.page_answer))


def raw(url: str, at: str | None = None) -> Call[RawAnswer]:
    """Return the call for a recorded response, byte for byte."""
    return Call(_path("/v1/fetch", url=url, format="raw", at=at), responses.raw_answer)


def find(url: str, pattern: str, at: str | None = None, limit: int = 20) -> Call[FindAnswer]:
    """Return the call for the occurrences of a plain text in a page."""
    return Call(_path("/v1/find", url=url, pattern=pattern, at=at, limit=limit), _json(responses.find_answer))


def health() -> Call[Health]:
    """Return the call for the server's health."""
    return Call("/health", _json(responses.health))


def search_many(
    queries: Sequence[str], page: int = 1, size: int = 10, as_of: str | None = None, engine: str | None = None
) -> Iterator[Call[list[SearchAnswer | ClientError]]]:
    """Yield the calls for many searches, in order, in batches that the server accepts."""
    shared = {"page": page, "size": size, "as_of": as_of, "engine": engine}
    asks = [{"q": _clean(query[:QUERY_CHARACTERS]), **shared} for query in queries]
    for batch in _batches(asks, min(BATCH_QUERIES, BATCH_RESULTS // max(size, 1))):
        yield _post("/v1/search", {"queries": batch}, len(batch), responses.search_answer)


def open_many(
    urls: Sequence[str], format: View = "text", at: str | None = None, length: int = 20000
) -> Iterator[Call[list[PageAnswer | ClientError]]]:
    """Yield the calls for many pages, in order, in batches that the server accepts."""
    asks = [{"url": _clean(url), "at": at} for url in urls]
    for batch in _batches(asks, BATCH_URLS):
        yield _post("/v1/fetch", {"urls": batch, "format": format, "length": length}, len(batch), responses.page_answer)


def _path(route: str, **parameters: object) -> str:
    """Return a path with its query string; parameters that are None are left out."""
    given = {name: value for name, value in parameters.items() if value is not None}
    return f"{route}?{urlencode(given, errors='replace')}"


def _clean(text: str) -> str:
    """Return a text without lone surrogates, which models produce and no JSON reader accepts."""
    return text.encode("utf-8", "replace").decode()


def _json(read: Callable[[Mapping[str, Any]], T]) -> Callable[[Response], T]:
    """Return a response parser that decodes JSON first."""
    return lambda response: read(json.loads(response.content))


def _post(
    path: str, body: Mapping[str, object], count: int, read: Callable[[Mapping[str, Any]], T]
) -> Call[list[T | ClientError]]:
    """Return the call for a batch of `count` entries; each result is a value or the error of its entry."""

    def entries(shape: Mapping[str, Any]) -> list[T | ClientError]:
        found = responses.answers(shape, count)
        return [responses.error(entry["error"]) if "error" in entry else read(entry) for entry in found]

    return Call(path, _json(entries), json.dumps(body, ensure_ascii=False).encode())


def _batches(asks: Sequence[dict[str, Any]], most: int) -> Iterator[list[dict[str, Any]]]:
    """Yield the entries in batches of at most `most` entries and `MAX_BATCH_BYTES` bytes."""
    batch: list[dict[str, Any]] = []
    weight = 0
    for ask in asks:
        size = len(json.dumps(ask, ensure_ascii=False).encode())  # as it is sent
        if batch and (len(batch) == most or weight + size > BATCH_BYTES):
            yield batch
            batch, weight = [], 0
        batch.append(ask)
        weight += size
    if batch:
        yield batch
