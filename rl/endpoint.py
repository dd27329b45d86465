"""Client of a chat model behind an OpenAI-compatible endpoint (vLLM, SGLang, llama.cpp, any vendor).

Thin over the `openai` package with aiohttp connections. Every failure is an `EndpointError` whose `reason` says who is
at fault: `too-long` is the model's own doing, everything else is an outage.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self, TypedDict

import openai

from webemu.agent_client.calls import replace_surrogates
from webemu.agent_client.errors import InfrastructureError
from webemu.rl.reply import Reply, ToolCall, assistant_message
from webemu.rl.tool_schema import ToolSchema

TIMEOUT_SECONDS = 300.0
"""Seconds to wait for one answer."""
MAX_RETRIES = 4
"""Retries of one request, made by the `openai` package."""
_PERMANENT_REASONS = {401: "refused", 403: "refused", 404: "absent", 405: "absent"}
"""Reason by status code, for errors that every further request would meet as well."""
_TOO_LONG_PHRASES = (
    "context_length",
    "context length",
    "maximum context",
    "too many tokens",
    "max_model_len",
    "prompt is too long",
)
"""Phrases in error messages of common servers that mean that the conversation exceeds the model's context."""


class _FunctionFields(TypedDict, total=False):
    name: str | None
    arguments: str | dict[str, object] | None
    """JSON text; some servers send the object itself."""


class _ToolCallFields(TypedDict, total=False):
    id: str | None
    function: _FunctionFields


class _MessageFields(TypedDict, total=False):
    content: str | None
    tool_calls: list[_ToolCallFields] | None
    reasoning_content: str | None
    reasoning: str | None


class _Choice(TypedDict, total=False):
    message: _MessageFields
    finish_reason: str | None


class _Usage(TypedDict, total=False):
    prompt_tokens: int | None
    completion_tokens: int | None


class _Completion(TypedDict, total=False):
    """Answer of the chat completions API, as far as it is read. Servers leave members out or send null."""

    choices: list[_Choice]
    usage: _Usage | None


class EndpointError(InfrastructureError):
    """Failed request to a model's endpoint.

    `reason` is `refused` (key), `absent` (address or model), `unreachable`, `busy`, `failed`, `bad-request`,
    `unreadable` or `too-long` (the conversation exceeds the model's context).
    """

    @property
    def lasting(self) -> bool:
        """True if every further request would fail in the same way."""
        return self.reason in ("refused", "absent")


class Endpoint:
    """Chat model at one address. Bound to the event loop that uses it; after `close`, another loop may use it.

    async with Endpoint("http://127.0.0.1:8000/v1", "Qwen/Qwen3-8B") as endpoint:
        reply = await endpoint.chat([{"role": "user", "content": "Hello"}])
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        api_key: str = "none",
        *,
        timeout: float = TIMEOUT_SECONDS,
        retries: int = MAX_RETRIES,
        extra: Mapping[str, object] | None = None,
    ) -> None:
        """Prepare a client; no request is sent. `extra` holds members for the body of every request, such as vLLM's
        `chat_template_kwargs`; `timeout` is in seconds.

        Raises: EndpointError if `base_url` is not an HTTP URL.
        """
        if not base_url.startswith(("http://", "https://")):
            raise EndpointError(
                f"the endpoint address must begin with http:// or https://, got {base_url!r}",
                reason="absent",
                action="give the address that the server prints, such as http://127.0.0.1:8000/v1",
            )
        self.base_url, self.model = base_url, model
        self._key, self._timeout, self._retries, self._extra = api_key, timeout, retries, dict(extra or {})
        self._client: openai.AsyncOpenAI | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def chat(
        self,
        messages: Sequence[Mapping[str, object]],
        tools: Sequence[ToolSchema] | None = None,
        *,
        seed: int | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
        stop: Sequence[str] = (),
    ) -> Reply:
        """Return the model's next message of a conversation. Parameters that are None are left to the server.

        Raises: EndpointError if the request fails or the answer is not a chat completion.
        """
        options = {"seed": seed, "temperature": temperature, "max_tokens": max_tokens}
        body: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
        body |= {name: list(value) for name, value in {"tools": tools, "stop": stop}.items() if value}
        body |= {"model": self.model, "messages": list(messages), "extra_body": self._extra or None}
        try:
            response = await self._client_of_loop().chat.completions.with_raw_response.create(**body)
            return _parse_completion(json.loads(response.content))
        except openai.OpenAIError as error:
            raise self._to_endpoint_error(error) from error
        except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
            raise EndpointError(
                f"the answer of {self.base_url} is not a chat completion ({type(error).__name__}: {error})",
                reason="unreadable",
                action="give the address of an OpenAI-compatible API; it usually ends in /v1",
            ) from error

    async def close(self) -> None:
        """Close the connections. A later `chat` opens new ones."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def _client_of_loop(self) -> openai.AsyncOpenAI:
        """Return the client of the running event loop, creating it if necessary."""
        loop = asyncio.get_running_loop()
        # aiohttp connections cannot move between event loops.
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

    def _to_endpoint_error(self, error: openai.OpenAIError) -> EndpointError:
        """Return the error of the `openai` package as an `EndpointError` with a reason and an action."""
        status = error.status_code if isinstance(error, openai.APIStatusError) else 0
        reason = _classify_error(status, str(error))
        error_text = " ".join(str(error).split())[:300]
        action = _ACTIONS[reason].format(url=self.base_url, model=self.model)
        return EndpointError(
            f"{self.model} at {self.base_url}: {error_text}", status=status, reason=reason, action=action
        )


def _classify_error(status: int, error_text: str) -> str:
    """Return the reason for a status code (0 if there was no answer) and an error message."""
    if not status:
        return "unreachable"
    # Servers report a conversation that is too long as a bad request; only the wording tells it apart.
    if status in (400, 413, 422) and any(phrase in error_text.lower() for phrase in _TOO_LONG_PHRASES):
        return "too-long"
    if status >= 500 or status in (408, 409, 429):
        return "busy" if status in (429, 503) else "failed"
    return _PERMANENT_REASONS.get(status, "bad-request")


_ACTIONS = {
    "unreachable": "check that the server runs: `curl {url}/models` should list {model}",
    "busy": "send fewer requests at a time, with a lower --concurrency",
    "failed": "read the log of the endpoint's server",
    "refused": "name the environment variable that holds the API key, with --api-key-env",
    "absent": "`curl {url}/models` lists the available models; the address usually ends in /v1",
    "bad-request": "read the message; the server may need a flag for tool calls, or use --protocol react",
    "too-long": "lower the number of turns, or the characters of an observation",
}
"""Suggested remedy by reason; `{url}` and `{model}` are filled in."""


def _parse_completion(answer: _Completion) -> Reply:
    """Return the first choice of a chat completion. Raises: KeyError, TypeError or similar if it has another shape."""
    choice, usage = answer["choices"][0], answer.get("usage") or {}
    message_fields = choice["message"]
    text = message_fields.get("content") or ""
    calls = tuple(_parse_tool_call(number, one) for number, one in enumerate(message_fields.get("tool_calls") or ()))
    # Servers differ in the name of this field.
    thought = message_fields.get("reasoning_content") or message_fields.get("reasoning") or ""
    tokens = int(usage.get("prompt_tokens") or 0), int(usage.get("completion_tokens") or 0)
    if not isinstance(text, str):
        raise TypeError(f"`content` of the message must be a string, got {type(text).__name__}")
    text = replace_surrogates(text)
    return Reply(
        text,
        calls,
        assistant_message(text, calls),
        *tokens,
        replace_surrogates(str(thought)),
        choice.get("finish_reason") == "length",
    )


def _parse_tool_call(number: int, tool_call: _ToolCallFields) -> ToolCall:
    function = tool_call["function"]
    arguments = function.get("arguments") or ""
    argument_text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return ToolCall(
        str(tool_call.get("id") or f"call-{number}"),
        replace_surrogates(str(function.get("name") or "")),
        replace_surrogates(argument_text),
    )
