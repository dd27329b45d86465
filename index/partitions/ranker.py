"""Ranks over all partitions as over one index: the port `webemu.emulator.ports.Ranker` on remote partitions.

The partitions' rankings are merged by (BM25 score, rank of the URL); the best of all are then reranked as in one
index. Filters, host crowding and duplicate collapse are those of `webemu.emulator.ranking`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, NamedTuple, Protocol

from webemu.emulator import ranking
from webemu.emulator.errors import SnapshotError
from webemu.emulator.ports import Entry
from webemu.emulator.query import Parsed
from webemu.emulator.ranking import WIDEST
from webemu.emulator.types import Hit
from webemu.index.analysis import terms as analyze
from webemu.index.partitions.engine import Key
from webemu.index.partitions.server import Found, Ranked, Row, Wanted
from webemu.index.rank import DEPTH

KEPT = 1 << 18
"""Pages and terms that are cached, at most."""
ROUNDS = 50
"""Times that partitions may ask for more frequencies during one call: each round makes the next possible."""
_NOTHING = Parsed()


class Parts(Protocol):
    """Port: sends calls to the partitions, wherever they are."""

    def ask(self, parts: Sequence[int], method: str, given: tuple[Any, ...], known: Mapping[Key, int]) -> list[Any]:
        """Return what `PartitionServer.answer` returns in each of the partitions, in order."""


class Asker:
    """Calls partitions, and supplies the term frequencies over all of them. Thread-safe."""

    def __init__(self, parts: Parts, count: int) -> None:
        self._parts = parts
        self.count = count
        self._known: dict[Key, int] = {}

    def each(self, method: str, *given: Any) -> list[Any]:
        """Return the answers of all partitions, in their order."""
        return self._asked(range(self.count), method, given)

    def one(self, part: int, method: str, *given: Any) -> Any:
        """Return the answer of one partition."""
        return self._asked([part], method, given)[0]

    def _asked(self, parts: Sequence[int], method: str, given: tuple[Any, ...]) -> list[Any]:
        """Call partitions again with the frequencies they miss, until all have answered.

        Raises SnapshotError after `MAX_ROUNDS`.
        """
        # What the frequencies of one round reveal (other readings, other words) may need further ones in the next.
        known: dict[Key, int] = {}
        said: dict[int, Any] = {}
        waiting = list(parts)
        for _ in range(ROUNDS):
            answers = dict(zip(waiting, self._parts.ask(waiting, method, given, known), strict=True))
            said |= answers
            waiting = [part for part, answer in answers.items() if isinstance(answer, Wanted)]
            if not waiting:
                return [said[part] for part in parts]
            known |= self._frequencies(set(chain.from_iterable(said[part].keys for part in waiting)))
        raise SnapshotError(
            f"partitions still miss term frequencies after {ROUNDS} rounds of {method!r}",
            action="rebuild them: webemu snapshots split COUNT",
        )

    def _frequencies(self, wanted: set[Key]) -> dict[Key, int]:
        """Return the number of pages of all partitions that have each term."""
        if new := sorted(wanted - self._known.keys()):
            if len(self._known) > KEPT:
                self._known = {}
            counts = self._parts.ask(range(self.count), "frequencies", (new,), {})
            self._known |= dict(zip(new, map(sum, zip(*counts, strict=True)), strict=True))
        return {key: self._known[key] for key in wanted}


@dataclass(frozen=True, slots=True)
class Asked:
    """A prepared query: it is sent to the partitions as it was parsed."""

    parsed: Parsed
    hits: dict[int, Hit] = field(default_factory=dict)
    """Rendered hits that came with the ranking, by dense id."""


class Rows:
    """The port `DocValues` over all partitions: cached as it comes with rankings, else fetched page by page."""

    def __init__(self, asker: Asker, bases: Sequence[int]) -> None:
        """Take the first dense id of each partition."""
        self._asker = asker
        self._bases = bases
        self._kept: dict[int, Row] = {}
        self.since, self.until, self.day, self.domain, self.cluster = (Column(self, place) for place in range(5))

    def place(self, doc: int) -> tuple[int, int]:
        """Return (partition, dense id inside it) of a dense id."""
        part = sum(base <= doc for base in self._bases) - 1  # bases ascend: count those not above the id
        return part, doc - self._bases[part]

    def number(self, part: int, doc: int) -> int:
        """Return the dense id over all partitions."""
        return self._bases[part] + doc

    def keep(self, doc: int, row: Row) -> None:
        """Cache the row of a page."""
        if len(self._kept) > KEPT:
            self._kept = {}
        self._kept[doc] = row

    def rows(self, docs: Iterable[int]) -> Iterator[tuple[int, int, int]]:
        """Yield (until, cluster, domain) of each page."""
        return ((row[1], row[4], row[3]) for row in map(self.of, docs))

    def current(self, ranked: list[Entry]) -> list[tuple[Entry, int]]:
        """Return the live entries of a ranking without later duplicates, each with its domain
        (`webemu.emulator.ranking.drop_duplicates`).
        """
        return ranking.current(ranked, self.rows([doc for _, doc in ranked]))

    def of(self, doc: int) -> Row:
        """Return the row of a page, fetched unless it is cached."""
        if (row := self._kept.get(doc)) is None:
            part, inside = self.place(doc)
            (row,) = self._asker.one(part, "rows", [inside])
            self.keep(doc, row)
        return row


class Column(Sequence[int]):
    """One value of each row, by dense id. It has no length: rows are fetched one by one."""

    def __init__(self, rows: Rows, place: int) -> None:
        self._rows = rows
        self._place = place

    def __getitem__(self, doc: Any) -> Any:
        return self._rows.of(doc)[self._place]

    def __len__(self) -> int:
        raise TypeError("a column of a partitioned index has no length: its rows are fetched one by one")


Placed = tuple[tuple[float, int, int], int, Found]
"""(sort key, dense id over all partitions, hit of its partition)."""


class Merged(NamedTuple):
    """The rankings of all partitions as one."""

    certain: list[Placed]
    """The beginning of the merged ranking, as far as no partition can have better hits that it did not send."""
    is_all: bool
    """True if no partition has more hits."""
    by_score: bool
    """True if anything ranks."""
    reranks: bool
    """True if there is a second stage."""

    def best(self, wanted: int) -> tuple[list[Placed] | None, bool]:
        """Return the first `limit` hits, and True if there are no more; None for the hits if more must be requested."""
        if self.is_all and len(self.certain) < wanted:
            return self.certain, True
        if not self.by_score:
            return (self.certain[:wanted], False) if len(self.certain) >= wanted else (None, False)
        # Widen the list until it does not end inside a tie, by the same factor as one index does.
        while wanted <= len(self.certain):
            untied = self._untied(wanted)
            if untied >= (DEPTH if self.reranks else 1):
                return self.certain[:untied], False
            wanted *= 16
        return (self.certain, True) if self.is_all else (None, False)

    def _untied(self, wanted: int) -> int:
        """Return how many of the first `limit` hits come before those that tie with the last of them."""
        last = self.certain[wanted - 1][0][0]
        while wanted and self.certain[wanted - 1][0][0] == last:
            wanted -= 1
        return wanted


class SplitFinder:
    """The port `Ranker` over all partitions, with one of their engines."""

    is_long = True
    """True: a search waits for remote partitions, so it must not run on an event loop."""

    def __init__(self, asker: Asker, rows: Rows, engine: str) -> None:
        self._asker = asker
        self._engine = engine
        self.columns = rows
        self._urls: dict[int, bytes] = {}

    def ready(self, parsed: Parsed) -> None:
        """Start nothing and return None: `plan` has nothing to wait for."""

    def plan(self, parsed: Parsed) -> Asked:
        """Return the query as partitions take it."""
        return Asked(parsed)

    def top(self, plan: Asked, limit: int) -> tuple[list[Entry], bool]:
        """Return the best `limit` entries as `webemu.index.engine.RankEngine.top` would from one index of all pages.

        Entries are sorted by score, then URL; those that tie with the last one are left out unless there are no more,
        which the second value says.
        """
        asked = limit
        while True:
            merged = self._merged(plan, asked)
            wanted = max(limit, DEPTH) if merged.reranks else limit
            found, complete = merged.best(wanted)
            if complete or found is not None or asked >= WIDEST:
                break
            # The partitions sent too few hits to know the order of so many: ask all of them for more.
            asked = min(4 * asked, WIDEST)
        found = merged.certain if found is None else found
        self._keep(plan, found)
        hits = [(one.score, number) for _, number, one in found]
        if merged.reranks:
            best = [(-one.score * one.factor, one.order, number) for _, number, one in found[:DEPTH]]
            hits[:DEPTH] = [(-score, number) for score, _, number in sorted(best)]
        return hits, complete

    def _merged(self, plan: Asked, limit: int) -> Merged:
        """Return the merged ranking of the best `limit` of every partition."""
        ranked: list[Ranked] = self._asker.each("ranked", self._engine, plan.parsed, limit)
        entries = sorted(self._entries(ranked), key=lambda entry: entry[0])
        certain = [entry for entry in entries if not _is_beyond(entry[0], ranked)]
        return Merged(
            certain, all(one.complete for one in ranked), any(one.by_score for one in ranked),
            any(one.reranks for one in ranked),
        )  # fmt: skip

    def _entries(self, ranked: Sequence[Ranked]) -> Iterator[Placed]:
        """Yield every hit of every partition with its sort key."""
        for part, one in enumerate(ranked):
            for found in one.found:
                yield _key(one, part, found), self.columns.number(part, found.doc), found

    def _keep(self, plan: Asked, kept: Sequence[Placed]) -> None:
        """Cache the rows, rendered hits and URLs that came with a ranking."""
        if len(self._urls) > KEPT:
            self._urls = {}
        for _, number, found in kept:
            self.columns.keep(number, found.row)
            if found.hit is not None:
                plan.hits[number] = found.hit
                self._urls[number] = found.hit.url_json

    def hit(self, doc: int, score: float, plan: Asked) -> Hit:
        """Return what a result shows of a page. A cached URL is enough if there is no query."""
        if plan.parsed == _NOTHING and doc in self._urls:
            return Hit(doc, score, self._urls[doc], b"", b"", "")
        if (hit := plan.hits.get(doc)) is None:
            part, inside = self.columns.place(doc)
            hit = self._asker.one(part, "hit", self._engine, plan.parsed, inside, score)
        return hit._replace(doc=doc, score=score)

    def explain(self, doc: int, score: float, plan: Asked) -> dict[str, float]:
        """Return the features that ranked a page."""
        is_best = any(other == doc for _, other in self.top(plan, DEPTH)[0][:DEPTH])
        part, inside = self.columns.place(doc)
        told: dict[str, float] = self._asker.one(part, "told", self._engine, plan.parsed, inside, score, is_best)
        return told

    def copies(self, doc: int) -> Sequence[int]:
        """Return ids of all near-duplicates of a page in all partitions, this page included; empty if it has none."""
        if not self.columns.of(doc)[-1]:
            return ()
        found = self._asker.each("copies_in", self.columns.cluster[doc])
        copies = [(self.columns.number(part, one), row) for part, of in enumerate(found) for one, row in of]
        for number, row in copies:
            self.columns.keep(number, row)
        return [number for number, _ in copies]

    def terms(self, text: str, like: str = "") -> Sequence[str]:
        """Return the analyzed terms of a text, in the language that the text `like` seems to be in."""
        terms: Sequence[str] = self._asker.one(0, "terms", self._engine, text, like) if like else analyze(text)
        return terms

    def frequency(self, words: str) -> int:
        """Return the number of pages that have the rarest of the words; 0 if there are no words."""
        return int(self._asker.one(0, "frequency", self._engine, words))


def _key(ranked: Ranked, part: int, found: Found) -> tuple[float, int, int]:
    """Return the sort key of a hit: score and URL. If nothing ranks, one page of each partition in turn."""
    return (-found.score, found.order, part) if ranked.by_score else (0.0, found.doc, part)


def _is_beyond(key: tuple[float, int, int], ranked: Sequence[Ranked]) -> bool:
    """True if a partition with more hits may have some that come before this key. A partition sends complete ties or
    none.
    """
    for part, one in enumerate(ranked):
        if one.complete or not one.found:
            continue
        last = _key(one, part, one.found[-1])
        if key[:1] > last[:1] if one.by_score else key > last:
            return True
    return False
