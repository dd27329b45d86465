"""Degrades search results as a worse engine would: other weights, wrong results, missing results, another order.

It works on the whole ranking in blocks of ten, so that pages of results stay consistent. Pure, given the random
values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from webemu.emulator.keyed_random import Draws
from webemu.emulator.query import parse
from webemu.emulator.types import Hit
from webemu.emulator.weather import Weather

BLOCK = 10
"""Results that are perturbed together."""
Others = Callable[[], Iterator[Hit]]
"""Returns the results of a different query, best first; called only if a result is replaced."""


def is_noisy(weather: Weather) -> bool:
    """True if the weather changes search results."""
    return bool(weather.dropped or weather.shuffled or weather.replaced or weather.variation)


def noisy(
    hits: Sequence[Hit], weather: Weather, engine: Draws, asked: Draws, others: Others
) -> tuple[list[Hit], set[str]]:
    """Return the perturbed results and the names of the changes made.

    `engine` gives the values that stay the same for a whole session, `asked` those of one request.
    """
    shown: list[Hit] = []
    done: set[str] = set()
    wrong: Iterator[Hit] | None = None
    taken = {hit.doc for hit in hits}
    for start in range(0, len(hits), BLOCK):
        block = _weighed(hits[start : start + BLOCK], weather, engine)
        for at, hit in enumerate(block):
            if asked.hits(weather.replaced, "replaced", start + at):
                wrong = wrong or others()
                if (other := next((one for one in wrong if one.doc not in taken), None)) is not None:
                    taken.add(other.doc)
                    block[at] = other._replace(score=hit.score)
                    done.add("replaced")
        kept = [hit for at, hit in enumerate(block) if not asked.hits(weather.dropped, "dropped", start + at)]
        done |= {"dropped"} if len(kept) < len(block) else set()
        # Every draw is keyed by position, so that the same request is perturbed in the same way again.
        if asked.hits(weather.shuffled, "shuffled", start):
            kept = _reordered(kept, asked.shuffled(kept, "order", start))
            done.add("shuffled")
        shown += kept
    return shown, done


def _weighed(hits: Sequence[Hit], weather: Weather, engine: Draws) -> list[Hit]:
    """Return hits ranked by scores that vary by URL; unchanged if the weather has no variation."""
    if not weather.variation:
        return list(hits)
    weights = {hit.doc: hit.score * (1 + weather.variation * (2 * engine.share("engine", hit.url) - 1)) for hit in hits}
    return _reordered(hits, sorted(hits, key=lambda hit: -weights[hit.doc]))


def _reordered(hits: Sequence[Hit], order: Sequence[Hit]) -> list[Hit]:
    """Return hits in a new order; the scores keep their positions, so they still fall with rank."""
    return [hit._replace(score=before.score) for hit, before in zip(order, hits, strict=True)]


def another(text: str, titles: Sequence[str], asked: Draws) -> str:
    """Return a slightly different query: one of its words is replaced by a word from the titles of its results."""
    words = [word for word in parse(text).words.split() if any(map(str.isalnum, word))]
    said = {word.casefold() for word in words}
    found = {word for title in titles for word in title.split() if len(word) > 3 and word.isalnum()}
    known = sorted(word for word in found if word.casefold() not in said)
    if not words or not known:
        return " ".join(words[:-1])
    long = [at for at, word in enumerate(words) if len(word) > 3] or list(range(len(words)))
    words[asked.choice(long, "word")] = asked.choice(known, "other")
    return " ".join(words)
