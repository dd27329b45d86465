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
from webemu.agent_client.questions import LookupStep, parse_question

MAX_STEPS = 16
"""Steps that suffice for three hops with a wrong turn on each."""
_MAX_PAGES, _MAX_WINDOWS = 3, 4
"""Pages opened per title, and windows read per page."""


def scripted_policy(question: str, steps: tuple[Step, ...]) -> Action:
    """Return the next action after these steps. A `AgentPolicy`."""
    script = _script(question)  # a generator, replayed with all observations so far
    action = next(script)
    for step in steps:
        action = script.send(step.observation)
    return action


def _script(question: str) -> Generator[Action, str, None]:
    """Yield the actions for a question; each `send` passes the observation back in."""
    plan = parse_question(question)
    if plan is None:
        yield Action("search", {"query": question})
        yield _answer_action("")
        return
    cell = yield from _look_up_title(plan.title, plan.steps[0])
    for step in plan.steps[1:]:
        if cell is None:
            break
        cell = yield from _follow_link(cell, step)
    yield _answer_action(cell.text if cell else "")


def _answer_action(text: str) -> Action:
    """Return the final action."""
    return Action("answer", {"text": text})


def _follow_link(cell: Cell, step: LookupStep) -> Generator[Action, str, Cell | None]:
    """Look a value up on the page that a cell links to, or without a link on the page of that name."""
    if cell.url:
        value = yield from _read_page(cell.url, step)
        if value:
            return value
    return (yield from _look_up_title(cell.text, step))


def _look_up_title(title: str, step: LookupStep) -> Generator[Action, str, Cell | None]:
    """Look a value up on the page with a title, searching for plain words, then for the phrase, then with the label."""
    visited_urls: list[str] = []
    for query in (title, f'"{title}"', f"{title} {step.label}"):
        results = observation_parsing.parse_results((yield Action("search", {"query": query})))
        candidates = [url for name, url in results if observation_parsing.has_title(name, title)]
        candidates += [url for name, url in results if observation_parsing.is_namesake(name, title)]
        for url in [url for url in candidates if url not in visited_urls][:_MAX_PAGES]:
            visited_urls.append(url)
            cell = yield from _read_page(url, step)
            if cell:
                return cell
    return None


def _read_page(url: str, step: LookupStep) -> Generator[Action, str, Cell | None]:
    """Look a value up on a page, window by window, until the value and the address of its link are found."""
    text, start = "", 0
    for _ in range(_MAX_WINDOWS):
        arguments = {"url": url, "format": "links"} | ({"start": start} if start else {})
        observation = yield Action("open", arguments)
        text += observation_parsing.parse_window(observation)
        cell = _find_value(text, step)
        next_start = observation_parsing.parse_next_start(observation)
        # Stop at the end of the page, or when the value is complete: addresses of links are listed further down.
        if next_start is None or (cell and not step.is_largest and bool(cell.url) == cell.is_link):
            break
        start = next_start
    return cell or (None if step.year else observation_parsing.find_in_sentence(text, step.label))


def _find_value(text: str, step: LookupStep) -> Cell | None:
    """Return the value that one step asks for in a page text; None if it is absent."""
    if step.is_largest:
        return observation_parsing.find_largest(text, step.label, step.year)
    return (
        observation_parsing.find_in_table(text, step.label, step.year)
        if step.year
        else observation_parsing.find_infobox_value(text, step.label)
    )
