"""Queries to vectors, for all that ask at the same time: one thread encodes together what waits, and the last are kept.

The vector of a query does not depend on what it was encoded with: see `webemu.index.dense.model.query_encoder`.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache

from webemu.index.dense.model import Encode
from webemu.index.dense.store import Vector, quantised

GATHER = 0.001
"""Seconds that the first of a batch waits for others; while one is encoded, the next gathers by itself."""
BATCH = 32
KEPT = 8192
"""Queries whose vectors are kept."""

_Waiting = deque[tuple[str, "Future[Vector]"]]


class Encoder:
    """Thread-safe; its thread ends with it."""

    def __init__(self, encode: Encode) -> None:
        self._encode = encode
        self._waiting: _Waiting = deque()
        self._thread = ThreadPoolExecutor(1, "encoder")
        self._asked = lru_cache(KEPT)(self._ask)

    def ask(self, text: str) -> Future[Vector]:
        """The vector of a query, when it is there: for who must not wait in its own thread."""
        return self._asked(text)

    def vector(self, text: str) -> Vector:
        return self.ask(text).result()

    def _ask(self, text: str) -> Future[Vector]:
        future: Future[Vector] = Future()
        self._waiting.append((text, future))
        self._thread.submit(self._work)
        return future

    def _work(self) -> None:
        """Encode what waits; who comes to find that another has done it leaves again."""
        if not self._waiting:
            return
        time.sleep(GATHER)
        batch = [self._waiting.popleft() for _ in range(min(BATCH, len(self._waiting)))]
        try:
            vectors: Sequence[Vector] = [quantised(row) for row in self._encode([text for text, _ in batch])]
        except Exception as error:  # out of memory, a lost GPU: told to each who waits, and not kept
            self._asked.cache_clear()
            for _, future in batch:
                future.set_exception(error)
            return
        for (_, future), vector in zip(batch, vectors, strict=True):
            future.set_result(vector)
