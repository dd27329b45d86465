"""What can be asked of the native API: each function gives a `Call`, which knows its request and how to read the reply.

Pure: the clients only send. So sync and async cannot differ in what they ask or understand.
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
"""The server reads no more of a query."""
BATCH_QUERIES, BATCH_URLS = 4096, 256
BATCH_RESULTS = 100_000
"""What one batch may ask for in all."""
BATCH_BYTES = 4 << 20
"""Half of what a request may weigh."""


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """One question: the path with its parameters, the body of a POST, and the reader of a 200."""

    path: str
    read: Callable[[Response], T]
    body: bytes | None = None

    def request(self, base_url: str, headers: Mapping[str, str], timeout: httpx.Timeout) -> httpx.Request:
        """The request, ready for `send`, which adds nothing. Raises BadRequest on what is too long for a URL."""
        method = "GET" if self.body is None else "POST"
        extensions = {"timeout": timeout.as_dict()}
        try:
            return httpx.Request(
                method, base_url + self.path, headers=headers, content=self.body, extensions=extensions
            )
        except httpx.InvalidURL as error:
            raise BadRequest(f"the request cannot be sent: {error}", reason="bad-request") from error

    def answer(self, response: Response) -> T:
        """The reply's value. Raises WebError, or InfrastructureError for what is no reply."""
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
        """The same question with its answer read further."""
        return Call(self.path, lambda response: read(self.read(response)), self.body)


def search(
    query: str, page: int = 1, size: int = 10, as_of: str | None = None, engine: str | None = None
) -> Call[SearchAnswer]:
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
    by_line = line is not None or lines is not None
    window = {"line": line or 0, "lines": lines} if by_line else {"start": start, "length": length}
    path = _path("/v1/fetch", url=url, format=format, at=at, follow=int(follow), **window)
    return Call(path, _json(responses.page_answer))


def raw(url: str, at: str | None = None) -> Call[RawAnswer]:
    return Call(_path("/v1/fetch", url=url, format="raw", at=at), responses.raw_answer)


def find(url: str, pattern: str, at: str | None = None, limit: int = 20) -> Call[FindAnswer]:
    return Call(_path("/v1/find", url=url, pattern=pattern, at=at, limit=limit), _json(responses.find_answer))


def health() -> Call[Health]:
    return Call("/health", _json(responses.health))


def search_many(
    queries: Sequence[str], page: int = 1, size: int = 10, as_of: str | None = None, engine: str | None = None
) -> Iterator[Call[list[SearchAnswer | ClientError]]]:
    """Batches the server accepts, in order."""
    shared = {"page": page, "size": size, "as_of": as_of, "engine": engine}
    asks = [{"q": _clean(query[:QUERY_CHARACTERS]), **shared} for query in queries]
    for batch in _batches(asks, min(BATCH_QUERIES, BATCH_RESULTS // max(size, 1))):
        yield _post("/v1/search", {"queries": batch}, len(batch), responses.search_answer)


def open_many(
    urls: Sequence[str], format: View = "text", at: str | None = None, length: int = 20000
) -> Iterator[Call[list[PageAnswer | ClientError]]]:
    """Batches the server accepts, in order."""
    asks = [{"url": _clean(url), "at": at} for url in urls]
    for batch in _batches(asks, BATCH_URLS):
        yield _post("/v1/fetch", {"urls": batch, "format": format, "length": length}, len(batch), responses.page_answer)


def _path(route: str, **parameters: object) -> str:
    given = {name: value for name, value in parameters.items() if value is not None}
    return f"{route}?{urlencode(given, errors='replace')}"


def _clean(text: str) -> str:
    """Models produce lone surrogates, which no JSON reader takes."""
    return text.encode("utf-8", "replace").decode()


def _json(read: Callable[[Mapping[str, Any]], T]) -> Callable[[Response], T]:
    return lambda response: read(json.loads(response.content))


def _post(
    path: str, body: Mapping[str, object], count: int, read: Callable[[Mapping[str, Any]], T]
) -> Call[list[T | ClientError]]:
    def entries(shape: Mapping[str, Any]) -> list[T | ClientError]:
        found = responses.answers(shape, count)
        return [responses.error(entry["error"]) if "error" in entry else read(entry) for entry in found]

    return Call(path, _json(entries), json.dumps(body, ensure_ascii=False).encode())


def _batches(asks: Sequence[dict[str, Any]], most: int) -> Iterator[list[dict[str, Any]]]:
    batch: list[dict[str, Any]] = []
    weight = 0
    for ask in asks:
        size = len(json.dumps(ask, ensure_ascii=False).encode())
        if batch and (len(batch) == most or weight + size > BATCH_BYTES):
            yield batch
            batch, weight = [], 0
        batch.append(ask)
        weight += size
    if batch:
        yield batch
