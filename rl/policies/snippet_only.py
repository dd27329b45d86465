"""Snippet-only baseline: searches for the question, opens nothing, and answers from what the results show.

The best guess that needs no model: of all spans of the asked form, the one whose neighbourhood in titles and snippets
has the most words of the question. It cites the result that it read, which earns nothing, since the page was never
opened: the share of right answers (`correct`) tells how many tasks a list of results gives away.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import log

from webemu.rl.policies import question_search
from webemu.rl.policies.attempt import Attempt
from webemu.rl.policies.observation_parsing import ShownResult
from webemu.rl.policies.spans import find_spans
from webemu.rl.verify import normalise
from webemu.rl.wording import relation_words

RANK_DISCOUNT = 0.85
"""Factor on the weight of a span for each rank further down."""
HALF_DISTANCE = 6
"""Distance in words at which a word of the question counts half."""
REPEAT_DISCOUNT = 0.4
"""Factor on each further occurrence of the same answer."""
_WORD = re.compile(r"\w+(?:['’.-]\w+)*")
_SITE_NAME = re.compile(r"\s[-–—|·]\s[^-–—|·]*$")
"""End of a title that names the site."""


@dataclass(frozen=True, slots=True)
class SnippetGuess:
    """Guess from the results, with the link of the result that it was read from; both empty if there is none."""

    answer: str = ""
    link: str = ""


async def play_by_snippets(attempt: Attempt) -> None:
    """Play an attempt with searches for the question alone."""
    guess = guess_from_results(attempt.question, await question_search.search_question(attempt))
    await attempt.act("finish", answer=guess.answer or "not found", citations=[guess.link] if guess.link else [])


def guess_from_results(question: str, results: Sequence[ShownResult]) -> SnippetGuess:
    """Return the best guess from the titles and snippets of some results."""
    texts = [f"{_SITE_NAME.sub('', one.title)}. {one.snippet}" for one in results]
    word_weights = _weigh_words(question, texts)
    occurrences: dict[str, list[tuple[float, int, str]]] = defaultdict(list)
    for rank, text in enumerate(texts):
        for answer, weight in _weigh_spans(question, text, word_weights):
            occurrences[normalise(answer)].append((weight * RANK_DISCOUNT**rank, -rank, answer))
    if not occurrences:
        return SnippetGuess()
    best = max(occurrences.values(), key=lambda triples: (_add_up([weight for weight, _, _ in triples]), max(triples)))
    _, negative_rank, answer = max(best)
    return SnippetGuess(answer, results[-negative_rank].link)


def _weigh_words(question: str, texts: Sequence[str]) -> Mapping[str, float]:
    """Return the weight of each word of the question that says something: more for words that few results have."""
    counts = Counter(word for text in texts for word in relation_words(normalise(text)))
    return {word: log((2 + len(texts)) / (1 + counts[word])) for word in relation_words(normalise(question))}


def _weigh_spans(question: str, text: str, word_weights: Mapping[str, float]) -> Iterator[tuple[str, float]]:
    """Yield the spans of a text with their weights: the sum over the question's words, less the further away."""
    words = list(_WORD.finditer(text))
    starts = [match.start() for match in words]
    places: dict[str, list[int]] = defaultdict(list)
    for number, match in enumerate(words):
        for word in relation_words(normalise(match[0])) & word_weights.keys():
            places[word].append(number)
    for span, offset in find_spans(question, text):
        first = bisect_right(starts, offset) - 1
        last = first + len(span.split()) - 1
        distances = {word: min(max(first - one, one - last, 0) for one in numbers) for word, numbers in places.items()}
        yield span, sum(word_weights[word] / (1 + distance / HALF_DISTANCE) for word, distance in distances.items())


def _add_up(weights: Sequence[float]) -> float:
    """Return the sum of the weights in falling order, each further one discounted."""
    return sum(weight * REPEAT_DISCOUNT**number for number, weight in enumerate(sorted(weights, reverse=True)))
