"""The OpenAI Agents SDK with this server as its MCP server; its model is left out, its agent and tools are not."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest

from tests.clients.conftest import LEXICON, Server

mcp = pytest.importorskip("agents.mcp", reason="openai-agents is not installed")


def talk(server: Server, path: str, conversation: Callable[[Any], Awaitable[None]], **headers: str) -> None:
    async def connected() -> None:
        params = {"url": server.url + path, "headers": headers, "timeout": 30}
        async with mcp.MCPServerStreamableHttp(params=params, cache_tools_list=True) as client:
            await conversation(client)

    asyncio.run(connected())


def test_tools_are_listed_and_called(server: Server) -> None:
    async def converse(client: Any) -> None:
        assert [tool.name for tool in await client.list_tools()] == ["search", "fetch"]
        result = await client.call_tool("search", {"query": "lighthouse museum"})
        first = json.loads(result.content[0].text)["results"][0]
        fetched = await client.call_tool("fetch", {"id": first["id"]})
        assert json.loads(fetched.content[0].text)["url"] == first["url"]

    talk(server, "/mcp", converse)


def test_its_agents_get_them_as_functions(server: Server) -> None:
    from agents.mcp.util import MCPUtil

    async def converse(client: Any) -> None:
        tools = await client.list_tools()
        functions = [MCPUtil.to_function_tool(tool, client, convert_schemas_to_strict=True) for tool in tools]
        assert [function.name for function in functions] == ["search", "open", "find"]

    talk(server, "/mcp/browse", converse)


def test_a_spent_budget_is_said_to_the_model(server: Server) -> None:
    opened = httpx.post(f"{server.url}/v1/sessions", json={"budget": {"searches": 1}}, trust_env=False, timeout=60)

    async def converse(client: Any) -> None:
        assert not (await client.call_tool("search", {"query": "museum"})).is_error
        spent = await client.call_tool("search", {"query": "concert"})
        assert spent.is_error
        assert spent.content[0].text == "the session's budget of 1 searches is spent."

    talk(server, "/mcp", converse, Authorization=f"Bearer {opened.json()['session']}")


def test_the_weather_is_said_to_the_model(server: Server) -> None:
    opened = httpx.post(
        f"{server.url}/v1/sessions", json={"weather": {"rate_limits": 1.0}}, trust_env=False, timeout=60
    )

    async def converse(client: Any) -> None:
        limited = await client.call_tool("search", {"query": "museum"})
        assert (limited.is_error, limited.content[0].text) == (True, "Too many requests.")

    talk(server, "/mcp", converse, **{"X-Webemu-Session": opened.json()["session"]})


def test_the_session_of_its_headers_holds(server: Server) -> None:
    async def converse(client: Any) -> None:
        result = await client.call_tool("search", {"query": "museum"})
        assert result.content[0].text == "No results for: museum"
        page = await client.call_tool("open", {"url": LEXICON})
        assert page.content[0].text.startswith(f"Page: {LEXICON}")

    talk(server, "/mcp/browse", converse, **{"X-Webemu-Session": "r1;at=1995-01-01"})
