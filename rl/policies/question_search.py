"""Search for the question of a task, for baselines."""

from __future__ import annotations

from webemu.rl.policies import observation_parsing
from webemu.rl.policies.attempt import Attempt
from webemu.rl.policies.observation_parsing import ShownResult


async def search_question(attempt: Attempt) -> list[ShownResult]:
    """Return the results of a search for the question; if it finds nothing, those of a search for its plain words
    without phrases. Empty if both find nothing.
    """
    hits: list[ShownResult] = []
    for query in dict.fromkeys((attempt.question, observation_parsing.to_plain_query(attempt.question))):
        if not hits and not attempt.done:
            hits = observation_parsing.parse_results((await attempt.act("search", query=query)).text)
    return hits
