"""Scripted searcher: a baseline without a model or knowledge of the gold answer.

Questions of known forms are answered by the script of `webemu.agent_client.scripted`, hop by hop. For others, the first pages
that a search for the question finds are read, and the best candidate of `webemu.rl.policies.reader` is the answer. Episodes
do not show the URLs of links, so the script gets placeholder URLs that contain their numbers.
"""

from __future__ import annotations

import re

from webemu.agent_client import scripted as script
from webemu.agent_client.agent import Step
from webemu.agent_client.questions import understand
from webemu.rl.policies import observation_parsing, question_search, reader
from webemu.rl.policies.attempt import Attempt
from webemu.rl.state import Observation

PAGES = 3
"""Pages that are read if the form of the question is unknown."""
TRUST = 0.5
"""Factor on the weight of an answer for each rank further down."""
_PLACE = "https://link.invalid/"
"""Prefix of the placeholder URLs of links."""


async def scripted(attempt: Attempt) -> None:
    """Play an attempt by script."""
    await (_known(attempt) if understand(attempt.question) else _look(attempt))


async def _known(attempt: Attempt) -> None:
    """Let the script of `agent_client` play a question whose form it knows."""
    steps: tuple[Step, ...] = ()
    opened: list[str] = []
    while not attempt.done:
        action = script.scripted(attempt.question, steps)
        if action.tool == "answer":
            await _finish(attempt, str(action.arguments["text"]), opened[-1:])
            return
        if action.tool == "search":
            observation = _results(await attempt.act("search", query=str(action.arguments["query"])))
        else:
            url, start = action.arguments["url"], action.arguments.get("start", 0)
            observation = await _open(attempt, url, start, opened)
        steps += (Step(action.tool, action.arguments, observation),)


async def _look(attempt: Attempt) -> None:
    """Read the first pages that a search for the question finds, and finish with the best candidate."""
    most, answer, cited = 0.0, "", ""
    found = await question_search.results(attempt)
    for rank, (name, _, _) in enumerate(found[:PAGES]):
        opened = await attempt.act("open", link=name)
        if opened.kind == "page":
            weight, candidate = reader.best(
                attempt.question, observation_parsing.plain(observation_parsing.page(opened.text))
            )
            if weight * TRUST**rank > most:
                most, answer, cited = weight * TRUST**rank, candidate, name
    await _finish(attempt, answer, [cited])


async def _finish(attempt: Attempt, answer: str, cited: list[str]) -> None:
    if not attempt.done:
        await attempt.act("finish", answer=answer or "not found", citations=cited if answer else [])


async def _open(attempt: Attempt, url: str, start: int, opened: list[str]) -> str:
    """Open a link, add the URL of the page to `opened`, and return the page in the layout that the script reads."""
    link = url.removeprefix(_PLACE)
    found = await attempt.act("open", link=link, **({"cursor": start} if start else {}))
    if found.kind == "page":
        shown = re.search(r"^Page: (\S+)", observation_parsing.within(found.text), re.MULTILINE)
        opened.append(shown[1] if shown else link)
    return _page(found)


def _results(found: Observation) -> str:
    """Return results in the layout of the tools of `agent_client`, which the script reads."""
    return "\n\n".join(f"{name[1:]}. {title}\n   {url}" for name, title, url in observation_parsing.results(found.text))


def _page(found: Observation) -> str:
    """Return a page in the layout of the tools of `agent_client`, or the text of an error."""
    if found.kind != "page":
        return found.text
    text, following = observation_parsing.page(found.text), observation_parsing.cursor(found.text)
    addresses = "".join(f"\n[{number}] {_PLACE}{number}" for number in dict.fromkeys(observation_parsing.marks(text)))
    tail = f"\n\nThe page goes on: open it with start={following}." if following else ""
    return f"Page\n\n{text}\n{addresses}{tail}"
