"""Reads logs of calls of search services, one JSON object a line, as exchanges of a recorded run.

A line names its call by `url`, `method` and `request` (or `body`, `params`), or has the answer of a service that is
known by its shape: Serper, Tavily and Jina. Their calls are then written as their own clients send them:

    {"url": "https://api.tavily.com/search", "request": {"query": "tea"}, "response": {}, "time": 1700000000}
    {"searchParameters": {"q": "tea", "type": "search"}, "organic": []}
    {"request": {"query": "tea"}, "response": {"query": "tea", "results": [{"url": "", "content": ""}]}}
    {"query": "tea", "response": {"code": 200, "data": [{"url": "", "content": ""}]}}
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote, urlencode

import orjson

from webemu.ingest.exchange_records import REASONS as EXCHANGE_REASONS
from webemu.ingest.exchange_records import ImportedExchange, build_exchange, read_time, read_url
from webemu.ingest.records import Skip
from webemu.ingest.rows import Row

UNKNOWN_SERVICE = "unknown-service"
"""Reason for which a line is dropped: it neither names its call nor has the answer of a known service."""
REASONS = (UNKNOWN_SERVICE, "bad-json", *EXCHANGE_REASONS)
"""Reasons for which a line is dropped, or loses its date."""
_TIMES = ("time", "timestamp", "date", "created_at", "recorded_at")
_JSON_TYPE = ("Content-Type", "application/json")
_TEXT_TYPE = ("Content-Type", "text/plain; charset=utf-8")
_ECHOES = frozenset(("type", "engine", "autocorrect"))
"""Members of Serper's `searchParameters` that its clients do not send."""
Call = tuple[str, str, bytes]
"""Method, URL and body."""


def is_service_log(row: Any) -> bool:
    """True if a line of JSON is one of a log of calls."""
    if not isinstance(row, dict):
        return False
    answer, url = row.get("response"), row.get("url") or row.get("endpoint")
    return "searchParameters" in row or isinstance(answer, dict | list) or (isinstance(answer, str) and bool(url))


def iter_records(rows: Iterator[Row | Skip]) -> Iterator[bytes | Skip]:
    """Yield the WARC records of each line, and a skip for what is lost."""
    for number, row in enumerate(rows):
        if isinstance(row, Skip):
            yield row
            continue
        answer = row.value.get("response", row.value)
        if (call := _read_call(row.value, answer)) is None:
            yield Skip(UNKNOWN_SERVICE, row.offset, 0)
            continue
        method, url, body = call
        status = row.value.get("status")
        exchange = ImportedExchange(
            method,
            url,
            [_JSON_TYPE] if body else [],
            body,
            status if isinstance(status, int) else 200,
            "",
            [_TEXT_TYPE if isinstance(answer, str) else _JSON_TYPE],
            answer.encode("utf-8", "replace") if isinstance(answer, str) else orjson.dumps(answer),
            next((time for name in _TIMES if (time := read_time(row.value.get(name)))), None),
            "bad-date" if any(row.value.get(name) for name in _TIMES) else "no-date",
        )
        yield from build_exchange(exchange, number)


def _read_call(row: Mapping[str, Any], answer: Any) -> Call | None:
    """Return the call of a line; None if nothing tells it."""
    request = next((row[name] for name in ("request", "body", "json") if isinstance(row.get(name), dict)), None)
    if url := read_url(row.get("url") or row.get("endpoint")):
        parameters = row.get("params")
        if isinstance(parameters, dict) and parameters:
            url = f"{url}{'&' if '?' in url else '?'}{urlencode(parameters, doseq=True)}"
        method = str(row.get("method") or ("POST" if request is not None else "GET")).upper()
        return method, url, b"" if request is None else orjson.dumps(request)
    if not isinstance(answer, dict):
        return None
    echo = answer.get("searchParameters")
    if isinstance(echo, dict):
        return _call_serper(request, echo)
    query = next((text for text in (row.get("query"), row.get("q"), answer.get("query")) if isinstance(text, str)), "")
    results = answer.get("results")
    if isinstance(results, list) and ("response_time" in answer or "query" in answer or "failed_results" in answer):
        path = "extract" if "failed_results" in answer else "search"
        if request is None and (path == "extract" or not query):
            return None
        return "POST", f"https://api.tavily.com/{path}", orjson.dumps(request or {"query": query})
    return _call_jina(request, query, answer.get("data")) if "data" in answer and "code" in answer else None


def _call_serper(request: Mapping[str, Any] | None, echo: Mapping[str, Any]) -> Call:
    kind = echo.get("type")
    url = f"https://google.serper.dev/{quote(kind if isinstance(kind, str) else 'search')}"
    sent = {name: value for name, value in echo.items() if name not in _ECHOES}
    return "POST", url, orjson.dumps(sent if request is None else request)


def _call_jina(request: Mapping[str, Any] | None, query: str, pages: Any) -> Call | None:
    """Return the call of a search (a list of pages) or of a reading (one page)."""
    if isinstance(pages, list):
        text = request.get("q") if request else query
        return ("GET", f"https://s.jina.ai/?q={quote(str(text), safe='')}", b"") if text else None
    page = (request or {}).get("url") or (pages.get("url") if isinstance(pages, dict) else None)
    return ("GET", f"https://r.jina.ai/{page}", b"") if isinstance(page, str) else None
