"""Asks a model about many things at once from a plain loop: in windows, whose results come in order.

What comes of one draw is a value or a `Dropped` with its reason; an endpoint that is out of order ends it all.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from hashlib import blake2b
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from webemu.agent_client.errors import InfrastructureError
from webemu.rl.json_text import find_last_with
from webemu.rl.tasks.model.prompts import SYSTEM
from webemu.rl.tasks.recipe import Sources
from webemu.rl.tasks.task import Task, TaskError

if TYPE_CHECKING:
    from webemu.rl.endpoint import Endpoint

D = TypeVar("D")

FIRST, MOST = 4, 32
"""Draws of the first window, so that few tasks cost little, and of a later one."""
TEMPERATURE = 0.7
TOKENS = 4096
"""Of an answer, thoughts among them."""


class Dropped(Exception):
    """Nothing comes of a draw; says why, in few words that are counted."""


def made(
    sources: Sources, name: str, draws: Iterable[D], make: Callable[[D, Endpoint], Awaitable[Task]]
) -> Iterator[Task]:
    """The tasks that a model makes of draws, in their order; what is dropped is counted. Raises EndpointError."""
    endpoint = sources.endpoint
    if endpoint is None:
        raise TaskError(f"the recipe {name!r} asks a model: name an endpoint with --base-url and --model")
    waiting, size = iter(draws), FIRST
    while window := list(islice(waiting, size)):
        for result in asyncio.run(_answered(window, make, endpoint)):
            if isinstance(result, Task):
                yield result
            else:
                sources.crawl.dropped[name, str(result)] += 1
        size = min(2 * size, MOST)


async def asked(endpoint: Endpoint, prompt: str, field: str, about: str, temperature: float = TEMPERATURE) -> Any:
    """The JSON object of an answer that has this field. Raises Dropped, EndpointError. The seed is made of what it is
    about and of the prompt, so that the same is asked in the same way."""
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": prompt}]
    seed = int.from_bytes(blake2b(f"{about}\0{prompt}".encode(), digest_size=4).digest(), "big") >> 1
    try:
        reply = await endpoint.chat(messages, seed=seed, temperature=temperature, max_tokens=TOKENS)
    except InfrastructureError as error:
        if error.reason == "too-long":
            raise Dropped("too long for the model") from error
        raise
    found = find_last_with(reply.text, field)
    if found is None:
        raise Dropped("cut answer" if reply.was_cut_off else "unreadable answer")
    return found


async def _answered(
    window: list[D], make: Callable[[D, Endpoint], Awaitable[Task]], endpoint: Endpoint
) -> list[Task | Dropped]:
    async def one(draw: D) -> Task | Dropped:
        try:
            return await make(draw, endpoint)
        except Dropped as reason:
            return reason

    async with endpoint:
        return await asyncio.gather(*map(one, window))
