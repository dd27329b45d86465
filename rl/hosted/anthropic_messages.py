"""Anthropic's Messages API, as far as agents with the server tools web search and web fetch use it.

Blocks and events are those of the `anthropic` package 2.10 (`anthropic.types`). The member `encrypted_content` of a
result carries its excerpt, so that a later turn of the same conversation shows it to the model again.
"""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterator, Sequence
from typing import Literal

from webemu.rl.hosted.turn import (
    FETCH,
    MAX_CALLS,
    PAGE_CHARACTERS,
    SEARCH,
    USED_UP,
    ChatMessage,
    FetchStep,
    HostedTools,
    SearchStep,
    Step,
    Turn,
    add_instruction,
    list_citations,
)
from webemu.rl.hosted.wire import (
    InvalidRequest,
    Json,
    join_parts,
    make_id,
    read_domains,
    read_number,
    read_objects,
    read_text,
)
from webemu.rl.reply import ToolCall, assistant_message
from webemu.rl.tool_schema import ToolSchema

CHARACTERS_PER_TOKEN = 4
"""Characters of a page that are taken for one token of `max_content_tokens`."""
CITED_CHARACTERS = 150
"""Most characters of a cited text."""


def read_tools(body: Json) -> HostedTools:
    """Return the tools of a request. Raises InvalidRequest if one of them is unknown or names domains both ways."""
    has_search = has_fetch = False
    functions, calls, tokens = list[ToolSchema](), 0, None
    allowed, blocked = list[str](), list[str]()
    for tool in read_objects(body.get("tools"), "tools"):
        kind = read_text(tool.get("type"))
        if kind.startswith(("web_search_", "web_fetch_")):
            has_search, has_fetch = has_search or kind[4] == "s", has_fetch or kind[4] == "f"
            if tool.get("allowed_domains") and tool.get("blocked_domains"):
                raise InvalidRequest("tools: allowed_domains and blocked_domains exclude each other")
            allowed += read_domains(tool.get("allowed_domains"))
            blocked += read_domains(tool.get("blocked_domains"))
            calls += read_number(tool.get("max_uses")) or MAX_CALLS
            tokens = read_number(tool.get("max_content_tokens")) or tokens
        elif kind in ("", "custom"):
            functions.append(_to_schema(tool))
        else:
            raise InvalidRequest(f"tools: the type {kind!r} is not supported")
    characters = tokens * CHARACTERS_PER_TOKEN if tokens else PAGE_CHARACTERS
    return HostedTools(
        has_search,
        has_fetch,
        tuple(dict.fromkeys(allowed)),
        tuple(dict.fromkeys(blocked)),
        calls or MAX_CALLS,
        characters,
        tuple(functions),
    )


def _to_schema(tool: Json) -> ToolSchema:
    function = {"name": tool.get("name"), "description": tool.get("description") or ""}
    schema: ToolSchema = {
        "type": "function",
        "function": {**function, "parameters": tool.get("input_schema") or {"type": "object"}},  # type: ignore[typeddict-item]
    }
    return schema


def read_messages(body: Json) -> list[ChatMessage]:
    """Return the conversation of a request as chat messages. Raises InvalidRequest if it cannot be read."""
    messages: list[ChatMessage] = []
    for message in read_objects(body.get("messages"), "messages"):
        if message.get("role") == "assistant":
            messages += _read_assistant(message.get("content"))
        else:
            messages += _read_user(message.get("content"))
    if not messages:
        raise InvalidRequest("messages: at least one message is required")
    return [{"role": "system", "content": add_instruction(join_parts(body.get("system"), "text"))}, *messages]


def _read_user(content: object) -> list[ChatMessage]:
    """Return a user's message: the results of the agent's functions, then what the user says."""
    blocks = content if isinstance(content, list) else []
    results: list[ChatMessage] = [
        {
            "role": "tool",
            "tool_call_id": read_text(block.get("tool_use_id")),
            "content": join_parts(block.get("content"), "text"),
        }
        for block in blocks
        if isinstance(block, dict) and block.get("type") == "tool_result"
    ]
    text = join_parts(content, "text")
    return [*results, *([{"role": "user", "content": text}] if text or not results else [])]


def _read_assistant(content: object) -> list[ChatMessage]:
    """Return an earlier turn: texts, calls, and the results of hosted tools as the model read them."""
    if isinstance(content, str):
        return [{"role": "assistant", "content": content}]
    messages: list[ChatMessage] = []
    for block in read_objects(content, "content"):
        kind = block.get("type")
        if kind == "text":
            messages.append({"role": "assistant", "content": read_text(block.get("text"))})
        elif kind in ("server_tool_use", "tool_use"):
            arguments = json.dumps(block.get("input") or {}, ensure_ascii=False)
            call = ToolCall(read_text(block.get("id")), read_text(block.get("name")), arguments)
            messages.append(assistant_message("", [call]))
        elif kind in ("web_search_tool_result", "web_fetch_tool_result"):
            result = {"role": "tool", "tool_call_id": read_text(block.get("tool_use_id"))}
            messages.append({**result, "content": _read_result(block.get("content"))})
    return messages


def _read_result(content: object) -> str:
    """Return the result of a hosted tool as the model reads it."""
    if isinstance(content, list):
        rows = [row for row in content if isinstance(row, dict)]
        return "\n\n".join(
            f"[{row.get('title')}]({row.get('url')})\n{_unpack(row.get('encrypted_content'))}" for row in rows
        )
    document = content.get("content") if isinstance(content, dict) else None
    source = document.get("source") if isinstance(document, dict) else None
    return read_text(source.get("data")) if isinstance(source, dict) else "The page could not be read."


def _pack(text: str) -> str:
    return urlsafe_b64encode(text.encode()).decode()


def _unpack(value: object) -> str:
    try:
        return urlsafe_b64decode(read_text(value)).decode()
    except ValueError:
        return ""


def render(body: Json, turn: Turn) -> Json:
    """Return a turn as a message."""
    content: list[Json] = []
    for index, step in enumerate(turn.steps):
        content += _render_step(step, turn.steps, index)
    searches = sum(isinstance(step, SearchStep) for step in turn.steps)
    fetches = sum(isinstance(step, FetchStep) for step in turn.steps)
    has_call = any(isinstance(step, ToolCall) for step in turn.steps)
    reason: Literal["max_tokens", "tool_use", "end_turn"]
    reason = "max_tokens" if turn.was_cut_off else "tool_use" if has_call else "end_turn"
    return {
        "id": make_id("msg_", body, turn),
        "type": "message",
        "role": "assistant",
        "model": read_text(body.get("model")),
        "content": content,
        "stop_reason": reason,
        "stop_sequence": None,
        "usage": {
            "input_tokens": turn.prompt_tokens,
            "output_tokens": turn.completion_tokens,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "server_tool_use": {"web_search_requests": searches, "web_fetch_requests": fetches},
        },
    }


def _render_step(step: Step, steps: Sequence[Step], index: int) -> list[Json]:
    if isinstance(step, str):
        return [_render_text(step, steps)]
    if isinstance(step, ToolCall):
        return [{"type": "tool_use", "id": step.id, "name": step.name, "input": _read_input(step)}]
    identifier = make_id("srvtoolu_", index, step)
    is_search = isinstance(step, SearchStep)
    tool_input = {"query": step.query} if isinstance(step, SearchStep) else {"url": step.url}
    name = SEARCH if is_search else FETCH
    result = _render_results(step) if isinstance(step, SearchStep) else _render_page(step)
    return [
        {"type": "server_tool_use", "id": identifier, "name": name, "input": tool_input},
        {"type": f"{name}_tool_result", "tool_use_id": identifier, "content": result},
    ]


def _render_text(text: str, steps: Sequence[Step]) -> Json:
    excerpts = {row.url: row.snippet for step in steps if isinstance(step, SearchStep) for row in step.results}
    citations = [
        {
            "type": "web_search_result_location",
            "url": citation.url,
            "title": citation.title,
            "encrypted_index": _pack(citation.url),
            "cited_text": excerpts.get(citation.url, "")[:CITED_CHARACTERS],
        }
        for citation in list_citations(text, steps)
    ]
    return {"type": "text", "text": text, "citations": citations or None}


def _render_results(step: SearchStep) -> list[Json] | Json:
    if step.error:
        code = "max_uses_exceeded" if step.error == USED_UP else "invalid_tool_input"
        return {"type": "web_search_tool_result_error", "error_code": code}
    return [
        {
            "type": "web_search_result",
            "url": row.url,
            "title": row.title or row.url,
            "encrypted_content": _pack(row.snippet),
            "page_age": row.date or None,
        }
        for row in step.results
    ]


def _render_page(step: FetchStep) -> Json:
    if step.page is None:
        code = "max_uses_exceeded" if step.error == USED_UP else "url_not_accessible"
        return {"type": "web_fetch_tool_result_error", "error_code": code}
    source = {"type": "text", "media_type": "text/plain", "data": step.page.content}
    document = {"type": "document", "source": source, "title": step.page.title or None, "citations": None}
    return {
        "type": "web_fetch_result",
        "url": step.page.final_url,
        "content": document,
        "retrieved_at": step.page.fetched,
    }


def _read_input(call: ToolCall) -> object:
    """Return the arguments of a call as an object; an unreadable text is its only member."""
    try:
        value = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError):
        value = None
    return value if isinstance(value, dict) else {"unreadable": call.arguments}


def list_events(message: Json) -> Iterator[Json]:
    """Yield the events of a streamed message, after it is complete."""
    usage = message["usage"]
    yield {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}}
    for index, block in enumerate(read_objects(message["content"], "content")):
        yield {"type": "content_block_start", "index": index, "content_block": _begin_block(block)}
        for delta in _list_deltas(block):
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    delta = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": delta, "usage": usage}
    yield {"type": "message_stop"}


def _begin_block(block: Json) -> Json:
    """Return a block as it is when it is announced."""
    if block["type"] == "text":
        return {"type": "text", "text": "", "citations": None}
    return {**block, "input": {}} if "input" in block else block


def _list_deltas(block: Json) -> Iterator[Json]:
    if block["type"] == "text":
        yield {"type": "text_delta", "text": block["text"]}
        for citation in read_objects(block["citations"], "citations"):
            yield {"type": "citations_delta", "citation": citation}
    elif "input" in block:
        yield {"type": "input_json_delta", "partial_json": json.dumps(block["input"], ensure_ascii=False)}


def render_error(status: int, message: str) -> Json:
    """Return an error as the service words it."""
    kind = "invalid_request_error" if status < 500 else "api_error" if status == 500 else "overloaded_error"
    return {"type": "error", "error": {"type": kind, "message": message}}
