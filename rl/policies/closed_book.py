"""Closed-book baseline: never searches, and guesses from the questions and answers of other tasks. It shows what
guessing scores.

Each answer of another task gets votes by the word n-grams that its question shares with this one, rare ones counting
more, so that answers which are frequent among similar questions win. A question that offers options is answered with
one of these. Neither the recipe nor the gold answer of the task itself is read.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log

from webemu.rl.policies.attempt import AgentPolicy, Attempt
from webemu.rl.policies.question_form import find_options, word_grams
from webemu.rl.tasks import Task
from webemu.rl.verify import normalise

SIMILARITY_POWER = 3
"""Power of the similarity of two questions: few close ones weigh more than many distant ones."""
POPULARITY_VOTE = 1e-3
"""Vote of an answer for each task that has it, whatever its question is."""


@dataclass(frozen=True, slots=True)
class _KnownAnswer:
    """Answer of another task with its question's n-grams."""

    task_id: str
    text: str
    grams: frozenset[str]


def closed_book_policy(tasks: Sequence[Task]) -> AgentPolicy:
    """Return a policy that guesses from the training tasks or, without any, from all tasks but the current one."""
    guesser = Guesser([task for task in tasks if task.split == "train"] or tasks)

    async def play(attempt: Attempt) -> None:
        guess = guesser.guess(attempt.task.id, attempt.question)
        await attempt.act("finish", answer=guess, citations=[])

    return play


class Guesser:
    """Guesses by n-grams and popularity, learned from tasks.

    Guesser(tasks).guess("t1", "On which river does Arlen stand?")
    """

    def __init__(self, tasks: Sequence[Task]) -> None:
        self._examples = [_KnownAnswer(task.id, task.answers[0], word_grams(task.question)) for task in tasks]
        counts = Counter(gram for one in self._examples for gram in one.grams)
        self._weights = {gram: log((1 + len(self._examples)) / count) for gram, count in counts.items()}

    def guess(self, task_id: str, question: str) -> str:
        """Return the answer with the most votes of all tasks but the one itself; "not found" if there are no others.

        If the question offers options, return the one with the most votes, or else the first.
        """
        votes, texts = self._count_votes(task_id, question)
        options = find_options(question)
        if options:
            return max(options, key=lambda option: votes.get(normalise(option), 0.0))
        if not votes:
            return "not found"
        return texts[max(votes, key=lambda answer: (votes[answer], answer))]

    def _count_votes(self, task_id: str, question: str) -> tuple[Mapping[str, float], Mapping[str, str]]:
        """Return the votes by normalised answer, and how each is written."""
        grams = word_grams(question)
        votes: defaultdict[str, float] = defaultdict(float)
        texts: dict[str, str] = {}
        for example in self._examples:
            if example.task_id != task_id:
                answer = normalise(example.text)
                votes[answer] += self._similarity(grams, example.grams) ** SIMILARITY_POWER + POPULARITY_VOTE
                texts.setdefault(answer, example.text)
        return votes, texts

    def _similarity(self, grams: frozenset[str], known_grams: frozenset[str]) -> float:
        """Return the share of the known question's weight that both questions have, from 0 to 1."""
        total = self._weigh(grams | known_grams)
        return self._weigh(grams & known_grams) / total if total else 0.0

    def _weigh(self, grams: frozenset[str]) -> float:
        return sum(self._weights.get(gram, 0.0) for gram in grams)
