"""Turns a parsed query into a plan over Tantivy. Queries are built term by term, never by the library's parser.

The first stage of a plan is BM25 over the field `all`, each term weighted by how often the query has it; long queries
are cut to their rarest terms. `webemu.index.rank_plan` runs plans. Filters, duplicate collapse and host crowding are
not here but in `webemu.emulator.ranking`; conditions such as sites and phrases are built in `webemu.index.conditions`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property, lru_cache, partial
from itertools import islice, pairwise
from math import log
from typing import NamedTuple

from tantivy import Occur, Query

from webemu.emulator.cancellation import raise_if_cancelled
from webemu.emulator.errors import SnapshotError
from webemu.emulator.negations import drop_unwanted_words
from webemu.emulator.query import ParsedQuery
from webemu.emulator.questions import find_years, wants_fresh_results
from webemu.index.analysis import extract_terms as analyze
from webemu.index.columns import Columns
from webemu.index.conditions import Clause, ConditionBuilder, list_months
from webemu.index.index_reader import ANY_TIME, IndexFiles, IndexReader, Period
from webemu.index.languages import QueryAnalyzer, Readings, count_pages_by_stemmer
from webemu.index.rank import Weights
from webemu.index.rank_plan import NO_RERANKING, RankPlan, RerankInputs
from webemu.index.records import hash_term, read_texts
from webemu.index.snippets import NO_CHOICE, SnippetChoice, plan_snippets

MAX_TERMS = 16
"""Longest query in terms; a longer one is cut to the terms with the highest count x idf."""

MAX_PAIRED_WORDS = 32
"""Words of a query, at most, whose neighbouring pairs are looked for in passages."""
_WORD = re.compile(r"(?:(?<!\S)\.)?\w+(?:(?:\+\+|#)(?!\w))?")
"""A word of a query, with the signs that make it another word: `C#`, `C++`, `.NET`."""
_SIGNED = re.compile(r"(?<!\S)\.|[#+]")
_JOINING_SIGNS = re.compile(r"[^\s'’-]+")


class Word(NamedTuple):
    """One word of a query; sorts by how rare it is, the rarest first."""

    frequency: int
    """Pages that have the word in any of its readings, at most."""
    readings: Readings
    """Terms that the word may be in the index."""
    hashes: tuple[int, ...]
    clauses: tuple[Clause, ...]


def _all_hashes(words: list[Word]) -> tuple[int, ...]:
    return tuple([one for word in words for one in word.hashes])


def _ranking_clauses(words: list[Word]) -> list[Clause]:
    return [clause for word in words for clause in word.clauses]


def _spellings(pair: str) -> tuple[bytes, ...]:
    """Return the spellings of a pair of words to look for in records, whose ASCII letters are in lower case."""
    lower = pair.lower()
    if lower.isascii():
        return (lower.encode(),)
    # bytes.lower changes ASCII letters only, as the reader of records does.
    return tuple(dict.fromkeys(form.encode().lower() for form in (lower, pair, pair.title())))


def _word_pairs(text: str) -> tuple[tuple[bytes, ...], ...]:
    """Return the neighbouring words of a query, and its words with signs (`C#`), each in its possible spellings.

    Words joined by signs (`std::vector`) are looked for as typed. Dashes do not join: options stand together in lists
    of options, and those would pass the pages that explain them.
    """
    pairs, words = [], list(islice(_WORD.finditer(text), MAX_PAIRED_WORDS))
    for word, next_word in pairwise(words):
        signs = text[word.end() : next_word.start()]
        is_joined = bool(_JOINING_SIGNS.fullmatch(signs))
        pairs.append(_spellings(f"{word[0]}{signs}{next_word[0]}" if is_joined else f"{word[0]} {next_word[0]}"))
    if not _SIGNED.search(text):
        return tuple(pairs)
    return (*pairs, *[_spellings(word[0]) for word in words if _SIGNED.search(word[0])])


def _match_all() -> Query:
    """Return a query that matches all pages with one score."""
    return Query.const_score_query(Query.all_query(), 1.0)


class RankEngine:
    """The searchable part of an open snapshot: the port `Ranker` over one Tantivy index. Read-only and thread-safe."""

    def __init__(self, files: IndexFiles, weights: Weights, field: str = "all", is_dated: bool = False) -> None:
        """Take the open files of a snapshot, the weights of the ranking features, the text field that is ranked by
        (`all` or `title`), and True for searches as of a day, which do not know the texts of links.
        """
        self._files = files
        self._is_dated = is_dated
        self._field = field = "own" if is_dated and field == "all" else field
        self._schema = files.index.schema
        self._searcher = files.index.searcher()
        self.weights = weights
        """Weights of the ranking features."""
        self.documents = self._count_documents()
        """Number of searchable pages, of all partitions if the index is partitioned."""
        self.reader = IndexReader(files, weights, self.documents, self._newest_day())
        # Caches belong to the instance: its methods are bound here, so that the cache dies with the engine.
        self._frequency = lru_cache(maxsize=1 << 17)(self._doc_freq)
        self._cached_word = lru_cache(maxsize=1 << 17)(self._make_word)
        # Which languages the index has decides which stemmers a query is read with.
        pages_by_stemmer = count_pages_by_stemmer(partial(self._frequency, "key"), self.documents)
        self._query_analyzer = QueryAnalyzer(pages_by_stemmer, partial(self._frequency, field))
        self._conditions = ConditionBuilder(
            self._schema,
            self._frequency,
            self.documents,
            self._word_clauses,
            self._list_months(),
            "own" if is_dated else "all",
            self._query_analyzer.phrase_analyzers,
        )

    def with_weights(self, weights: Weights, field: str = "all", is_dated: bool = False) -> RankEngine:
        """Return an engine over the same files that ranks with other weights or by another field."""
        return RankEngine(self._files, weights, field, is_dated)

    @cached_property
    def _dated_engine(self) -> RankEngine:
        """Engine for searches as of a day.

        Raises:
            SnapshotError: the snapshot was built before there was such a field.
        """
        try:
            self._searcher.doc_freq("own", "any")
        except ValueError as error:
            raise SnapshotError(
                "this snapshot cannot be searched as of a day", action="build another: webemu snapshots build"
            ) from error
        return self.with_weights(self.weights, self._field, True)

    @property
    def doc_values(self) -> Columns:
        """The per-document values of the snapshot."""
        return self._files.columns

    def _list_months(self) -> list[str]:
        """Return the months that pages are from, oldest first."""
        return list_months(self._doc_freq)

    def _count_documents(self) -> int:
        return int(self._searcher.num_docs)

    def _newest_day(self) -> int | None:
        """Return the day number of the last capture of the crawl; None if the columns of this index have it."""
        return None

    def _doc_freq(self, field: str, term: str) -> int:
        return int(self._searcher.doc_freq(field, term))

    def _make_word(self, readings: Readings, count: int) -> Word:
        """Build the clauses of one query word. Each reading counts, with the rareness of all readings together.

        A disjunction, where only the best reading counts, would double search time: Tantivy cannot skip documents in
        one.
        """
        frequencies = [self._frequency(self._field, term) for term in readings]
        frequency = min(sum(frequencies), self.documents)
        rareness = self._idf(frequency)
        # Tantivy multiplies by its own idf of each term; dividing by it leaves the idf of all readings together.
        weights = [count * rareness / self._local_idf(*reading) for reading in zip(readings, frequencies, strict=True)]
        # Positions are of no use here, and reading their bounds takes a fortieth of a search.
        queries = [Query.term_query(self._schema, self._field, term, "freq") for term in readings]
        queries = [
            query if weight == 1 else Query.boost_query(query, weight)
            for query, weight in zip(queries, weights, strict=True)
        ]
        clauses = tuple([(Occur.Should, query) for query in queries])
        return Word(frequency, readings, tuple(map(hash_term, readings)), clauses)

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
        """Return a query prepared to be run. Every parsed query has a plan, if only one that matches nothing.

            plan = engine.plan(parse_query("river council site:example.org"))
            entries, is_complete = plan.top(10)

        Raises:
            SnapshotError: the search is as of a day, and the snapshot is too old for that.
            WorkCancelled: nobody waits for it.
        """
        raise_if_cancelled()
        if parsed.is_dated and not self._is_dated:
            return self._dated_engine.plan(parsed)
        weights = self._query_terms(parsed.words)
        words = sorted(self._cached_word(readings, count) for readings, count in weights.items())
        if words and not words[0].frequency:  # sorted by frequency: words that no page has come first
            words = [word for word in words if word.frequency]
        if parsed.any_of:
            return self._plan_groups(parsed, words)
        conditions = self._conditions.build_clauses(parsed) if parsed.has_filters else []
        # Words that no page has match nothing; no words at all match what the conditions let through.
        if not words and (weights or not parsed.has_filters):
            return RankPlan(self.reader, None)
        hashes = _all_hashes(words)
        if words and not conditions:
            query = Query.boolean_query(_ranking_clauses(words))
        else:
            body = Query.boolean_query(_ranking_clauses(words)) if words else _match_all()
            query = Query.boolean_query([(Occur.Must, body), *conditions])
        inputs = self._rerank_inputs(words, parsed.words)
        return RankPlan(self.reader, query, hashes, inputs, self._plan_snippets(words, parsed))

    def _plan_groups(self, parsed: ParsedQuery, words: list[Word]) -> RankPlan:
        """Return the plan of a query with `OR`: its ungrouped words and the best alternative of each group rank."""
        word_clauses = self._word_clauses(parsed.ungrouped_words, MAX_TERMS)
        filtering, ranking = self._conditions.build_groups(parsed)
        if not word_clauses and not ranking and (not filtering or analyze(parsed.ungrouped_words)):
            return RankPlan(self.reader, None)
        body = Query.boolean_query(word_clauses + ranking) if word_clauses or ranking else _match_all()
        clauses = [(Occur.Must, body), *filtering, *self._conditions.build_clauses(parsed)]
        inputs = self._rerank_inputs(words, parsed.words)
        query = Query.boolean_query(clauses)
        return RankPlan(self.reader, query, _all_hashes(words), inputs, self._plan_snippets(words, parsed))

    def _plan_snippets(self, words: list[Word], parsed: ParsedQuery) -> SnippetChoice:
        """Return the choice of sentences for the snippets of a query."""
        if not parsed.snippet_characters:
            return NO_CHOICE
        rarenesses = [(word.readings, self._idf(word.frequency)) for word in words]
        return plan_snippets(rarenesses, parsed.words, parsed.snippet_characters)

    def _rerank_inputs(self, words: list[Word], text: str) -> RerankInputs:
        """Return what the second stage looks for; empty if no feature has a weight."""
        if not self.weights.reranks:
            return NO_RERANKING
        evidence = drop_unwanted_words(text)
        if evidence != text:
            readings = self._query_analyzer.count_readings(evidence)
            words = [word for word in words if word.readings in readings]
        pairs = _word_pairs(evidence) if self.weights.ordered else ()
        terms = tuple([(word.hashes, self._idf(word.frequency)) for word in words])
        period = Period(wants_fresh_results(text), find_years(text)) if self.weights.fresh else ANY_TIME
        return RerankInputs(terms, pairs, period)

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

    def terms(self, text: str, like: str = "") -> list[str]:
        """Return the analyzed terms of a text in order, in the language that the text `like` seems to be in."""
        return self._query_analyzer.analyze(text, like) if like else analyze(text)

    def frequency(self, words: str) -> int:
        """Return the number of pages that have the rarest of the words; 0 if there are no words."""
        return self._query_analyzer.frequency(words)

    def knows(self, word: str) -> bool:
        """Return True if a page has the word."""
        return bool(self.frequency(word))

    def duplicates(self, doc: int) -> Sequence[int]:
        """Return ids of all near-duplicates of a page, this page and past captures included; empty if it has none."""
        return self.cluster_members(self.doc_values.cluster[doc])

    def cluster_members(self, cluster: int) -> Sequence[int]:
        """Return ids of all pages of a duplicate cluster; empty if it has only one."""
        return self._files.duplicates.members_of(cluster)

    def read_texts(self, doc: int) -> tuple[str, str, list[str]]:
        """Return (url, title, passages) of a page."""
        return read_texts(self.reader.read_record(doc))
