"""All parts of a split index as one: the port `webemu.emulator.ports.Finder` over parts that are elsewhere.

What the parts found is merged by (score, place of the URL) as BM25 ranked it; the best of all are then ordered anew as
in one index. Filters, crowding and the collapse of copies are `webemu.emulator.ranking`'s, as ever.
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
"""Pages and words that are remembered."""
ROUNDS = 50
"""So often a part may want more frequencies for one question: each makes the next possible."""
_NOTHING = Parsed()


class Parts(Protocol):
    """Port: the parts, wherever they are."""

    def ask(self, parts: Sequence[int], method: str, given: tuple[Any, ...], known: Mapping[Key, int]) -> list[Any]:
        """What `Holder.answer` says in each of the parts, in order."""


class Asker:
    """Asks parts, and tells them how frequent words are over all. Thread-safe."""

    def __init__(self, parts: Parts, count: int) -> None:
        self._parts = parts
        self.count = count
        self._known: dict[Key, int] = {}

    def each(self, method: str, *given: Any) -> list[Any]:
        """What all parts say, in their order."""
        return self._asked(range(self.count), method, given)

    def one(self, part: int, method: str, *given: Any) -> Any:
        """What one part says."""
        return self._asked([part], method, given)[0]

    def _asked(self, parts: Sequence[int], method: str, given: tuple[Any, ...]) -> list[Any]:
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
        raise SnapshotError(f"parts do not agree on {method}", action="build them anew: webemu snapshots split")

    def _frequencies(self, wanted: set[Key]) -> dict[Key, int]:
        """Over all parts."""
        if new := sorted(wanted - self._known.keys()):
            if len(self._known) > KEPT:
                self._known = {}
            counts = self._parts.ask(range(self.count), "frequencies", (new,), {})
            self._known |= dict(zip(new, map(sum, zip(*counts, strict=True)), strict=True))
        return {key: self._known[key] for key in wanted}


@dataclass(frozen=True, slots=True)
class Asked:
    """A query as the parts are asked it."""

    parsed: Parsed
    hits: dict[int, Hit] = field(default_factory=dict)
    """What came with the ranking, by dense id."""


class Rows:
    """What decides whether pages are shown, by dense id: kept as it comes, asked for where it did not."""

    def __init__(self, asker: Asker, bases: Sequence[int]) -> None:
        self._asker = asker
        self._bases = bases
        self._kept: dict[int, Row] = {}
        self.since, self.until, self.day, self.domain, self.cluster = (Column(self, place) for place in range(5))

    def place(self, doc: int) -> tuple[int, int]:
        """(part, dense id inside it)."""
        part = sum(base <= doc for base in self._bases) - 1
        return part, doc - self._bases[part]

    def number(self, part: int, doc: int) -> int:
        """The dense id over all parts."""
        return self._bases[part] + doc

    def keep(self, doc: int, row: Row) -> None:
        if len(self._kept) > KEPT:
            self._kept = {}
        self._kept[doc] = row

    def rows(self, docs: Iterable[int]) -> Iterator[tuple[int, int, int]]:
        """(until, cluster, domain) of each page."""
        return ((row[1], row[4], row[3]) for row in map(self.of, docs))

    def current(self, ranked: list[Entry]) -> list[tuple[Entry, int]]:
        """`webemu.emulator.ranking.current` of a ranking."""
        return ranking.current(ranked, self.rows([doc for _, doc in ranked]))

    def of(self, doc: int) -> Row:
        if (row := self._kept.get(doc)) is None:
            part, inside = self.place(doc)
            (row,) = self._asker.one(part, "rows", [inside])
            self.keep(doc, row)
        return row


class Column(Sequence[int]):
    """One value of each row."""

    def __init__(self, rows: Rows, place: int) -> None:
        self._rows = rows
        self._place = place

    def __getitem__(self, doc: Any) -> Any:
        return self._rows.of(doc)[self._place]

    def __len__(self) -> int:
        raise TypeError("rows are asked for one by one")


Placed = tuple[tuple[float, int, int], int, Found]
"""(where it stands, dense id over all parts, what its part said)."""


class Merged(NamedTuple):
    """The rankings of all parts as one."""

    certain: list[Placed]
    """As far as no part can have better ones."""
    is_all: bool
    by_score: bool
    reranks: bool

    def best(self, wanted: int) -> tuple[list[Placed] | None, bool]:
        """The first so many, and whether there are no more; None for them where more must be asked for."""
        if self.is_all and len(self.certain) < wanted:
            return self.certain, True
        if not self.by_score:
            return (self.certain[:wanted], False) if len(self.certain) >= wanted else (None, False)
        while wanted <= len(self.certain):
            untied = self._untied(wanted)
            if untied >= (DEPTH if self.reranks else 1):
                return self.certain[:untied], False
            wanted *= 16
        return (self.certain, True) if self.is_all else (None, False)

    def _untied(self, wanted: int) -> int:
        """How many stand before those that tie with the last of so many."""
        last = self.certain[wanted - 1][0][0]
        while wanted and self.certain[wanted - 1][0][0] == last:
            wanted -= 1
        return wanted


class SplitFinder:
    """Ranks over all parts, in the way of one engine."""

    is_long = True

    def __init__(self, asker: Asker, rows: Rows, engine: str) -> None:
        self._asker = asker
        self._engine = engine
        self.columns = rows
        self._urls: dict[int, bytes] = {}

    def ready(self, parsed: Parsed) -> None:
        """A plan waits for nothing."""

    def plan(self, parsed: Parsed) -> Asked:
        return Asked(parsed)

    def top(self, plan: Asked, limit: int) -> tuple[list[Entry], bool]:
        """As `webemu.index.engine.Engine.top` of one index of all: the best `limit` by score, then URL, without those that tie
        with the last one; and whether there are no more."""
        asked = limit
        while True:
            merged = self._merged(plan, asked)
            wanted = max(limit, DEPTH) if merged.reranks else limit
            found, complete = merged.best(wanted)
            if complete or found is not None or asked >= WIDEST:
                break
            asked = min(4 * asked, WIDEST)
        found = merged.certain if found is None else found
        self._keep(plan, found)
        hits = [(one.score, number) for _, number, one in found]
        if merged.reranks:
            best = [(-one.score * one.factor, one.order, number) for _, number, one in found[:DEPTH]]
            hits[:DEPTH] = [(-score, number) for score, _, number in sorted(best)]
        return hits, complete

    def _merged(self, plan: Asked, limit: int) -> Merged:
        ranked: list[Ranked] = self._asker.each("ranked", self._engine, plan.parsed, limit)
        entries = sorted(self._entries(ranked), key=lambda entry: entry[0])
        certain = [entry for entry in entries if not _is_beyond(entry[0], ranked)]
        return Merged(
            certain, all(one.complete for one in ranked), any(one.by_score for one in ranked),
            any(one.reranks for one in ranked),
        )  # fmt: skip

    def _entries(self, ranked: Sequence[Ranked]) -> Iterator[Placed]:
        for part, one in enumerate(ranked):
            for found in one.found:
                yield _key(one, part, found), self.columns.number(part, found.doc), found

    def _keep(self, plan: Asked, kept: Sequence[Placed]) -> None:
        if len(self._urls) > KEPT:
            self._urls = {}
        for _, number, found in kept:
            self.columns.keep(number, found.row)
            if found.hit is not None:
                plan.hits[number] = found.hit
                self._urls[number] = found.hit.url_json

    def hit(self, doc: int, score: float, plan: Asked) -> Hit:
        """What is shown of a page. Without a query it is asked for its URL alone."""
        if plan.parsed == _NOTHING and doc in self._urls:
            return Hit(doc, score, self._urls[doc], b"", b"", "")
        if (hit := plan.hits.get(doc)) is None:
            part, inside = self.columns.place(doc)
            hit = self._asker.one(part, "hit", self._engine, plan.parsed, inside, score)
        return hit._replace(doc=doc, score=score)

    def explain(self, doc: int, score: float, plan: Asked) -> dict[str, float]:
        is_best = any(other == doc for _, other in self.top(plan, DEPTH)[0][:DEPTH])
        part, inside = self.columns.place(doc)
        told: dict[str, float] = self._asker.one(part, "told", self._engine, plan.parsed, inside, score, is_best)
        return told

    def copies(self, doc: int) -> Sequence[int]:
        if not self.columns.of(doc)[-1]:
            return ()
        found = self._asker.each("copies_in", self.columns.cluster[doc])
        copies = [(self.columns.number(part, one), row) for part, of in enumerate(found) for one, row in of]
        for number, row in copies:
            self.columns.keep(number, row)
        return [number for number, _ in copies]

    def terms(self, text: str, like: str = "") -> Sequence[str]:
        terms: Sequence[str] = self._asker.one(0, "terms", self._engine, text, like) if like else analyze(text)
        return terms

    def frequency(self, words: str) -> int:
        return int(self._asker.one(0, "frequency", self._engine, words))


def _key(ranked: Ranked, part: int, found: Found) -> tuple[float, int, int]:
    """By score and URL; what nothing ranks, in the order of the parts, a page of each in turn."""
    return (-found.score, found.order, part) if ranked.by_score else (0.0, found.doc, part)


def _is_beyond(key: tuple[float, int, int], ranked: Sequence[Ranked]) -> bool:
    """Whether a part that has more may have some that stand before it. A part tells ties whole, or not at all."""
    for part, one in enumerate(ranked):
        if one.complete or not one.found:
            continue
        last = _key(one, part, one.found[-1])
        if key[:1] > last[:1] if one.by_score else key > last:
            return True
    return False
