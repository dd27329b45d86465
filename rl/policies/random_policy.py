"""Random baseline: valid random calls among what is visible, and random words of a page as the answer. It shows what
luck alone scores.
"""

from __future__ import annotations

import re
from random import Random

from webemu.rl.policies import observation_parsing
from webemu.rl.policies.attempt import Attempt
from webemu.rl.views import strip_link_numbers

MAX_ACTIONS = 6
"""Calls before `finish`."""
_WORD = re.compile(r"\w[\w'’-]*")


async def play_randomly(attempt: Attempt) -> None:
    """Play an attempt at random, with draws that depend on its seed."""
    rng, text, page = attempt.seeded_random("chance"), attempt.question, ""
    for _ in range(MAX_ACTIONS):
        if attempt.done:
            return
        tool = rng.choice(["search", "open", "open", "find"])
        links = list(attempt.episode.links)
        if tool == "open" and links:
            observation = await attempt.act("open", link=rng.choice(links))
            page = (
                observation_parsing.unwrap(observation.text).partition("\n")[0].removeprefix("Page: ")
                if observation.kind == "page"
                else page
            )
        elif tool == "find" and page:
            observation = await attempt.act("find", pattern=_random_phrase(rng, text, 1))
        else:
            observation = await attempt.act("search", query=_random_phrase(rng, text, 3))
        text = strip_link_numbers(observation_parsing.unwrap(observation.text)) or text
    await attempt.act("finish", answer=_random_phrase(rng, text, 2), citations=[page] if page else [])


def _random_phrase(rng: Random, text: str, max_words: int) -> str:
    """Return a random run of at most `max_words` words of a text."""
    words = _WORD.findall(text) or ["nothing"]
    start = rng.randrange(len(words))
    return " ".join(words[start : start + rng.randint(1, max_words)])
