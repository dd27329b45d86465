"""Calls a model concurrently from synchronous code: in windows, whose results come in order.

Each passage gives a task or is rejected with a reason. An endpoint that fails for good ends the recipe.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from hashlib import blake2b
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

from webemu.agent_client.errors import InfrastructureError
from webemu.rl.json_text import find_last_with
from webemu.rl.tasks.model.prompts import SYSTEM
from webemu.rl.tasks.recipe import Sources
from webemu.rl.tasks.task import Task, TaskError

if TYPE_CHECKING:
    from webemu.rl.endpoint import Endpoint

D = TypeVar("D")

FIRST_WINDOW, MAX_WINDOW = 4, 32
"""Size of the first window and of the largest one. Windows start small, so that a few tasks cost little."""
TEMPERATURE = 0.7
"""Sampling temperature unless a call says otherwise."""
MAX_TOKENS = 4096
"""Largest number of tokens of an answer, reasoning included."""


class CandidateRejected(Exception):
    """No task comes of a passage. The message is a reason of a few words, which is counted."""


def generate_tasks(
    sources: Sources, name: str, passages: Iterable[D], make_task: Callable[[D, Endpoint], Awaitable[Task]]
) -> Iterator[Task]:
    """Yield the tasks that a model makes of passages, in their order. Reasons of rejections are counted.

    Raises:
        TaskError: There is no endpoint.
        EndpointError: The endpoint fails for good.
    """
    endpoint = sources.endpoint
    if endpoint is None:
        raise TaskError(f"the recipe {name!r} asks a model; name an endpoint with --base-url and --model")
    remaining, window_size = iter(passages), FIRST_WINDOW
    while window := list(islice(remaining, window_size)):
        for result in asyncio.run(_process_window(window, make_task, endpoint)):
            if isinstance(result, Task):
                yield result
            else:
                sources.crawl.skip_counts[name, str(result)] += 1
        window_size = min(2 * window_size, MAX_WINDOW)


async def ask_for_json(
    endpoint: Endpoint, prompt: str, field: str, seed_key: str, temperature: float = TEMPERATURE
) -> dict[str, object]:
    """Return the JSON object with this field in the model's answer.

    The seed depends on `seed_key` and the prompt, so that a repeated build sends the same requests.

    Raises:
        CandidateRejected: The prompt is too long, or the answer has no such object.
        EndpointError: The endpoint fails.
    """
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": prompt}]
    # 31 bits: some servers reject seeds above 2**31 - 1.
    seed = int.from_bytes(blake2b(f"{seed_key}\0{prompt}".encode(), digest_size=4).digest(), "big") >> 1
    try:
        reply = await endpoint.chat(messages, seed=seed, temperature=temperature, max_tokens=MAX_TOKENS)
    except InfrastructureError as error:
        if error.reason == "too-long":
            raise CandidateRejected("too long for the model") from error
        raise
    answer_object = find_last_with(reply.text, field)
    if answer_object is None:
        raise CandidateRejected("cut answer" if reply.was_cut_off else "unreadable answer")
    return answer_object


async def _process_window(
    window: list[D], make_task: Callable[[D, Endpoint], Awaitable[Task]], endpoint: Endpoint
) -> list[Task | CandidateRejected]:
    """Return the task or the rejection of each passage of a window, in order."""

    async def process_one(passage: D) -> Task | CandidateRejected:
        try:
            return await make_task(passage, endpoint)
        except CandidateRejected as reason:
            return reason

    # The client belongs to this event loop, which ends with the window.
    async with endpoint:
        return await asyncio.gather(*map(process_one, window))
