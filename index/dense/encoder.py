"""Encodes queries in batches: one thread encodes all queries that wait, and recent vectors are cached.

The vector of a query does not depend on its batch: see `webemu.index.dense.model.load_query_encoder`.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache

from webemu.index.dense.model import Encode
from webemu.index.dense.store import Vector, quantize

GATHER_SECONDS = 0.001
"""Seconds that the first query of a batch waits for others; while one batch is encoded, the next gathers by itself."""
MAX_BATCH = 32
"""Queries of a batch at most."""
CACHED_QUERIES = 8192
"""Queries whose vectors are cached."""

_Waiting = deque[tuple[str, "Future[Vector]"]]


class InlineEncoder:
    """Encodes each query at once, for models that take some microseconds. Thread-safe."""

    def __init__(self, encode: Encode) -> None:
        self.encode = lru_cache(CACHED_QUERIES)(lambda text: quantize(encode([text])[0]))
        """Returns the vector of a query."""

    def submit(self, text: str) -> Future[Vector]:
        """Return a future that has the vector already."""
        future: Future[Vector] = Future()
        future.set_result(self.encode(text))
        return future


class QueryEncoder:
    """Encodes queries in a thread of its own. Thread-safe."""

    def __init__(self, encode: Encode) -> None:
        self._encode = encode
        self._waiting: _Waiting = deque()
        self._thread = ThreadPoolExecutor(1, "encoder")
        self._cached_enqueue = lru_cache(CACHED_QUERIES)(self._enqueue)

    def submit(self, text: str) -> Future[Vector]:
        """Return a future of the vector of a query, for callers that must not block."""
        future = self._cached_enqueue(text)
        if future.done() and future.exception() is not None:  # cached after it failed
            self._cached_enqueue.cache_clear()
            future = self._cached_enqueue(text)
        return future

    def encode(self, text: str) -> Vector:
        """Return the vector of a query; waits for it."""
        return self.submit(text).result()

    def _enqueue(self, text: str) -> Future[Vector]:
        """Queue a query and wake the thread."""
        future: Future[Vector] = Future()
        self._waiting.append((text, future))
        self._thread.submit(self._encode_waiting)
        return future

    def _encode_waiting(self) -> None:
        """Encode the queries that wait. There may be none: each query wakes the thread, and one call takes several."""
        if not self._waiting:
            return
        time.sleep(GATHER_SECONDS)  # a batch takes little longer than one query
        batch = [self._waiting.popleft() for _ in range(min(MAX_BATCH, len(self._waiting)))]
        try:
            vectors: Sequence[Vector] = [quantize(row) for row in self._encode([text for text, _ in batch])]
        except Exception as error:  # out of memory, a lost GPU: every waiting caller gets it
            for _, future in batch:
                future.set_exception(error)
            return
        for (_, future), vector in zip(batch, vectors, strict=True):
            future.set_result(vector)
