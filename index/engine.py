"""Turns a parsed query into ranked dense ids, on Tantivy. Queries are built term by term, never by the library's
parser.

The first stage is BM25 over the field `all`, each term weighted by how often the query has it; long queries are cut to
their rarest terms. The second stage (`webemu.index.rank`) reorders the top. Filters, duplicate collapse and host
crowding are not here but in `webemu.emulator.ranking`; conditions such as sites and phrases are built in
`webemu.index.conditions`.
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

from webemu.emulator.query import ParsedQuery
from webemu.emulator.questions import wants_fresh_results
from webemu.emulator.ranking import MAX_DEPTH
from webemu.emulator.types import Hit
from webemu.index.analysis import extract_terms as analyze
from webemu.index.blobs import Blobs
from webemu.index.columns import Columns
from webemu.index.conditions import Clause, ConditionBuilder, list_months
from webemu.index.languages import QueryAnalyzer, Readings, count_pages_by_stemmer
from webemu.index.rank import RERANK_DEPTH, Weights, document_prior, recency, rerank_factor
from webemu.index.records import hash_term, match_features, read_hit, read_texts
from webemu.index.signals.duplicates import Duplicates

MAX_TERMS = 16
"""Longest query in terms; a longer one is cut to the terms with the highest count x idf."""

MAX_PAIRED_WORDS = 32
"""Words of a query, at most, whose neighbouring pairs are looked for in passages."""
DAY_SECONDS = 86_400
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


def _all_hashes(words: list[_Word]) -> tuple[int, ...]:
    return tuple([one for word in words for one in word.hashes])


def _ranking_clauses(words: list[_Word]) -> list[Clause]:
    return [clause for word in words for clause in word.clauses]


def _count_untied(hits: list[Any]) -> int:
    """Return how many entries of a ranking come before those that tie with its last one."""
    last_score, end = hits[-1][0], len(hits)
    while end and hits[end - 1][0] == last_score:
        end -= 1
    return end


def _spellings(pair: str) -> tuple[bytes, ...]:
    """Return the spellings of a pair of words to look for in records, whose ASCII letters are in lower case."""
    lower = pair.lower()
    if lower.isascii():
        return (lower.encode(),)
    # bytes.lower changes ASCII letters only, as the reader of records does.
    return tuple(dict.fromkeys(form.encode().lower() for form in (lower, pair, pair.title())))


def _no_prior(doc: int) -> float:
    """Return a document prior of 0, for weights that have none."""
    return 0.0


def _match_all() -> Query:
    """Return a query that matches all pages with one score."""
    return Query.const_score_query(Query.all_query(), 1.0)


class RankPlan(NamedTuple):
    """A prepared query: what Tantivy searches, and what snippets and the second stage look for."""

    query: Query | None
    """Tantivy query; None matches no page."""
    hashes: tuple[int, ...]
    """Term hashes for the snippet, rarest first."""
    terms: tuple[tuple[tuple[int, ...], float], ...] = ()
    """Hashes of each word's readings and the word's rareness (idf), for `webemu.index.rank`; empty if nothing is
    reranked.
    """
    pairs: tuple[tuple[bytes, ...], ...] = ()
    """Neighbouring words of the query, each pair in its possible spellings."""
    is_new: bool = False
    """True if the query asks for recent pages."""


RerankInputs = tuple[tuple[tuple[tuple[int, ...], float], ...], tuple[tuple[bytes, ...], ...], bool]
"""The fields `terms`, `pairs` and `is_new` of a RankPlan."""


class RankEngine:
    """The searchable part of an open snapshot: the port `RankFunction` over one Tantivy index. Read-only and
    thread-safe.
    """

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
        self._index_files = (index, bases, records, record_bases, columns, duplicates)
        self._field = field
        self._searcher = index.searcher()
        self._schema = index.schema
        self._bases = bases
        # Segments in the order of their dense ids, to find the segment of a page by bisection.
        self._segments_by_base = sorted(zip(bases, range(len(bases)), strict=True))
        self._records = records
        self._record_bases = record_bases
        self.doc_values = columns
        self._duplicates = duplicates
        self.weights = weights
        """Weights of the ranking features."""
        self.documents = self._count_documents()
        """Number of searchable pages, of all partitions if the index is partitioned."""
        # Caches belong to the instance: its methods are bound here, so that the cache dies with the engine.
        self._frequency = lru_cache(maxsize=1 << 17)(self._doc_freq)
        self._cached_word = lru_cache(maxsize=1 << 17)(self._make_word)
        # Which languages the index has decides which stemmers a query is read with.
        pages_by_stemmer = count_pages_by_stemmer(partial(self._frequency, "key"), self.documents)
        self._query_analyzer = QueryAnalyzer(pages_by_stemmer, partial(self._frequency, field))
        months = list_months(self._doc_freq)
        self._conditions = ConditionBuilder(
            self._schema,
            self._frequency,
            self.documents,
            self._word_clauses,
            months,
            self._query_analyzer.phrase_analyzers,
        )

    def with_weights(self, weights: Weights, field: str = "all") -> RankEngine:
        """Return an engine over the same files that ranks with other weights or by another field."""
        return RankEngine(*self._index_files, weights, field)

    def _count_documents(self) -> int:
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
        rareness = self._idf(frequency)
        # Tantivy multiplies by its own idf of each term; dividing by it leaves the idf of all readings together.
        weights = [count * rareness / self._local_idf(*reading) for reading in zip(readings, frequencies, strict=True)]
        queries = [Query.term_query(self._schema, self._field, term) for term in readings]
        queries = [
            query if weight == 1 else Query.boost_query(query, weight)
            for query, weight in zip(queries, weights, strict=True)
        ]
        clauses = tuple([(Occur.Should, query) for query in queries])
        return _Word(frequency, readings, tuple(map(hash_term, readings)), clauses)

    def _idf(self, frequency: int) -> float:
        """Return BM25's inverse document frequency of a term on `frequency` pages."""
        return log(1 + (self.documents - frequency + 0.5) / (frequency + 0.5))

    def _local_idf(self, term: str, frequency: int) -> float:
        """Return the inverse document frequency that BM25 uses for a term in this index."""
        return self._idf(frequency)

    is_slow = False
    """False: a search is short enough to run on an event loop."""

    def start_async(self, parsed: ParsedQuery) -> None:
        """Start nothing and return None: `plan` has nothing to wait for."""

    def plan(self, parsed: ParsedQuery) -> RankPlan:
        """Return a query prepared for `top`. Never raises: every parsed query has a plan, if only one that matches
        nothing.

            plan = engine.plan(parse("river council site:example.org"))
            entries, is_complete = engine.top(plan, 10)
        """
        weights = self._query_terms(parsed.words)
        words = sorted(self._cached_word(readings, count) for readings, count in weights.items())
        if words and not words[0].frequency:  # sorted by frequency: words that no page has come first
            words = [word for word in words if word.frequency]
        if parsed.any_of:
            return self._plan_groups(parsed, words)
        conditions = self._conditions.build_clauses(parsed) if parsed.has_filters else []
        # Words that no page has match nothing; no words at all match what the conditions let through.
        if not words and (weights or not parsed.has_filters):
            return RankPlan(None, ())
        hashes = _all_hashes(words)
        if words and not conditions:
            return RankPlan(
                Query.boolean_query(_ranking_clauses(words)), hashes, *self._rerank_inputs(words, parsed.words)
            )
        body = Query.boolean_query(_ranking_clauses(words)) if words else _match_all()
        query = Query.boolean_query([(Occur.Must, body), *conditions])
        return RankPlan(query, hashes, *self._rerank_inputs(words, parsed.words))

    def _plan_groups(self, parsed: ParsedQuery, words: list[_Word]) -> RankPlan:
        """Return the plan of a query with `OR`: its ungrouped words and the best alternative of each group rank."""
        word_clauses = self._word_clauses(parsed.ungrouped_words, MAX_TERMS)
        filtering, ranking = self._conditions.build_groups(parsed)
        if not word_clauses and not ranking and (not filtering or analyze(parsed.ungrouped_words)):
            return RankPlan(None, ())
        body = Query.boolean_query(word_clauses + ranking) if word_clauses or ranking else _match_all()
        clauses = [(Occur.Must, body), *filtering, *self._conditions.build_clauses(parsed)]
        return RankPlan(Query.boolean_query(clauses), _all_hashes(words), *self._rerank_inputs(words, parsed.words))

    def _rerank_inputs(self, words: list[_Word], text: str) -> RerankInputs:
        """Return what the second stage looks for; empty if no feature has a weight."""
        if not self.weights.reranks:
            return (), (), False
        query_words = _WORD.findall(text)[:MAX_PAIRED_WORDS] if self.weights.ordered else []
        pairs = tuple([_spellings(f"{word_text} {next_word}") for word_text, next_word in pairwise(query_words)])
        terms = tuple([(word.hashes, self._idf(word.frequency)) for word in words])
        return terms, pairs, bool(self.weights.fresh) and wants_fresh_results(text)

    def _word_clauses(self, text: str, limit: int) -> list[Clause]:
        """Return ranking clauses for a text's rarest words, at most `limit` of them; words that no page has are left
        out.
        """
        words = sorted(self._cached_word(readings, count) for readings, count in self._query_terms(text).items())
        return _ranking_clauses([word for word in words if word.frequency][:limit])

    def _query_terms(self, words: str) -> dict[Readings, int]:
        """Return the words of a query with their counts, cut to the MAX_TERMS that tell most."""
        counts = self._query_analyzer.count_readings(words)
        if len(counts) <= MAX_TERMS:
            return counts
        ranked = [
            (-count * self._idf(word.frequency) if word.frequency else 0.0, word.readings)
            for word, count in ((self._cached_word(readings, 1), count) for readings, count in counts.items())
        ]
        return {readings: counts[readings] for _, readings in sorted(ranked)[:MAX_TERMS]}

    def top(self, plan: RankPlan, limit: int) -> tuple[list[tuple[float, int]], bool]:
        """Return the best `limit` (score, dense id) by score, then URL, and True if there are no more.

        Unless there are no more, hits that tie with the last one are left out, since others of the tie may be missing.
        If all hits tie, the search widens until the tie ends or `webemu.emulator.ranking.MAX_DEPTH` hits are read. A
        query without words ranks nothing: its hits come in the order of the crawl.
        """
        hits, is_complete = self.bm25_candidates(plan, limit)
        if plan.terms:  # empty if no feature has a weight
            hits[:RERANK_DEPTH] = self._rerank(plan, hits[:RERANK_DEPTH])
        return hits, is_complete

    def bm25_candidates(self, plan: RankPlan, limit: int) -> tuple[list[tuple[float, int]], bool]:
        """Return `top` as BM25 alone ranks it, with at least `RERANK_DEPTH` hits if there is a second stage."""
        if plan.query is None:
            return [], True
        limit = max(limit, RERANK_DEPTH) if plan.terms else limit
        tantivy_hits, is_complete = self._search(plan.query, limit)
        if plan.hashes:
            # Widen the search until the second stage has enough hits above the tie at the end of the list.
            while (
                not is_complete
                and _count_untied(tantivy_hits) < (RERANK_DEPTH if plan.terms else 1)
                and limit < MAX_DEPTH
            ):
                limit = min(16 * limit, MAX_DEPTH)
                tantivy_hits, is_complete = self._search(plan.query, limit)
            if not is_complete:
                tantivy_hits = tantivy_hits[: _count_untied(tantivy_hits)] or tantivy_hits
        bases = self._bases
        hits = [(score, bases[address.segment_ord] + address.doc) for score, address in tantivy_hits]
        if plan.hashes:
            hits = self.break_ties(hits)
        return hits, is_complete

    def _rerank(self, plan: RankPlan, hits: list[tuple[float, int]]) -> list[tuple[float, int]]:
        """Return hits ordered by the second stage. No factor is below 1, so none falls below the hits that are not
        reranked.
        """
        scored_hits = [
            (score * multiplier, doc)
            for (score, doc), multiplier in zip(hits, self.rerank_factors(plan, hits), strict=True)
        ]
        return self.break_ties(sorted(scored_hits, key=_SCORE, reverse=True))

    def break_ties(self, hits: list[tuple[float, int]]) -> list[tuple[float, int]]:
        """Return hits that are sorted by score with equal scores sorted by URL. Changes the list in place."""
        order, end = self.doc_values.order, 0  # `end`: hits before it are in their final order
        for start in [
            start for start, (score, next_score) in enumerate(pairwise(map(_SCORE, hits))) if score == next_score
        ]:
            if start >= end:
                end = start + 2
                while end < len(hits) and hits[end][0] == hits[start][0]:
                    end += 1
                hits[start:end] = sorted(hits[start:end], key=lambda hit: order[hit[1]])
        return hits

    def rerank_factors(self, plan: RankPlan, hits: list[tuple[float, int]]) -> list[float]:
        """Return the factor by which the second stage multiplies each hit's score, 1 or more."""
        weights, record = self.weights, self._read_record
        prior_of = partial(self._document_prior, is_new=plan.is_new) if weights.has_prior or plan.is_new else _no_prior
        matched_features = match_features([record(doc) for _, doc in hits], plan.terms, plan.pairs)
        return [
            rerank_factor(weights, title, passage, order, prior_of(doc))
            for (_, doc), (title, passage, order) in zip(hits, matched_features, strict=True)
        ]

    def _document_prior(self, doc: int, is_new: bool) -> float:
        """Return the query-independent part of a page's factor, with recency if the query asks for new pages."""
        columns = self.doc_values
        prior = document_prior(self.weights, columns.host[doc], columns.address[doc], columns.quality[doc])
        return prior + self.weights.fresh * self._recency(doc) if is_new else prior

    def _recency(self, doc: int) -> float:
        """Return how recent a page is, in [0, 1]."""
        return recency(self._newest_day - self.doc_values.day[doc])

    @cached_property
    def _newest_day(self) -> int:
        """Day number of the last capture of the crawl."""
        return max(self.doc_values.since, default=0) // DAY_SECONDS

    def _search(self, query: Query, limit: int) -> tuple[list[Any], bool]:
        """Return Tantivy's best `limit` hits, and True if there are no more."""
        hits = self._searcher.search(query, limit, count=False).hits
        # A limit of all documents is complete too, even if exactly as many were found.
        return hits, len(hits) < limit or limit >= self.documents

    def _read_record(self, doc: int) -> memoryview:
        """Return the result record of a page."""
        bases = self._record_bases
        shard = len(bases) - 1
        while bases[shard] > doc:  # a linear scan, since there are few shards
            shard -= 1
        return self._records[shard][doc - bases[shard]]

    def terms(self, text: str, like: str = "") -> list[str]:
        """Return the analyzed terms of a text in order, in the language that the text `like` seems to be in."""
        return self._query_analyzer.analyze(text, like) if like else analyze(text)

    def explain(self, doc: int, score: float, plan: RankPlan) -> dict[str, float]:
        """Return the features that ranked a page.

        These are `bm25`, the features of `webemu.index.rank`, and `factor`, by which BM25 was multiplied: 1 if the
        page was too far down to be reranked.
        """
        reranked = self.top(plan, RERANK_DEPTH)[0][:RERANK_DEPTH] if plan.terms else []
        return self.explain_factors(doc, score, plan, any(other == doc for _, other in reranked))

    def explain_factors(self, doc: int, score: float, plan: RankPlan, is_best: bool) -> dict[str, float]:
        """Return `explain` for a page that is known to be among those reranked (`is_best`) or not."""
        columns, (title, passage, order) = (
            self.doc_values,
            match_features([self._read_record(doc)], plan.terms, plan.pairs)[0],
        )
        multiplier = (
            rerank_factor(self.weights, title, passage, order, self._document_prior(doc, plan.is_new))
            if is_best
            else 1.0
        )
        features = {"bm25": score / multiplier, "title": title, "passage": passage, "order": order}
        features |= {"host": columns.host[doc], "address": columns.address[doc], "quality": columns.quality[doc]}
        features |= {"fresh": self._recency(doc) if plan.is_new else 0.0, "factor": multiplier}
        return {name: round(value, 4) for name, value in features.items()}

    def frequency(self, words: str) -> int:
        """Return the number of pages that have the rarest of the words; 0 if there are no words."""
        return self._query_analyzer.frequency(words)

    def render_hit(self, doc: int, score: float, plan: RankPlan, passage_mask: int = 0) -> Hit:
        """Return what a result shows of a page: title, snippet, date.

        `passage_mask` has a bit for each passage that the snippet is chosen from; 0 allows all.
        """
        return read_hit(self._read_record(doc), doc, score, plan.hashes, passage_mask)

    def duplicates(self, doc: int) -> Sequence[int]:
        """Return ids of all near-duplicates of a page, this page and past captures included; empty if it has none."""
        return self.cluster_members(self.doc_values.cluster[doc])

    def cluster_members(self, cluster: int) -> Sequence[int]:
        """Return ids of all pages of a duplicate cluster; empty if it has only one."""
        return self._duplicates.members_of(cluster)

    def read_texts(self, doc: int) -> tuple[str, str, list[str]]:
        """Return (url, title, passages) of a page."""
        return read_texts(self._read_record(doc))

    def matches(self, plan: RankPlan, doc: int) -> bool:
        """True if a page is among all that a plan matches."""
        if plan.query is None:
            return False
        base, segment = self._segments_by_base[bisect_right(self._segments_by_base, doc, key=itemgetter(0)) - 1]
        address = tantivy.DocAddress(segment, doc - base)
        try:  # wrapped in a constant score: a bare MustNot query claims to match the first page of each segment
            return bool(Query.const_score_query(plan.query, 1.0).explain(self._searcher, address))
        except ValueError:  # the library raises for a page that does not match
            return False
