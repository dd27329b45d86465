"""Filter against questions that a model answers from memory, without the web."""

from __future__ import annotations

import asyncio
from hashlib import blake2b

from webemu.agent_client.errors import InfrastructureError
from webemu.rl.answers import is_equivalent
from webemu.rl.tasks.filters.filter import FilterContext, Verdict, undecided
from webemu.rl.tasks.task import Task

SYSTEM_PROMPT = (
    "Answer the question from memory. Reply with the answer alone, as short as it can be:"
    " a name, a number, a date or a few words, without a sentence around it."
)
"""System prompt of the model."""
MAX_TOKENS = 64
"""Largest number of tokens of an answer."""
TEMPERATURE = 1.0
"""Sampling temperature."""


async def check_closed_book(task: Task, context: FilterContext) -> Verdict:
    """Reject a task if one of several answers given without the web is right. A choice is rejected only if all of them
    are right, because one may be guessed.
    """
    endpoint = context.endpoint
    if endpoint is None:
        return undecided("no model was given")
    if task.answer_type in ("none", "report"):
        return undecided(f"not checked for the answer type {task.answer_type!r}")
    messages = [{"role": "system", "content": SYSTEM_PROMPT}, {"role": "user", "content": task.question}]

    async def ask(number: int) -> str:
        async with context.turns:
            seed = _sample_seed(task, number, context.seed)
            reply = await endpoint.chat(messages, seed=seed, temperature=TEMPERATURE, max_tokens=MAX_TOKENS)
        return _extract_answer(reply.text)

    try:
        answers = await asyncio.gather(*map(ask, range(context.samples)))
    except InfrastructureError as error:
        # A wrong key or model name fails for every task; anything else may have been bad luck with this one.
        if getattr(error, "lasting", False):
            raise
        return undecided(f"the model gave no answer: {error.message}")
    right_count = sum(
        is_equivalent(answer, task.answers, task.answer_type, task.question, [one.quote for one in task.evidence])
        for answer in answers
    )
    # Two options are guessed right in half of the samples.
    is_known = right_count == context.samples if task.answer_type == "choice" else right_count > 0
    return {"ok": not is_known, "right": right_count, "of": context.samples, "model": endpoint.model}


def _extract_answer(text: str) -> str:
    """Return the last line that is not empty, without a leading "Answer:"."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    # Models explain first and answer last, whatever the prompt says.
    last = lines[-1] if lines else ""
    return last.partition(":")[2].strip() if last.lower().startswith(("answer:", "final answer:")) else last


def _sample_seed(task: Task, number: int, seed: int) -> int:
    """Return the sampling seed of one answer: 31 bits from the task and the answer's number."""
    # 31 bits: some servers reject seeds above 2**31 - 1.
    return int.from_bytes(blake2b(f"{seed}:{task.id}:{number}".encode(), digest_size=4).digest(), "big") >> 1
