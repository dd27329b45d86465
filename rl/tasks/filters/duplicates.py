"""Filter against duplicates: the same task in other words."""

from __future__ import annotations

from collections import defaultdict

from rapidfuzz import fuzz

from webemu.rl.tasks.filters.filter import Verdict
from webemu.rl.tasks.filters.quote import collapse_spaces
from webemu.rl.tasks.phrases import find_names
from webemu.rl.tasks.task import Task
from webemu.rl.verify import normalise

NAMED_THRESHOLD, NAMELESS_THRESHOLD = 80.0, 92.0
"""Similarity (rapidfuzz `token_set_ratio`, 0 to 100) from which two questions with the same answer are duplicates: for
questions that name the same things, and for questions that name nothing."""


class DuplicateFilter:
    """Index of the tasks kept so far. Tasks of one template that differ in a name or the answer are no duplicates."""

    def __init__(self) -> None:
        self._ids_by_question: dict[str, str] = {}
        self._ids_by_statement: dict[tuple[str, ...], str] = {}
        self._tasks_by_answer: defaultdict[str, list[tuple[str, frozenset[str], str]]] = defaultdict(list)

    def duplicate_of(self, task: Task) -> str:
        """Return the id of a duplicate among the tasks kept so far; empty if there is none.

        A duplicate has the same question; or the same answer from the same quotes; or the same answer, the same names
        and nearly the same words.
        """
        if duplicate_id := self._ids_by_question.get(normalise(task.question)) or self._ids_by_statement.get(
            _statement_key(task), ""
        ):
            return duplicate_id
        task_names = _names_in_question(task)
        threshold = NAMED_THRESHOLD if task_names else NAMELESS_THRESHOLD
        for question, other_names, other_id in self._tasks_by_answer[_answer_key(task)]:
            if other_names == task_names and fuzz.token_set_ratio(task.question, question) >= threshold:
                return other_id
        return ""

    def add(self, task: Task) -> None:
        """Add a task to the index."""
        self._ids_by_question[normalise(task.question)] = task.id
        if any(one.quote for one in task.evidence):
            # Without a quote, two questions about one page with the same answer would be duplicates.
            self._ids_by_statement[_statement_key(task)] = task.id
        self._tasks_by_answer[_answer_key(task)].append((task.question, _names_in_question(task), task.id))

    def judge(self, task: Task) -> Verdict:
        """Return the verdict on a task, in the form of the other filters."""
        duplicate_id = self.duplicate_of(task)
        return {"ok": False, "twin": duplicate_id} if duplicate_id else {"ok": True}


def _statement_key(task: Task) -> tuple[str, ...]:
    """Return the answer with the quotes that state it, as a key."""
    return (_answer_key(task), *(f"{one.url}\n{collapse_spaces(one.quote)}" for one in task.evidence))


def _answer_key(task: Task) -> str:
    """Return the first accepted answer, normalised."""
    return normalise(task.answers[0])


def _names_in_question(task: Task) -> frozenset[str]:
    """Return the names in the question, normalised."""
    return frozenset(normalise(name) for name in find_names(task.question))
