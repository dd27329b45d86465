"""Long-form tasks whose question and claims a model chooses of a page; strings decide which of them are believed."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from webemu.rl.json_text import to_single_line
from webemu.rl.tasks.claims import FARTHEST, is_stated
from webemu.rl.tasks.crawl import Crawl
from webemu.rl.tasks.model import checks, prompts
from webemu.rl.tasks.model.generation import Dropped, asked, made
from webemu.rl.tasks.model.passages import Draw, pages
from webemu.rl.tasks.recipe import Sources
from webemu.rl.tasks.reports import HOW, MOST, checked
from webemu.rl.tasks.task import Evidence, Task

if TYPE_CHECKING:
    from webemu.rl.endpoint import Endpoint

NAME = "report-by-model"
SHORTEST = 800
"""Characters of a page that has enough to say."""


def reports(sources: Sources, seed: int) -> Iterator[Task]:
    crawl = sources.crawl
    long = (draw for draw in pages(crawl, NAME, seed) if len(draw.page.text) >= SHORTEST or _short(crawl))
    return made(sources, NAME, long, partial(_report, crawl, seed))


def _short(crawl: Crawl) -> bool:
    crawl.dropped[NAME, "short page"] += 1
    return False


async def _report(crawl: Crawl, seed: int, draw: Draw, endpoint: Endpoint) -> Task:
    page = draw.page
    text = page.text[:FARTHEST]
    prompt = prompts.filled(prompts.REPORT, text, title=draw.subject, host=page.host)
    said = await asked(endpoint, prompt, "claims", f"{seed}:{page.url}")
    question = to_single_line(said.get("question"))
    checks.task(question, text)
    given = said["claims"] if isinstance(said["claims"], list) else []
    claims = [claim for one in given[: 2 * MOST] if (claim := _claim(crawl, one, text))]
    evidence = tuple(Evidence(page.url, quote, value, page.digest) for quote, value in claims[:MOST])
    task = checked(NAME, f"{question} {HOW}", evidence, {page.url: page.text})
    if isinstance(task, str):
        raise Dropped(task)
    return task


def _claim(crawl: Crawl, given: Any, text: str) -> tuple[str, str] | None:
    """Quote and value; None, and the reason counted, where the page does not bear them out."""
    try:
        said = given if isinstance(given, dict) else {}
        quote, value = checks.quote(to_single_line(said.get("quote")), text), to_single_line(said.get("value"))
        checks.quote_states(quote, value)
        if not is_stated(quote, text):
            raise Dropped("quote with nothing to look up")
        return quote, value
    except Dropped as reason:
        crawl.dropped[NAME, f"claim: {reason}"] += 1
        return None
