"""`webemu hosted-tools` with OpenAI's own client, over sockets, in front of a scripted model and a real server."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator

import httpx
import openai
import pytest

from tests.rl.hosted_server import QUESTION, hosted, hosted_tools
from tests.rl.openai_server import Fault, OpenAIServer, ScriptedMessage, openai_server
from tests.rl.worlds import World
from webemu.rl.hosted.turn import HostedTools, is_allowed_url

WEATHER = {
    "type": "function",
    "name": "get_weather",
    "description": "Weather of a town.",
    "parameters": {"type": "object", "properties": {"town": {"type": "string"}}},
    "strict": False,
}


@pytest.fixture(scope="module")
def service(world: World) -> Iterator[tuple[str, OpenAIServer]]:
    with hosted(world.url) as running:
        yield running


@pytest.fixture(scope="module")
def client(service: tuple[str, OpenAIServer]) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{service[0]}/v1", api_key="any", max_retries=0)


def test_a_search_a_page_and_an_answer_with_its_citation(
    client: openai.OpenAI, service: tuple[str, OpenAIServer]
) -> None:
    response = client.responses.create(
        model="gpt-5", input=QUESTION, instructions="Be brief.", tools=[{"type": "web_search"}],
        include=["web_search_call.action.sources"],
    )  # fmt: skip
    assert response.status == "completed"
    assert [item.type for item in response.output] == ["message", "web_search_call", "web_search_call", "message"]
    search, page = (item.action for item in response.output[1:3])
    assert (search.type, search.query, page.type) == ("search", QUESTION, "open_page")
    urls = [source.url for source in search.sources]
    assert page.url == urls[0]
    (annotation,) = response.output[3].content[0].annotations
    assert (annotation.type, annotation.url) == ("url_citation", urls[0])
    answer_text = response.output[3].content[0].text
    assert answer_text[annotation.start_index : annotation.end_index] == f"[here]({urls[0]})"
    assert response.usage.total_tokens == response.usage.input_tokens + response.usage.output_tokens > 0
    system = service[1].requests[-1]["messages"][0]
    assert system["role"] == "system"
    assert system["content"].startswith("Be brief.")


def test_equal_requests_get_equal_answers(client: openai.OpenAI) -> None:
    first, second = (client.responses.create(model="m", input=QUESTION, tools=[{"type": "web_search"}]) for _ in "12")
    assert first == second


def test_domains_limit_results_and_pages(client: openai.OpenAI) -> None:
    def search(*domains: str) -> list[str]:
        tool = {"type": "web_search", "filters": {"allowed_domains": list(domains)}}
        response = client.responses.create(
            model="m", input="river town", tools=[tool], include=["web_search_call.action.sources"]
        )
        return [source.url for source in response.output[1].action.sources]

    assert search("openlexicon.org")
    assert all("openlexicon.org" in url for url in search("openlexicon.org"))
    assert search("nowhere.example") == []


@pytest.mark.parametrize(
    ("url", "allowed", "blocked", "expected"),
    [
        ("https://a.example/x", (), (), True),
        ("https://a.example/x", ("a.example",), (), True),
        ("https://www.a.example:443/x", ("a.example",), (), True),
        ("https://ba.example/", ("a.example",), (), False),
        ("https://a.example@b.example/", ("a.example",), (), False),
        ("https://b.example/?a.example", ("a.example",), (), False),
        ("https://www.a.example/", (), ("A.example",), False),
        ("//a.example/", (), ("a.example",), False),
        ("a.example/x", (), ("a.example",), False),
        ("https://a.example./x", (), ("a.example",), False),
        ("https:\\\\a.example/x", (), ("a.example",), False),
        ("https://\u0430.example/", ("a.example",), (), False),
        ("http:///a.example/", (), ("b.example",), False),
    ],
)
def test_urls_that_domains_allow(url: str, allowed: tuple[str, ...], blocked: tuple[str, ...], expected: bool) -> None:
    assert is_allowed_url(url, HostedTools(allowed_domains=allowed, blocked_domains=blocked)) is expected


def test_a_function_of_the_agent_ends_the_turn_and_goes_on_with_its_result(client: openai.OpenAI) -> None:
    tools = [{"type": "web_search"}, WEATHER]
    called = client.responses.create(model="m", input="weather", tools=tools)
    (call,) = called.output
    assert (call.type, call.name, json.loads(call.arguments)) == ("function_call", "get_weather", {"town": "Lucerena"})
    history = [{"role": "user", "content": "weather"}, *(item.model_dump() for item in called.output)]
    output = {"type": "function_call_output", "call_id": call.call_id, "output": "rain"}
    assert client.responses.create(model="m", input=[*history, output], tools=tools).output_text == "No idea."


def test_an_earlier_answer_may_be_a_part_of_the_input(client: openai.OpenAI) -> None:
    first = client.responses.create(model="m", input=QUESTION, tools=[{"type": "web_search"}])
    history = [{"role": "user", "content": QUESTION}, *(item.model_dump() for item in first.output)]
    again = client.responses.create(
        model="m", input=[*history, {"role": "user", "content": QUESTION}], tools=[{"type": "web_search"}]
    )
    assert again.output_text.endswith(".")


def test_a_streamed_response_ends_as_the_same(client: openai.OpenAI) -> None:
    unstreamed = client.responses.create(model="m", input=QUESTION, tools=[{"type": "web_search"}])
    with client.responses.stream(model="m", input=QUESTION, tools=[{"type": "web_search"}]) as stream:
        kinds = [event.type for event in stream]
        final = stream.get_final_response()
    assert (kinds[0], kinds[-1]) == ("response.created", "response.completed")
    assert kinds.count("response.web_search_call.completed") == 2
    assert final.output_text == unstreamed.output_text
    assert [item.type for item in final.output] == [item.type for item in unstreamed.output]


def test_calls_are_limited(world: World) -> None:
    def script(body: dict[str, object]) -> ScriptedMessage:
        return (
            ScriptedMessage(calls=(("web_search", {"query": "river"}),) * 2)
            if body.get("tools")
            else ScriptedMessage("Done.")
        )

    with openai_server(script) as model, hosted_tools(model, world.url) as address:
        client = openai.OpenAI(base_url=f"{address}/v1", api_key="any")
        response = client.responses.create(model="m", input="x", tools=[{"type": "web_search"}], max_tool_calls=3)
    calls = [item.status for item in response.output if item.type == "web_search_call"]
    assert calls == ["completed", "completed", "completed", "failed"]
    assert response.output_text == "Done."


def test_a_session_holds_for_the_searches_of_a_request(world: World, client: openai.OpenAI) -> None:
    opened = httpx.post(f"{world.url}/v1/sessions", json={"budget": {"searches": 1}}).json()
    headers = {"X-Webemu-Session": opened["session"]}
    for expected in ("completed", "failed"):
        response = client.responses.create(
            model="m", input=QUESTION, tools=[{"type": "web_search"}], extra_headers=headers
        )
        assert response.output[1].status == expected


@pytest.mark.parametrize(
    "change",
    [
        {"tools": [{"type": "file_search", "vector_store_ids": ["x"]}]},
        {"previous_response_id": "resp_1"},
        {"input": []},
        {"input": [1]},
        {"tools": "web_search"},
        {"tools": [{"type": "web_search", "filters": {"allowed_domains": ["a) OR (b"]}}]},
    ],
)
def test_what_is_not_offered_is_refused(client: openai.OpenAI, change: dict[str, object]) -> None:
    with pytest.raises(openai.BadRequestError):
        client.responses.create(**({"model": "m", "input": "x"} | change))  # type: ignore[call-overload]


@pytest.mark.parametrize("body", [b"", b"[1]", b"{", b"[" * 100_000, b'"\\ud800"'])
@pytest.mark.parametrize("path", ["responses", "messages"])
def test_bodies_that_are_no_requests(service: tuple[str, OpenAIServer], path: str, body: bytes) -> None:
    answer = httpx.post(f"{service[0]}/v1/{path}", content=body)
    assert answer.status_code == 400
    assert answer.json()["error"]["type"] == "invalid_request_error"


def test_a_model_that_fails_is_an_outage(world: World) -> None:
    with openai_server(lambda body: Fault(400, "bad template")) as model, hosted_tools(model, world.url) as address:
        for path, body in (
            ("responses", {"input": "x"}),
            ("messages", {"messages": [{"role": "user", "content": "x"}]}),
        ):
            answer = httpx.post(f"{address}/v1/{path}", json={"model": "m", **body}, timeout=60)
            assert (answer.status_code, answer.headers["X-Webemu-Failure"]) == (502, "infrastructure")
            assert "bad template" in answer.json()["error"]["message"]


def test_a_server_that_is_not_there_is_named() -> None:
    command = [sys.executable, "-m", "webemu.emulator.cli", "hosted-tools", "--model", "m", "--port", "0"]
    command += ["--base-url", "http://127.0.0.1:9/v1", "--server", "http://127.0.0.1:9"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode
    assert "127.0.0.1:9" in done.stderr
