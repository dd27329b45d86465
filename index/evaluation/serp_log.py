"""Reads logs of searches that were answered by a live service: one JSON object a line, in the services' own shapes.

A line holds the query and the answer, side by side or one inside the other:

    {"query": "lighthouse", "latency_ms": 412, "response": {"organic": [{"link": "https://...", "snippet": ""}]}}
    {"searchParameters": {"q": "tallest lighthouse"}, "organic": [...]}
    {"request": {"query": "tallest lighthouse"}, "response": {"results": [{"url": "https://...", "content": ""}]}}

Serper, SerpAPI, Tavily, Brave, Exa, Bing, Google's Custom Search, Jina and Firecrawl are known by the paths below.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

_QUERY_PATHS = (
    *(("query",), ("q",), ("request", "query"), ("request", "q"), ("params", "q"), ("params", "query")),
    *(("searchParameters", "q"), ("search_parameters", "q"), ("query", "original"), ("queryContext", "originalQuery")),
    *(("queries", "request", "0", "searchTerms"), ("response", "searchParameters", "q")),
    *(("response", "search_parameters", "q"), ("response", "query"), ("response", "query", "original")),
)
_RESULT_PATHS = (
    *(("organic",), ("organic_results",), ("results",), ("web", "results"), ("webPages", "value"), ("items",)),
    *(("data",), ("data", "web")),
)
_URL_NAMES = ("link", "url")
_SNIPPET_NAMES = ("snippet", "description", "content", "text", "summary")
_LATENCIES = (("latency_ms", 1.0), ("elapsed_ms", 1.0), ("latency", 1000.0), ("response_time", 1000.0))
"""Names of the time that an answer took, with the milliseconds of their unit."""


class RecordedResult(NamedTuple):
    """One result of a live search."""

    url: str
    snippet: str


class RecordedSearch(NamedTuple):
    """One live search and its answer."""

    query: str
    results: tuple[RecordedResult, ...]
    milliseconds: float | None
    """Time that the answer took; None if the log does not say."""


class SerpLog(NamedTuple):
    """The searches of a log, and the lines that could not be read."""

    searches: tuple[RecordedSearch, ...]
    dropped: Mapping[str, int]
    """Number of lines by reason: `bad-json`, `no-query`, `no-results-list`."""


def read_serp_log(lines: Iterable[str]) -> SerpLog:
    """Return the searches of a log in order; empty lines are passed over."""
    searches, dropped = [], Counter[str]()
    for line in filter(None, map(str.strip, lines)):
        search = _parse_line(line)
        if isinstance(search, str):
            dropped[search] += 1
        else:
            searches.append(search)
    return SerpLog(tuple(searches), dropped)


def _parse_line(line: str) -> RecordedSearch | str:
    """Return the search of a line, or the reason why it has none."""
    try:
        row = json.loads(line)
    except ValueError:
        return "bad-json"
    query = next((text for path in _QUERY_PATHS if isinstance(text := _find(row, path), str) and text.strip()), "")
    if not query:
        return "no-query"
    for answer in (_find(row, ("response",)), row):
        for path in _RESULT_PATHS:
            if isinstance(results := _find(answer, path), list):
                return RecordedSearch(query.strip(), tuple(_read_results(results)), _read_latency(row, answer))
    return "no-results-list"


def _find(value: Any, path: Sequence[str]) -> Any:
    """Return what a path of names and positions leads to; None if it leads nowhere."""
    for name in path:
        if isinstance(value, dict):
            value = value.get(name)
        elif isinstance(value, list) and name.isdecimal() and int(name) < len(value):
            value = value[int(name)]
        else:
            return None
    return value


def _read_results(rows: Sequence[Any]) -> Iterable[RecordedResult]:
    """Yield the results that have a URL."""
    for row in rows:
        if isinstance(row, dict) and (url := _first_text(row, _URL_NAMES)):
            yield RecordedResult(url, _first_text(row, _SNIPPET_NAMES))


def _first_text(row: Mapping[str, Any], names: Sequence[str]) -> str:
    return next((row[name] for name in names if isinstance(row.get(name), str) and row[name]), "")


def _read_latency(*rows: Any) -> float | None:
    """Return the milliseconds that one of the rows states."""
    for row in rows:
        for name, milliseconds in _LATENCIES:
            if isinstance(row, dict) and isinstance(row.get(name), int | float) and not isinstance(row[name], bool):
                return float(row[name]) * milliseconds
    return None
