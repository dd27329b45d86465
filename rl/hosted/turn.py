"""A turn of a model with hosted tools: it searches and reads until it answers or calls a function of the agent's.

Independent of wire formats: `webemu.rl.hosted.openai_responses` and `webemu.rl.hosted.anthropic_messages` translate.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from webemu.agent_client import AsyncClient
from webemu.agent_client.errors import WebError
from webemu.agent_client.types import PageAnswer, SearchResult
from webemu.rl.endpoint import Endpoint
from webemu.rl.reply import ToolCall
from webemu.rl.tool_schema import ToolSchema, function_tool

SEARCH, FETCH = "web_search", "web_fetch"
"""Names of the tools as the local model sees them."""
RESULTS = 5
"""Results of a search."""
PAGE_CHARACTERS = 10_000
"""Characters of a page that the model reads, unless the request says otherwise."""
MAX_CALLS = 20
"""Calls of hosted tools in a turn, unless the request says otherwise."""
INSTRUCTION = "Cite the pages that your answer relies on as Markdown links: [title](url)."
"""Sentence that is added to the system prompt: the real services cite by themselves."""
USED_UP = "No more calls are allowed. Answer with what you have."
NOT_ALLOWED = "This URL is not allowed."
_SEARCH_TOOL = function_tool(
    SEARCH,
    "Search the web. Gives results with title, address and an excerpt.",
    ["query"],
    query={"type": "string", "description": "The query."},
)
_FETCH_TOOL = function_tool(
    FETCH, "Read the text of a web page.", ["url"], url={"type": "string", "description": "Address of the page."}
)
_MARKDOWN_LINK = re.compile(r"\[([^\[\]]*)\]\((https?://[^\s()]+(?:\([^\s()]*\)[^\s()]*)*)\)")

_HOST = re.compile(r"https?://([a-z0-9.-]+)(?::\d*)?(?:[/?#]|$)")

ChatMessage: TypeAlias = Mapping[str, object]
"""A message in the form of the chat completions API."""


@dataclass(frozen=True, slots=True)
class HostedTools:
    """The hosted tools that a request allows, and the functions of the agent's own."""

    has_search: bool = False
    has_fetch: bool = False
    allowed_domains: tuple[str, ...] = ()
    """Domains of which results must be; empty for all."""
    blocked_domains: tuple[str, ...] = ()
    """Domains to leave out."""
    max_calls: int = MAX_CALLS
    page_characters: int = PAGE_CHARACTERS
    functions: tuple[ToolSchema, ...] = ()
    """The agent's functions: a call of one of them ends the turn."""

    @property
    def schemas(self) -> list[ToolSchema]:
        """All tools, as the local model is told of them."""
        hosted = [*([_SEARCH_TOOL] if self.has_search else []), *([_FETCH_TOOL] if self.has_fetch else [])]
        return [*hosted, *self.functions]


class SearchStep(NamedTuple):
    """A search that the model made."""

    query: str
    results: tuple[SearchResult, ...]
    error: str = ""
    """Why there are no results; empty if the search was made."""


class FetchStep(NamedTuple):
    """A page that the model opened."""

    url: str
    page: PageAnswer | None
    """The page; None if it cannot be shown."""
    error: str = ""
    """Why it cannot be shown; empty if it was."""


Step: TypeAlias = SearchStep | FetchStep | ToolCall | str
"""A part of a turn: a search, a page, a call of an agent's function, or text."""


@dataclass(frozen=True, slots=True)
class Turn:
    """Everything that a model did until the agent has to go on."""

    steps: tuple[Step, ...]
    prompt_tokens: int
    completion_tokens: int
    was_cut_off: bool
    """True if the limit of tokens ended it."""


class Citation(NamedTuple):
    """A page that a text cites."""

    start: int
    """First character of the citation within the text."""
    end: int
    url: str
    title: str


async def run_turn(
    endpoint: Endpoint,
    web: AsyncClient,
    messages: Sequence[ChatMessage],
    tools: HostedTools,
    *,
    temperature: float | None = None,
    max_tokens: int | None = None,
) -> Turn:
    """Let a model act until it answers or calls a function of the agent's.

    Raises `EndpointError` if the model fails, and `InfrastructureError` if the emulated web does.
    """
    conversation, steps = list(messages), list[Step]()
    prompt_tokens = completion_tokens = calls = 0
    while True:
        is_allowed = calls < tools.max_calls
        schemas = tools.schemas if is_allowed else list(tools.functions)
        reply = await endpoint.chat(conversation, schemas, temperature=temperature, max_tokens=max_tokens)
        prompt_tokens, completion_tokens = (
            prompt_tokens + reply.prompt_tokens,
            completion_tokens + reply.completion_tokens,
        )
        steps += [reply.text] if reply.text.strip() else []
        hosted_calls = [
            call for call in reply.calls if call.name in (SEARCH, FETCH) and not _is_function(tools, call.name)
        ]
        function_calls = [call for call in reply.calls if call not in hosted_calls]
        conversation.append(reply.message)
        for call in hosted_calls:
            calls += 1
            step = await _run_call(web, call, tools) if calls <= tools.max_calls else _refuse_call(call)
            steps.append(step)
            conversation.append({"role": "tool", "tool_call_id": call.id, "content": describe_step(step)})
        steps += function_calls
        # Without hosted tools in its schemas a model may still call one; it is told so once, and not asked again.
        if function_calls or not hosted_calls or not is_allowed:
            return Turn(tuple(steps), prompt_tokens, completion_tokens, reply.was_cut_off)


def describe_step(step: SearchStep | FetchStep) -> str:
    """Return what the model reads of a search or a page."""
    if step.error:
        return step.error
    if isinstance(step, SearchStep):
        rows = (f"[{row.title or row.url}]({row.url})\n{row.snippet}" for row in step.results)
        return "\n\n".join(rows) or "No results found."
    assert step.page is not None
    return f"# {step.page.title or step.page.final_url}\n{step.page.final_url}\n\n{step.page.content}"


def list_citations(text: str, steps: Sequence[Step]) -> list[Citation]:
    """Return the links of a text that lead to pages which the turn found or opened."""
    titles: dict[str, str] = {}
    for step in steps:
        if isinstance(step, SearchStep):
            titles |= {row.url: row.title or row.url for row in step.results}
        elif isinstance(step, FetchStep) and step.page is not None:
            titles |= dict.fromkeys((step.url, step.page.final_url), step.page.title or step.page.final_url)
    links = _MARKDOWN_LINK.finditer(text)
    return [Citation(*link.span(), link[2], titles[link[2]]) for link in links if link[2] in titles]


def add_instruction(system: str) -> str:
    """Return a system prompt that asks for citations."""
    return f"{system}\n\n{INSTRUCTION}".strip()


def _is_function(tools: HostedTools, name: str) -> bool:
    return any(function["function"]["name"] == name for function in tools.functions)


def _refuse_call(call: ToolCall) -> SearchStep | FetchStep:
    value = _read_argument(call)
    return SearchStep(value, (), USED_UP) if call.name == SEARCH else FetchStep(value, None, USED_UP)


def _read_argument(call: ToolCall) -> str:
    """Return the query or URL of a call; empty if it cannot be read."""
    try:
        arguments = json.loads(call.arguments)
    except (ValueError, RecursionError):
        return ""
    value = arguments.get("query" if call.name == SEARCH else "url") if isinstance(arguments, dict) else None
    return value if isinstance(value, str) else ""


async def _run_call(web: AsyncClient, call: ToolCall, tools: HostedTools) -> SearchStep | FetchStep:
    value = _read_argument(call)
    if call.name == SEARCH:
        try:
            answer = await web.search(_limit_query(value, tools), size=RESULTS)
        except WebError as error:
            return SearchStep(value, (), str(error))
        return SearchStep(value, answer.results)
    if not is_allowed_url(value, tools):
        return FetchStep(value, None, NOT_ALLOWED)
    try:
        page = await web.open(value, length=tools.page_characters)
    except WebError as error:
        return FetchStep(value, None, str(error))
    if not is_allowed_url(page.final_url, tools):  # it was redirected
        return FetchStep(value, None, NOT_ALLOWED)
    return FetchStep(value, page)


def _limit_query(query: str, tools: HostedTools) -> str:
    """Return a query with the domains of a request as operators."""
    allowed = " OR ".join(f"site:{domain}" for domain in tools.allowed_domains)
    blocked = [f"-site:{domain}" for domain in tools.blocked_domains]
    return " ".join([query, *([f"({allowed})"] if allowed else []), *blocked])


def is_allowed_url(url: str, tools: HostedTools) -> bool:
    """Return True if the domains of a request allow a page; a URL whose host cannot be read is not allowed."""
    if not tools.allowed_domains and not tools.blocked_domains:
        return True
    text = url.strip().lower()
    match = _HOST.match(text if "://" in text else f"https://{text.lstrip('/')}")
    if match is None:
        return False
    host = match[1].rstrip(".")

    def is_within(domain: str) -> bool:
        name = domain.lower().partition("/")[0]
        return host == name or host.endswith(f".{name}")

    is_blocked = any(map(is_within, tools.blocked_domains))
    return not is_blocked and (not tools.allowed_domains or any(map(is_within, tools.allowed_domains)))
