"""Search for the question of a task, for baselines."""

from __future__ import annotations

from webemu.rl.policies import observation_parsing
from webemu.rl.policies.attempt import Attempt


async def results(attempt: Attempt) -> list[tuple[str, str, str]]:
    """Return (link id, title, URL) of what a search for the question finds; if it finds nothing, of a search for its
    plain words without phrases. Empty if both find nothing.
    """
    found: list[tuple[str, str, str]] = []
    for query in dict.fromkeys((attempt.question, observation_parsing.query(attempt.question))):
        if not found and not attempt.done:
            found = observation_parsing.results((await attempt.act("search", query=query)).text)
    return found
