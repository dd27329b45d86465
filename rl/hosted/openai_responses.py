"""OpenAI's Responses API, as far as agents with hosted web search use it.

Items and events are those of the `openai` package 3.51 (`openai.types.responses`). A response is not stored, so that
`previous_response_id` is refused; an agent then sends the whole conversation.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from webemu.rl.hosted.turn import (
    MAX_CALLS,
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
    read_texts,
)
from webemu.rl.reply import ToolCall, assistant_message
from webemu.rl.tool_schema import ToolSchema

SEARCH_TYPES = ("web_search", "web_search_preview", "web_search_2025_08_26", "web_search_preview_2025_03_11")
"""Types of the hosted tool; it searches and opens pages."""
SOURCES = "web_search_call.action.sources"
"""Entry of `include` that asks for the sources of each search."""


def read_tools(body: Json) -> HostedTools:
    """Return the tools of a request. Raises InvalidRequest if one of them is unknown."""
    has_search, functions = False, list[ToolSchema]()
    allowed: tuple[str, ...] = ()
    for tool in read_objects(body.get("tools"), "tools"):
        if tool.get("type") in SEARCH_TYPES:
            has_search = True
            filters = tool.get("filters")
            allowed = read_domains(filters.get("allowed_domains")) if isinstance(filters, dict) else ()
        elif tool.get("type") == "function":
            functions.append(_to_schema(tool))
        else:
            raise InvalidRequest(f"tools: the type {tool.get('type')!r} is not supported")
    max_calls = read_number(body.get("max_tool_calls")) or MAX_CALLS
    return HostedTools(has_search, has_search, allowed, max_calls=max_calls, functions=tuple(functions))


def _to_schema(tool: Json) -> ToolSchema:
    function = {name: tool[name] for name in ("name", "description", "parameters") if tool.get(name) is not None}
    schema: ToolSchema = {"type": "function", "function": function}  # type: ignore[typeddict-item]
    return schema


def read_messages(body: Json) -> list[ChatMessage]:
    """Return the conversation of a request as chat messages. Raises InvalidRequest if it cannot be read."""
    if body.get("previous_response_id"):
        raise InvalidRequest("Previous response with id not found: responses are not stored; send the whole input")
    messages: list[ChatMessage] = []
    content = body.get("input")
    items = [{"role": "user", "content": content}] if isinstance(content, str) else read_objects(content, "input")
    system = [read_text(body.get("instructions"))]
    for item in items:
        kind, role = item.get("type", "message"), item.get("role")
        if kind == "message" and role in ("system", "developer"):
            system.append(join_parts(item.get("content"), "input_text"))
        elif kind == "message":
            text = join_parts(item.get("content"), "input_text", "output_text")
            messages.append({"role": "assistant" if role == "assistant" else "user", "content": text})
        elif kind == "function_call":
            call = ToolCall(
                read_text(item.get("call_id")), read_text(item.get("name")), read_text(item.get("arguments"))
            )
            messages.append(assistant_message("", [call]))
        elif kind == "function_call_output":
            output = item.get("output")
            text = output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)
            messages.append({"role": "tool", "tool_call_id": read_text(item.get("call_id")), "content": text})
    if not messages:
        raise InvalidRequest("input: expected a text or at least one message")
    return [{"role": "system", "content": add_instruction("\n\n".join(filter(None, system)))}, *messages]


def render(body: Json, turn: Turn) -> Json:
    """Return a turn as a response."""
    output = [_render_step(step, turn.steps, body, index) for index, step in enumerate(turn.steps)]
    usage = {
        "input_tokens": turn.prompt_tokens,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": turn.completion_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": turn.prompt_tokens + turn.completion_tokens,
    }
    details = {"reason": "max_output_tokens"} if turn.was_cut_off else None
    return {
        "id": make_id("resp_", body, turn),
        "object": "response",
        "created_at": 0,
        "status": "incomplete" if turn.was_cut_off else "completed",
        "error": None,
        "incomplete_details": details,
        "instructions": body.get("instructions"),
        "max_output_tokens": body.get("max_output_tokens"),
        "metadata": body.get("metadata") or {},
        "model": read_text(body.get("model")),
        "output": output,
        "parallel_tool_calls": True,
        "previous_response_id": None,
        "temperature": body.get("temperature"),
        "text": body.get("text") or {"format": {"type": "text"}},
        "tool_choice": body.get("tool_choice") or "auto",
        "tools": body.get("tools") or [],
        "top_p": body.get("top_p"),
        "truncation": "disabled",
        "usage": usage,
    }


def _render_step(step: Step, steps: Sequence[Step], body: Json, index: int) -> Json:
    if isinstance(step, ToolCall):
        names = {"type": "function_call", "id": make_id("fc_", index, step), "call_id": step.id}
        return {**names, "name": step.name, "arguments": step.arguments, "status": "completed"}
    if isinstance(step, str):
        annotations = [
            {
                "type": "url_citation",
                "start_index": citation.start,
                "end_index": citation.end,
                "url": citation.url,
                "title": citation.title,
            }
            for citation in list_citations(step, steps)
        ]
        content = {"type": "output_text", "text": step, "annotations": annotations, "logprobs": []}
        names = {"type": "message", "id": make_id("msg_", index, step), "role": "assistant"}
        return {**names, "status": "completed", "content": [content]}
    status = "failed" if step.error else "completed"
    return {
        "type": "web_search_call",
        "id": make_id("ws_", index, step),
        "status": status,
        "action": _render_action(step, body),
    }


def _render_action(step: SearchStep | FetchStep, body: Json) -> Json:
    if isinstance(step, FetchStep):
        return {"type": "open_page", "url": step.url}
    action: Json = {"type": "search", "query": step.query, "queries": [step.query]}
    if SOURCES in read_texts(body.get("include")):
        action["sources"] = [{"type": "url", "url": row.url} for row in step.results]
    return action


def list_events(response: Json) -> Iterator[Json]:
    """Yield the events of a streamed response, after it is complete: each has a number, as the service counts them."""
    for number, event in enumerate(_list_events(response)):
        yield {**event, "sequence_number": number}


def _list_events(response: Json) -> Iterator[Json]:
    announced = {**response, "status": "in_progress", "output": [], "usage": None}
    yield {"type": "response.created", "response": announced}
    yield {"type": "response.in_progress", "response": announced}
    for index, item in enumerate(read_objects(response["output"], "output")):
        place: Json = {"output_index": index, "item_id": item["id"]}
        yield {"type": "response.output_item.added", "output_index": index, "item": _begin_item(item)}
        if item["type"] == "web_search_call":
            for state in ("in_progress", "searching", "completed"):
                yield {"type": f"response.web_search_call.{state}", **place}
        elif item["type"] == "function_call":
            yield {"type": "response.function_call_arguments.delta", **place, "delta": item["arguments"]}
            names = {"name": item["name"], "arguments": item["arguments"]}
            yield {"type": "response.function_call_arguments.done", **place, **names}
        else:
            (part,) = read_objects(item["content"], "content")
            yield from _list_text_events({**place, "content_index": 0}, part)
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    yield {"type": f"response.{response['status']}", "response": response}


def _begin_item(item: Json) -> Json:
    """Return an item as it is when it is announced."""
    announced = {**item, "status": "in_progress"}
    return announced | ({"content": []} if item["type"] == "message" else {})


def _list_text_events(place: Json, part: Json) -> Iterator[Json]:
    yield {"type": "response.content_part.added", **place, "part": {**part, "text": "", "annotations": []}}
    yield {"type": "response.output_text.delta", **place, "delta": part["text"], "logprobs": []}
    for index, annotation in enumerate(read_objects(part["annotations"], "annotations")):
        added = {"annotation_index": index, "annotation": annotation}
        yield {"type": "response.output_text.annotation.added", **place, **added}
    yield {"type": "response.output_text.done", **place, "text": part["text"], "logprobs": []}
    yield {"type": "response.content_part.done", **place, "part": part}


def render_error(status: int, message: str) -> Json:
    """Return an error as the service words it."""
    kind = "invalid_request_error" if status < 500 else "server_error"
    return {"error": {"message": message, "type": kind, "param": None, "code": None}}
