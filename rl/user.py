"""Simulated user with scripted replies: it knows what the question of a task leaves open, and says so when asked."""

from __future__ import annotations

from webemu.rl.gates import contains_phrase
from webemu.rl.tasks import Reply
from webemu.rl.verify import normalise

NO_HELP = "I cannot say more about that."
"""Reply to a question that no scripted reply fits."""


def answer_question(question: str, replies: tuple[Reply, ...]) -> str:
    """Return the first reply one of whose words occurs in the question, ignoring case; `NO_HELP` if there is none."""
    normal_question = normalise(question)
    return next(
        (one.says for one in replies if any(contains_phrase(normal_question, normalise(word)) for word in one.words)),
        NO_HELP,
    )
