"""Whether a model knows the answer without looking."""

from __future__ import annotations

import asyncio
from hashlib import blake2b

from webemu.agent_client.errors import InfrastructureError
from webemu.rl.tasks.filters.filter import Means, Verdict, untold
from webemu.rl.tasks.task import Task
from webemu.rl.verify import is_exact_match

PROMPT = (
    "Answer the question from memory. Reply with the answer alone, as short as it can be:"
    " a name, a number, a date or a few words, without a sentence around it."
)
TOKENS = 64
TEMPERATURE = 1.0


async def closed_book(task: Task, means: Means) -> Verdict:
    """None of several answers given without the web is right; of a choice, not all are, since one may guess."""
    endpoint = means.endpoint
    if endpoint is None:
        return untold("no model was given")
    if task.answer_type in ("none", "report"):
        return untold(f"says nothing of the answer type {task.answer_type!r}")
    messages = [{"role": "system", "content": PROMPT}, {"role": "user", "content": task.question}]

    async def ask(number: int) -> str:
        async with means.turns:
            seed = _seed(task, number, means.seed)
            reply = await endpoint.chat(messages, seed=seed, temperature=TEMPERATURE, max_tokens=TOKENS)
        return _answer(reply.text)

    try:
        answers = await asyncio.gather(*map(ask, range(means.samples)))
    except InfrastructureError as error:
        if getattr(error, "lasting", False):
            raise
        return untold(f"the model gave no answer: {error.message}")
    right = sum(is_exact_match(answer, task.answers) for answer in answers)
    known = right == means.samples if task.answer_type == "choice" else right > 0
    return {"ok": not known, "right": right, "of": means.samples, "model": endpoint.model}


def _answer(text: str) -> str:
    """The last line that says something, without what models put before it."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    last = lines[-1] if lines else ""
    return last.partition(":")[2].strip() if last.lower().startswith(("answer:", "final answer:")) else last


def _seed(task: Task, number: int, seed: int) -> int:
    return int.from_bytes(blake2b(f"{seed}:{task.id}:{number}".encode(), digest_size=4).digest(), "big") >> 1
