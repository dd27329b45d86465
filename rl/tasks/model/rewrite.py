"""Rewrites a question in rounds, as ASearcher does (Gao et al. 2025): a name is blurred, or a hop is put before it.

A round is accepted only if the name is gone, the description is on the page that it is attributed to, and the answer
still follows from the evidence. Otherwise the version before stays.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from webemu.rl.gates import contains_phrase
from webemu.rl.json_text import to_single_line
from webemu.rl.tasks.crawl import Crawl, CrawlPage
from webemu.rl.tasks.model import checks, prompts
from webemu.rl.tasks.model.generation import CandidateRejected, ask_for_json
from webemu.rl.tasks.model.passages import excerpt_naming, pages_naming, replaceable_names
from webemu.rl.tasks.task import Evidence
from webemu.rl.verify import normalise

if TYPE_CHECKING:
    from webemu.rl.endpoint import Endpoint

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class QuestionVersion:
    """A verified state of a question."""

    question: str
    """The current wording."""
    answer: str
    """The answer, which no round changes."""
    pages: tuple[CrawlPage, ...]
    """Pages of the evidence."""
    evidence: tuple[Evidence, ...]
    """Evidence in the order in which an agent reaches it; the last piece states the answer."""

    async def verify(self, endpoint: Endpoint, seed_key: str) -> None:
        """Ask the model for the answer from the evidence alone. Raises CandidateRejected if it does not find it."""
        quotes = "\n".join(dict.fromkeys(one.quote for one in self.evidence))
        prompt = prompts.fill_prompt(prompts.SOLVE, quotes, question=self.question)
        answer_object = await ask_for_json(endpoint, prompt, "answer", seed_key, temperature=0)
        checks.check_derived(to_single_line(answer_object["answer"]), self.answer)


async def fuzz(crawl: Crawl, version: QuestionVersion, endpoint: Endpoint, seed_key: str) -> QuestionVersion:
    """Return the question with a name replaced by a vague description, from its page or from a page linked with it."""
    name = _choose(replaceable_names(version.question, version.answer), seed_key)
    nearby_pages = (*version.pages, *pages_naming(crawl, version.pages, name, seed_key)[:1])
    texts = {page.url: excerpt_naming(page.text, name) for page in nearby_pages}
    prompt = prompts.fill_prompt(prompts.FUZZ, "\n\n".join(texts.values()), **_prompt_words(version, name))
    question, quote = await _rewrite(endpoint, prompt, seed_key, version, name, "\n".join(texts.values()))
    # The quote may come from either page; credit the one that has it.
    page = next((one for one in nearby_pages if quote in " ".join(texts[one.url].split())), nearby_pages[0])
    return await _extend(version, question, Evidence(page.url, quote, name, page.digest), page, endpoint, seed_key)


async def inject(crawl: Crawl, version: QuestionVersion, endpoint: Endpoint, seed_key: str) -> QuestionVersion:
    """Return the question with a name replaced by a fact of another page, which must be found first."""
    pages_by_name = [
        (name, pages_naming(crawl, version.pages, name, seed_key))
        for name in replaceable_names(version.question, version.answer)
    ]
    name, page = _choose([(name, pages[0]) for name, pages in pages_by_name if pages], seed_key)
    text = excerpt_naming(page.text, name)
    prompt = prompts.fill_prompt(prompts.INJECT, text, **_prompt_words(version, name), title=page.title, host=page.host)
    question, quote = await _rewrite(endpoint, prompt, seed_key, version, name, text)
    if not contains_phrase(normalise(f"{quote} {page.title}"), normalise(name)):
        raise CandidateRejected("quote does not name what it describes")
    return await _extend(version, question, Evidence(page.url, quote, name, page.digest), page, endpoint, seed_key)


REWRITES = (inject, fuzz)
"""Rewriting steps."""


async def _rewrite(
    endpoint: Endpoint, prompt: str, seed_key: str, version: QuestionVersion, name: str, text: str
) -> tuple[str, str]:
    """Return the model's question without the name, and the quote that its description is taken from."""
    answer_object = await ask_for_json(endpoint, prompt, "question", seed_key)
    question = to_single_line(answer_object["question"])
    checks.check_question(question, version.answer, text)
    checks.check_name_gone(question, name)
    quote = checks.find_quote(to_single_line(answer_object.get("quote")), text)
    # Then the new hop would show the answer, and the old page would not be needed.
    if contains_phrase(normalise(quote), normalise(version.answer)):
        raise CandidateRejected("description gives the answer away")
    checks.check_description(question, version.question, quote, text)
    return question, quote


async def _extend(
    version: QuestionVersion, question: str, new_evidence: Evidence, page: CrawlPage, endpoint: Endpoint, seed_key: str
) -> QuestionVersion:
    """Return the version with one more piece of evidence, once the answer is shown to follow from it."""
    pages = version.pages if page in version.pages else (page, *version.pages)
    extended = replace(version, question=question, pages=pages, evidence=(new_evidence, *version.evidence))
    await extended.verify(endpoint, seed_key)
    return extended


def _prompt_words(version: QuestionVersion, name: str) -> dict[str, str]:
    """Return the values of a prompt about a name of the question."""
    return {"question": version.question, "answer": version.answer, "name": name}


def _choose(choices: list[T], seed_key: str) -> T:
    """Return one of the choices. Raises CandidateRejected if there is none."""
    if not choices:
        raise CandidateRejected("no name to describe")
    return random.Random(seed_key).choice(choices)
