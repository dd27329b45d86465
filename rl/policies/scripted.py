"""Scripted searcher: a baseline without a model or knowledge of the gold answer.

Questions of known forms are answered by the script of `webemu.agent_client.scripted`, hop by hop. For others, the
first pages that a search for the question finds are read, and the best candidate of `webemu.rl.policies.reader` is the
answer. Episodes do not show the URLs of links, so the script gets placeholder URLs that contain their numbers.
"""

from __future__ import annotations

import re

from webemu.agent_client import scripted as script
from webemu.agent_client.agent import Step
from webemu.agent_client.questions import parse_question
from webemu.rl.policies import observation_parsing, question_search, reader
from webemu.rl.policies.attempt import Attempt
from webemu.rl.state import Observation
from webemu.rl.views import strip_link_numbers

MAX_PAGES = 3
"""Pages that are read if the form of the question is unknown."""
RANK_DISCOUNT = 0.5
"""Factor on the weight of an answer for each rank further down."""
_LINK_URL_PREFIX = "https://link.invalid/"
"""Prefix of the placeholder URLs of links."""


async def play_by_script(attempt: Attempt) -> None:
    """Play an attempt by script."""
    await (_play_known_form(attempt) if parse_question(attempt.question) else _read_first_pages(attempt))


async def _play_known_form(attempt: Attempt) -> None:
    """Let the script of `agent_client` play a question whose form it knows."""
    steps: tuple[Step, ...] = ()
    opened: list[str] = []
    while not attempt.done:
        action = script.scripted_policy(attempt.question, steps)
        if action.tool == "answer":
            await _finish(attempt, str(action.arguments["text"]), opened[-1:])
            return
        if action.tool == "search":
            observation = _format_results(await attempt.act("search", query=str(action.arguments["query"])))
        else:
            url, start = str(action.arguments["url"]), int(action.arguments.get("start", 0))
            observation = await _open(attempt, url, start, opened)
        steps += (Step(action.tool, action.arguments, observation),)


async def _read_first_pages(attempt: Attempt) -> None:
    """Read the first pages that a search for the question finds, and finish with the best candidate."""
    best_weight, answer, cited_link = 0.0, "", ""
    hits = await question_search.search_question(attempt)
    for rank, hit in enumerate(hits[:MAX_PAGES]):
        opened = await attempt.act("open", link=hit.link)
        if opened.kind == "page":
            candidate = reader.best_candidate(
                attempt.question,
                strip_link_numbers(observation_parsing.parse_page_text(opened.text)),
            )
            weight = candidate.weight * RANK_DISCOUNT**rank
            if weight > best_weight:
                best_weight, answer, cited_link = weight, candidate.answer, hit.link
    await _finish(attempt, answer, [cited_link])


async def _finish(attempt: Attempt, answer: str, citations: list[str]) -> None:
    if not attempt.done:
        await attempt.act("finish", answer=answer or "not found", citations=citations if answer else [])


async def _open(attempt: Attempt, url: str, start: int, opened: list[str]) -> str:
    """Open a link, add the URL of the page to `opened`, and return the page in the layout that the script reads."""
    link = url.removeprefix(_LINK_URL_PREFIX)
    observation = await attempt.act("open", link=link, **({"cursor": start} if start else {}))
    if observation.kind == "page":
        page_line = re.search(r"^Page: (\S+)", observation_parsing.unwrap(observation.text), re.MULTILINE)
        opened.append(page_line[1] if page_line else link)
    return _format_page(observation)


def _format_results(observation: Observation) -> str:
    """Return results in the layout of the tools of `agent_client`, which the script reads."""
    return "\n\n".join(
        f"{one.link[1:]}. {one.title}\n   {one.url}" for one in observation_parsing.parse_results(observation.text)
    )


def _format_page(observation: Observation) -> str:
    """Return a page in the layout of the tools of `agent_client`, or the text of an error."""
    if observation.kind != "page":
        return observation.text
    text, following = (
        observation_parsing.parse_page_text(observation.text),
        observation_parsing.parse_next_cursor(observation.text),
    )
    addresses = "".join(
        f"\n[{number}] {_LINK_URL_PREFIX}{number}"
        for number in dict.fromkeys(observation_parsing.find_link_numbers(text))
    )
    tail = f"\n\nThe page goes on: open it with start={following}." if following else ""
    return f"Page\n\n{text}\n{addresses}{tail}"
