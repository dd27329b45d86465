"""A running `webemu hosted-tools` in front of a scripted model, and the script that most tests use."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tests.rl.openai_server import OpenAIServer, ScriptedMessage, openai_server

QUESTION = "When was the lighthouse museum opened?"


@contextmanager
def hosted_tools(model: OpenAIServer, server: str) -> Iterator[str]:
    """Run the command in front of a model and a server of the emulated web; give its address."""
    command = [sys.executable, "-m", "webemu.emulator.cli", "hosted-tools", "--model", "stand-in", "--port", "0"]
    command += ["--base-url", model.url, "--server", server]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            address = re.search(r"http://127\.0\.0\.1:\d+", line)
            assert address is not None, line
            yield address[0]
        finally:
            process.terminate()


@contextmanager
def hosted(server: str) -> Iterator[tuple[str, OpenAIServer]]:
    """Run the command in front of the researching model; give its address and the model's requests."""
    with openai_server(research) as model, hosted_tools(model, server) as address:
        yield address, model


def research(body: Mapping[str, Any]) -> ScriptedMessage:
    """Search for the question, open the first result, and cite it."""
    names = [tool["function"]["name"] for tool in body.get("tools", [])]
    results = [message["content"] for message in body["messages"] if message["role"] == "tool"]
    question = [message["content"] for message in body["messages"] if message["role"] == "user"][-1]
    if question == "weather" and not results:
        return ScriptedMessage(calls=(("get_weather", {"town": "Lucerena"}),))
    if not results and "web_search" in names:
        return ScriptedMessage("I will search.", (("web_search", {"query": question}),))
    link = next(iter(re.findall(r"\]\((\S+)\)", "\n".join(results))), "")
    if len(results) == 1 and link and "web_fetch" in names:
        return ScriptedMessage(calls=(("web_fetch", {"url": link}),))
    return ScriptedMessage(
        f"It says so [here]({link}), not [there](https://elsewhere.example/)." if link else "No idea."
    )
