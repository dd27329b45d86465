"""The endpoint client against a real HTTP server that stands in for a model."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from tests.rl.openai_server import Fault, Script, ScriptedMessage, openai_server
from webemu.rl.endpoint import Endpoint, EndpointError
from webemu.rl.reply import Reply, assistant_message

MESSAGES = [{"role": "user", "content": "Who?"}]
TOOL = {"type": "function", "function": {"name": "search", "parameters": {"type": "object", "properties": {}}}}


def ask(url: str, *, retries: int = 0, timeout: float = 10, key: str = "none", **options: Any) -> Reply:
    async def once() -> Reply:
        async with Endpoint(url, "stand-in", key, retries=retries, timeout=timeout) as endpoint:
            return await endpoint.chat(MESSAGES, **options)

    return asyncio.run(once())


def refused(script: Script, **options: Any) -> EndpointError:
    with openai_server(script) as server, pytest.raises(EndpointError) as caught:
        ask(server.url, **options)
    return caught.value


def test_a_text() -> None:
    with openai_server(lambda body: ScriptedMessage("Ada Holm", thought="the mayor")) as server:
        reply = ask(server.url, seed=3, temperature=0.5, max_tokens=20, tools=[TOOL], key="k")
    assert (reply.text, reply.calls, reply.thought, reply.was_cut_off) == ("Ada Holm", (), "the mayor", False)
    assert reply.message == {"role": "assistant", "content": "Ada Holm"}
    assert reply.prompt_tokens > 0
    assert reply.completion_tokens > 0
    assert server.requests == [
        {"model": "stand-in", "messages": MESSAGES, "tools": [TOOL], "seed": 3, "temperature": 0.5, "max_tokens": 20}
    ]
    assert server.headers[0]["Authorization"] == "Bearer k"


def test_what_is_not_said_is_not_sent() -> None:
    with openai_server(lambda body: "yes") as server:
        ask(server.url)
    assert server.requests == [{"model": "stand-in", "messages": MESSAGES}]


def test_calls_are_given_as_they_were_written_and_sent_back_as_json() -> None:
    calls = (("search", {"query": "a"}), ("open", '{"link": '), ("find", ""), ("find", "[1]"))
    with openai_server(lambda body: ScriptedMessage("", calls)) as server:
        reply = ask(server.url)
    assert [one.name for one in reply.calls] == ["search", "open", "find", "find"]
    assert [one.arguments for one in reply.calls] == ['{"query": "a"}', '{"link": ', "", "[1]"]
    sent = [json.loads(one["function"]["arguments"]) for one in reply.message["tool_calls"]]
    assert sent == [{"query": "a"}, {"unreadable": '{"link": '}, {}, {"unreadable": "[1]"}]
    assert assistant_message("", reply.calls) == reply.message


def test_names_that_servers_refuse_are_sent_back_as_others() -> None:
    with openai_server(lambda body: ScriptedMessage("", (("sé arch!", {}), ("", {})))) as server:
        reply = ask(server.url)
    assert [one.name for one in reply.calls] == ["sé arch!", ""]
    assert [one["function"]["name"] for one in reply.message["tool_calls"]] == ["s__arch_", "none"]


def test_halves_of_surrogates_are_left_out() -> None:
    with openai_server(lambda body: ScriptedMessage("half \ud83d", (("search", '{"query": "\ud83d"}'),))) as server:
        reply = ask(server.url)
    assert (reply.text, reply.calls[0].arguments) == ("half ?", '{"query": "?"}')
    json.dumps(reply.message, ensure_ascii=False).encode()


def test_cut_by_the_limit() -> None:
    with openai_server(lambda body: ScriptedMessage("and then", finish="length")) as server:
        assert ask(server.url).was_cut_off


def test_a_busy_server_is_asked_again() -> None:
    with openai_server(lambda body: "late" if len(server.requests) > 1 else Fault(503)) as server:
        assert ask(server.url, retries=2).text == "late"
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("fault", "reason", "lasting"),
    [
        (Fault(401), "refused", True),
        (Fault(404, "The model `x` does not exist."), "absent", True),
        (Fault(500), "failed", False),
        (Fault(429), "busy", False),
        (Fault(400, "This model's maximum context length is 8192 tokens."), "too-long", False),
        (Fault(400, "auto tool choice needs a flag"), "bad-request", False),
        (Fault(200, raw=b"<html>no</html>"), "unreadable", False),
        (Fault(200, raw=b'{"choices": []}'), "unreadable", False),
        (Fault(200, raw=b'{"choices": [{"message": {"content": [1]}}]}'), "unreadable", False),
        (Fault(closes=True), "unreachable", False),
    ],
)
def test_what_goes_wrong_is_named(fault: Fault, reason: str, lasting: bool) -> None:
    error = refused(lambda body: fault)
    assert (error.reason, error.lasting) == (reason, lasting)
    assert error.action
    assert "127.0.0.1" in error.message


def test_too_slow() -> None:
    assert refused(lambda body: Fault(seconds=1), timeout=0.2).reason == "unreachable"


def test_no_server() -> None:
    with pytest.raises(EndpointError) as caught:
        ask("http://127.0.0.1:9/v1")
    assert caught.value.reason == "unreachable"


def test_no_address() -> None:
    with pytest.raises(EndpointError, match="must begin with http"):
        Endpoint("127.0.0.1:8000", "stand-in")


def test_many_at_once_and_again_in_another_loop() -> None:
    with openai_server(lambda body: "yes", seconds=0.2) as server:
        endpoint = Endpoint(server.url, "stand-in")

        async def crowd() -> list[Reply]:
            async with endpoint:
                return await asyncio.gather(*(endpoint.chat(MESSAGES) for _ in range(64)))

        assert {reply.text for reply in [*asyncio.run(crowd()), *asyncio.run(crowd())]} == {"yes"}
    assert server.peak_open == 64
