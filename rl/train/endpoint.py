"""A trained model behind an OpenAI-compatible endpoint, so that `webemu eval` and any agent can ask it.

Small on purpose: one model, `chat.completions` with tools, no streaming. What waits is spoken in one batch. For load,
serve the model's folder with vLLM, which knows the templates of real models.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from webemu.rl.adapters.http import Refused, bounded
from webemu.rl.train.rollout import Ids
from webemu.rl.train.sampling import Voice

AT_ONCE = 64
WAIT = 0.005
"""Seconds in which others may join a batch."""
TOKENS = 512
"""Of a turn whose request does not say."""
BODY = 4 << 20


@dataclass(frozen=True, slots=True)
class Asked:
    context: Ids
    tools: list[dict[str, Any]]
    most: int
    temperature: float
    ids: asyncio.Future[Ids]

    @property
    def how(self) -> tuple[int, float]:
        return self.most, self.temperature


class Speaking:
    """Turns of one model, in batches of those that are sampled alike."""

    def __init__(self, model: Any, tokenizer: Any) -> None:
        self.model, self.tokenizer = model, tokenizer
        self.words = Voice(model, tokenizer, TOKENS)
        self._waiting: asyncio.Queue[Asked] = asyncio.Queue()

    async def turn(self, told: dict[str, Any]) -> tuple[Asked, Ids]:
        """The model's next turn in the conversation of a request. Raises ValueError, TypeError or KeyError."""
        tools = list(told.get("tools") or [])
        context = self.words.context([_spoken(one) for one in told["messages"]], tools)
        most = int(told.get("max_completion_tokens") or told.get("max_tokens") or TOKENS)
        room = int(self.model.config.max_position_embeddings) - len(context)
        if room < 1:
            raise ValueError(f"the conversation has {len(context)} tokens: maximum context length exceeded")
        temperature = 1.0 if told.get("temperature") is None else float(told["temperature"])
        asked = Asked(context, tools, min(most, room), temperature, asyncio.get_running_loop().create_future())
        await self._waiting.put(asked)
        return asked, await asked.ids

    async def work(self) -> None:
        """Speaks what is asked until it is cancelled."""
        kept: list[Asked] = []
        while True:
            kept = kept or [await self._waiting.get()]
            await asyncio.sleep(WAIT)
            while not self._waiting.empty():
                kept.append(self._waiting.get_nowait())
            batch = [one for one in kept if one.how == kept[0].how][:AT_ONCE]
            kept = [one for one in kept if one not in batch]
            voice = Voice(self.model, self.tokenizer, *batch[0].how)
            try:
                turns, _ = await asyncio.to_thread(voice.turns, [one.context for one in batch])
            except Exception as error:  # told to those who asked; the next batch may do
                turns = [error] * len(batch)
            for one, ids in zip(batch, turns, strict=True):
                if one.ids.done():  # who asked has left
                    continue
                one.ids.set_exception(ids) if isinstance(ids, Exception) else one.ids.set_result(ids)


def app(name: str, model: Any, tokenizer: Any) -> Starlette:
    """The endpoint: `/v1/chat/completions` and `/v1/models`."""
    speaking = Speaking(model, tokenizer)

    async def completions(request: Request) -> Response:
        try:
            asked, ids = await speaking.turn(json.loads(await bounded(request, BODY)))
        except Refused as error:
            return _wrong(error.status, error.message)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            return _wrong(400, f"{type(error).__name__}: {error}")
        except RuntimeError as error:
            return _wrong(500, str(error))
        return JSONResponse(_answer(name, speaking.words, asked, ids))

    async def models(request: Request) -> Response:
        return JSONResponse({"object": "list", "data": [{"id": name, "object": "model", "owned_by": "webemu"}]})

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        work = asyncio.create_task(speaking.work())
        yield
        work.cancel()
        with suppress(asyncio.CancelledError):
            await work

    routes = [Route("/v1/chat/completions", completions, methods=["POST"]), Route("/v1/models", models)]
    return Starlette(routes=routes, lifespan=lifespan)


def _spoken(message: dict[str, Any]) -> dict[str, Any]:
    """A message as chat templates take it: arguments as an object, no null."""
    told = {name: value for name, value in message.items() if value is not None}
    calls = [one["function"] for one in told.pop("tool_calls", ())]
    made = [
        {"type": "function", "function": {"name": one["name"], "arguments": json.loads(one.get("arguments") or "{}")}}
        for one in calls
    ]
    return told | {"content": told.get("content") or ""} | ({"tool_calls": made} if made else {})


def _answer(name: str, words: Voice, asked: Asked, ids: Ids) -> dict[str, Any]:
    said = words.said(ids, asked.context, asked.tools)
    message: dict[str, Any] = {"role": "assistant", "content": said.get("content") or None}
    if thought := said.get("reasoning_content"):
        message["reasoning_content"] = thought
    if calls := said.get("tool_calls"):
        message["tool_calls"] = [_called(number, one["function"]) for number, one in enumerate(calls)]
    end = "length" if ids[-1:] != [words.end] else "tool_calls" if calls else "stop"
    read, spoken = len(asked.context), len(ids)
    return {
        "id": "chatcmpl-0", "object": "chat.completion", "created": int(time.time()), "model": name,
        "choices": [{"index": 0, "message": message, "finish_reason": end}],
        "usage": {"prompt_tokens": read, "completion_tokens": spoken, "total_tokens": read + spoken},
    }  # fmt: skip


def _called(number: int, function: dict[str, Any]) -> dict[str, Any]:
    given = function.get("arguments")
    text = given if isinstance(given, str) else json.dumps(given or {}, ensure_ascii=False)
    return {
        "id": f"call_{number}", "type": "function", "function": {"name": str(function.get("name")), "arguments": text},
    }  # fmt: skip


def _wrong(status: int, message: str) -> Response:
    return JSONResponse({"error": {"message": message, "type": "invalid_request_error"}}, status)
