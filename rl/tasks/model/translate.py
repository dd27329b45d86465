"""Back-translation: a passage becomes a question, its answer and the quote that states it, each checked against the
page.

Then, in rounds, names in the question are replaced by descriptions (`webemu.rl.tasks.model.rewrite`).
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from webemu.rl.json_text import to_single_line
from webemu.rl.tasks.crawl import Crawl
from webemu.rl.tasks.model import checks, prompts
from webemu.rl.tasks.model.generation import CandidateRejected, ask_for_json, generate_tasks
from webemu.rl.tasks.model.passages import Passage, draw_passages
from webemu.rl.tasks.model.rewrite import REWRITES, QuestionVersion
from webemu.rl.tasks.recipe import Sources
from webemu.rl.tasks.recipes.values import classify_answer
from webemu.rl.tasks.task import Evidence, Task

if TYPE_CHECKING:
    from webemu.rl.endpoint import Endpoint

ROUNDS = 3
"""Number of rewriting rounds."""
MAX_PAGES_WITH_QUOTE = 2
"""Largest number of pages that may contain a quote; on more pages it is boilerplate."""


def generate_questions(sources: Sources, seed: int) -> Iterator[Task]:
    """Yield questions that a single page answers."""
    recipe_name = "back-translation"
    make_task = partial(_make_task, sources.crawl, recipe_name, seed, 0)
    return generate_tasks(sources, recipe_name, draw_passages(sources.crawl, recipe_name, seed), make_task)


def generate_obscured(sources: Sources, seed: int) -> Iterator[Task]:
    """Yield questions whose names were replaced by descriptions, some of which need another page."""
    recipe_name = "back-translation-hops"
    make_task = partial(_make_task, sources.crawl, recipe_name, seed, ROUNDS)
    return generate_tasks(sources, recipe_name, draw_passages(sources.crawl, recipe_name, seed), make_task)


async def _make_task(
    crawl: Crawl, recipe_name: str, seed: int, rounds: int, passage: Passage, endpoint: Endpoint
) -> Task:
    """Return the task of a passage after this many rounds. A round that fails is counted and leaves the question as it
    was.
    """
    seed_key = f"{seed}:{recipe_name}:{passage.page.url}"
    version = await _ask_question(crawl, passage, endpoint, seed_key)
    rewrites = list(REWRITES)
    random.Random(seed_key).shuffle(rewrites)
    for number in range(rounds):
        try:
            # Steps alternate in random order; a failed round keeps the last good version.
            version = await rewrites[number % len(rewrites)](crawl, version, endpoint, f"{seed_key}:{number}")
        except CandidateRejected as reason:
            crawl.skip_counts[recipe_name, f"round: {reason}"] += 1
    answer_type, answers = classify_answer(version.answer) or ("", (version.answer,))
    pages = {one.url for one in version.evidence}
    return Task("", version.question, answers, version.evidence, len(pages), recipe_name, answer_type)


async def _ask_question(crawl: Crawl, passage: Passage, endpoint: Endpoint, seed_key: str) -> QuestionVersion:
    """Return the verified question about a passage. Raises CandidateRejected if a check fails."""
    page = passage.page
    prompt = prompts.fill_prompt(prompts.ASK, passage.text, title=passage.subject, host=page.host)
    answer_object = await ask_for_json(endpoint, prompt, "question", seed_key)
    question, answer = to_single_line(answer_object["question"]), to_single_line(answer_object.get("answer"))
    checks.check_question(question, answer, page.text)
    checks.check_answer(answer)
    quote = checks.find_quote(to_single_line(answer_object.get("quote")), passage.text)
    checks.check_quote_states(quote, answer)
    # Costs a search, so it comes after all checks of strings.
    if len(crawl.find_phrase(quote, MAX_PAGES_WITH_QUOTE + 1)) > MAX_PAGES_WITH_QUOTE:
        raise CandidateRejected("quote said by many pages")
    version = QuestionVersion(question, answer, (page,), (Evidence(page.url, quote, answer, page.digest),))
    await version.verify(endpoint, seed_key)
    return version
