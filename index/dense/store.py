"""Vector storage, and the pages nearest to a query: exact below a million vectors, by a graph above.

    vectors.bin     int8, one row per passage window, in the order of dense ids; all have one scale
    owners.bin      u32, the dense id of each row's page
    windows.bin     u64, the hash of each row's passage window, by which later snapshots find rows to copy
    graph.usearch   HNSW (Malkov and Yashunin 2016) over the rows, if there are many

Dot products of 8-bit rows are integers, so no processor, thread count or row order changes one. A page has the score
of its best row.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from math import sqrt
from pathlib import Path
from typing import NamedTuple

import numkong
import numpy as np
from numpy.typing import NDArray
from usearch.index import Index, MetricKind, ScalarKind

from webemu.emulator.ports import ScoredDoc

MAX_EXACT_VECTORS = 1_000_000
"""Number of vectors up to which each one is compared with the query."""
MAX_GRAPH_ROWS = 4096
"""Rows that the graph is asked for, at most; a larger request is answered exactly."""
MAX_LEVEL = 127
"""Largest absolute value of a quantised number."""
VECTORS, OWNERS, WINDOWS, GRAPH = "vectors.bin", "owners.bin", "windows.bin", "graph.usearch"
_GRAPH_BATCH_ROWS = 65_536
"""Rows that are added to the graph at once."""

Vector = NDArray[np.int8]
"""Quantised vector of a query; its length has no meaning."""


class EmbeddingPart(NamedTuple):
    """Some rows of a snapshot, one for each passage window."""

    owners: NDArray[np.uint32]
    """Dense id of each row's page, ascending."""
    windows: NDArray[np.uint64]
    """Hash of each window's text."""
    rows: NDArray[np.float16]


def quantize(vector: NDArray[np.float32 | np.float64]) -> Vector:
    """Return a query's vector in 8 bits."""
    rounded: Vector = np.rint(vector * (MAX_LEVEL / max(np.abs(vector).max(), 1e-9))).astype(np.int8)
    return rounded


def write_vectors(
    folder: Path, parts: Sequence[Path], exact: int = MAX_EXACT_VECTORS, scale: float | None = None
) -> tuple[int, int, float]:
    """Write the files of a new folder from parts in the order of dense ids; return (rows, dimensions, scale).

    - exact: number of rows above which a graph is written
    - scale: that of an earlier snapshot, some of whose rows are among these; None to take the largest that fits
    """
    folder.mkdir()
    if scale is None:
        scale = MAX_LEVEL / max(float(np.abs(read_part(path).rows).max()) for path in parts)
    count = dimensions = 0
    with ExitStack() as stack:
        vectors, owners, windows = (
            stack.enter_context((folder / name).open("wb")) for name in (VECTORS, OWNERS, WINDOWS)
        )
        for part in map(read_part, parts):
            # New numbers may be larger than all of the earlier snapshot, which gave the scale.
            levels = np.rint(part.rows.astype(np.float32) * scale).clip(-MAX_LEVEL, MAX_LEVEL)
            vectors.write(levels.astype(np.int8).tobytes())
            owners.write(part.owners.tobytes())
            windows.write(part.windows.tobytes())
            count, dimensions = count + len(part.owners), part.rows.shape[1]
    if count > exact:
        _write_graph(folder, dimensions)
    return count, dimensions, scale


def write_part(path: Path, part: EmbeddingPart) -> None:
    """Write a part atomically: complete or not at all."""
    temporary = path.with_suffix(".part")
    with temporary.open("wb") as file:
        np.savez(file, owners=part.owners, windows=part.windows, rows=part.rows)
    temporary.replace(path)


def read_part(path: Path) -> EmbeddingPart:
    """Return the rows of a part."""
    with np.load(path) as values:
        return EmbeddingPart(values["owners"], values["windows"], values["rows"])


def _write_graph(folder: Path, dimensions: int) -> None:
    """Write the graph in one thread: it depends on the order in which rows are added."""
    vectors = map_rows(folder, dimensions)
    graph = Index(ndim=dimensions, metric=MetricKind.IP, dtype=ScalarKind.I8)
    for start in range(0, len(vectors), _GRAPH_BATCH_ROWS):
        rows = np.ascontiguousarray(vectors[start : start + _GRAPH_BATCH_ROWS])
        graph.add(np.arange(start, start + len(rows), dtype=np.uint64), rows, threads=1)
    graph.save(folder / GRAPH)


def map_rows(folder: Path, dimensions: int) -> NDArray[np.int8]:
    """Map the rows of a folder."""
    rows: NDArray[np.int8] = np.memmap(folder / VECTORS, np.int8, "r").reshape((-1, dimensions))
    return rows


class VectorStore:
    """Memory-mapped reader. Thread-safe."""

    def __init__(self, folder: Path, dimensions: int, scale: float, order: Sequence[int]) -> None:
        """Open the files; `order` is the rank of each page among pages of equal score."""
        self._vectors = map_rows(folder, dimensions)
        self._owners: NDArray[np.uint32] = np.memmap(folder / OWNERS, np.uint32, "r")
        self._scale = scale
        self._order = np.asarray(order)
        self._starts = _page_starts(self._owners)
        self._graph = Index.restore(folder / GRAPH, view=True) if (folder / GRAPH).exists() else None
        self.pages = len(self._starts)
        """Number of pages that have vectors."""

    def nearest(
        self, query: Vector, limit: int, doc_ids: NDArray[np.uint32] | None = None, exact: bool = False
    ) -> list[ScoredDoc]:
        """Return the nearest `limit` pages as (cosine, dense id), by score, then order.

        `doc_ids` limits the search to these pages; `exact` avoids the graph.
        """
        if doc_ids is not None:
            return self._rank(query, self._rows_of(doc_ids), limit)
        # The graph finds rows, not pages: on average a page has so many rows.
        rows = limit * -(-len(self._owners) // self.pages)
        if self._graph is None or exact or rows > MAX_GRAPH_ROWS:
            return self._rank(query, None, limit)
        graph_matches = self._graph.search(query, rows)
        return self._rank(query, np.sort(graph_matches.keys).astype(np.intp), limit)

    def _rows_of(self, pages: NDArray[np.uint32]) -> NDArray[np.intp]:
        """Return the rows of some pages, ascending."""
        pages = np.sort(pages)
        firsts = np.searchsorted(self._owners, pages)
        counts = np.searchsorted(self._owners, pages, "right") - firsts
        rows_before = np.cumsum(counts) - counts
        return np.repeat(firsts - rows_before, counts) + np.arange(counts.sum())

    def _rank(self, query: Vector, rows: NDArray[np.intp] | None, limit: int) -> list[ScoredDoc]:
        """Return the best pages among the owners of these rows; None means all rows."""
        if rows is None:
            vectors, owners, starts = self._vectors, self._owners, self._starts
        elif len(rows):
            vectors, owners = self._vectors[rows], self._owners[rows]
            starts = _page_starts(owners)
        else:
            return []
        scores, docs = np.maximum.reduceat(_dot_products(query, vectors), starts), owners[starts]
        if limit < len(docs):
            # Ties with the last one stay in, so that the order below decides which of them is in the list.
            is_best = scores >= np.partition(scores, len(docs) - limit)[len(docs) - limit]
            scores, docs = scores[is_best], docs[is_best]
        ranking = np.lexsort((self._order[docs], -scores))[:limit]
        length = self._scale * sqrt(int(_dot_products(query, query[None])[0]))
        return list(zip((scores[ranking] / length).tolist(), docs[ranking].tolist(), strict=True))

    def best_window(self, query: Vector, doc: int) -> int:
        """Return the number of the page's best window; 0 if it has no vectors."""
        first, last = np.searchsorted(self._owners, np.array((doc, doc + 1), np.uint32))
        return int(_dot_products(query, self._vectors[first:last]).argmax()) if first < last else 0


def measure_recall(store: VectorStore, queries: Sequence[Vector], depth: int = 10) -> float:
    """Return the share of the nearest `depth` pages that the graph finds, averaged over the queries."""

    def nearest_docs(query: Vector, exact: bool) -> set[int]:
        return {doc for _, doc in store.nearest(query, depth, exact=exact)}

    shares = [
        len(nearest_docs(query, True) & nearest_docs(query, False)) / min(depth, store.pages) for query in queries
    ]
    return sum(shares) / len(shares)


def _page_starts(owners: NDArray[np.uint32]) -> NDArray[np.intp]:
    """Return the offset at which the rows of each page begin."""
    return np.concatenate(([0], np.flatnonzero(owners[1:] != owners[:-1]) + 1))


def _dot_products(query: Vector, vectors: NDArray[np.int8]) -> NDArray[np.float64]:
    """Return dot products: integers, in a floating type that holds them exactly."""
    dots: NDArray[np.float64] = np.asarray(numkong.cdist(query[None], vectors, metric="dot"))[0]
    return dots
