"""verl's stateless `function_tool`s: search, open and find on the server that `WEBEMU_SERVER` names.

verl gives such tools no trajectory, so there is no session, ledger, mask or grounding, and `compute_score` grades the
text alone. The tools of `webemu.rl.adapters.verl` have all of these. Load this file by `multi_turn.function_tool_path`.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Mapping
from math import prod
from weakref import WeakKeyDictionary

from verl.tools.function_tool import function_tool

from webemu.agent_client import AsyncClient
from webemu.agent_client.client import DEFAULT_URL
from webemu.agent_client.tools import TOOLS, call_async
from webemu.rl import rewards
from webemu.rl.adapters.environment_config import unpack_task
from webemu.rl.record import EpisodeRecord
from webemu.rl.sanitizing import sanitize

_ANSWER = re.compile(r"<answer>(.*?)</answer>", re.DOTALL)
_MEASURES = (
    rewards.check_format,
    rewards.check_length,
    rewards.check_single,
    rewards.check_own_words,
    rewards.check_correct,
)
_CLIENTS: WeakKeyDictionary[asyncio.AbstractEventLoop, AsyncClient] = WeakKeyDictionary()


def _register(name: str, schema: Mapping[str, object]) -> None:
    @function_tool(name, schema=schema)
    async def call(**arguments: object) -> str:
        return sanitize(await call_async(_loop_client(), name, arguments))


def _loop_client() -> AsyncClient:
    loop = asyncio.get_running_loop()
    if loop not in _CLIENTS:
        _CLIENTS[loop] = AsyncClient(os.environ.get("WEBEMU_SERVER", DEFAULT_URL))
    return _CLIENTS[loop]


for _tool in TOOLS:
    _register(_tool["function"]["name"], _tool)


def compute_score(
    data_source: str, solution_str: str, ground_truth: str, extra_info: Mapping[str, object], **more: object
) -> dict[str, float]:
    """Return 1 if the last `<answer>` is right and has the form that the short rubric demands, otherwise 0."""
    answers = _ANSWER.findall(solution_str)
    record = EpisodeRecord(unpack_task(extra_info["task"]), answers[-1].strip() if answers else "", end="finished")
    return {"score": float(prod(measure(record) for measure in _MEASURES)), "answered": float(bool(answers))}
