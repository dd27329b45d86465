"""Traces to begin with: what an agent that searches does, and what weaker ones do, played through real episodes.

A model that only saw good traces has nothing left to learn by reinforcement, and one that saw none never finds the
reward. A recipe mixes them.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from itertools import pairwise
from random import Random
from typing import Any

from webemu.agent_client.errors import InfrastructureError
from webemu.rl.environment import AsyncEpisode
from webemu.rl.state import Limits
from webemu.rl.tasks import Task
from webemu.rl.train.event_loop import Room

Call = Callable[[str, dict[str, Any]], Coroutine[Any, Any, str]]
Pattern = Callable[[Call, Task, Random, Sequence[Task]], Coroutine[Any, Any, None]]
"""Plays an episode by calling its tools; the other tasks are there to be mistaken for this one."""


async def good(call: Call, task: Task, rng: Random, others: Sequence[Task]) -> None:
    """Searches for what is asked about, follows links, answers from the last page and cites it."""
    cited = await _read(call, task)
    if task.answer_type == "report":
        said = " ".join(_sentence(one.quote) for one in task.evidence)
        await call("finish", {"answer": said, "citations": [cited]})
    else:
        await call("finish", {"answer": task.answers[-1], "citations": [cited]})


async def guess(call: Call, task: Task, rng: Random, others: Sequence[Task]) -> None:
    """Answers without a search."""
    await call("finish", {"answer": _alike(task, rng, others).answers[-1], "citations": ["r1"]})


async def unread(call: Call, task: Task, rng: Random, others: Sequence[Task]) -> None:
    """Searches, opens nothing, and answers all the same."""
    await call("search", {"query": subject(task)})
    await call("finish", {"answer": _alike(task, rng, others).answers[-1], "citations": ["r1"]})


async def astray(call: Call, task: Task, rng: Random, others: Sequence[Task]) -> None:
    """Reads about something else and answers from there."""
    other = _alike(task, rng, others)
    link = await _found(call, subject(other))
    await call("open", {"link": link})
    await call("finish", {"answer": other.answers[-1], "citations": [link]})


async def short(call: Call, task: Task, rng: Random, others: Sequence[Task]) -> None:
    """Stops on the first page of a question that needs two, or at the first claim of a report."""
    cited, first = await _found(call, subject(task)), task.evidence[0]
    await call("open", {"link": cited})
    said = _sentence(first.quote) if task.answer_type == "report" else first.quote
    await call("finish", {"answer": said, "citations": [cited]})


ECHO, ECHOED = "echo", 20
"""No episode: words of the web, said again. A model from nothing finds out how to copy in a fraction of the steps."""
OUTAGE = "see to the server, then give the same command: it goes on at this stage"
PATTERNS: dict[str, Pattern] = {"good": good, "guess": guess, "unread": unread, "astray": astray, "short": short}


def subject(task: Task) -> str:
    """What a question is about: the words after its last `of` or `on`."""
    words = task.question.split(" ")
    return " ".join(words[max(n for n, word in enumerate(words) if word in ("of", "on")) + 1 :])


def traces(
    room: Room, tasks: Sequence[Task], mix: dict[str, float], limits: Limits, seed: int
) -> list[list[dict[str, Any]]]:
    """A trace as chat messages for each task, its pattern drawn by the shares of `mix`; echoes come first."""
    drawn = [Random(f"{seed}:{number}:{task.id}") for number, task in enumerate(tasks)]
    names, shares = list(mix), list(mix.values())
    chosen = [(rng.choices(names, shares)[0], task, rng) for task, rng in zip(tasks, drawn, strict=True)]
    echoes = [_echo(rng, tasks) for name, _, rng in chosen if name == ECHO]
    played = [(PATTERNS[name], task, rng) for name, task, rng in chosen if name != ECHO]
    return echoes + room.all(_trace(room, *one, tasks, limits) for one in played)


def _echo(rng: Random, tasks: Sequence[Task]) -> list[dict[str, Any]]:
    said = [f"{subject(one)} {one.answers[-1]}" for one in rng.sample(tasks, min(len(tasks), ECHOED))]
    pool = " ".join(said).split()
    words = rng.sample(pool, min(len(pool), ECHOED))
    return [{"role": role, "content": " ".join(words)} for role in ("user", "assistant")]


async def _trace(
    room: Room, pattern: Pattern, task: Task, rng: Random, others: Sequence[Task], limits: Limits
) -> list[dict[str, Any]]:
    episode = AsyncEpisode(room.client, limits)
    messages: list[dict[str, Any]] = [{"role": "user", "content": (await episode.reset(task)).text}]

    async def call(name: str, given: dict[str, Any]) -> str:
        said = {"type": "function", "function": {"name": name, "arguments": given}}
        messages.append({"role": "assistant", "content": "", "tool_calls": [said]})
        seen = await episode.call(name, given)
        if not seen.done:
            messages.append({"role": "tool", "name": name, "content": seen.text})
        return seen.text

    await pattern(call, task, rng, others)
    if episode.masked:
        raise InfrastructureError(f"task {task.id}: {episode.reason}", action=OUTAGE)
    return messages


async def _read(call: Call, task: Task) -> str:
    """Opens the pages of the evidence one after another, each from the one before; gives the last one's id."""
    opened, url = 1, task.evidence[0].url
    shown = await call("open", {"link": await _found(call, subject(task))})
    for before, after in pairwise(task.evidence):
        if after.url != url:
            opened, url = opened + 1, after.url
            shown = await call("open", {"link": _link(shown, before.value)})
    return f"p{opened}"


def _alike(task: Task, rng: Random, others: Sequence[Task]) -> Task:
    """A task that asks the same of something else: a habit is to be mended, not what words mean."""
    asked = task.question.partition(" of ")[0]
    return rng.choice([one for one in others if one.question.partition(" of ")[0] == asked])


def _sentence(quote: str) -> str:
    return f"{quote[0].upper()}{quote[1:]}[1]."


async def _found(call: Call, name: str) -> str:
    """Searches for a name; the id of the result that bears it, or of the first."""
    lines = (await call("search", {"query": name})).splitlines()
    return next((line.partition(" ")[0] for line in lines if line.partition(" ")[2] == name), "r1")


def _link(shown: str, name: str) -> str:
    """The number that stands before a name on a page."""
    before = shown.partition(name)[0]
    return before.rpartition("[")[2].rpartition("]")[0]
