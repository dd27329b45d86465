"""Requests in vain: searches without a result, and URLs that were not captured.

They tell a trainer what the crawl lacks. Only the trainer's side shows them (`webemu.api.services.trainer_side`).
"""

from __future__ import annotations

from collections import Counter
from threading import Lock
from typing import Literal

VainKind = Literal["search", "url"]
"""Kind of the request: a search or a URL."""
MAX_ENTRIES, MAX_ENTRY_CHARS, TOP_ENTRIES = 2048, 300, 20
"""Distinct entries of a kind that are counted, characters of each, and entries that a worker publishes."""


class VainRequests:
    """Counts of what was asked in vain by one process, bounded in memory: rare entries are forgotten first."""

    def __init__(self) -> None:
        self._lock = Lock()
        """Guards the counts, which several threads change."""
        self._counts: dict[VainKind, Counter[str]] = {"search": Counter(), "url": Counter()}

    def record(self, kind: VainKind, text: str) -> None:
        """Count a search without results, or a URL that was not captured."""
        text = text[:MAX_ENTRY_CHARS].encode("utf-8", "replace").decode()
        with self._lock:
            counts = self._counts[kind]
            counts[text] += 1
            if len(counts) > MAX_ENTRIES:
                self._counts[kind] = Counter(dict(counts.most_common(MAX_ENTRIES // 2)))

    def most_frequent(self) -> dict[str, dict[str, int]]:
        """Return the most frequent entries and their numbers, by kind."""
        with self._lock:
            return {kind: dict(counts.most_common(TOP_ENTRIES)) for kind, counts in self._counts.items()}
