"""Random baseline: valid random calls among what is visible, and random words of a page as the answer. It shows what
luck alone scores.
"""

from __future__ import annotations

import re
from random import Random

from webemu.rl.policies import observation_parsing
from webemu.rl.policies.attempt import Attempt

STEPS = 6
"""Calls before `finish`."""
_WORD = re.compile(r"\w[\w'’-]*")


async def chance(attempt: Attempt) -> None:
    """Play an attempt at random, with draws that depend on its seed."""
    draws, text, page = attempt.random("chance"), attempt.question, ""
    for _ in range(STEPS):
        if attempt.done:
            return
        tool = draws.choice(["search", "open", "open", "find"])
        links = list(attempt.episode.links)
        if tool == "open" and links:
            found = await attempt.act("open", link=draws.choice(links))
            page = (
                observation_parsing.within(found.text).partition("\n")[0].removeprefix("Page: ")
                if found.kind == "page"
                else page
            )
        elif tool == "find" and page:
            found = await attempt.act("find", pattern=_phrase(draws, text, 1))
        else:
            found = await attempt.act("search", query=_phrase(draws, text, 3))
        text = observation_parsing.plain(observation_parsing.within(found.text)) or text
    await attempt.act("finish", answer=_phrase(draws, text, 2), citations=[page] if page else [])


def _phrase(draws: Random, text: str, most: int) -> str:
    """Return a random run of at most `max_words` words of a text."""
    words = _WORD.findall(text) or ["nothing"]
    start = draws.randrange(len(words))
    return " ".join(words[start : start + draws.randint(1, most)])
