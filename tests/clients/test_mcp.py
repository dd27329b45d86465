"""The MCP SDK's own client, over HTTP and over the pipes of `webemu mcp`."""

import asyncio
import json
import re
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.clients.conftest import LEXICON, Server
from webemu.agent_client import Client, call

mcp = pytest.importorskip("mcp", reason="the MCP SDK is not installed")
stdio = pytest.importorskip("mcp.client.stdio", reason="the MCP SDK is not installed")

Conversation = Callable[[Any], Awaitable[None]]
LOST = f"{LEXICON}x"


def over_http(server: Server, tools: str) -> Any:
    return f"{server.url}/mcp" + ("" if tools == "research" else f"/{tools}")


def over_pipes(server: Server, tools: str) -> Any:
    arguments = ["-m", "webemu.emulator.cli", "mcp", "--server", server.url, "--tools", tools]
    return stdio.stdio_client(stdio.StdioServerParameters(command=sys.executable, args=arguments))


def talk(way: Any, mode: str, conversation: Conversation) -> None:
    async def connected() -> None:
        async with mcp.Client(way, mode=mode) as client:
            await conversation(client)

    asyncio.run(connected())


@pytest.fixture(params=[over_http, over_pipes])
def way(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.mark.parametrize(("mode", "version"), [("auto", "2026-07-28"), ("legacy", "2025-11-25")])
def test_what_search_finds_can_be_fetched(server: Server, way: Any, mode: str, version: str) -> None:
    async def converse(client: Any) -> None:
        assert client.protocol_version == version
        tools = (await client.list_tools()).tools
        assert [(tool.name, tool.annotations.read_only_hint) for tool in tools] == [("search", True), ("fetch", True)]
        answer = await client.call_tool("search", {"query": "lighthouse museum"})
        assert json.loads(answer.content[0].text) == answer.structured_content
        result = answer.structured_content["results"][0]
        fetched = await client.call_tool("fetch", {"id": result["id"]})
        assert fetched.structured_content["url"] == result["url"]
        assert len(fetched.structured_content["text"]) > 100
        assert (await client.call_tool("fetch", {"id": "https://nowhere.invalid/"})).is_error

    talk(way(server, "research"), mode, converse)


def test_the_browsing_tools_say_what_the_client_says(server: Server, way: Any) -> None:
    async def converse(client: Any) -> None:
        with Client(server.url) as web:
            for tool, arguments in [
                ("search", {"query": "museum", "page": 2}),
                ("open", {"url": LEXICON, "format": "links"}),
                ("find", {"url": LEXICON, "pattern": "article"}),
            ]:
                result = await client.call_tool(tool, arguments)
                assert result.content[0].text == call(web, tool, arguments)

    talk(way(server, "browse"), "auto", converse)


def test_the_tools_of_browsecomp_plus(server: Server, way: Any) -> None:
    async def converse(client: Any) -> None:
        hits = (await client.call_tool("search", {"query": "museum"})).structured_content["result"]
        assert len(hits) == 5
        document = (await client.call_tool("get_document", {"docid": hits[0]["docid"]})).structured_content["result"]
        assert document.keys() == {"docid", "text"}
        assert (await client.call_tool("get_document", {"docid": "12"})).structured_content == {"result": None}

    talk(way(server, "documents"), "auto", converse)


@pytest.mark.parametrize(("mode", "code"), [("auto", -32602), ("legacy", -32002)])
def test_a_page_is_a_resource(server: Server, way: Any, mode: str, code: int) -> None:
    async def converse(client: Any) -> None:
        assert (await client.list_resources()).resources == []
        templates = (await client.list_resource_templates()).resource_templates
        assert templates[0].uri_template == "https://{+address}"
        content = (await client.read_resource(LEXICON)).contents[0]
        assert (content.mime_type, content.text[:2]) == ("text/markdown", "# ")
        with pytest.raises(mcp.MCPError) as refused:
            await client.read_resource("https://nowhere.invalid/ü")
        assert refused.value.code == code

    talk(way(server, "research"), mode, converse)


def test_without_a_server_the_host_is_told(server: Server) -> None:
    async def converse(client: Any) -> None: ...

    with pytest.raises(Exception) as failed:
        talk(over_pipes(replace(server, url="http://127.0.0.1:9"), "research"), "legacy", converse)
    assert "cannot be reached" in str(flat(failed.value))


def flat(error: BaseException) -> list[str]:
    """Return the messages of an error and of those grouped in it."""
    inner = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
    return [str(error), *(text for one in inner for text in flat(one))]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_tavily_server_by_its_name(web: Server, mode: str) -> None:
    async def converse(client: Any) -> None:
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert names == ["tavily_search", "tavily_extract", "tavily_crawl", "tavily_map"]
        arguments = {"query": "town river", "max_results": 3, "include_domains": ["openlexicon.org"]}
        text = (await client.call_tool("tavily_search", arguments)).content[0].text
        urls = re.findall(r"^URL: (.+)$", text, re.MULTILINE)
        assert len(urls) == 3
        assert all("openlexicon.org" in url for url in urls)
        text = (await client.call_tool("tavily_extract", {"urls": [LEXICON, LOST]})).content[0].text
        assert f"URL: {LEXICON}\nRaw Content: " in text
        assert f"URL: {LOST}\nError: " in text
        text = (await client.call_tool("tavily_map", {"url": LEXICON, "limit": 5})).content[0].text
        assert "[5] URL: https://" in text
        text = (await client.call_tool("tavily_crawl", {"url": LEXICON, "limit": 2})).content[0].text
        assert "[2] URL: https://" in text

    talk("https://mcp.tavily.com/mcp/?tavilyApiKey=any", mode, converse)


def test_exa_server_by_its_name(web: Server) -> None:
    async def converse(client: Any) -> None:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["web_search_exa", "web_fetch_exa"]
        text = (await client.call_tool("web_search_exa", {"query": "town river", "numResults": 2})).content[0].text
        assert len(re.findall(r"^Title: .+$", text, re.MULTILINE)) == 2
        nothing = await client.call_tool("web_search_exa", {"query": "zzyzzyx"})
        assert nothing.content[0].text == "No search results found. Please try a different query."
        text = (await client.call_tool("web_fetch_exa", {"urls": [LEXICON, LOST]})).content[0].text
        assert f"\nURL: {LEXICON}\n\n" in text
        assert text.endswith(f"Error fetching {LOST}: CRAWL_NOT_FOUND")
        lost = await client.call_tool("web_fetch_exa", {"urls": LOST})
        assert (lost.is_error, LOST in lost.content[0].text) == (True, True)

    talk("https://mcp.exa.ai/mcp", "auto", converse)


def test_a_hosted_server_wants_its_key(keyed: Server) -> None:
    async def converse(client: Any) -> None:
        assert (await client.list_tools()).tools

    talk("https://mcp.exa.ai/mcp?exaApiKey=good", "auto", converse)
    with pytest.raises(Exception, match=r"."):
        talk("https://mcp.exa.ai/mcp?exaApiKey=bad", "legacy", converse)
