"""The tools of a model, in OpenAI's function format, and the texts that it sees.

Whatever arguments a model writes, it gets a helpful text; a page that does not exist is such a text too. Only
InfrastructureError is raised, so that a trainer can mask the rollout instead of training on it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Literal, Required, TypedDict

from webemu.agent_client import calls
from webemu.agent_client.calls import ApiCall
from webemu.agent_client.client import AsyncClient, Client
from webemu.agent_client.errors import BadRequest, NotCaptured, ViewUnavailable, WebError
from webemu.agent_client.types import FindAnswer, PageAnswer, SearchAnswer, View

RESULTS_PER_PAGE = 10
"""Results per page."""
WINDOW_CHARS = 10_000
"""Characters of a page shown at once: about 2,500 tokens."""
MAX_MATCHES = 20
"""Occurrences shown by `find`."""


class PropertySchema(TypedDict, total=False):
    """JSON schema of one parameter of a tool."""

    type: Required[str | list[str]]
    description: str
    enum: list[str]
    minimum: int
    minLength: int
    maxLength: int


class ParameterSchema(TypedDict):
    """JSON schema of all parameters of a tool."""

    type: Literal["object"]
    properties: dict[str, PropertySchema]
    required: list[str]
    additionalProperties: bool


class FunctionSchema(TypedDict):
    """Name, purpose and parameters of a tool."""

    name: str
    description: str
    parameters: ParameterSchema


class ToolSchema(TypedDict):
    """Tool definition."""

    type: Literal["function"]
    function: FunctionSchema


def function_tool(name: str, description: str, required: list[str], **properties: PropertySchema) -> ToolSchema:
    """Return a tool definition in OpenAI's function format; `properties` are JSON schemas by parameter."""
    parameters: ParameterSchema = {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


_URL: PropertySchema = {"type": "string", "description": "Address of the page.", "maxLength": 4096}

TOOLS = [
    function_tool(
        "search",
        "Search the web. Gives ten results with title, address, date and an excerpt.",
        ["query"],
        query={
            "type": "string",
            "description": 'Words; also "exact phrase", -word, site:example.org, before:2024-01-31.',
        },
        page={"type": "integer", "description": "Page of results, from 1.", "minimum": 1},
    ),
    function_tool(
        "open",
        f"Open a web page and read its text, {WINDOW_CHARS:,} characters at a time.",
        ["url"],
        url=_URL,
        start={"type": "integer", "description": "Character to begin at, from 0.", "minimum": 0},
        format={
            "type": "string",
            "enum": ["text", "links"],
            "description": "`text`, or `links` for the text with its links numbered and their addresses.",
        },
    ),
    function_tool(
        "find",
        "Find a text inside a web page, upper and lower case alike. Says where to open the page.",
        ["url", "pattern"],
        url=_URL,
        pattern={"type": "string", "description": "The text to find.", "minLength": 1, "maxLength": 1000},
    ),
]
"""Tool definitions of search, open and find."""

_PARAMETERS = {tool["function"]["name"]: tool["function"]["parameters"] for tool in TOOLS}


class InvalidToolCall(ValueError):
    """A model's tool call is invalid; the message tells the model why."""


def call(client: Client, name: str, arguments: str | Mapping[str, object]) -> str:
    """Return the text that a model sees for one tool call. Raises InfrastructureError only.

    call(client, "search", '{"query": "river port"}')
    """
    try:
        return client.request(build_call(name, arguments))
    except (InvalidToolCall, WebError) as error:
        return refusal_text(error)


async def call_async(client: AsyncClient, name: str, arguments: str | Mapping[str, object]) -> str:
    """Return the text that a model sees for one tool call, with an `AsyncClient`. Raises InfrastructureError only."""
    try:
        return await client.request(build_call(name, arguments))
    except (InvalidToolCall, WebError) as error:
        return refusal_text(error)


def build_call(name: str, arguments: str | Mapping[str, object]) -> ApiCall[str]:
    """Return the API call that a tool call stands for, with its result as text. Raises InvalidToolCall."""
    if name not in _PARAMETERS:
        raise InvalidToolCall(f"There is no tool {name!r}. The tools are: {', '.join(_PARAMETERS)}.")
    options = _check_arguments(name, _parse_arguments(name, arguments))
    if name == "search":
        return calls.search(str(options["query"]), int(options.get("page", 1)), RESULTS_PER_PAGE).map(format_results)
    url = str(options["url"])
    if name == "find":
        return calls.find(url, str(options["pattern"]), limit=MAX_MATCHES).map(format_matches)
    view: View = "links" if options.get("format") == "links" else "text"
    return calls.open_page(url, view, start=int(options.get("start", 0)), length=WINDOW_CHARS).map(format_page)


def format_results(answer: SearchAnswer) -> str:
    """Return search results as text."""
    if not answer.results:
        return f"No results for: {answer.query}" + ("" if answer.page == 1 else f" (page {answer.page})")
    blocks = [f"Results for: {answer.query}" + ("" if answer.page == 1 else f" (page {answer.page})")]
    if answer.relaxed:
        blocks[0] += f"\nFew pages have {' and '.join(answer.relaxed)}. Pages without follow those."
    if answer.corrected:
        changes = ", ".join(f"{typed} to {replacement}" for typed, replacement in answer.corrected)
        blocks[0] += f"\nCorrected: {changes}. A + before a word keeps its spelling."
    for result in answer.results:
        dated = f"\n   {result.date}" if result.date else ""
        blocks.append(
            f"{result.rank}. {_collapse_spaces(result.title)}\n   {result.url}{dated}\n   "
            f"{_collapse_spaces(result.snippet)}"
        )
    if answer.more:
        blocks.append(f"More results: search with page={answer.page + 1}.")
    return "\n\n".join(blocks)


def format_page(page: PageAnswer) -> str:
    """Return a window of a page as text: where it is, its content, and how to read on."""
    head = [f"Page: {page.final_url}"]
    if page.redirects:
        head.append(f"Redirected from: {page.url}")
    if page.status >= 400:
        head.append(f"The site answered with status {page.status}.")
    end = page.start + len(page.content)
    if page.start or page.next is not None:
        head.append(f"Characters {page.start} to {end} of {page.total}.")
    body = page.content or ("This page has no text." if not page.total else "The page ends before this place.")
    tail = "" if page.next is None else f"\n\nThe page goes on: open it with start={page.next}."
    return "\n".join(head) + "\n\n" + body + tail


def format_matches(answer: FindAnswer) -> str:
    """Return the occurrences of a pattern as text."""
    if not answer.total:
        return f"{answer.pattern!r} does not occur in {answer.final_url}."
    lines = [f"{answer.pattern!r} occurs {_format_count(answer.total)} in {answer.final_url}:"]
    lines += [f"{number}. start={match.start}: {match.text}" for number, match in enumerate(answer.matches, 1)]
    if answer.total > len(answer.matches):
        lines.append(f"Only the first {len(answer.matches)} are shown.")
    return "\n".join([*lines, "Open the page with a start a little before the one given to read on from there."])


def refusal_text(error: InvalidToolCall | WebError) -> str:
    """Return why there is no result, in the words of a browser rather than of an archive."""
    if isinstance(error, InvalidToolCall):
        return str(error)
    if isinstance(error, NotCaptured):
        return _NOT_CAPTURED_TEXTS.get(error.reason, "This page does not exist.") + " Search for another one."
    if isinstance(error, ViewUnavailable):
        return "This page has no text: it is a picture or another file."
    if isinstance(error, BadRequest):
        return f"That was not understood: {error.message}"
    return "This page cannot be shown. Search for another one."


_NOT_CAPTURED_TEXTS = {
    "host-not-captured": "This site could not be found.",
    "redirect-not-captured": "This page redirects to one that does not exist.",
    "redirect-loop": "This page redirects to itself.",
}


def _parse_arguments(name: str, arguments: str | Mapping[str, object]) -> Mapping[str, object]:
    """Return the arguments as an object. Raises InvalidToolCall."""
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments or "{}")
        except (ValueError, RecursionError) as error:
            raise InvalidToolCall(
                f"The arguments of {name} are not valid JSON ({error}). {_usage_text(name)}"
            ) from error
    if not isinstance(arguments, Mapping):
        raise InvalidToolCall(f"The arguments of {name} must be a JSON object. {_usage_text(name)}")
    return arguments


def _check_arguments(name: str, arguments: Mapping[str, object]) -> dict[str, str | int]:
    """Return the arguments in their types. Raises InvalidToolCall for unknown, missing and invalid ones."""
    properties = _PARAMETERS[name]["properties"]
    present = {key: value for key, value in arguments.items() if value is not None}
    if unknown := sorted(str(key) for key in present.keys() - properties.keys()):
        raise InvalidToolCall(f"{name} does not take {', '.join(unknown)}. {_usage_text(name)}")
    if missing := [key for key in _PARAMETERS[name]["required"] if key not in present]:
        raise InvalidToolCall(f"{name} needs {', '.join(missing)}. {_usage_text(name)}")
    return {key: _convert_argument(name, key, value, properties[key]) for key, value in present.items()}


def _convert_argument(tool: str, key: str, value: object, schema: PropertySchema) -> str | int:
    """Return an argument in its type. Numbers as text and lists of one are accepted. Raises InvalidToolCall."""
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    converted = _to_integer(value) if schema["type"] == "integer" else _to_string(value)
    if converted is None:
        raise InvalidToolCall(f"{key} of {tool} must be one {schema['type']}. {_usage_text(tool)}")
    if "enum" in schema and converted not in schema["enum"]:
        raise InvalidToolCall(f"{key} of {tool} must be one of {', '.join(schema['enum'])}.")
    if isinstance(converted, int) and not schema["minimum"] <= converted < 2**31:
        raise InvalidToolCall(f"{key} of {tool} must be {schema['minimum']} or more, and below {2**31}.")
    if isinstance(converted, str) and not schema.get("minLength", 0) <= len(converted) <= schema.get(
        "maxLength", len(converted)
    ):
        raise InvalidToolCall(
            f"{key} of {tool} must have {schema.get('minLength', 0)} to {schema['maxLength']} characters."
        )
    return converted


def _to_integer(value: object) -> int | None:
    """Return an integer, also from text or a float without fraction; None if it is not one."""
    if isinstance(value, str) and re.fullmatch(r"\s*-?\d{1,18}\s*", value):
        return int(value)
    if isinstance(value, int | float) and not isinstance(value, bool) and value == value // 1:
        return int(value)
    return None


def _to_string(value: object) -> str | None:
    """Return a string, also from a number; None if it is neither."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    return str(value)


def _usage_text(name: str) -> str:
    """Return how a tool is called, optional parameters in brackets."""
    schema = _PARAMETERS[name]
    names = [key if key in schema["required"] else f"[{key}]" for key in schema["properties"]]
    return f"Call it as {name}({', '.join(names)})."


def _format_count(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _collapse_spaces(text: str) -> str:
    return " ".join(text.split())
