"""A model behind an OpenAI-compatible endpoint (vLLM, SGLang, llama.cpp, any vendor), asked over HTTP.

Thin over the `openai` package, on aiohttp's connections. What went wrong is one class, `EndpointError`, whose `reason`
says whose matter it is: a prompt that is too long is the model's, the rest is an outage.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

import openai

from webemu.agent_client.errors import InfrastructureError
from webemu.rl.reply import Reply, ToolCall, message

PATIENCE = 300.0
"""Seconds for one answer."""
RETRIES = 4
_LASTING = {401: "refused", 403: "refused", 404: "absent", 405: "absent"}
_TOO_LONG = (
    "context_length",
    "context length",
    "maximum context",
    "too many tokens",
    "max_model_len",
    "prompt is too long",
)


class EndpointError(InfrastructureError):
    """Reasons: `refused` (key), `absent` (address or model), `unreachable`, `busy`, `failed`, `bad-request`,
    `unreadable`, `too-long` (the conversation is longer than the model reads)."""

    @property
    def lasting(self) -> bool:
        """Whether every further request would meet it."""
        return self.reason in ("refused", "absent")


class Endpoint:
    """One model at one address. Belongs to the event loop that asks; after `close`, another may."""

    def __init__(
        self,
        base_url: str,
        model: str,
        api_key: str = "none",
        *,
        timeout: float = PATIENCE,
        retries: int = RETRIES,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        """`extra` goes into the body of every request, such as vLLM's `chat_template_kwargs`."""
        if not base_url.startswith(("http://", "https://")):
            raise EndpointError(
                f"the endpoint {base_url!r} does not begin with http:// or https://",
                reason="absent",
                action="give the address as the server tells it, such as http://127.0.0.1:8000/v1",
            )
        self.base_url, self.model = base_url, model
        self._key, self._timeout, self._retries, self._extra = api_key, timeout, retries, dict(extra or {})
        self._client: openai.AsyncOpenAI | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def chat(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]] | None = None,
        *,
        seed: int | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
        stop: Sequence[str] = (),
    ) -> Reply:
        """One answer to a conversation; what is None is left to the server. Raises EndpointError."""
        given = {"seed": seed, "temperature": temperature, "max_tokens": max_tokens}
        body: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        body |= {name: list(value) for name, value in {"tools": tools, "stop": stop}.items() if value}
        body |= {"model": self.model, "messages": list(messages), "extra_body": self._extra or None}
        try:
            raw = await self._asking().chat.completions.with_raw_response.create(**body)
            return _read(json.loads(raw.content))
        except openai.OpenAIError as error:
            raise self._told(error) from error
        except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
            raise EndpointError(
                f"{self.base_url} gave an answer that is no chat completion ({type(error).__name__}: {error})",
                reason="unreadable",
                action="the address must be that of an OpenAI-compatible API, most often ending in /v1",
            ) from error

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def _asking(self) -> openai.AsyncOpenAI:
        """The client of the running loop."""
        loop = asyncio.get_running_loop()
        if self._client is None or self._loop is not loop:
            self._loop = loop
            self._client = openai.AsyncOpenAI(
                base_url=self.base_url,
                api_key=self._key,
                timeout=self._timeout,
                max_retries=self._retries,
                http_client=openai.DefaultAioHttpClient(timeout=self._timeout),
            )
        return self._client

    def _told(self, error: openai.OpenAIError) -> EndpointError:
        status = error.status_code if isinstance(error, openai.APIStatusError) else 0
        reason = _reason(status, str(error))
        said = " ".join(str(error).split())[:300]
        action = _ACTIONS[reason].format(url=self.base_url, model=self.model)
        return EndpointError(f"{self.model} at {self.base_url}: {said}", status=status, reason=reason, action=action)


def _reason(status: int, said: str) -> str:
    if not status:
        return "unreachable"
    if status in (400, 413, 422) and any(words in said.lower() for words in _TOO_LONG):
        return "too-long"
    if status >= 500 or status in (408, 409, 429):
        return "busy" if status in (429, 503) else "failed"
    return _LASTING.get(status, "bad-request")


_ACTIONS = {
    "unreachable": "is the server up? curl {url}/models should name {model}",
    "busy": "ask less at once, with a lower --concurrency",
    "failed": "see the log of the endpoint's server",
    "refused": "name the variable that holds the key, with --api-key-env",
    "absent": "curl {url}/models names the models that are there; the address most often ends in /v1",
    "bad-request": "see what it says; a server may need a flag for tool calls, or try --protocol react",
    "too-long": "give the model fewer turns, or shorter observations",
}


def _read(answer: Mapping[str, Any]) -> Reply:
    choice, usage = answer["choices"][0], answer.get("usage") or {}
    said = choice["message"]
    text = said.get("content") or ""
    calls = tuple(_call(number, one) for number, one in enumerate(said.get("tool_calls") or ()))
    thought = said.get("reasoning_content") or said.get("reasoning") or ""
    tokens = int(usage.get("prompt_tokens") or 0), int(usage.get("completion_tokens") or 0)
    if not isinstance(text, str):
        raise TypeError(f"`content` is a {type(text).__name__}")
    text = _whole(text)
    return Reply(
        text, calls, message(text, calls), *tokens, _whole(str(thought)), choice.get("finish_reason") == "length"
    )


def _call(number: int, told: Mapping[str, Any]) -> ToolCall:
    function = told["function"]
    arguments = function.get("arguments") or ""
    given = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return ToolCall(str(told.get("id") or f"call-{number}"), _whole(str(function.get("name") or "")), _whole(given))


def _whole(text: str) -> str:
    """Without halves of surrogates, which models produce, and which cannot be sent back."""
    return text.encode("utf-8", "replace").decode()
