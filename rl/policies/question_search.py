"""Search for the question of a task, for baselines."""

from __future__ import annotations

from webemu.rl.policies import observation_parsing
from webemu.rl.policies.attempt import Attempt


async def search_question(attempt: Attempt) -> list[tuple[str, str, str]]:
    """Return (link id, title, URL) of what a search for the question finds; if it finds nothing, of a search for its
    plain words without phrases. Empty if both find nothing.
    """
    hits: list[tuple[str, str, str]] = []
    for query in dict.fromkeys((attempt.question, observation_parsing.to_plain_query(attempt.question))):
        if not hits and not attempt.done:
            hits = observation_parsing.parse_results((await attempt.act("search", query=query)).text)
    return hits
