"""Closed-book baseline: never searches, and guesses from the questions and answers of other tasks. It shows what
guessing scores.

A question that offers options is answered with one of these. Neither the recipe nor the gold answer of the task itself
is read.
"""

from __future__ import annotations

from collections.abc import Sequence

from webemu.rl.policies.attempt import AgentPolicy, Attempt
from webemu.rl.tasks import Task
from webemu.rl.tasks.guesser import Guesser


def closed_book_policy(tasks: Sequence[Task]) -> AgentPolicy:
    """Return a policy that guesses from the training tasks or, without any, from all tasks but the current one."""
    guesser = Guesser.of_tasks(tasks)

    async def play(attempt: Attempt) -> None:
        guess = guesser.guess(attempt.task.id, attempt.question)
        await attempt.act("finish", answer=guess, citations=[])

    return play
