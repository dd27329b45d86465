"""Scripts for the server that stands in for a model: agents that do one thing, so that it is known what must come."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from tests.rl.openai_server import Fault, Script, ScriptedMessage
from webemu.rl.tasks import Task

Body = Mapping[str, Any]
Step = tuple[str, dict[str, Any]]


def question(body: Body) -> str:
    return str(body["messages"][1]["content"])


def observations(body: Body) -> list[str]:
    """The observations."""
    messages = [one for one in body["messages"][2:] if one["role"] != "assistant"]
    return [str(one["content"]).removeprefix("Observation: ") for one in messages]


def searcher(answers: Mapping[str, str], native: bool = True) -> Script:
    """Searches the question, opens the first result, and says what it was told to, or "not found"."""

    def script(body: dict[str, Any]) -> ScriptedMessage:
        done = len(observations(body))
        answer = answers.get(question(body), "not found")
        steps: list[Step] = [
            ("search", {"query": question(body)}),
            ("open", {"link": "r1"}),
            ("finish", {"answer": answer, "citations": ["r1"]}),
        ]
        return call_message(*steps[min(done, 2)], native)

    return script


def call_message(tool: str, arguments: dict[str, Any], native: bool = True) -> ScriptedMessage:
    if native:
        return ScriptedMessage(f"I {tool}.", ((tool, arguments),))
    return ScriptedMessage(f"Thought: I {tool}.\nAction: {tool}\nAction Input: {json.dumps(arguments)}")


def replies(*script_replies: ScriptedMessage | Fault | str) -> Script:
    """These, one after another, by how often the assistant spoke before; the last goes on."""

    def script(body: dict[str, Any]) -> ScriptedMessage | Fault | str:
        spoke = sum(one["role"] == "assistant" for one in body["messages"])
        return script_replies[min(spoke, len(script_replies) - 1)]

    return script


def failing(script: Script, fails: Callable[[Body], bool], fault: Fault | None = None) -> Script:
    """The script, but for the requests that fail."""
    return lambda body: (fault or Fault(500)) if fails(body) else script(body)


def gold(tasks: tuple[Task, ...]) -> dict[str, str]:
    return {task.question: task.answers[0] for task in tasks}
