"""gpt-oss's own browser tool over our backend beside `agent_client.Browser`: the same calls give the same text."""

import asyncio
import json
from typing import Any

import pytest

from tests.clients.conftest import LEXICON, Server
from webemu.agent_client import AsyncClient, Browser, Client
from webemu.agent_client.gpt_oss import Backend
from webemu.agent_client.tokens import approximate_token_offset, default_token_offset

simple = pytest.importorskip("gpt_oss.tools.simple_browser", reason="gpt-oss is not installed (it needs Python 3.12)")
harmony = pytest.importorskip("openai_harmony", reason="openai-harmony is not installed")

EVERYTHING = 1_000_000
"""A budget within which the original counts no tokens."""
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("open", {}),
    ("search", {"query": "lighthouse museum", "topn": 3}),
    ("open", {"id": 0}),
    ("open", {"id": 1, "cursor": 0}),
    ("open", {"loc": 3, "num_lines": 2}),
    ("open", {"cursor": 0, "loc": 5}),
    ("open", {"cursor": -2}),
    ("find", {"pattern": "The", "cursor": 1}),
    ("open", {"id": 1}),
    ("open", {"id": 0, "cursor": 6, "loc": 1}),
    ("find", {"pattern": "the", "cursor": 6}),
    ("find", {"pattern": "zzyzzyx ü/?", "cursor": 1}),
    ("open", {"id": 0}),
    ("find", {"pattern": "museum", "cursor": 0}),
    ("open", {"id": LEXICON}),
    ("open", {"id": 2}),
    ("open", {"id": LEXICON, "view_source": True, "num_lines": 3}),
    ("open", {"id": 777}),
    ("open", {"cursor": 777}),
    ("open", {"cursor": 1, "loc": 100_000}),
    ("search", {"query": "zzyzzyx"}),
    ("open", {"id": "https://nowhere.invalid/"}),
    ("open", {"id": "https://nowhere.invalid/", "view_source": True}),
    ("click", {"id": 1}),
]


def of_the_original(server: Server, budget: int) -> list[str]:
    async def collect_replies() -> list[str]:
        async with AsyncClient(server.url) as client:
            tool = simple.SimpleBrowserTool(backend=Backend(client), view_tokens=budget)
            return [await _tool_texts(tool, name, arguments) for name, arguments in CALLS]

    return asyncio.run(collect_replies())


async def _tool_texts(tool: Any, name: str, arguments: dict[str, Any]) -> str:
    message = harmony.Message.from_role_and_content(harmony.Role.ASSISTANT, json.dumps(arguments))
    answers = [answer async for answer in tool.process(message.with_recipient(f"browser.{name}"))]
    return str(answers[0].content[0].text)


def of_ours(server: Server, budget: int) -> list[str]:
    with Client(server.url) as client:
        browser = Browser(client, view_tokens=budget)
        return [browser.call(f"browser.{name}", json.dumps(arguments)) for name, arguments in CALLS]


@pytest.mark.parametrize("budget", [EVERYTHING, 1024, 100])
def test_the_same_calls_give_the_same_text(server: Server, budget: int) -> None:
    if budget < EVERYTHING and default_token_offset() is approximate_token_offset:
        pytest.skip("the vocabulary of o200k_base is not in tiktoken's cache")
    original_replies, own_replies = of_the_original(server, budget), of_ours(server, budget)
    assert list(zip(CALLS, own_replies, strict=True)) == list(zip(CALLS, original_replies, strict=True))


def test_failures_of_ours_are_counted(server: Server) -> None:
    async def failures() -> int:
        async with AsyncClient("http://127.0.0.1:9", retries=0) as client:
            backend = Backend(client)
            assert "Error during search" in await _tool_texts(
                simple.SimpleBrowserTool(backend=backend), "search", {"query": "x"}
            )
            return backend.failures

    assert asyncio.run(failures()) == 1
