"""Rewrites a question round by round, as ASearcher does (Gao et al. 2025): a name is blurred, or a hop goes before it.

What a round gives is believed only if the name is gone, the description stands on the page that it is said to be taken
from, and the answer still follows from the evidence; else the version before stays.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from webemu.rl.gates import contains_phrase
from webemu.rl.json_text import to_single_line
from webemu.rl.tasks.crawl import Crawl, CrawlPage
from webemu.rl.tasks.model import checks, prompts
from webemu.rl.tasks.model.generation import Dropped, asked
from webemu.rl.tasks.model.passages import excerpt, replaceable, telling
from webemu.rl.tasks.task import Evidence
from webemu.rl.verify import normalise

if TYPE_CHECKING:
    from webemu.rl.endpoint import Endpoint

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Version:
    """A question as far as it is verified."""

    question: str
    answer: str
    pages: tuple[CrawlPage, ...]
    """Those of the evidence."""
    evidence: tuple[Evidence, ...]
    """In the order in which it is reached; the last states the answer."""

    async def proven(self, endpoint: Endpoint, about: str) -> None:
        """Has the model answer from the evidence alone. Raises Dropped where it does not find the answer."""
        quotes = "\n".join(dict.fromkeys(one.quote for one in self.evidence))
        prompt = prompts.filled(prompts.SOLVE, quotes, question=self.question)
        said = await asked(endpoint, prompt, "answer", about, temperature=0)
        checks.derived(to_single_line(said["answer"]), self.answer)


async def fuzz(crawl: Crawl, version: Version, endpoint: Endpoint, about: str) -> Version:
    """A name of the question is described vaguely, by what the page or one near it says of it."""
    name = _drawn(replaceable(version.question, version.answer), about)
    near = (*version.pages, *telling(crawl, version.pages, name, about)[:1])
    texts = {page.url: excerpt(page.text, name) for page in near}
    prompt = prompts.filled(prompts.FUZZ, "\n\n".join(texts.values()), **_about(version, name))
    question, quote = await _rewritten(endpoint, prompt, about, version, name, "\n".join(texts.values()))
    page = next((one for one in near if quote in " ".join(texts[one.url].split())), near[0])
    return await _next(version, question, Evidence(page.url, quote, name, page.digest), page, endpoint, about)


async def inject(crawl: Crawl, version: Version, endpoint: Endpoint, about: str) -> Version:
    """A name of the question gives way to a fact of another page, which has to be found first."""
    found = [
        (name, telling(crawl, version.pages, name, about)) for name in replaceable(version.question, version.answer)
    ]
    name, page = _drawn([(name, pages[0]) for name, pages in found if pages], about)
    text = excerpt(page.text, name)
    prompt = prompts.filled(prompts.INJECT, text, **_about(version, name), title=page.title, host=page.host)
    question, quote = await _rewritten(endpoint, prompt, about, version, name, text)
    if not contains_phrase(normalise(f"{quote} {page.title}"), normalise(name)):
        raise Dropped("quote does not name what it describes")
    return await _next(version, question, Evidence(page.url, quote, name, page.digest), page, endpoint, about)


WAYS = (inject, fuzz)


async def _rewritten(
    endpoint: Endpoint, prompt: str, about: str, version: Version, name: str, text: str
) -> tuple[str, str]:
    """A question without the name, and the quote of the text that its description is taken from."""
    said = await asked(endpoint, prompt, "question", about)
    question = to_single_line(said["question"])
    checks.question(question, version.answer, text)
    checks.without(question, name)
    quote = checks.quote(to_single_line(said.get("quote")), text)
    if contains_phrase(normalise(quote), normalise(version.answer)):
        raise Dropped("description gives the answer away")
    checks.described(question, version.question, quote, text)
    return question, quote


async def _next(
    version: Version, question: str, shown: Evidence, page: CrawlPage, endpoint: Endpoint, about: str
) -> Version:
    pages = version.pages if page in version.pages else (page, *version.pages)
    new = replace(version, question=question, pages=pages, evidence=(shown, *version.evidence))
    await new.proven(endpoint, about)
    return new


def _about(version: Version, name: str) -> dict[str, str]:
    return {"question": version.question, "answer": version.answer, "name": name}


def _drawn(choices: list[T], about: str) -> T:
    if not choices:
        raise Dropped("no name to describe")
    return random.Random(about).choice(choices)
