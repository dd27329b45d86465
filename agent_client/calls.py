"""Builds the calls of the native API: each `ApiCall` knows its request and how to parse the response.

Pure: the clients only send. The synchronous and the asynchronous client therefore cannot differ in what they request
or understand.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar
from urllib.parse import urlencode

import httpx

from webemu.agent_client import responses
from webemu.agent_client.errors import BadRequest, ClientError, InfrastructureError
from webemu.agent_client.responses import BatchShape, Response
from webemu.agent_client.types import FindAnswer, Health, PageAnswer, RawAnswer, SearchAnswer, SnippetStyle, View

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
S = TypeVar("S")

MAX_QUERY_CHARS = 4096
"""Maximum length of a query; the server ignores the rest."""
MAX_BATCH_QUERIES, MAX_BATCH_URLS = 1024, 256
MAX_BATCH_RESULTS = 100_000
"""Maximum number of results that one batch may request in total."""
MAX_BATCH_BYTES = 4 << 20
"""Maximum size of a batch: half of what the server accepts."""


@dataclass(frozen=True, slots=True)
class ApiCall(Generic[T_co]):
    """One API call: path with parameters, body of a POST, and the parser of a 200 response."""

    path: str
    """Path and query string of the request."""
    parse: Callable[[Response], T_co]
    """Parses a 200 response."""
    body: bytes | None = None
    """JSON body of a POST; None for a GET."""

    def to_request(self, base_url: str, headers: Mapping[str, str], timeout: httpx.Timeout) -> httpx.Request:
        """Return the complete request, ready for `httpx.Client.send`. Raises BadRequest if the URL is too long."""
        method = "GET" if self.body is None else "POST"
        extensions = {"timeout": timeout.as_dict()}
        try:
            return httpx.Request(
                method, base_url + self.path, headers=headers, content=self.body, extensions=extensions
            )
        except httpx.InvalidURL as error:
            raise BadRequest(f"the request cannot be sent: {error}", reason="bad-request") from error

    def parse_response(self, response: Response) -> T_co:
        """Return the parsed response.

        Raises: WebError if the server refused; InfrastructureError if it failed or did not send the documented JSON.
        """
        if (failure := responses.error_of(response)) is not None:
            raise failure
        try:
            return self.parse(response)
        except (ValueError, KeyError, TypeError) as error:
            raise InfrastructureError(
                f"{response.url} answered what is not the documented JSON ({type(error).__name__}: {error})",
                status=response.status_code,
                reason="foreign-answer",
                action="check that base_url is a webemu server of this version",
            ) from error

    def map(self, read: Callable[[T_co], S]) -> ApiCall[S]:
        """Return the same call with `read` applied to its result."""
        return ApiCall(self.path, lambda response: read(self.parse(response)), self.body)


def search(
    query: str,
    page: int = 1,
    size: int = 10,
    as_of: str | None = None,
    engine: str | None = None,
    snippet: SnippetStyle | None = None,
) -> ApiCall[SearchAnswer]:
    """Return the call for one page of results."""
    options = {"page": page, "size": size, "as_of": as_of, "engine": engine, "snippet": snippet}
    path = _path_with_query("/v1/search", q=query[:MAX_QUERY_CHARS], **options)
    return ApiCall(path, _json_parser(responses.parse_search_answer))


def open_page(
    url: str,
    format: View = "text",
    at: str | None = None,
    start: int = 0,
    length: int = 20000,
    line: int | None = None,
    lines: int | None = None,
    follow: bool = True,
) -> ApiCall[PageAnswer]:
    """Return the call for a window of a page: by lines if `line` or `lines` is given, else by characters."""
    by_line = line is not None or lines is not None
    position = {"line": line or 0, "lines": lines} if by_line else {"start": start, "length": length}
    path = _path_with_query("/v1/fetch", url=url, format=format, at=at, follow=int(follow), **position)
    return ApiCall(path, _json_parser(responses.parse_page_answer))


def open_raw(url: str, at: str | None = None) -> ApiCall[RawAnswer]:
    """Return the call for a recorded response, byte for byte."""
    return ApiCall(_path_with_query("/v1/fetch", url=url, format="raw", at=at), responses.parse_raw_answer)


def find(url: str, pattern: str, at: str | None = None, limit: int = 20) -> ApiCall[FindAnswer]:
    """Return the call for the occurrences of a plain text in a page."""
    return ApiCall(
        _path_with_query("/v1/find", url=url, pattern=pattern, at=at, limit=limit),
        _json_parser(responses.parse_find_answer),
    )


def health() -> ApiCall[Health]:
    """Return the call for the server's health."""
    return ApiCall("/health", _json_parser(responses.parse_health))


def search_many(
    queries: Sequence[str],
    page: int = 1,
    size: int = 10,
    as_of: str | None = None,
    engine: str | None = None,
    snippet: SnippetStyle | None = None,
) -> Iterator[ApiCall[list[SearchAnswer | ClientError]]]:
    """Yield the calls for many searches, in order, in batches that the server accepts."""
    # Older servers refuse a member that they do not know, so it is sent only where it says something.
    options = {"page": page, "size": size, "as_of": as_of, "engine": engine}
    options |= {"snippet": snippet} if snippet else {}
    entries = [{"q": replace_surrogates(query[:MAX_QUERY_CHARS]), **options} for query in queries]
    for batch in _split_batches(entries, min(MAX_BATCH_QUERIES, MAX_BATCH_RESULTS // max(size, 1))):
        yield _batch_call("/v1/search", {"queries": batch}, len(batch), responses.parse_search_answer)


def open_many(
    urls: Sequence[str], format: View = "text", at: str | None = None, length: int = 20000
) -> Iterator[ApiCall[list[PageAnswer | ClientError]]]:
    """Yield the calls for many pages, in order, in batches that the server accepts."""
    entries = [{"url": replace_surrogates(url), "at": at} for url in urls]
    for batch in _split_batches(entries, MAX_BATCH_URLS):
        yield _batch_call(
            "/v1/fetch", {"urls": batch, "format": format, "length": length}, len(batch), responses.parse_page_answer
        )


def _path_with_query(route: str, **parameters: object) -> str:
    """Return a path with its query string; parameters that are None are left out."""
    params = {name: value for name, value in parameters.items() if value is not None}
    return f"{route}?{urlencode(params, errors='replace')}"


def replace_surrogates(text: str) -> str:
    """Return a text without lone surrogates, which models produce and no JSON reader accepts."""
    return text.encode("utf-8", "replace").decode()


def _json_parser(parse: Callable[[S], T]) -> Callable[[Response], T]:
    """Return a response parser that decodes JSON first."""
    return lambda response: parse(json.loads(response.content))


def _batch_call(
    path: str, body: Mapping[str, object], count: int, parse: Callable[[S], T]
) -> ApiCall[list[T | ClientError]]:
    """Return the call for a batch of `count` entries; each result is a value or the error of its entry."""

    def parse_entries(shape: BatchShape) -> list[T | ClientError]:
        entries = responses.batch_entries(shape, count)
        return [responses.parse_error(entry["error"]) if "error" in entry else parse(entry) for entry in entries]

    return ApiCall(path, _json_parser(parse_entries), json.dumps(body, ensure_ascii=False).encode())


def _split_batches(entries: Sequence[Mapping[str, object]], limit: int) -> Iterator[list[Mapping[str, object]]]:
    """Yield the entries in batches of at most `limit` entries and `MAX_BATCH_BYTES` bytes."""
    batch: list[Mapping[str, object]] = []
    batch_bytes = 0
    for entry in entries:
        entry_bytes = len(json.dumps(entry, ensure_ascii=False).encode())  # as it is sent
        if batch and (len(batch) == limit or batch_bytes + entry_bytes > MAX_BATCH_BYTES):
            yield batch
            batch, batch_bytes = [], 0
        batch.append(entry)
        batch_bytes += entry_bytes
    if batch:
        yield batch
