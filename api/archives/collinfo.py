"""Common Crawl's list of crawls, `/collinfo.json`: those of the snapshot, and older ones without captures.

cdx_toolkit refuses a list of fewer than 60 crawls. The list is filled up to that number with ids four weeks apart,
going back from the oldest crawl.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta

import orjson

from webemu.api.archives.crawls import crawl_id, find_crawls
from webemu.api.archives.responses import make_response
from webemu.api.http.request import Request
from webemu.api.http.response import Response
from webemu.emulator.world import World

MIN_CRAWLS = 60
"""Number of crawls that the list has at least; cdx_toolkit demands it."""
_STEP = timedelta(weeks=4)


def answer(world: World, request: Request) -> Response:
    """Answer with the list of crawls as JSON, newest first."""
    spans = {
        crawl: (_to_datetime(first), _to_datetime(last)) for crawl, (first, last) in find_crawls(world).spans.items()
    }
    entries = [*spans.items(), *_filler_crawls(spans)]
    return make_response(
        200, orjson.dumps([_crawl_entry(request.origin, *entry) for entry in entries]), "application/json"
    )


def _to_datetime(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _filler_crawls(spans: Mapping[str, tuple[datetime, datetime]]) -> Iterator[tuple[str, tuple[datetime, datetime]]]:
    """Yield invented crawls before the oldest one, each with its id and span of one week."""
    oldest = min((first for first, _ in spans.values()), default=_to_datetime(0))
    monday = (oldest - timedelta(days=oldest.weekday())).replace(hour=0, minute=0, second=0)
    max_steps = (monday - datetime.min.replace(tzinfo=UTC)) // _STEP  # datetime has no year 0
    for step in range(1, min(MIN_CRAWLS - len(spans), max_steps) + 1):
        first = monday - step * _STEP
        yield crawl_id(int(first.timestamp())), (first, first + timedelta(days=7, seconds=-1))


def _crawl_entry(origin: str, crawl: str, span: tuple[datetime, datetime]) -> dict[str, str]:
    first, last = span
    # Common Crawl names a crawl by its months, such as "February/March 2024 Index".
    months = f"{first:%B}" if f"{first:%Y%m}" == f"{last:%Y%m}" else f"{first:%B}/{last:%B}"
    return {
        "id": crawl,
        "name": f"{months} {last:%Y} Index",
        "timegate": f"{origin}/{crawl}/",
        "cdx-api": f"{origin}/{crawl}-index",
        "from": f"{first:%Y-%m-%dT%H:%M:%S}",
        "to": f"{last:%Y-%m-%dT%H:%M:%S}",
    }
