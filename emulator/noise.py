"""Degrades search results as a worse engine would: other weights, wrong results, missing results, another order.

It works on the whole ranking in blocks of ten, so that pages of results stay consistent. Pure, given the random
values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from webemu.emulator.keyed_random import KeyedRandom
from webemu.emulator.query import parse_query
from webemu.emulator.types import Hit
from webemu.emulator.weather import Weather

BLOCK_SIZE = 10
"""Results that are perturbed together."""
AlternativeHits = Callable[[], Iterator[Hit]]
"""Returns the results of a different query, best first; called only if a result is replaced."""


def has_ranking_noise(weather: Weather) -> bool:
    """True if the weather changes search results."""
    return bool(weather.dropped or weather.shuffled or weather.replaced or weather.variation)


def perturb_results(
    hits: Sequence[Hit],
    weather: Weather,
    engine_random: KeyedRandom,
    request_random: KeyedRandom,
    alternative_hits: AlternativeHits,
) -> tuple[list[Hit], set[str]]:
    """Return the perturbed results and the names of the changes made.

    `engine_random` gives the values that stay the same for a whole session, `request_random` those of one request.
    """
    results: list[Hit] = []
    changes: set[str] = set()
    alternatives: Iterator[Hit] | None = None
    doc_ids = {hit.doc for hit in hits}
    for start in range(0, len(hits), BLOCK_SIZE):
        block = _reweight(hits[start : start + BLOCK_SIZE], weather, engine_random)
        for index, hit in enumerate(block):
            if request_random.bernoulli(weather.replaced, "replaced", start + index):
                alternatives = alternatives or alternative_hits()
                if (replacement := next((one for one in alternatives if one.doc not in doc_ids), None)) is not None:
                    doc_ids.add(replacement.doc)
                    block[index] = replacement._replace(score=hit.score)
                    changes.add("replaced")
        remaining = [
            hit
            for index, hit in enumerate(block)
            if not request_random.bernoulli(weather.dropped, "dropped", start + index)
        ]
        changes |= {"dropped"} if len(remaining) < len(block) else set()
        # Every draw is keyed by position, so that the same request is perturbed in the same way again.
        if request_random.bernoulli(weather.shuffled, "shuffled", start):
            remaining = _reorder(remaining, request_random.permute(remaining, "order", start))
            changes.add("shuffled")
        results += remaining
    return results, changes


def _reweight(hits: Sequence[Hit], weather: Weather, engine_random: KeyedRandom) -> list[Hit]:
    """Return hits ranked by scores that vary by URL; unchanged if the weather has no variation."""
    if not weather.variation:
        return list(hits)
    weights = {
        hit.doc: hit.score * (1 + weather.variation * (2 * engine_random.uniform("engine", hit.url) - 1))
        for hit in hits
    }
    return _reorder(hits, sorted(hits, key=lambda hit: -weights[hit.doc]))


def _reorder(hits: Sequence[Hit], order: Sequence[Hit]) -> list[Hit]:
    """Return hits in a new order; the scores keep their positions, so they still fall with rank."""
    return [hit._replace(score=before.score) for hit, before in zip(order, hits, strict=True)]


def vary_query(text: str, titles: Sequence[str], request_random: KeyedRandom) -> str:
    """Return a slightly different query: one of its words is replaced by a word from the titles of its results."""
    words = [word for word in parse_query(text).words.split() if any(map(str.isalnum, word))]
    query_words = {word.casefold() for word in words}
    title_words = {word for title in titles for word in title.split() if len(word) > 3 and word.isalnum()}
    candidates = sorted(word for word in title_words if word.casefold() not in query_words)
    if not words or not candidates:
        return " ".join(words[:-1])
    long_positions = [index for index, word in enumerate(words) if len(word) > 3] or list(range(len(words)))
    words[request_random.choice(long_positions, "word")] = request_random.choice(candidates, "other")
    return " ".join(words)
