"""Common Crawl's list of crawls, `/collinfo.json`: those of the snapshot, and older ones without captures.

cdx_toolkit refuses a list of less than 60: it is filled up to that with ids four weeks apart, back from the oldest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta

import orjson

from webemu.api.archives.crawls import crawl_id, crawls_of
from webemu.api.archives.responses import reply
from webemu.api.http.request import Request
from webemu.api.services.origin import Reply
from webemu.emulator.world import World

LEAST = 60
_STEP = timedelta(weeks=4)


def answer(world: World, request: Request) -> Reply:
    """The newest first."""
    spans = {crawl: (_time(first), _time(last)) for crawl, (first, last) in crawls_of(world).spans.items()}
    entries = [*spans.items(), *_older(spans)]
    return reply(200, orjson.dumps([_entry(request.origin, *entry) for entry in entries]), "application/json")


def _time(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _older(spans: Mapping[str, tuple[datetime, datetime]]) -> Iterator[tuple[str, tuple[datetime, datetime]]]:
    oldest = min((first for first, _ in spans.values()), default=_time(0))
    monday = (oldest - timedelta(days=oldest.weekday())).replace(hour=0, minute=0, second=0)
    most = (monday - datetime.min.replace(tzinfo=UTC)) // _STEP  # there is no year before the first
    for number in range(1, min(LEAST - len(spans), most) + 1):
        first = monday - number * _STEP
        yield crawl_id(int(first.timestamp())), (first, first + timedelta(days=7, seconds=-1))


def _entry(origin: str, crawl: str, span: tuple[datetime, datetime]) -> dict[str, str]:
    first, last = span
    months = f"{first:%B}" if f"{first:%Y%m}" == f"{last:%Y%m}" else f"{first:%B}/{last:%B}"
    return {
        "id": crawl,
        "name": f"{months} {last:%Y} Index",
        "timegate": f"{origin}/{crawl}/",
        "cdx-api": f"{origin}/{crawl}-index",
        "from": f"{first:%Y-%m-%dT%H:%M:%S}",
        "to": f"{last:%Y-%m-%dT%H:%M:%S}",
    }
