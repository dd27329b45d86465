"""From a parsed query to ranked dense ids: the Tantivy query is built term by term, never by the library's parser.

Ranking: BM25 over the `all` field, each term weighted by how often the query says it. Long queries are cut to their
most telling terms. What is shown of the ranking is `webemu.emulator.ranking`'s law.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from functools import cached_property, lru_cache, partial
from itertools import pairwise
from math import log
from operator import itemgetter
from typing import Any, NamedTuple

import tantivy
from tantivy import Occur, Query

from webemu.emulator.query import Parsed
from webemu.emulator.questions import asks_for_new
from webemu.emulator.ranking import WIDEST
from webemu.emulator.types import Hit
from webemu.index.analysis import terms as analyze
from webemu.index.blobs import Blobs
from webemu.index.columns import Columns
from webemu.index.conditions import Clause, Conditions, months_of
from webemu.index.languages import Reader, Readings, present
from webemu.index.rank import DEPTH, Weights, factor, placed, recency
from webemu.index.records import agreements, hit, term_hash, texts
from webemu.index.signals.duplicates import Duplicates

MAX_TERMS = 16
"""A longer query is cut to the terms with the highest count x idf."""

MAX_PAIRED = 32
DAY = 86_400
_WORD = re.compile(r"\w+")
_SCORE = itemgetter(0)


class _Word(NamedTuple):
    """One word of a query, ordered by how rare it is."""

    frequency: int
    readings: Readings
    hashes: tuple[int, ...]
    clauses: tuple[Clause, ...]


def _hashes(words: list[_Word]) -> tuple[int, ...]:
    return tuple([one for word in words for one in word.hashes])


def _ranking(words: list[_Word]) -> list[Clause]:
    return [clause for word in words for clause in word.clauses]


def _untied(found: list[Any]) -> int:
    """How many of a ranking stand before those that tie with its last."""
    last, end = found[-1][0], len(found)
    while end and found[end - 1][0] == last:
        end -= 1
    return end


def _forms(pair: str) -> tuple[bytes, ...]:
    """As two words may be written; records are compared in lower case as far as they are ASCII."""
    lower = pair.lower()
    if lower.isascii():
        return (lower.encode(),)
    # bytes.lower leaves all but ASCII alone, as the reader of records does.
    return tuple(dict.fromkeys(form.encode().lower() for form in (lower, pair, pair.title())))


def _nowhere(doc: int) -> float:
    return 0.0


def _everything() -> Query:
    return Query.const_score_query(Query.all_query(), 1.0)


class Plan(NamedTuple):
    """A query made ready."""

    query: Query | None
    """None finds nothing."""
    hashes: tuple[int, ...]
    """Term hashes for the snippet, rarest first."""
    terms: tuple[tuple[tuple[int, ...], float], ...] = ()
    """The hashes of each word and how rare it is, for `webemu.index.rank`."""
    pairs: tuple[tuple[bytes, ...], ...] = ()
    """Words that stand side by side, as they may be written."""
    is_new: bool = False
    """Whether newer pages are wanted."""


Telling = tuple[tuple[tuple[tuple[int, ...], float], ...], tuple[tuple[bytes, ...], ...], bool]
"""`terms`, `pairs` and `is_new` of a plan."""


class Engine:
    """The searchable part of an open snapshot. Read-only and thread-safe."""

    def __init__(
        self,
        index: tantivy.Index,
        bases: list[int],
        records: list[Blobs],
        record_bases: list[int],
        columns: Columns,
        duplicates: Duplicates,
        weights: Weights,
        field: str = "all",
    ) -> None:
        """`field`: which ranks."""
        self._given = (index, bases, records, record_bases, columns, duplicates)
        self._field = field
        self._searcher = index.searcher()
        self._schema = index.schema
        self._bases = bases
        self._places = sorted(zip(bases, range(len(bases)), strict=True))
        self._records = records
        self._record_bases = record_bases
        self.columns = columns
        self._duplicates = duplicates
        self.weights = weights
        self.documents = self._count()
        self._frequency = lru_cache(maxsize=1 << 17)(self._doc_freq)
        self._word = lru_cache(maxsize=1 << 17)(self._make_word)
        pages = present(partial(self._frequency, "key"), self.documents)
        self._reader = Reader(pages, partial(self._frequency, field))
        months = months_of(self._doc_freq)
        self._conditions = Conditions(
            self._schema, self._frequency, self.documents, self._clauses, months, self._reader.analyzers
        )

    def variant(self, weights: Weights, field: str = "all") -> Engine:
        """The same pages ranked in another way."""
        return Engine(*self._given, weights, field)

    def _count(self) -> int:
        return int(self._searcher.num_docs)

    def _doc_freq(self, field: str, term: str) -> int:
        return int(self._searcher.doc_freq(field, term))

    def _make_word(self, readings: Readings, count: int) -> _Word:
        """All that a word may be counts, each as rare as all together.

        Were the best one alone to count (a disjunction), a search would take twice the time: it cannot skip.
        """
        frequencies = [self._frequency(self._field, term) for term in readings]
        frequency = min(sum(frequencies), self.documents)
        rareness = self._rareness(frequency)
        weights = [count * rareness / self._own_rareness(*one) for one in zip(readings, frequencies, strict=True)]
        queries = [Query.term_query(self._schema, self._field, term) for term in readings]
        queries = [
            query if weight == 1 else Query.boost_query(query, weight)
            for query, weight in zip(queries, weights, strict=True)
        ]
        clauses = tuple([(Occur.Should, query) for query in queries])
        return _Word(frequency, readings, tuple(map(term_hash, readings)), clauses)

    def _rareness(self, frequency: int) -> float:
        return log(1 + (self.documents - frequency + 0.5) / (frequency + 0.5))

    def _own_rareness(self, term: str, frequency: int) -> float:
        """What BM25 weighs a term by in this index."""
        return self._rareness(frequency)

    is_long = False

    def ready(self, parsed: Parsed) -> None:
        """A plan waits for nothing."""

    def plan(self, parsed: Parsed) -> Plan:
        """Build the query. Total: whatever was parsed gives a plan."""
        weights = self._terms(parsed.words)
        words = sorted(self._word(readings, count) for readings, count in weights.items())
        if words and not words[0].frequency:
            words = [word for word in words if word.frequency]
        if parsed.either:
            return self._grouped(parsed, words)
        conditions = self._conditions.clauses(parsed) if parsed.conditional else []
        if not words and (weights or not parsed.conditional):
            return Plan(None, ())
        hashes = _hashes(words)
        if words and not conditions:
            return Plan(Query.boolean_query(_ranking(words)), hashes, *self._telling(words, parsed.words))
        body = Query.boolean_query(_ranking(words)) if words else _everything()
        query = Query.boolean_query([(Occur.Must, body), *conditions])
        return Plan(query, hashes, *self._telling(words, parsed.words))

    def _grouped(self, parsed: Parsed, words: list[_Word]) -> Plan:
        """A query with `OR`: its own words and the best way of each group rank."""
        own = self._clauses(parsed.own, MAX_TERMS)
        binding, ranking = self._conditions.groups(parsed)
        if not own and not ranking and (not binding or analyze(parsed.own)):
            return Plan(None, ())
        body = Query.boolean_query(own + ranking) if own or ranking else _everything()
        clauses = [(Occur.Must, body), *binding, *self._conditions.clauses(parsed)]
        return Plan(Query.boolean_query(clauses), _hashes(words), *self._telling(words, parsed.words))

    def _telling(self, words: list[_Word], text: str) -> Telling:
        """What the second stage looks for; nothing where no signal counts."""
        if not self.weights.reranks:
            return (), (), False
        said = _WORD.findall(text)[:MAX_PAIRED] if self.weights.ordered else []
        pairs = tuple([_forms(f"{one} {other}") for one, other in pairwise(said)])
        terms = tuple([(word.hashes, self._rareness(word.frequency)) for word in words])
        return terms, pairs, bool(self.weights.fresh) and asks_for_new(text)

    def _clauses(self, text: str, most: int) -> list[Clause]:
        """What ranks by the rarest of a text's words."""
        words = sorted(self._word(readings, count) for readings, count in self._terms(text).items())
        return _ranking([word for word in words if word.frequency][:most])

    def _terms(self, words: str) -> dict[Readings, int]:
        counted = self._reader.terms(words)
        if len(counted) <= MAX_TERMS:
            return counted
        ranked = [
            (-count * self._rareness(word.frequency) if word.frequency else 0.0, word.readings)
            for word, count in ((self._word(readings, 1), count) for readings, count in counted.items())
        ]
        return {readings: counted[readings] for _, readings in sorted(ranked)[:MAX_TERMS]}

    def top(self, plan: Plan, limit: int) -> tuple[list[tuple[float, int]], bool]:
        """The best `limit` (score, dense id) by score, then URL; and whether there are no more.

        Unless there are no more, hits that tie with the last one are left out: others of their tie may not be in the
        list. Where all tie, more are read until the tie ends (or `WIDEST` are). A query without words ranks nothing:
        its hits stand in the order of the crawl.
        """
        hits, complete = self.first(plan, limit)
        if plan.terms:
            hits[:DEPTH] = self._reranked(plan, hits[:DEPTH])
        return hits, complete

    def first(self, plan: Plan, limit: int) -> tuple[list[tuple[float, int]], bool]:
        """`top` as BM25 alone has it, `DEPTH` of them at least where there is a second stage."""
        if plan.query is None:
            return [], True
        limit = max(limit, DEPTH) if plan.terms else limit
        found, complete = self._search(plan.query, limit)
        if plan.hashes:
            while not complete and _untied(found) < (DEPTH if plan.terms else 1) and limit < WIDEST:
                limit = min(16 * limit, WIDEST)
                found, complete = self._search(plan.query, limit)
            if not complete:
                found = found[: _untied(found)] or found
        bases = self._bases
        hits = [(score, bases[place.segment_ord] + place.doc) for score, place in found]
        if plan.hashes:
            hits = self.ordered(hits)
        return hits, complete

    def _reranked(self, plan: Plan, hits: list[tuple[float, int]]) -> list[tuple[float, int]]:
        """The best, ordered by all signals; none falls below what is not looked at, since no factor is below 1."""
        made = [(score * by, doc) for (score, doc), by in zip(hits, self.factors(plan, hits), strict=True)]
        return self.ordered(sorted(made, key=_SCORE, reverse=True))

    def ordered(self, hits: list[tuple[float, int]]) -> list[tuple[float, int]]:
        """What is sorted by score, sorted by URL where scores are equal."""
        order, end = self.columns.order, 0
        for place in [place for place, (one, other) in enumerate(pairwise(map(_SCORE, hits))) if one == other]:
            if place >= end:
                end = place + 2
                while end < len(hits) and hits[end][0] == hits[place][0]:
                    end += 1
                hits[place:end] = sorted(hits[place:end], key=lambda hit: order[hit[1]])
        return hits

    def factors(self, plan: Plan, hits: list[tuple[float, int]]) -> list[float]:
        """By what the second stage multiplies each score."""
        weights, record = self.weights, self._record
        place = partial(self._placed, is_new=plan.is_new) if weights.places or plan.is_new else _nowhere
        found = agreements([record(doc) for _, doc in hits], plan.terms, plan.pairs)
        return [
            factor(weights, title, passage, order, place(doc))
            for (_, doc), (title, passage, order) in zip(hits, found, strict=True)
        ]

    def _placed(self, doc: int, is_new: bool) -> float:
        """What a page is worth whatever its words."""
        columns = self.columns
        worth = placed(self.weights, columns.host[doc], columns.address[doc], columns.quality[doc])
        return worth + self.weights.fresh * self._recency(doc) if is_new else worth

    def _recency(self, doc: int) -> float:
        return recency(self._newest - self.columns.day[doc])

    @cached_property
    def _newest(self) -> int:
        """The last day of the crawl."""
        return max(self.columns.since, default=0) // DAY

    def _search(self, query: Query, limit: int) -> tuple[list[Any], bool]:
        found = self._searcher.search(query, limit, count=False).hits
        return found, len(found) < limit or limit >= self.documents

    def _record(self, doc: int) -> memoryview:
        bases = self._record_bases
        shard = len(bases) - 1
        while bases[shard] > doc:
            shard -= 1
        return self._records[shard][doc - bases[shard]]

    def terms(self, text: str, like: str = "") -> list[str]:
        """The terms of a text, in order; in the language that the text `like` seems to be in."""
        return self._reader.analyze(text, like) if like else analyze(text)

    def explain(self, doc: int, score: float, plan: Plan) -> dict[str, float]:
        """The signals that ranked a page: `bm25`, those of `webemu.index.rank`, and the `factor` that they made: 1 for a page
        that was not ordered anew."""
        best = self.top(plan, DEPTH)[0][:DEPTH] if plan.terms else []
        return self.told(doc, score, plan, any(other == doc for _, other in best))

    def told(self, doc: int, score: float, plan: Plan, is_best: bool) -> dict[str, float]:
        """`explain`, where it is known whether the page is among those ordered anew."""
        columns, (title, passage, order) = self.columns, agreements([self._record(doc)], plan.terms, plan.pairs)[0]
        by = factor(self.weights, title, passage, order, self._placed(doc, plan.is_new)) if is_best else 1.0
        told = {"bm25": score / by, "title": title, "passage": passage, "order": order}
        told |= {"host": columns.host[doc], "address": columns.address[doc], "quality": columns.quality[doc]}
        told |= {"fresh": self._recency(doc) if plan.is_new else 0.0, "factor": by}
        return {name: round(value, 4) for name, value in told.items()}

    def frequency(self, words: str) -> int:
        """In how many pages the rarest of the words occurs; 0 for no words."""
        return self._reader.frequency(words)

    def hit(self, doc: int, score: float, plan: Plan, within: int = 0) -> Hit:
        """What is shown of a page, out of the passages `within` (a bit each; 0 is all)."""
        return hit(self._record(doc), doc, score, plan.hashes, within)

    def copies(self, doc: int) -> Sequence[int]:
        """All pages that say the same as one, itself among them, whenever they were seen; empty for none but it."""
        return self.members(self.columns.cluster[doc])

    def members(self, cluster: int) -> Sequence[int]:
        """All pages of a cluster of copies; empty where there is but one."""
        return self._duplicates.of(cluster)

    def texts(self, doc: int) -> tuple[str, str, list[str]]:
        """(url, title, passages) of a page."""
        return texts(self._record(doc))

    def meets(self, plan: Plan, doc: int) -> bool:
        """Whether a page is among all that a plan finds."""
        if plan.query is None:
            return False
        base, segment = self._places[bisect_right(self._places, doc, key=itemgetter(0)) - 1]
        place = tantivy.DocAddress(segment, doc - base)
        try:  # a score of its own, since the first page of a segment meets any bare MustNot
            return bool(Query.const_score_query(plan.query, 1.0).explain(self._searcher, place))
        except ValueError:  # how the library says that it is not
            return False
