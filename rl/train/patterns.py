"""SFT traces to start from: what a good search agent does, and what weaker ones do, played as real episodes.

A model that saw only good traces has nothing left to learn by reinforcement, and one that saw none never finds the
reward. A recipe mixes them by the names in `PATTERNS`.
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
"""Function that calls a tool and returns the text of the observation."""
Pattern = Callable[[Call, Task, Random, Sequence[Task]], Coroutine[Any, Any, None]]
"""Function that plays an episode by calling its tools. It also gets the other tasks, to confuse this task with."""


async def good(call: Call, task: Task, rng: Random, others: Sequence[Task]) -> None:
    """Search for the subject, follow links, answer from the last page and cite it."""
    cited = await _read(call, task)
    if task.answer_type == "report":
        said = " ".join(_sentence(one.quote) for one in task.evidence)
        await call("finish", {"answer": said, "citations": [cited]})
    else:
        await call("finish", {"answer": task.answers[-1], "citations": [cited]})


async def guess(call: Call, task: Task, rng: Random, others: Sequence[Task]) -> None:
    """Answer without a search."""
    await call("finish", {"answer": _alike(task, rng, others).answers[-1], "citations": ["r1"]})


async def unread(call: Call, task: Task, rng: Random, others: Sequence[Task]) -> None:
    """Search, open nothing, and answer nevertheless."""
    await call("search", {"query": subject(task)})
    await call("finish", {"answer": _alike(task, rng, others).answers[-1], "citations": ["r1"]})


async def astray(call: Call, task: Task, rng: Random, others: Sequence[Task]) -> None:
    """Read about another subject and answer from there."""
    other = _alike(task, rng, others)
    link = await _found(call, subject(other))
    await call("open", {"link": link})
    await call("finish", {"answer": other.answers[-1], "citations": [link]})


async def short(call: Call, task: Task, rng: Random, others: Sequence[Task]) -> None:
    """Stop on the first page of a question that needs two, or after the first claim of a report."""
    cited, first = await _found(call, subject(task)), task.evidence[0]
    await call("open", {"link": cited})
    said = _sentence(first.quote) if task.answer_type == "report" else first.quote
    await call("finish", {"answer": said, "citations": [cited]})


ECHO, ECHOED = "echo", 20
"""Name of the pattern that is no episode but an echo of random words, and its number of words. A model from scratch
learns to copy from it in a fraction of the steps."""
OUTAGE = "repair the server, then run the same command again: it continues at this stage"
"""Remedy in the error when the server fails during a trace."""
PATTERNS: dict[str, Pattern] = {"good": good, "guess": guess, "unread": unread, "astray": astray, "short": short}
"""Patterns by the names that recipes use in `mix`."""


def subject(task: Task) -> str:
    """Return the subject of a question: the words after its last `of` or `on`."""
    words = task.question.split(" ")
    return " ".join(words[max(n for n, word in enumerate(words) if word in ("of", "on")) + 1 :])


def traces(
    room: Room, tasks: Sequence[Task], mix: dict[str, float], limits: Limits, seed: int
) -> list[list[dict[str, Any]]]:
    """Return a trace as chat messages for each task; its pattern is drawn by the shares of `mix`. Echoes come first."""
    drawn = [Random(f"{seed}:{number}:{task.id}") for number, task in enumerate(tasks)]
    names, shares = list(mix), list(mix.values())
    chosen = [(rng.choices(names, shares)[0], task, rng) for task, rng in zip(tasks, drawn, strict=True)]
    echoes = [_echo(rng, tasks) for name, _, rng in chosen if name == ECHO]
    played = [(PATTERNS[name], task, rng) for name, task, rng in chosen if name != ECHO]
    return echoes + room.all(_trace(room, *one, tasks, limits) for one in played)


def _echo(rng: Random, tasks: Sequence[Task]) -> list[dict[str, Any]]:
    """Return a conversation in which the assistant repeats random words of the tasks."""
    said = [f"{subject(one)} {one.answers[-1]}" for one in rng.sample(tasks, min(len(tasks), ECHOED))]
    pool = " ".join(said).split()
    words = rng.sample(pool, min(len(pool), ECHOED))
    return [{"role": role, "content": " ".join(words)} for role in ("user", "assistant")]


async def _trace(
    room: Room, pattern: Pattern, task: Task, rng: Random, others: Sequence[Task], limits: Limits
) -> list[dict[str, Any]]:
    """Play a pattern and return its messages. Raises: InfrastructureError if the episode is masked."""
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
    """Open the pages of the evidence, each from the one before, and return the id of the last one."""
    opened, url = 1, task.evidence[0].url
    shown = await call("open", {"link": await _found(call, subject(task))})
    for before, after in pairwise(task.evidence):
        if after.url != url:
            opened, url = opened + 1, after.url
            shown = await call("open", {"link": _link(shown, before.value)})
    return f"p{opened}"


def _alike(task: Task, rng: Random, others: Sequence[Task]) -> Task:
    """Return a task that asks the same about another subject: the model should unlearn a habit, not the meaning of
    words.
    """
    asked = task.question.partition(" of ")[0]
    return rng.choice([one for one in others if one.question.partition(" of ")[0] == asked])


def _sentence(quote: str) -> str:
    return f"{quote[0].upper()}{quote[1:]}[1]."


async def _found(call: Call, name: str) -> str:
    """Search for a name; return the link id of the result with this title, or of the first result."""
    lines = (await call("search", {"query": name})).splitlines()
    return next((line.partition(" ")[0] for line in lines if line.partition(" ")[2] == name), "r1")


def _link(shown: str, name: str) -> str:
    """Return the number of the link that stands before a name on a page."""
    before = shown.partition(name)[0]
    return before.rpartition("[")[2].rpartition("]")[0]
