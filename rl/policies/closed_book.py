"""Closed-book baseline: never searches, and gives the most frequent answer of similar tasks. It shows what guessing
scores.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from webemu.rl.policies.attempt import Attempt, Policy
from webemu.rl.tasks import Task
from webemu.rl.verify import normalise


def closed_book(tasks: Sequence[Task]) -> Policy:
    """Return a policy that guesses from the training tasks or, if there are none, from all tasks but the current one."""
    known = [task for task in tasks if task.split == "train"] or list(tasks)

    async def play(attempt: Attempt) -> None:
        others = [task for task in known if task.id != attempt.task.id]
        await attempt.act("finish", answer=_guess(attempt.task, others), citations=[])

    return play


def _guess(task: Task, others: Sequence[Task]) -> str:
    """Return the most frequent first answer among tasks of the same recipe, else of the same answer type, else among
    all; "not found" if there are no other tasks.
    """
    kinds: tuple[Callable[[Task], object], ...] = (lambda one: one.recipe, lambda one: one.answer_type, lambda one: "")
    for kind in kinds:
        answers = [one.answers[0] for one in others if kind(one) == kind(task)]
        if answers:
            counted = Counter(map(normalise, answers))
            best = max(counted, key=lambda answer: (counted[answer], answer))
            return next(answer for answer in answers if normalise(answer) == best)
    return "not found"
