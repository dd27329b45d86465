"""A web of few words behind a real server, for what `webemu.rl.train` plays, and tokenizers to play it with."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from webemu.rl.state import Limits
from webemu.rl.tasks import Task
from webemu.rl.train.recipe import Web
from webemu.rl.train.rollout import Ids
from webemu.rl.train.served_web import ServedWeb, serve_web

os.environ["TRL_EXPERIMENTAL_SILENCE"] = "1"
BRIEF = Limits(turns=4, calls=3, results=3, brief=True, retries=0)
FULL = Limits(turns=4, calls=3, results=3, retries=0)
ToolCall = tuple[str, dict[str, Any]]


@pytest.fixture(scope="session")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedWeb]:
    with serve_web(Web(60, 5), "train", tmp_path_factory.mktemp("toy"), None, None, None, 1) as room:
        yield room


def of(place: ServedWeb, recipe: str, count: int = 1) -> list[Task]:
    return [task for task in place.tasks if task.recipe == recipe][:count]


def scratch_words() -> Any:
    from webemu.rl.train import tiny_models

    return tiny_models.train_tokenizer(
        ["Key of Nem Sal search query open link r1 finish answer citations Xa Qui"] * 3, 420
    )


def qwen_words() -> Any:
    """Return the tokenizer with the stock template of Qwen3, prepared as a run does it."""
    from tests.trainers import tiny
    from webemu.rl.train.chat_templates import prepare_tokenizer

    return prepare_tokenizer(tiny.tokenizer())


CHATML = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' }}"
    "{{ '\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
"""The stock template of SmolLM2 but for its system message: TRL does not know it, and it has no tools."""


def chatml_words() -> Any:
    from tests.trainers import tiny
    from webemu.rl.train.chat_templates import prepare_tokenizer

    words = tiny.tokenizer()
    words.chat_template = CHATML
    return prepare_tokenizer(words)


WORDS: dict[str, Callable[[], Any]] = {"scratch": scratch_words, "qwen3": qwen_words, "chatml": chatml_words}


def good(task: Task) -> list[list[ToolCall]]:
    """Turns that answer a fact."""
    name = task.question.partition(" of ")[2]
    return [
        [("search", {"query": name})],
        [("open", {"link": task.evidence[0].url})],
        [("finish", {"answer": task.answers[-1], "citations": [task.evidence[0].url]})],
    ]


def turn(words: Any, calls: Sequence[ToolCall], text: str = "") -> Ids:
    """Return the ids of a model's turn, as its template renders it: up to its end-of-turn token."""
    named = [{"type": "function", "function": {"name": name, "arguments": arguments}} for name, arguments in calls]
    before = [{"role": "user", "content": "-"}]
    message: dict[str, Any] = {"role": "assistant", "content": text} | ({"tool_calls": named} if named else {})
    start = words.apply_chat_template(before, return_dict=False, add_generation_prompt=True)
    turn_ids: Ids = words.apply_chat_template([*before, message], return_dict=False)
    assert turn_ids[: len(start)] == start
    ids = turn_ids[len(start) :]
    return ids[: len(ids) - ids[::-1].index(words.eos_token_id)]
