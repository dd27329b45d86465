"""Back-translation: from a passage to a question, its answer and the quote that states it, each borne out by the page.

Then, round by round, a name of the question gives way to a description (`webemu.rl.tasks.model.rewrite`).
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from webemu.rl.json_text import to_single_line
from webemu.rl.tasks.crawl import Crawl
from webemu.rl.tasks.model import checks, prompts
from webemu.rl.tasks.model.generation import Dropped, asked, made
from webemu.rl.tasks.model.passages import Draw, passages
from webemu.rl.tasks.model.rewrite import WAYS, Version
from webemu.rl.tasks.recipe import Sources
from webemu.rl.tasks.recipes.values import spellings
from webemu.rl.tasks.task import Evidence, Task

if TYPE_CHECKING:
    from webemu.rl.endpoint import Endpoint

ROUNDS = 3
MOST_ALIKE = 2
"""Pages that may say a quote: what more say is boilerplate."""


def one_page(sources: Sources, seed: int) -> Iterator[Task]:
    """A question that one page answers."""
    name = "back-translation"
    make = partial(_task, sources.crawl, name, seed, 0)
    return made(sources, name, passages(sources.crawl, name, seed), make)


def obscured(sources: Sources, seed: int) -> Iterator[Task]:
    """The same, with names made into descriptions, some of which other pages give away."""
    name = "back-translation-hops"
    make = partial(_task, sources.crawl, name, seed, ROUNDS)
    return made(sources, name, passages(sources.crawl, name, seed), make)


async def _task(crawl: Crawl, name: str, seed: int, rounds: int, draw: Draw, endpoint: Endpoint) -> Task:
    about = f"{seed}:{name}:{draw.page.url}"
    version = await _first(crawl, draw, endpoint, about)
    ways = list(WAYS)
    random.Random(about).shuffle(ways)
    for number in range(rounds):
        try:
            version = await ways[number % len(ways)](crawl, version, endpoint, f"{about}:{number}")
        except Dropped as reason:
            crawl.dropped[name, f"round: {reason}"] += 1
    kind, answers = spellings(version.answer) or ("", (version.answer,))
    pages = {one.url for one in version.evidence}
    return Task("", version.question, answers, version.evidence, len(pages), name, kind)


async def _first(crawl: Crawl, draw: Draw, endpoint: Endpoint, about: str) -> Version:
    page = draw.page
    prompt = prompts.filled(prompts.ASK, draw.passage, title=draw.subject, host=page.host)
    said = await asked(endpoint, prompt, "question", about)
    question, answer = to_single_line(said["question"]), to_single_line(said.get("answer"))
    checks.question(question, answer, page.text)
    checks.answer(answer)
    quote = checks.quote(to_single_line(said.get("quote")), draw.passage)
    checks.quote_states(quote, answer)
    if len(crawl.saying(quote, MOST_ALIKE + 1)) > MOST_ALIKE:
        raise Dropped("quote said by many pages")
    version = Version(question, answer, (page,), (Evidence(page.url, quote, answer, page.digest),))
    await version.proven(endpoint, about)
    return version
