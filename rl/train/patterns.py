"""SFT traces to start from: what a good search agent does, and what weaker ones do, played as real episodes.

A model that saw only good traces has nothing left to learn by reinforcement, and one that saw none never finds the
reward. A recipe mixes them by the names in `PATTERNS`.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import pairwise
from random import Random

from webemu.agent_client.errors import InfrastructureError
from webemu.rl.environment import AsyncEpisode
from webemu.rl.state import Limits
from webemu.rl.tasks import Task
from webemu.rl.train.event_loop import EventLoopThread
from webemu.rl.train.messages import Message, ToolCall, system_messages

CallTool = Callable[[str, dict[str, object]], Awaitable[str]]
"""Function that calls a tool and returns the text of the observation."""
PlayPattern = Callable[[CallTool, Task, Random, Sequence[Task]], Awaitable[None]]
"""Function that plays an episode by calling its tools. It also gets the other tasks, to confuse this task with."""


async def honest_trace(call: CallTool, task: Task, rng: Random, other_tasks: Sequence[Task]) -> None:
    """Search for the subject, follow links, answer from the last page and cite it."""
    cited = await _read_evidence(call, task)
    if task.answer_type == "report":
        report = " ".join(_cited_sentence(one.quote) for one in task.evidence)
        await call("finish", {"answer": report, "citations": [cited]})
    else:
        await call("finish", {"answer": task.answers[-1], "citations": [cited]})


async def guess_trace(call: CallTool, task: Task, rng: Random, other_tasks: Sequence[Task]) -> None:
    """Answer without a search."""
    await call("finish", {"answer": _pick_similar(task, rng, other_tasks).answers[-1], "citations": ["r1"]})


async def unread_trace(call: CallTool, task: Task, rng: Random, other_tasks: Sequence[Task]) -> None:
    """Search, open nothing, and answer nevertheless."""
    await call("search", {"query": subject_of(task)})
    await call("finish", {"answer": _pick_similar(task, rng, other_tasks).answers[-1], "citations": ["r1"]})


async def off_topic_trace(call: CallTool, task: Task, rng: Random, other_tasks: Sequence[Task]) -> None:
    """Read about another subject and answer from there."""
    other = _pick_similar(task, rng, other_tasks)
    link = await _search_for(call, subject_of(other))
    await call("open", {"link": link})
    await call("finish", {"answer": other.answers[-1], "citations": [link]})


async def cut_short_trace(call: CallTool, task: Task, rng: Random, other_tasks: Sequence[Task]) -> None:
    """Stop on the first page of a question that needs two, or after the first claim of a report."""
    cited, first = await _search_for(call, subject_of(task)), task.evidence[0]
    await call("open", {"link": cited})
    answer_text = _cited_sentence(first.quote) if task.answer_type == "report" else first.quote
    await call("finish", {"answer": answer_text, "citations": [cited]})


ECHO_PATTERN, ECHO_WORDS = "echo", 20
"""Name of the pattern that is no episode but an echo of random words, and its number of words. A model from scratch
learns to copy from it in a fraction of the steps."""
OUTAGE_ACTION = "repair the server, then run the same command again: it continues at this stage"
"""Remedy in the error when the server fails during a trace."""
PATTERNS: dict[str, PlayPattern] = {
    "good": honest_trace,
    "guess": guess_trace,
    "unread": unread_trace,
    "astray": off_topic_trace,
    "short": cut_short_trace,
}
"""Patterns by the names that recipes use in `mix`."""
_TOY_QUESTION = re.compile(r"[A-Z][a-z]+ (?:of|on) (?:[A-Z][a-z]+ of )*[A-Z][a-z]+ [A-Z][a-z]+")


def is_toy_question(question: str) -> bool:
    """True for a question of the toy web, such as "Key of Mer Wam" or "Report on Bam Kak"."""
    return bool(_TOY_QUESTION.fullmatch(question))


def subject_of(task: Task) -> str:
    """Return the subject of a question: the words after its last `of` or `on`."""
    words = task.question.split(" ")
    return " ".join(words[max(n for n, word in enumerate(words) if word in ("of", "on")) + 1 :])


def play_traces(
    loop_thread: EventLoopThread,
    tasks: Sequence[Task],
    mix: Mapping[str, float],
    limits: Limits,
    seed: int,
    system: str = "",
) -> list[list[Message]]:
    """Return a trace as chat messages for each task; its pattern is drawn by the shares of `mix`. Echoes come first.
    `system` is the recipe's system prompt.
    """
    generators = [Random(f"{seed}:{number}:{task.id}") for number, task in enumerate(tasks)]
    names, shares = list(mix), list(mix.values())
    assignments = [(rng.choices(names, shares)[0], task, rng) for task, rng in zip(tasks, generators, strict=True)]
    echoes = [
        [*system_messages(system, task.answer_type), *_echo_conversation(rng, tasks)]
        for name, task, rng in assignments
        if name == ECHO_PATTERN
    ]
    episodes = [(PATTERNS[name], task, rng) for name, task, rng in assignments if name != ECHO_PATTERN]
    traces = loop_thread.gather(_play_trace(loop_thread, *one, tasks, limits) for one in episodes)
    openings = [system_messages(system, task.answer_type) for _, task, _ in episodes]
    return echoes + [opening + trace for opening, trace in zip(openings, traces, strict=True)]


def _echo_conversation(rng: Random, tasks: Sequence[Task]) -> list[Message]:
    """Return a conversation in which the assistant repeats random words of the tasks."""
    phrases = [f"{subject_of(one)} {one.answers[-1]}" for one in rng.sample(tasks, min(len(tasks), ECHO_WORDS))]
    pool = " ".join(phrases).split()
    words = rng.sample(pool, min(len(pool), ECHO_WORDS))
    return [{"role": role, "content": " ".join(words)} for role in ("user", "assistant")]


async def _play_trace(
    loop_thread: EventLoopThread,
    pattern: PlayPattern,
    task: Task,
    rng: Random,
    other_tasks: Sequence[Task],
    limits: Limits,
) -> list[Message]:
    """Play a pattern and return its messages. Raises: InfrastructureError if the episode is masked."""
    episode = AsyncEpisode(loop_thread.client, limits)
    messages: list[Message] = [{"role": "user", "content": (await episode.reset(task)).text}]

    async def call(name: str, tool_arguments: dict[str, object]) -> str:
        tool_call: ToolCall = {"type": "function", "function": {"name": name, "arguments": tool_arguments}}
        messages.append({"role": "assistant", "content": "", "tool_calls": [tool_call]})
        observation = await episode.call(name, tool_arguments)
        if not observation.done:
            messages.append({"role": "tool", "name": name, "content": observation.text})
        return observation.text

    await pattern(call, task, rng, other_tasks)
    if episode.masked:
        raise InfrastructureError(f"task {task.id}: {episode.mask_reason}", action=OUTAGE_ACTION)
    return messages


async def _read_evidence(call: CallTool, task: Task) -> str:
    """Open the pages of the evidence, each from the one before, and return the id of the last one."""
    pages_opened, url = 1, task.evidence[0].url
    page_text = await call("open", {"link": await _search_for(call, subject_of(task))})
    for before, after in pairwise(task.evidence):
        if after.url != url:
            pages_opened, url = pages_opened + 1, after.url
            page_text = await call("open", {"link": _link_number(page_text, before.value)})
    return f"p{pages_opened}"


def _pick_similar(task: Task, rng: Random, other_tasks: Sequence[Task]) -> Task:
    """Return a task that asks the same about another subject: the model should unlearn a habit, not the meaning of
    words.
    """
    question_start = task.question.partition(" of ")[0]
    return rng.choice([one for one in other_tasks if one.question.partition(" of ")[0] == question_start])


def _cited_sentence(quote: str) -> str:
    return f"{quote[0].upper()}{quote[1:]}[1]."


async def _search_for(call: CallTool, name: str) -> str:
    """Search for a name; return the link id of the result with this title, or of the first result."""
    lines = (await call("search", {"query": name})).splitlines()
    return next((line.partition(" ")[0] for line in lines if line.partition(" ")[2] == name), "r1")


def _link_number(page_text: str, name: str) -> str:
    """Return the number of the link that stands before a name on a page."""
    before = page_text.partition(name)[0]
    return before.rpartition("[")[2].rpartition("]")[0]
