"""Whether a task is another one in other words."""

from __future__ import annotations

from collections import defaultdict

from rapidfuzz import fuzz

from webemu.rl.tasks.filters.filter import Verdict
from webemu.rl.tasks.filters.quote import flat
from webemu.rl.tasks.phrases import names
from webemu.rl.tasks.task import Task
from webemu.rl.verify import normalise

NAMED, NAMELESS = 80.0, 92.0
"""How alike (rapidfuzz `token_set_ratio`) two questions of one answer may be, that name the same things, or nothing."""


class Kept:
    """The tasks that stay so far. Siblings of one template, which differ in a name or in the answer, are no twins."""

    def __init__(self) -> None:
        self._asked: dict[str, str] = {}
        self._stated: dict[tuple[str, ...], str] = {}
        self._answered: defaultdict[str, list[tuple[str, frozenset[str], str]]] = defaultdict(list)

    def twin(self, task: Task) -> str:
        """Id of a task with the same question, with the same answer from the same quote, or with the same answer, the
        same names and nearly the same words; empty if there is none."""
        if found := self._asked.get(normalise(task.question)) or self._stated.get(_statement(task), ""):
            return found
        named = _named(task)
        cut = NAMED if named else NAMELESS
        for question, others, name in self._answered[_answer(task)]:
            if others == named and fuzz.token_set_ratio(task.question, question) >= cut:
                return name
        return ""

    def add(self, task: Task) -> None:
        self._asked[normalise(task.question)] = task.id
        if any(one.quote for one in task.evidence):
            self._stated[_statement(task)] = task.id
        self._answered[_answer(task)].append((task.question, _named(task), task.id))

    def judge(self, task: Task) -> Verdict:
        """The verdict, as of a filter."""
        twin = self.twin(task)
        return {"ok": False, "twin": twin} if twin else {"ok": True}


def _statement(task: Task) -> tuple[str, ...]:
    return (_answer(task), *(f"{one.url}\n{flat(one.quote)}" for one in task.evidence))


def _answer(task: Task) -> str:
    return normalise(task.answers[0])


def _named(task: Task) -> frozenset[str]:
    return frozenset(normalise(name) for name in names(task.question))
