"""Guesses from other tasks: a task whose answer they give away says nothing about searching.

Each answer of another task gets votes by the word n-grams that its question shares with this one, rare ones counting
more, so that answers which are frequent among similar questions win. The closed-book baseline plays this guesser, and
`webemu tasks build` leaves out what it answers.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import log
from typing import Self

from webemu.rl.answers import is_equivalent
from webemu.rl.tasks.question_form import find_options, word_grams
from webemu.rl.tasks.splits import SplitResult
from webemu.rl.tasks.task import Task
from webemu.rl.verify import normalise

SIMILARITY_POWER = 3
"""Power of the similarity of two questions: few close ones weigh more than many distant ones."""
POPULARITY_VOTE = 1e-3
"""Vote of an answer for each task that has it, whatever its question is."""
MAX_ROUNDS = 4
"""Rounds in which guessed tasks are left out: without them, the guesses about others change."""


@dataclass(frozen=True, slots=True)
class _KnownAnswer:
    """Answer of another task."""

    task_id: str
    text: str
    normal_text: str
    question_weight: float
    """Sum of the weights of the question's n-grams."""


class Guesser:
    """Guesses by n-grams and popularity, learned from tasks.

    Guesser(tasks).guess("t1", "On which river does Arlen stand?")
    """

    def __init__(self, tasks: Sequence[Task]) -> None:
        gram_sets = [word_grams(task.question) for task in tasks]
        counts = Counter(gram for grams in gram_sets for gram in grams)
        self._weights = {gram: log((1 + len(tasks)) / count) for gram, count in counts.items()}
        self._examples: list[_KnownAnswer] = []
        self._numbers_by_gram: defaultdict[str, list[int]] = defaultdict(list)
        for number, (task, grams) in enumerate(zip(tasks, gram_sets, strict=True)):
            text = task.answers[0]
            self._examples.append(_KnownAnswer(task.id, text, normalise(text), self._weigh(grams)))
            for gram in grams:
                self._numbers_by_gram[gram].append(number)
        self._answer_counts = Counter(one.normal_text for one in self._examples)

    @classmethod
    def of_tasks(cls, tasks: Sequence[Task]) -> Self:
        """Learn from the training tasks or, without any, from all."""
        return cls([task for task in tasks if task.split == "train"] or tasks)

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
        shared_weights: defaultdict[int, float] = defaultdict(float)
        for gram in sorted(grams):
            for number in self._numbers_by_gram.get(gram, ()):
                shared_weights[number] += self._weights[gram]
        total = self._weigh(grams)
        votes: defaultdict[str, float] = defaultdict(float)
        texts: dict[str, str] = {}
        for number, example in enumerate(self._examples):
            if example.task_id != task_id:
                shared = shared_weights.get(number, 0.0)
                union = total + example.question_weight - shared
                similarity = shared / union if union > 0 else 0.0
                votes[example.normal_text] += similarity**SIMILARITY_POWER + POPULARITY_VOTE
                texts.setdefault(example.normal_text, example.text)
        return votes, texts

    def _weigh(self, grams: frozenset[str]) -> float:
        return sum(self._weights.get(gram, 0.0) for gram in sorted(grams))


def leave_out_guessed(result: SplitResult) -> SplitResult:
    """Return the split without the tasks that the guesser answers.

    Choices stay, since a coin guesses them as well, and so do tasks whose answer is that there is none: that earns
    nothing without a search.
    """
    tasks = result.tasks
    for _ in range(MAX_ROUNDS):
        guesser = Guesser.of_tasks(tasks)
        kept_tasks = tuple(task for task in tasks if not _is_guessed(guesser, task))
        if len(kept_tasks) == len(tasks):
            break
        tasks = kept_tasks
    return replace(result, tasks=tasks, guessed_count=result.guessed_count + len(result.tasks) - len(tasks))


def _is_guessed(guesser: Guesser, task: Task) -> bool:
    """True if the guesser answers a task that has an open answer."""
    if task.answer_type in ("choice", "none", "report"):
        return False
    guess = guesser.guess(task.id, task.question)
    quotes = [row.quote for row in task.evidence]
    return is_equivalent(guess, task.answers, task.answer_type, task.question, quotes)
