"""The question as a query."""

from __future__ import annotations

from webemu.rl.policies import observation_parsing
from webemu.rl.policies.attempt import Attempt


async def results(attempt: Attempt) -> list[tuple[str, str, str]]:
    """What the question itself finds: as it stands, and where that finds nothing, in plain words without phrases."""
    found: list[tuple[str, str, str]] = []
    for query in dict.fromkeys((attempt.question, observation_parsing.query(attempt.question))):
        if not found and not attempt.done:
            found = observation_parsing.results((await attempt.act("search", query=query)).text)
    return found
