"""OpenAI-compatible endpoint for a trained model, so that `webemu eval` and any agent can use it.

Small on purpose: one model, `chat.completions` with tools, no streaming. Waiting requests are sampled in one batch.
For load, serve the model's folder with vLLM, which knows the templates of real models.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Required, TypedDict

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from webemu.rl.adapters.http import HttpError, read_body
from webemu.rl.train.chat_model import ChatModel
from webemu.rl.train.messages import FunctionCall
from webemu.rl.train.rollout import Ids
from webemu.rl.train.sampling import LocalSampler

MAX_BATCH_SIZE = 64
"""Turns in one batch."""
BATCH_WAIT_SECONDS = 0.005
"""Seconds to wait for more requests before a batch is sampled."""
DEFAULT_MAX_TOKENS = 512
"""Token limit of a turn whose request has none."""
MAX_BODY_BYTES = 4 << 20
"""Largest request body in bytes."""


class RequestedFunction(TypedDict, total=False):
    """Function that an earlier turn called."""

    name: Required[str]
    arguments: str | None
    """JSON text."""


class RequestedCall(TypedDict):
    """Tool call of an earlier turn."""

    function: RequestedFunction


class RequestMessage(TypedDict, total=False):
    """Message of a conversation, as far as it is read here; further members go to the chat template."""

    content: str | None
    tool_calls: list[RequestedCall] | None


class RequestBody(TypedDict, total=False):
    """Body of a request to the chat completions API, as far as it is read. Clients leave members out or send null."""

    messages: Required[list[RequestMessage]]
    tools: list[Mapping[str, object]] | None
    max_completion_tokens: int | None
    max_tokens: int | None
    temperature: float | None


@dataclass(frozen=True, slots=True)
class PendingTurn:
    """Turn that waits to be sampled."""

    context: Ids
    tools: list[Mapping[str, object]]
    max_tokens: int
    """Token limit of the turn."""
    temperature: float
    sampled_ids: asyncio.Future[Ids]
    """Token ids of the turn, once it has been sampled."""

    @property
    def sampling_options(self) -> tuple[int, float]:
        """Sampling options that all turns of a batch share."""
        return self.max_tokens, self.temperature


class GenerationBatcher:
    """Batching sampler of one model: turns with equal sampling options are generated together."""

    def __init__(self, chat_model: ChatModel) -> None:
        self._chat_model = chat_model
        self.codec = self._create_sampler(DEFAULT_MAX_TOKENS, 1.0)
        self._waiting: asyncio.Queue[PendingTurn] = asyncio.Queue()

    async def turn(self, body: RequestBody) -> tuple[PendingTurn, Ids]:
        """Return the model's next turn in the conversation of a request body, as the queued request and its token ids.

        Raises: ValueError, TypeError or KeyError if the body is malformed or the conversation is too long.
        """
        tools = list(body.get("tools") or [])
        context = self.codec.encode_conversation([_to_template_message(one) for one in body["messages"]], tools)
        max_tokens = int(body.get("max_completion_tokens") or body.get("max_tokens") or DEFAULT_MAX_TOKENS)
        free_tokens = int(self._chat_model.model.config.max_position_embeddings) - len(context)
        if free_tokens < 1:
            raise ValueError(f"the conversation has {len(context)} tokens: maximum context length exceeded")
        stated_temperature = body.get("temperature")
        temperature = 1.0 if stated_temperature is None else float(stated_temperature)
        pending = PendingTurn(
            context, tools, min(max_tokens, free_tokens), temperature, asyncio.get_running_loop().create_future()
        )
        await self._waiting.put(pending)
        return pending, await pending.sampled_ids

    async def work(self) -> None:
        """Sample waiting turns until cancelled."""
        waiting: list[PendingTurn] = []
        while True:
            waiting = waiting or [await self._waiting.get()]
            await asyncio.sleep(BATCH_WAIT_SECONDS)
            while not self._waiting.empty():
                waiting.append(self._waiting.get_nowait())
            # The first waiting turn decides which sampling options the batch has.
            batch = [pending for pending in waiting if pending.sampling_options == waiting[0].sampling_options][
                :MAX_BATCH_SIZE
            ]
            waiting = [pending for pending in waiting if pending not in batch]
            sampler = self._create_sampler(batch[0].max_tokens, batch[0].temperature)
            turns: Sequence[Ids | Exception]
            try:
                turns, _ = await asyncio.to_thread(sampler.sample_turns, [pending.context for pending in batch])
            except Exception as error:  # reported to the waiting requests; the next batch may succeed
                turns = [error] * len(batch)
            for pending, ids in zip(batch, turns, strict=True):
                if pending.sampled_ids.done():  # the client has disconnected
                    continue
                pending.sampled_ids.set_exception(ids) if isinstance(
                    ids, Exception
                ) else pending.sampled_ids.set_result(ids)

    def _create_sampler(self, max_tokens: int, temperature: float) -> LocalSampler:
        return LocalSampler(self._chat_model.model, self._chat_model.tokenizer, max_tokens, temperature)


def create_app(name: str, chat_model: ChatModel) -> Starlette:
    """Return the ASGI app with `/v1/chat/completions` and `/v1/models`."""
    batcher = GenerationBatcher(chat_model)

    async def completions(request: Request) -> Response:
        try:
            pending, ids = await batcher.turn(json.loads(await read_body(request, MAX_BODY_BYTES)))
        except HttpError as error:
            return _error_response(error.status, error.message)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            return _error_response(400, f"{type(error).__name__}: {error}")
        except RuntimeError as error:
            return _error_response(500, str(error))
        return JSONResponse(_to_completion(name, batcher.codec, pending, ids))

    async def models(request: Request) -> Response:
        return JSONResponse({"object": "list", "data": [{"id": name, "object": "model", "owned_by": "webemu"}]})

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        batching = asyncio.create_task(batcher.work())
        yield
        batching.cancel()
        with suppress(asyncio.CancelledError):
            await batching

    routes = [Route("/v1/chat/completions", completions, methods=["POST"]), Route("/v1/models", models)]
    return Starlette(routes=routes, lifespan=lifespan)


def _to_template_message(message: RequestMessage) -> dict[str, object]:
    """Return a message in the form that chat templates accept: arguments as an object, no nulls."""
    fields = {name: value for name, value in message.items() if value is not None and name != "tool_calls"}
    stated_calls = message.get("tool_calls")
    calls = [one["function"] for one in (() if stated_calls is None else stated_calls)]
    tool_calls = [
        {"type": "function", "function": {"name": one["name"], "arguments": json.loads(one.get("arguments") or "{}")}}
        for one in calls
    ]
    return fields | {"content": fields.get("content") or ""} | ({"tool_calls": tool_calls} if tool_calls else {})


def _to_completion(name: str, codec: LocalSampler, pending: PendingTurn, ids: Ids) -> dict[str, object]:
    parsed = codec.parse_turn(ids, pending.context, pending.tools)
    message: dict[str, object] = {"role": "assistant", "content": parsed.get("content") or None}
    if thought := parsed.get("reasoning_content"):
        message["reasoning_content"] = thought
    if calls := parsed.get("tool_calls"):
        message["tool_calls"] = [_to_tool_call(number, one["function"]) for number, one in enumerate(calls)]
    finish_reason = "length" if ids[-1:] != [codec.end_id] else "tool_calls" if calls else "stop"
    prompt_tokens, completion_tokens = len(pending.context), len(ids)
    return {
        "id": "chatcmpl-0",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": name,
        "choices": [{"index": 0, "message": message, "finish_reason": finish_reason}],
        "usage": {
            "prompt_tokens": prompt_tokens,
            "completion_tokens": completion_tokens,
            "total_tokens": prompt_tokens + completion_tokens,
        },
    }


def _to_tool_call(number: int, function: FunctionCall) -> dict[str, object]:
    arguments = function.get("arguments")
    text = arguments if isinstance(arguments, str) else json.dumps(arguments or {}, ensure_ascii=False)
    return {
        "id": f"call_{number}", "type": "function", "function": {"name": str(function.get("name")), "arguments": text},
    }  # fmt: skip


def _error_response(status: int, message: str) -> Response:
    return JSONResponse({"error": {"message": message, "type": "invalid_request_error"}}, status)
