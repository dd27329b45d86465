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
from webemu.rl.tasks.phrases import content_words
from webemu.rl.verify import normalise

RANK_DISCOUNT = 0.9
"""Factor on the weight of a span for each rank further down."""
HALF_DISTANCE = 6
"""Distance in words at which a word of the question counts half."""
TITLE_DISTANCE = 12
"""Distance of the words that only the title of the result has."""
REPEAT_DISCOUNT = 0.5
"""Factor on each further occurrence of the same answer."""
_WORD = re.compile(r"\w+(?:['’.-]\w+)*")


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
    word_weights = _weigh_words(question, results)
    occurrences: dict[str, list[tuple[float, int, str]]] = defaultdict(list)
    for rank, result in enumerate(results):
        for weight, answer in _weigh_spans(question, result, word_weights):
            occurrences[normalise(answer)].append((weight * RANK_DISCOUNT**rank, -rank, answer))
    if not occurrences:
        return SnippetGuess()
    best = max(occurrences.values(), key=lambda found: (_add_up([weight for weight, _, _ in found]), max(found)))
    _, negative_rank, answer = max(best)
    return SnippetGuess(answer, results[-negative_rank].link)


def _weigh_words(question: str, results: Sequence[ShownResult]) -> Mapping[str, float]:
    """Return the weight of each content word of the question: more for words that few results have."""
    counts = Counter(word for one in results for word in set(content_words(f"{one.title} {one.snippet}")))
    return {word: log((2 + len(results)) / (1 + counts[word])) for word in content_words(question)}


def _weigh_spans(question: str, result: ShownResult, word_weights: Mapping[str, float]) -> Iterator[tuple[float, str]]:
    """Yield the spans of a result's title and snippet with their weights."""
    title_words = set(content_words(result.title))
    for text in (result.snippet, result.title):
        starts = [match.start() for match in _WORD.finditer(text)]
        positions: dict[str, list[int]] = defaultdict(list)
        for position, match in enumerate(_WORD.finditer(text)):
            positions[match[0].casefold()].append(position)
        for answer, offset in find_spans(question, text):
            place = bisect_right(starts, offset) - 1
            distances = {
                word: min((abs(place - one) for one in positions.get(word, ())), default=None) for word in word_weights
            }
            yield _near_weight(distances, title_words, word_weights), answer


def _near_weight(
    distances: Mapping[str, int | None], title_words: set[str], word_weights: Mapping[str, float]
) -> float:
    """Return the sum of the weights of the question's words, each less the further away it stands."""
    total = 0.0
    for word, distance in distances.items():
        steps = distance if distance is not None else TITLE_DISTANCE if word in title_words else None
        if steps is not None:
            total += word_weights[word] / (1 + steps / HALF_DISTANCE)
    return total


def _add_up(weights: Sequence[float]) -> float:
    """Return the sum of the weights in falling order, each further one discounted."""
    return sum(weight * REPEAT_DISCOUNT**number for number, weight in enumerate(sorted(weights, reverse=True)))
