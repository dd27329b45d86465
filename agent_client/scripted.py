"""An agent without a model: it searches, opens pages, follows links and reads tables, as the form of the question
says.

Deterministic; it knows nothing but the question and the tool outputs. Policies are stateless, so each call replays the
script from the first step.
"""

from __future__ import annotations

from collections.abc import Generator

from webemu.agent_client import observation_parsing
from webemu.agent_client.agent import Action, Step
from webemu.agent_client.observation_parsing import Cell
from webemu.agent_client.questions import Look, understand

MAX_STEPS = 16
"""Steps that suffice for three hops with a wrong turn on each."""
_TRIES, _WINDOWS = 3, 4
"""Pages opened per title, and windows read per page."""


def scripted(question: str, steps: tuple[Step, ...]) -> Action:
    """Return the next action after these steps. A `Policy`."""
    script = _script(question)  # a generator, replayed with all observations so far
    action = next(script)
    for step in steps:
        action = script.send(step.observation)
    return action


def _script(question: str) -> Generator[Action, str, None]:
    """Yield the actions for a question; each `send` passes the observation back in."""
    plan = understand(question)
    if plan is None:
        yield Action("search", {"query": question})
        yield _answer("")
        return
    found = yield from _by_title(plan.title, plan.looks[0])
    for look in plan.looks[1:]:
        if found is None:
            break
        found = yield from _by_link(found, look)
    yield _answer(found.text if found else "")


def _answer(text: str) -> Action:
    """Return the final action."""
    return Action("answer", {"text": text})


def _by_link(cell: Cell, look: Look) -> Generator[Action, str, Cell | None]:
    """Look a value up on the page that a cell links to, or without a link on the page of that name."""
    if cell.url:
        found = yield from _on_page(cell.url, look)
        if found:
            return found
    return (yield from _by_title(cell.text, look))


def _by_title(title: str, look: Look) -> Generator[Action, str, Cell | None]:
    """Look a value up on the page with a title, searching for plain words, then for the phrase, then with the label."""
    tried: list[str] = []
    for query in (title, f'"{title}"', f"{title} {look.label}"):
        shown = observation_parsing.results((yield Action("search", {"query": query})))
        titled = [url for name, url in shown if observation_parsing.is_titled(name, title)]
        titled += [url for name, url in shown if observation_parsing.is_namesake(name, title)]
        for url in [url for url in titled if url not in tried][:_TRIES]:
            tried.append(url)
            found = yield from _on_page(url, look)
            if found:
                return found
    return None


def _on_page(url: str, look: Look) -> Generator[Action, str, Cell | None]:
    """Look a value up on a page, window by window, until the value and the address of its link are found."""
    text, start = "", 0
    for _ in range(_WINDOWS):
        arguments = {"url": url, "format": "links"} | ({"start": start} if start else {})
        observation = yield Action("open", arguments)
        text += observation_parsing.content(observation)
        found = _read(text, look)
        following = observation_parsing.next_start(observation)
        # Stop at the end of the page, or when the value is complete: addresses of links are listed further down.
        if following is None or (found and not look.largest and bool(found.url) == found.linked):
            break
        start = following
    return found or (None if look.year else observation_parsing.in_sentence(text, look.label))


def _read(text: str, look: Look) -> Cell | None:
    """Return the value that one step asks for in a page text; None if it is absent."""
    if look.largest:
        return observation_parsing.largest(text, look.label, look.year)
    return (
        observation_parsing.in_table(text, look.label, look.year)
        if look.year
        else observation_parsing.value(text, look.label)
    )
