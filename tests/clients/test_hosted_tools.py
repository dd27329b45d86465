"""`webemu hosted-tools` with the clients of those who host such tools: Anthropic's, and OpenAI's agents."""

import asyncio
from collections.abc import Iterator

import pytest

from tests.clients.conftest import Server
from tests.rl.hosted_server import QUESTION, hosted
from tests.rl.openai_server import OpenAIServer

SEARCH = {"type": "web_search_20250305", "name": "web_search", "max_uses": 3}
FETCH = {"type": "web_fetch_20250910", "name": "web_fetch", "max_uses": 3, "citations": {"enabled": True}}


@pytest.fixture(scope="module")
def service(server: Server) -> Iterator[tuple[str, OpenAIServer]]:
    with hosted(server.url) as running:
        yield running


def test_anthropic_client(service: tuple[str, OpenAIServer]) -> None:
    anthropic = pytest.importorskip("anthropic", reason="anthropic is not installed")
    client = anthropic.Anthropic(base_url=service[0], api_key="any", max_retries=0)
    question = {"role": "user", "content": QUESTION}
    options = {"model": "claude", "max_tokens": 500, "tools": [SEARCH, FETCH]}
    message = client.messages.create(messages=[question], system="Be brief.", **options)
    kinds = [block.type for block in message.content]
    assert kinds == [
        "text", "server_tool_use", "web_search_tool_result", "server_tool_use", "web_fetch_tool_result", "text",
    ]  # fmt: skip
    results, document, answer = message.content[2].content, message.content[4].content, message.content[5]
    assert all(result.url and result.title and result.encrypted_content for result in results)
    assert (document.type, document.url) == ("web_fetch_result", results[0].url)
    assert document.content.source.data
    assert [citation.url for citation in answer.citations] == [results[0].url]
    assert answer.citations[0].cited_text
    usage = message.usage.server_tool_use
    assert (message.stop_reason, usage.web_search_requests, usage.web_fetch_requests) == ("end_turn", 1, 1)
    # The whole turn goes back with the next question: the model reads again what it had found.
    history = [question, {"role": "assistant", "content": message.content}, {"role": "user", "content": "Sure?"}]
    assert client.messages.create(messages=history, **options).stop_reason == "end_turn"
    model_messages = service[1].requests[-1]["messages"]
    assert [one["role"] for one in model_messages[:5]] == ["system", "user", "assistant", "assistant", "tool"]
    assert results[0].url in model_messages[4]["content"]
    with client.messages.stream(messages=[question], system="Be brief.", **options) as stream:
        final = stream.get_final_message()
    assert [block.type for block in final.content] == kinds
    assert final.content[5].citations == answer.citations


def test_anthropic_refusals(service: tuple[str, OpenAIServer]) -> None:
    anthropic = pytest.importorskip("anthropic", reason="anthropic is not installed")
    client = anthropic.Anthropic(base_url=service[0], api_key="any", max_retries=0)
    both = SEARCH | {"allowed_domains": ["a.example"], "blocked_domains": ["b.example"]}
    for tool in (both, {"type": "computer_20250124", "name": "computer"}):
        with pytest.raises(anthropic.BadRequestError):
            client.messages.create(
                model="m", max_tokens=9, tools=[tool], messages=[{"role": "user", "content": QUESTION}]
            )


def test_anthropic_functions(service: tuple[str, OpenAIServer]) -> None:
    anthropic = pytest.importorskip("anthropic", reason="anthropic is not installed")
    client = anthropic.Anthropic(base_url=service[0], api_key="any", max_retries=0)
    weather = {"name": "get_weather", "description": "Weather.", "input_schema": {"type": "object"}}
    options = {"model": "m", "max_tokens": 9, "tools": [SEARCH, weather]}
    question = {"role": "user", "content": "weather"}
    message = client.messages.create(messages=[question], **options)
    (call,) = message.content
    assert (message.stop_reason, call.name, call.input) == ("tool_use", "get_weather", {"town": "Lucerena"})
    result = {"type": "tool_result", "tool_use_id": call.id, "content": "rain"}
    history = [question, {"role": "assistant", "content": message.content}, {"role": "user", "content": [result]}]
    assert client.messages.create(messages=history, **options).content[0].text == "No idea."


def test_agents_of_openai_search_as_hosted(service: tuple[str, OpenAIServer]) -> None:
    agents = pytest.importorskip("agents", reason="openai-agents is not installed")
    openai = pytest.importorskip("openai", reason="openai is not installed")

    async def run() -> object:
        client = openai.AsyncOpenAI(base_url=f"{service[0]}/v1", api_key="any")
        model = agents.OpenAIResponsesModel("gpt-5", client)
        agent = agents.Agent("reader", model=model, tools=[agents.WebSearchTool()])
        return await agents.Runner.run(agent, QUESTION, run_config=agents.RunConfig(tracing_disabled=True))

    result = asyncio.run(run())
    assert "It says so [here](https://" in result.final_output
