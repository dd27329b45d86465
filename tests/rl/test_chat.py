"""The prompt of a model, and the reading of its calls: ReAct in the forms that models write it in."""

from __future__ import annotations

import json

import pytest

from webemu.rl import arguments, chat, react
from webemu.rl.chat import NATIVE, REACT, ParsedReply
from webemu.rl.reply import Reply, ToolCall

WRITTEN = [
    ('Thought: I look.\nAction: search\nAction Input: {"query": "a b"}', "search", {"query": "a b"}),
    ('**Action:** search\n**Action Input:** {"query": "a b"}', "search", {"query": "a b"}),
    ("Action: `search`\nAction Input: a b", "search", {"query": "a b"}),
    ('action: search\naction_input: "a b"', "search", {"query": "a b"}),
    ("Action: search[a b]", "search", {"query": "a b"}),
    ('Action: search("a b")', "search", {"query": "a b"}),
    ('Action: search(query="a b")', "search", {"query": "a b"}),
    ('Action: search {"query": "a b", "page": 2}', "search", {"query": "a b", "page": 2}),
    ('Action: search\n{"query": "a b"}', "search", {"query": "a b"}),
    ('Action: search\nAction Input:\n```json\n{"query":\n "a b"}\n```', "search", {"query": "a b"}),
    ('Action: search\nAction Input: {"query": "a {b} \\"c\\""}', "search", {"query": 'a {b} "c"'}),
    ("Action: open\nAction Input: [3]", "open", {"link": "[3]"}),
    ("Action: open\nAction Input: r3", "open", {"link": "r3"}),
    ("Action: find\nAction Input: Mayor", "find", {"pattern": "Mayor"}),
    ("Final Answer: Ada\nhttps://a.example/x", "finish", {"answer": "Ada", "citations": ["https://a.example/x"]}),
    ("Thought: so\n**Final Answer:** **Ada**", "finish", {"answer": "Ada", "citations": []}),
    ('Action: launch\nAction Input: {"a": 1}', "launch", {"a": 1}),
]
FIRST = [
    'Action: search\nAction Input: {"query": "a"}\nObservation: Bo.\nAction: finish\nAction Input: {"answer": "Bo"}',
    'Action: search\nAction Input: {"query": "a"}\n\nThought: I know now.\nFinal Answer: Bo',
    'Action: search\nAction Input: {"query": "a"}\nAction: open\nAction Input: {"link": "r1"}',
]  # fmt: skip


@pytest.mark.parametrize(("text", "name", "arguments"), WRITTEN)
def test_an_action_is_read(text: str, name: str, arguments: dict[str, object]) -> None:
    read = react.parse_step(text)
    assert (read.name, json.loads(read.arguments)) == (name, arguments)
    assert read.consumed_text == text


@pytest.mark.parametrize("text", FIRST)
def test_only_the_first_action_counts(text: str) -> None:
    read = react.parse_step(text)
    assert (read.name, read.arguments) == ("search", '{"query": "a"}')
    assert "Bo" not in read.consumed_text
    assert read.consumed_text.endswith('{"query": "a"}')


@pytest.mark.parametrize("text", ["", "I think it is Bo.", "Action:", "Let me use an Action: search", "Thought: hm"])
def test_a_text_without_an_action(text: str) -> None:
    assert react.parse_step(text).name is None


def test_what_is_broken_is_told_by_the_episode() -> None:
    read = react.parse_step('Action: search\nAction Input: {"query": "a')
    assert (read.name, read.arguments) == ("search", '{"query": "a')
    assert react.parse_step("Action: finish\nAction Input: Bo").arguments == "Bo"
    assert react.parse_step("Action: search").arguments == ""


def test_the_manual_names_all_tools_and_arguments() -> None:
    manual = react.describe_tools(arguments.TOOLS)
    for tool in arguments.TOOLS:
        assert f"\n{tool['function']['name']}: " in manual
        for name in tool["function"]["parameters"]["properties"]:
            assert f'"{name}"' in manual


def test_a_conversation_begins() -> None:
    tools = arguments.TOOLS
    native, plain = (chat.start_conversation(one, "", "Who?", tools) for one in (NATIVE, REACT))
    assert [one["role"] for one in native] == ["system", "user"]
    assert "Action Input" in plain[0]["content"]
    assert "Action Input" not in native[0]["content"]
    assert (NATIVE.request_tools(tools), REACT.request_tools(tools)) == (tools, None)
    assert chat.answer_rules("report") != chat.answer_rules("") == chat.answer_rules("name")


def test_what_is_kept_of_a_reply() -> None:
    call = ToolCall("c1", "search", "{}")
    reply = Reply("so", (call,), {"role": "assistant", "content": "so"}, 1, 1)
    assert NATIVE.parse_reply(reply) == ParsedReply("so", (call,), reply.message)
    assert NATIVE.observation_message(call, "seen") == {
        "role": "tool",
        "tool_call_id": "c1",
        "name": "search",
        "content": "seen",
    }
    model_reply = Reply("Thought: so\nAction: find\nAction Input: x\nObservation: y", (), {}, 1, 1)
    parsed = REACT.parse_reply(model_reply)
    assert (parsed.text, parsed.calls) == ("so", (ToolCall("", "find", '{"pattern": "x"}'),))
    assert parsed.message == {"role": "assistant", "content": "Thought: so\nAction: find\nAction Input: x"}
    assert REACT.observation_message(parsed.calls[0], "seen") == {"role": "user", "content": "Observation: seen"}
