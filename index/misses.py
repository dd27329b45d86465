"""Find what agents asked for in vain, in the traces of their sessions: a list by which a collection can grow."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from webemu.emulator import urls
from webemu.emulator.trace import Trace

URL, HOST, QUERY = "url", "host", "query"
"""Kinds of misses: a page, a host of which no page was opened, a query with too few results."""


@dataclass(frozen=True, slots=True)
class Miss:
    """Something that sessions asked for in vain."""

    kind: str
    text: str
    """URL, host name, or words of the query."""
    requests: int
    """Requests for it, in all sessions."""
    sessions: int
    """Sessions that asked for it."""
    lost_reward: float
    """Sum of 1 - reward over the sessions whose reward is known."""
    tasks: tuple[str, ...]
    """Tasks of the sessions, in order."""


def find_misses(
    rows: Iterable[Trace], min_results: int, rewards: Mapping[tuple[str, str], float] | None = None
) -> list[Miss]:
    """Return what was missing, that which cost the most reward first, then that which most sessions wanted.

    A query is missing if its first page had fewer than `min_results` results. `rewards` maps (task, rollout) to a
    reward between 0 and 1. Requests that failed by an injected fault or by the server are no misses.
    """
    rewards = rewards or {}
    sound_rows = [row for row in rows if not row.weather and not row.failed]
    opened_hosts = {urls.host_of(row.url) for row in sound_rows if row.kind == "open"}
    rows_by_miss: dict[tuple[str, str], list[Trace]] = defaultdict(list)
    for row in sound_rows:
        for key in _list_missing(row, opened_hosts, min_results):
            rows_by_miss[key].append(row)
    misses = [_build_miss(key, miss_rows, rewards) for key, miss_rows in rows_by_miss.items()]
    return sorted(misses, key=lambda miss: (-miss.lost_reward, -miss.sessions, -miss.requests, miss.kind, miss.text))


def _list_missing(row: Trace, opened_hosts: set[str], min_results: int) -> Iterator[tuple[str, str]]:
    """Yield kind and text of what a row asked for in vain."""
    if row.kind == "miss":
        yield URL, row.url
        if (host := urls.host_of(row.url)) not in opened_hosts:
            yield HOST, host
    elif row.kind == "search" and row.first == 1 and row.status == 200 and len(row.shown) < min_results:
        yield QUERY, " ".join(row.query.split())


def _build_miss(key: tuple[str, str], rows: list[Trace], rewards: Mapping[tuple[str, str], float]) -> Miss:
    """Return a miss of the rows that asked for it."""
    sessions = {row.session: (row.task, row.rollout) for row in rows}
    lost_reward = sum(1.0 - rewards[attempt] for attempt in sessions.values() if attempt in rewards)
    tasks = tuple(sorted({task for task, _ in sessions.values() if task}))
    return Miss(*key, len(rows), len(sessions), lost_reward, tasks)
