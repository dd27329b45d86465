"""OpenAI-compatible endpoint for a trained model, so that `webemu eval` and any agent can use it.

Small on purpose: one model, `chat.completions` with tools, no streaming. Waiting requests are sampled in one batch.
For load, serve the model's folder with vLLM, which knows the templates of real models.
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
"""Turns in one batch."""
WAIT = 0.005
"""Seconds to wait for more requests before a batch is sampled."""
TOKENS = 512
"""Token limit of a turn whose request has none."""
BODY = 4 << 20
"""Largest request body in bytes."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Turn that waits to be sampled."""

    context: Ids
    tools: list[dict[str, Any]]
    most: int
    """Token limit of the turn."""
    temperature: float
    ids: asyncio.Future[Ids]
    """Token ids of the turn, once it has been sampled."""

    @property
    def how(self) -> tuple[int, float]:
        """Sampling options that all turns of a batch share."""
        return self.most, self.temperature


class Speaking:
    """Batching sampler of one model: turns with equal sampling options are generated together."""

    def __init__(self, model: Any, tokenizer: Any) -> None:
        self.model, self.tokenizer = model, tokenizer
        self.words = Voice(model, tokenizer, TOKENS)
        self._waiting: asyncio.Queue[Asked] = asyncio.Queue()

    async def turn(self, told: dict[str, Any]) -> tuple[Asked, Ids]:
        """Return the model's next turn in the conversation of a request body, as the queued request and its token ids.

        Raises: ValueError, TypeError or KeyError if the body is malformed or the conversation is too long.
        """
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
        """Sample waiting turns until cancelled."""
        kept: list[Asked] = []
        while True:
            kept = kept or [await self._waiting.get()]
            await asyncio.sleep(WAIT)
            while not self._waiting.empty():
                kept.append(self._waiting.get_nowait())
            # The first waiting turn decides which sampling options the batch has.
            batch = [one for one in kept if one.how == kept[0].how][:AT_ONCE]
            kept = [one for one in kept if one not in batch]
            voice = Voice(self.model, self.tokenizer, *batch[0].how)
            try:
                turns, _ = await asyncio.to_thread(voice.turns, [one.context for one in batch])
            except Exception as error:  # reported to the waiting requests; the next batch may succeed
                turns = [error] * len(batch)
            for one, ids in zip(batch, turns, strict=True):
                if one.ids.done():  # the client has disconnected
                    continue
                one.ids.set_exception(ids) if isinstance(ids, Exception) else one.ids.set_result(ids)


def app(name: str, model: Any, tokenizer: Any) -> Starlette:
    """Return the ASGI app with `/v1/chat/completions` and `/v1/models`."""
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
    """Return a message in the form that chat templates accept: arguments as an object, no nulls."""
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
