"""Turns a parsed query into ranked dense ids, on Tantivy. Queries are built term by term, never by the library's
parser.

The first stage is BM25 over the field `all`, each term weighted by how often the query has it; long queries are cut to
their rarest terms. The second stage (`webemu.index.rank`) reorders the top. Filters, duplicate collapse and host crowding are
not here but in `webemu.emulator.ranking`; conditions such as sites and phrases are built in `webemu.index.conditions`.
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
"""Longest query in terms; a longer one is cut to the terms with the highest count x idf."""

MAX_PAIRED = 32
"""Words of a query, at most, whose neighbouring pairs are looked for in passages."""
DAY = 86_400
"""Seconds of a day."""
_WORD = re.compile(r"\w+")
_SCORE = itemgetter(0)


class _Word(NamedTuple):
    """One word of a query; sorts by how rare it is, the rarest first."""

    frequency: int
    """Pages that have the word in any of its readings, at most."""
    readings: Readings
    """Terms that the word may be in the index."""
    hashes: tuple[int, ...]
    clauses: tuple[Clause, ...]


def _hashes(words: list[_Word]) -> tuple[int, ...]:
    return tuple([one for word in words for one in word.hashes])


def _ranking(words: list[_Word]) -> list[Clause]:
    return [clause for word in words for clause in word.clauses]


def _untied(found: list[Any]) -> int:
    """Return how many entries of a ranking come before those that tie with its last one."""
    last, end = found[-1][0], len(found)
    while end and found[end - 1][0] == last:
        end -= 1
    return end


def _forms(pair: str) -> tuple[bytes, ...]:
    """Return the spellings of a pair of words to look for in records, whose ASCII letters are in lower case."""
    lower = pair.lower()
    if lower.isascii():
        return (lower.encode(),)
    # bytes.lower changes ASCII letters only, as the reader of records does.
    return tuple(dict.fromkeys(form.encode().lower() for form in (lower, pair, pair.title())))


def _nowhere(doc: int) -> float:
    """Return a document prior of 0, for weights that have none."""
    return 0.0


def _everything() -> Query:
    """Return a query that matches all pages with one score."""
    return Query.const_score_query(Query.all_query(), 1.0)


class Plan(NamedTuple):
    """A prepared query: what Tantivy searches, and what snippets and the second stage look for."""

    query: Query | None
    """Tantivy query; None matches no page."""
    hashes: tuple[int, ...]
    """Term hashes for the snippet, rarest first."""
    terms: tuple[tuple[tuple[int, ...], float], ...] = ()
    """Hashes of each word's readings and the word's rareness (idf), for `webemu.index.rank`; empty if nothing is reranked."""
    pairs: tuple[tuple[bytes, ...], ...] = ()
    """Neighbouring words of the query, each pair in its possible spellings."""
    is_new: bool = False
    """True if the query asks for recent pages."""


Telling = tuple[tuple[tuple[tuple[int, ...], float], ...], tuple[tuple[bytes, ...], ...], bool]
"""The fields `terms`, `pairs` and `is_new` of a RankPlan."""


class Engine:
    """The searchable part of an open snapshot: the port `Ranker` over one Tantivy index. Read-only and thread-safe."""

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
        """Take the open files of a snapshot.

        - bases: first dense id of each Tantivy segment
        - record_bases: first dense id of each shard's result records
        - field: text field that is ranked by, `all` or `title`
        """
        self._given = (index, bases, records, record_bases, columns, duplicates)
        self._field = field
        self._searcher = index.searcher()
        self._schema = index.schema
        self._bases = bases
        # Segments in the order of their dense ids, to find the segment of a page by bisection.
        self._places = sorted(zip(bases, range(len(bases)), strict=True))
        self._records = records
        self._record_bases = record_bases
        self.columns = columns
        self._duplicates = duplicates
        self.weights = weights
        """Weights of the ranking features."""
        self.documents = self._count()
        """Number of searchable pages, of all partitions if the index is partitioned."""
        # Caches belong to the instance: its methods are bound here, so that the cache dies with the engine.
        self._frequency = lru_cache(maxsize=1 << 17)(self._doc_freq)
        self._word = lru_cache(maxsize=1 << 17)(self._make_word)
        # Which languages the index has decides which stemmers a query is read with.
        pages = present(partial(self._frequency, "key"), self.documents)
        self._reader = Reader(pages, partial(self._frequency, field))
        months = months_of(self._doc_freq)
        self._conditions = Conditions(
            self._schema, self._frequency, self.documents, self._clauses, months, self._reader.analyzers
        )

    def variant(self, weights: Weights, field: str = "all") -> Engine:
        """Return an engine over the same files that ranks with other weights or by another field."""
        return Engine(*self._given, weights, field)

    def _count(self) -> int:
        return int(self._searcher.num_docs)

    def _doc_freq(self, field: str, term: str) -> int:
        return int(self._searcher.doc_freq(field, term))

    def _make_word(self, readings: Readings, count: int) -> _Word:
        """Build the clauses of one query word. Each reading counts, with the rareness of all readings together.

        A disjunction, where only the best reading counts, would double search time: Tantivy cannot skip documents in
        one.
        """
        frequencies = [self._frequency(self._field, term) for term in readings]
        frequency = min(sum(frequencies), self.documents)
        rareness = self._rareness(frequency)
        # Tantivy multiplies by its own idf of each term; dividing by it leaves the idf of all readings together.
        weights = [count * rareness / self._own_rareness(*one) for one in zip(readings, frequencies, strict=True)]
        queries = [Query.term_query(self._schema, self._field, term) for term in readings]
        queries = [
            query if weight == 1 else Query.boost_query(query, weight)
            for query, weight in zip(queries, weights, strict=True)
        ]
        clauses = tuple([(Occur.Should, query) for query in queries])
        return _Word(frequency, readings, tuple(map(term_hash, readings)), clauses)

    def _rareness(self, frequency: int) -> float:
        """Return BM25's inverse document frequency of a term on `frequency` pages."""
        return log(1 + (self.documents - frequency + 0.5) / (frequency + 0.5))

    def _own_rareness(self, term: str, frequency: int) -> float:
        """Return the inverse document frequency that BM25 uses for a term in this index."""
        return self._rareness(frequency)

    is_long = False
    """False: a search is short enough to run on an event loop."""

    def ready(self, parsed: Parsed) -> None:
        """Start nothing and return None: `plan` has nothing to wait for."""

    def plan(self, parsed: Parsed) -> Plan:
        """Return a query prepared for `top`. Never raises: every parsed query has a plan, if only one that matches
        nothing.

            plan = engine.plan(parse("river council site:example.org"))
            entries, is_complete = engine.top(plan, 10)
        """
        weights = self._terms(parsed.words)
        words = sorted(self._word(readings, count) for readings, count in weights.items())
        if words and not words[0].frequency:  # sorted by frequency: words that no page has come first
            words = [word for word in words if word.frequency]
        if parsed.either:
            return self._grouped(parsed, words)
        conditions = self._conditions.clauses(parsed) if parsed.conditional else []
        # Words that no page has match nothing; no words at all match what the conditions let through.
        if not words and (weights or not parsed.conditional):
            return Plan(None, ())
        hashes = _hashes(words)
        if words and not conditions:
            return Plan(Query.boolean_query(_ranking(words)), hashes, *self._telling(words, parsed.words))
        body = Query.boolean_query(_ranking(words)) if words else _everything()
        query = Query.boolean_query([(Occur.Must, body), *conditions])
        return Plan(query, hashes, *self._telling(words, parsed.words))

    def _grouped(self, parsed: Parsed, words: list[_Word]) -> Plan:
        """Return the plan of a query with `OR`: its ungrouped words and the best alternative of each group rank."""
        own = self._clauses(parsed.own, MAX_TERMS)
        binding, ranking = self._conditions.groups(parsed)
        if not own and not ranking and (not binding or analyze(parsed.own)):
            return Plan(None, ())
        body = Query.boolean_query(own + ranking) if own or ranking else _everything()
        clauses = [(Occur.Must, body), *binding, *self._conditions.clauses(parsed)]
        return Plan(Query.boolean_query(clauses), _hashes(words), *self._telling(words, parsed.words))

    def _telling(self, words: list[_Word], text: str) -> Telling:
        """Return what the second stage looks for; empty if no feature has a weight."""
        if not self.weights.reranks:
            return (), (), False
        said = _WORD.findall(text)[:MAX_PAIRED] if self.weights.ordered else []
        pairs = tuple([_forms(f"{one} {other}") for one, other in pairwise(said)])
        terms = tuple([(word.hashes, self._rareness(word.frequency)) for word in words])
        return terms, pairs, bool(self.weights.fresh) and asks_for_new(text)

    def _clauses(self, text: str, most: int) -> list[Clause]:
        """Return ranking clauses for a text's rarest words, at most `limit` of them; words that no page has are left
        out.
        """
        words = sorted(self._word(readings, count) for readings, count in self._terms(text).items())
        return _ranking([word for word in words if word.frequency][:most])

    def _terms(self, words: str) -> dict[Readings, int]:
        """Return the words of a query with their counts, cut to the MAX_TERMS that tell most."""
        counted = self._reader.terms(words)
        if len(counted) <= MAX_TERMS:
            return counted
        ranked = [
            (-count * self._rareness(word.frequency) if word.frequency else 0.0, word.readings)
            for word, count in ((self._word(readings, 1), count) for readings, count in counted.items())
        ]
        return {readings: counted[readings] for _, readings in sorted(ranked)[:MAX_TERMS]}

    def top(self, plan: Plan, limit: int) -> tuple[list[tuple[float, int]], bool]:
        """Return the best `limit` (score, dense id) by score, then URL, and True if there are no more.

        Unless there are no more, hits that tie with the last one are left out, since others of the tie may be missing.
        If all hits tie, the search widens until the tie ends or `webemu.emulator.ranking.MAX_DEPTH` hits are read. A query
        without words ranks nothing: its hits come in the order of the crawl.
        """
        hits, complete = self.first(plan, limit)
        if plan.terms:  # empty if no feature has a weight
            hits[:DEPTH] = self._reranked(plan, hits[:DEPTH])
        return hits, complete

    def first(self, plan: Plan, limit: int) -> tuple[list[tuple[float, int]], bool]:
        """Return `top` as BM25 alone ranks it, with at least `RERANK_DEPTH` hits if there is a second stage."""
        if plan.query is None:
            return [], True
        limit = max(limit, DEPTH) if plan.terms else limit
        found, complete = self._search(plan.query, limit)
        if plan.hashes:
            # Widen the search until the second stage has enough hits above the tie at the end of the list.
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
        """Return hits ordered by the second stage. No factor is below 1, so none falls below the hits that are not
        reranked.
        """
        made = [(score * by, doc) for (score, doc), by in zip(hits, self.factors(plan, hits), strict=True)]
        return self.ordered(sorted(made, key=_SCORE, reverse=True))

    def ordered(self, hits: list[tuple[float, int]]) -> list[tuple[float, int]]:
        """Return hits that are sorted by score with equal scores sorted by URL. Changes the list in place."""
        order, end = self.columns.order, 0  # `end`: hits before it are in their final order
        for place in [place for place, (one, other) in enumerate(pairwise(map(_SCORE, hits))) if one == other]:
            if place >= end:
                end = place + 2
                while end < len(hits) and hits[end][0] == hits[place][0]:
                    end += 1
                hits[place:end] = sorted(hits[place:end], key=lambda hit: order[hit[1]])
        return hits

    def factors(self, plan: Plan, hits: list[tuple[float, int]]) -> list[float]:
        """Return the factor by which the second stage multiplies each hit's score, 1 or more."""
        weights, record = self.weights, self._record
        place = partial(self._placed, is_new=plan.is_new) if weights.places or plan.is_new else _nowhere
        found = agreements([record(doc) for _, doc in hits], plan.terms, plan.pairs)
        return [
            factor(weights, title, passage, order, place(doc))
            for (_, doc), (title, passage, order) in zip(hits, found, strict=True)
        ]

    def _placed(self, doc: int, is_new: bool) -> float:
        """Return the query-independent part of a page's factor, with recency if the query asks for new pages."""
        columns = self.columns
        worth = placed(self.weights, columns.host[doc], columns.address[doc], columns.quality[doc])
        return worth + self.weights.fresh * self._recency(doc) if is_new else worth

    def _recency(self, doc: int) -> float:
        """Return how recent a page is, in [0, 1]."""
        return recency(self._newest - self.columns.day[doc])

    @cached_property
    def _newest(self) -> int:
        """Day number of the last capture of the crawl."""
        return max(self.columns.since, default=0) // DAY

    def _search(self, query: Query, limit: int) -> tuple[list[Any], bool]:
        """Return Tantivy's best `limit` hits, and True if there are no more."""
        found = self._searcher.search(query, limit, count=False).hits
        # A limit of all documents is complete too, even if exactly as many were found.
        return found, len(found) < limit or limit >= self.documents

    def _record(self, doc: int) -> memoryview:
        """Return the result record of a page."""
        bases = self._record_bases
        shard = len(bases) - 1
        while bases[shard] > doc:  # a linear scan, since there are few shards
            shard -= 1
        return self._records[shard][doc - bases[shard]]

    def terms(self, text: str, like: str = "") -> list[str]:
        """Return the analyzed terms of a text in order, in the language that the text `like` seems to be in."""
        return self._reader.analyze(text, like) if like else analyze(text)

    def explain(self, doc: int, score: float, plan: Plan) -> dict[str, float]:
        """Return the features that ranked a page.

        These are `bm25`, the features of `webemu.index.rank`, and `factor`, by which BM25 was multiplied: 1 if the page was
        too far down to be reranked.
        """
        best = self.top(plan, DEPTH)[0][:DEPTH] if plan.terms else []
        return self.told(doc, score, plan, any(other == doc for _, other in best))

    def told(self, doc: int, score: float, plan: Plan, is_best: bool) -> dict[str, float]:
        """Return `explain` for a page that is known to be among those reranked (`is_best`) or not."""
        columns, (title, passage, order) = self.columns, agreements([self._record(doc)], plan.terms, plan.pairs)[0]
        by = factor(self.weights, title, passage, order, self._placed(doc, plan.is_new)) if is_best else 1.0
        told = {"bm25": score / by, "title": title, "passage": passage, "order": order}
        told |= {"host": columns.host[doc], "address": columns.address[doc], "quality": columns.quality[doc]}
        told |= {"fresh": self._recency(doc) if plan.is_new else 0.0, "factor": by}
        return {name: round(value, 4) for name, value in told.items()}

    def frequency(self, words: str) -> int:
        """Return the number of pages that have the rarest of the words; 0 if there are no words."""
        return self._reader.frequency(words)

    def hit(self, doc: int, score: float, plan: Plan, within: int = 0) -> Hit:
        """Return what a result shows of a page: title, snippet, date.

        `passage_mask` has a bit for each passage that the snippet is chosen from; 0 allows all.
        """
        return hit(self._record(doc), doc, score, plan.hashes, within)

    def copies(self, doc: int) -> Sequence[int]:
        """Return ids of all near-duplicates of a page, this page and past captures included; empty if it has none."""
        return self.members(self.columns.cluster[doc])

    def members(self, cluster: int) -> Sequence[int]:
        """Return ids of all pages of a duplicate cluster; empty if it has only one."""
        return self._duplicates.of(cluster)

    def texts(self, doc: int) -> tuple[str, str, list[str]]:
        """Return (url, title, passages) of a page."""
        return texts(self._record(doc))

    def meets(self, plan: Plan, doc: int) -> bool:
        """True if a page is among all that a plan matches."""
        if plan.query is None:
            return False
        base, segment = self._places[bisect_right(self._places, doc, key=itemgetter(0)) - 1]
        place = tantivy.DocAddress(segment, doc - base)
        try:  # wrapped in a constant score: a bare MustNot query claims to match the first page of each segment
            return bool(Query.const_score_query(plan.query, 1.0).explain(self._searcher, place))
        except ValueError:  # the library raises for a page that does not match
            return False
