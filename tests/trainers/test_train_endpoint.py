"""A model that was trained here, served and asked by OpenAI's own client and by `webemu eval`."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("trl")
pytest.importorskip("peft")
pytest.importorskip("openai")

import openai

from tests.train.test_steps import qwen, small
from tests.train.toy import WORDS
from webemu.rl.arguments import TOOLS
from webemu.rl.train.chat_model import ChatModel, save_model
from webemu.rl.train.served_web import ServedWeb

COMMAND = [sys.executable, "-P", "-m", "webemu.emulator.cli"]
MESSAGES = [{"role": "user", "content": "Key of Nem Sal"}]


@pytest.fixture(scope="module", params=["scratch", "qwen3"])
def address(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yield the address of an endpoint with random weights, saved and loaded again."""
    words, folder = WORDS[request.param](), tmp_path_factory.mktemp("model")
    save_model(ChatModel({"scratch": small, "qwen3": qwen}[request.param](words), words), folder)
    command = [*COMMAND, "serve-model", str(folder), "--port", "0", "--name", "toy"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    match = re.search(r"http://\S+", process.stdout.readline())
    assert match
    yield match[0]
    process.terminate()
    process.wait(20)


def test_openais_client_is_answered(address: str) -> None:
    client = openai.OpenAI(base_url=address, api_key="none")
    assert [one.id for one in client.models.list()] == ["toy"]
    completion = client.chat.completions.create(model="toy", messages=MESSAGES, tools=list(TOOLS), max_tokens=7)
    assert 0 < completion.usage.completion_tokens <= 7 < completion.usage.prompt_tokens
    assert completion.choices[0].finish_reason in ("length", "stop", "tool_calls")


def test_greedy_answers_are_the_same_alone_and_in_a_batch(address: str) -> None:
    async def all_of(count: int) -> list[str]:
        async with openai.AsyncOpenAI(base_url=address, api_key="none") as client:
            requests = [
                client.chat.completions.create(model="toy", messages=MESSAGES, max_tokens=9, temperature=0)
                for _ in range(count)
            ]
            return [one.choices[0].message.model_dump_json() for one in await asyncio.gather(*requests)]

    assert set(asyncio.run(all_of(8))) == set(asyncio.run(all_of(1)))


@pytest.mark.parametrize(
    "body",
    [{"messages": "x"}, {"messages": [{"role": "user", "content": "a " * 40_000}]}, {"messages": MESSAGES, "tools": 3}],
)
def test_what_cannot_be_answered_is_a_bad_request(address: str, body: dict[str, object]) -> None:
    client = openai.OpenAI(base_url=address, api_key="none", max_retries=0)
    with pytest.raises(openai.BadRequestError):
        client.post("/chat/completions", body=body, cast_to=object)


def test_webemu_eval_asks_it(address: str, toy: ServedWeb, tmp_path: Path) -> None:
    command = [*COMMAND, "eval", "--model", "toy", "--base-url", address, "--server", toy.server, "--quiet"]
    command += ["--tasks", str(toy.file), "--limit", "3", "--max-tokens", "8", "--out", str(tmp_path / "out")]
    command += ["--limits-json", '{"brief": true, "results": 3}']
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in (tmp_path / "out" / "episodes.jsonl").read_text().splitlines()]
    assert [(row["mask"], row["reward"]) for row in rows] == [("", 0.0)] * 3
