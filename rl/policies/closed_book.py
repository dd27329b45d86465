"""Closed-book baseline: never searches, and gives the most frequent answer of similar tasks. It shows what guessing
scores.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from webemu.rl.policies.attempt import AgentPolicy, Attempt
from webemu.rl.tasks import Task
from webemu.rl.verify import normalise


def closed_book_policy(tasks: Sequence[Task]) -> AgentPolicy:
    """Return a policy that guesses from the training tasks or, without any, from all tasks but the current one."""
    candidates = [task for task in tasks if task.split == "train"] or list(tasks)

    async def play(attempt: Attempt) -> None:
        other_tasks = [task for task in candidates if task.id != attempt.task.id]
        await attempt.act("finish", answer=_guess(attempt.task, other_tasks), citations=[])

    return play


def _guess(task: Task, other_tasks: Sequence[Task]) -> str:
    """Return the most frequent first answer among tasks of the same recipe, else of the same answer type, else among
    all; "not found" if there are no other tasks.
    """
    groupings: tuple[Callable[[Task], object], ...] = (
        lambda candidate: candidate.recipe,
        lambda candidate: candidate.answer_type,
        lambda candidate: "",
    )
    for grouping in groupings:
        answers = [candidate.answers[0] for candidate in other_tasks if grouping(candidate) == grouping(task)]
        if answers:
            counts = Counter(map(normalise, answers))
            most_frequent = max(counts, key=lambda answer: (counts[answer], answer))
            return next(answer for answer in answers if normalise(answer) == most_frequent)
    return "not found"
