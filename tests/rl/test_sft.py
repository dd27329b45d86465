"""Episodes become conversations: what is chosen, what is dropped, and the traps of tables and templates."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.rl.worlds import World
from webemu.emulator.cli import app
from webemu.rl import sft
from webemu.rl.chat import answer_rules
from webemu.rl.sft import EpisodesError, SelectionCriteria
from webemu.rl.tasks import Task, save

TEMPLATE = """{%- for message in messages -%}
<|{{ message.role }}|>{{ message.content }}
{%- for call in message.tool_calls or [] -%}
<call>{{ call.function.name }}{% for name, value in call.function.arguments.items() if value is not none %}
 {{ name }}={{ value }}{% endfor %}</call>
{%- endfor -%}<|end|>
{%- endfor -%}"""
"""A template like the small ones for training: in the words of webemu.rl.chat, with every argument that is there."""


def step(
    tool: str, arguments: dict[str, Any] | str, observation: str = "nothing", kind: str = "results"
) -> dict[str, Any]:
    return {"tool": tool, "arguments": arguments, "observation": observation, "kind": kind}


GOOD = (
    step("search", {"query": "mayor of Wick", "page": None}, "[r1] Wick https://wick.example/"),
    step("open", '{"link": "r1", "cursor": null}', "Mayor Bo Lund", "page"),
    step("finish", {"answer": "Bo Lund", "citations": ["r1"]}, "The answer is taken.", "over"),
)


def episode(*steps: dict[str, Any], task: str = "q-1", **other: Any) -> dict[str, Any]:
    return {
        **{"task": task, "sample": 0, "seed": 1, "question": "Who is the mayor of Wick?", "answers": ["Bo Lund"]},
        **{"evidence": ["https://wick.example/"], "recipe": "r", "hops": 1, "answer_type": "name", "split": "train"},
        **{"user": False, "turns": [{"text": f"I {one['tool']}.", "steps": [one]} for one in steps or GOOD]},
        **{"answer": "Bo Lund", "citations": [], "opened": [], "end": "finished", "mask": "", "reward": 1.0},
        **{"terms": {"grounding": 1.0}, "recall": 1.0, "prompt_tokens": 0, "completion_tokens": 0, "seconds": 1.0},
    } | other


def dropped(trajectory: dict[str, Any], **criteria: Any) -> str:
    return sft.rejection_reason(trajectory, SelectionCriteria(**criteria))


def test_a_conversation() -> None:
    conversation = sft.to_conversation(episode())
    assert set(conversation) == {"messages", "tools", "task"}
    roles = [one["role"] for one in conversation["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "assistant", "tool", "assistant"]
    assert conversation["messages"][0]["content"] == answer_rules("name")
    calls = [one["tool_calls"][0] for one in conversation["messages"][2::2]]
    assert [call["function"]["arguments"] for call in calls] == [
        {"query": "mayor of Wick"}, {"link": "r1"}, {"answer": "Bo Lund", "citations": ["r1"]},
    ]  # fmt: skip
    assert [one["tool_call_id"] for one in conversation["messages"][3::2]] == [call["id"] for call in calls[:2]]
    assert len({call["id"] for call in calls}) == 3
    assert all(len(call["id"]) == 9 and call["id"].isalnum() for call in calls)
    assert [tool["function"]["name"] for tool in conversation["tools"]] == [
        "search",
        "open",
        "find",
        "finish",
        "ask_user",
    ]


def test_nothing_of_the_gold_is_in_it() -> None:
    secret = {"answers": ["GOLD-1"], "evidence": ["https://gold.example/"], "recipe": "GOLD-2", "answer": "GOLD-3"}
    assert "GOLD" not in json.dumps(sft.to_conversation(episode(**secret))).upper()


def test_several_calls_of_a_turn_stay_together() -> None:
    turns = [{"text": "Both.", "steps": list(GOOD[:2])}, {"steps": [GOOD[2]]}]
    roles = [one["role"] for one in sft.to_conversation(episode(turns=turns))["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "tool", "assistant"]


def test_thoughts_are_kept_where_they_are_wanted() -> None:
    turns = [{"thought": "Hm.", "steps": [GOOD[0]]}, {"steps": [GOOD[2]]}]
    with_thoughts, without_thoughts = (
        sft.to_conversation(episode(turns=turns), thoughts) for thoughts in (True, False)
    )
    assert with_thoughts["messages"][2]["reasoning_content"] == "Hm."
    assert "Hm." not in json.dumps(without_thoughts)


@pytest.mark.parametrize(
    ("other", "criteria", "reason"),
    [
        ({"mask": "outage: gone", "reward": None, "end": "masked"}, {"min_reward": 0}, "masked"),
        ({"split": "test"}, {"split": "train"}, "another split"),
        ({}, {"task_ids": frozenset({"q-2"})}, "another task"),
        ({"end": "turns"}, {"min_reward": 0}, "not finished"),
        ({"reward": 0.89}, {}, "reward too low"),
        ({"terms": {"grounding": 0.5}}, {"require_grounded": True}, "not grounded"),
        ({"terms": {"precision": 0.5}}, {"require_grounded": True}, "not grounded"),
        ({}, {"max_turns": 2}, "too many turns"),
        ({"turns": [{"text": "Hm.", "told": "Call a tool."}, {"steps": list(GOOD)}]}, {}, "slips"),
        ({"turns": [{"steps": [step("fly", {}, kind="misuse")]}, {"steps": list(GOOD)}]}, {}, "slips"),
        (
            {"turns": [{"steps": [step("search", '{"q', kind="misuse")]}, {"steps": list(GOOD)}]},
            {"max_slips": 5},
            "slips",
        ),
    ],
)
def test_what_is_not_worth_copying(other: dict[str, Any], criteria: dict[str, Any], reason: str) -> None:
    assert dropped(episode(**other), **criteria) == reason
    assert dropped(episode()) == ""


def test_slips_can_be_forgiven() -> None:
    turns = [{"steps": [step("fly", {"a": 1}, kind="misuse")]}, {"text": "Hm.", "told": "Call."}, {"steps": list(GOOD)}]
    assert dropped(episode(turns=turns), max_slips=2) == ""
    assert [one["role"] for one in sft.to_conversation(episode(turns=turns))["messages"]][:6] == [
        "system", "user", "assistant", "tool", "assistant", "user",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("first", "is_known"),
    [
        (step("search", {"query": "Bo Lund"}), True),
        (step("search", {"query": "is BO LUND the mayor"}), True),
        (step("open", {"link": "https://wick.example/"}), True),
        (step("search", {"query": "Bo"}), False),
        (step("search", {"query": "mayor"}, "Bo Lund https://wick.example/"), False),
    ],
)
def test_what_only_the_gold_could_tell_is_not_copied(first: dict[str, Any], is_known: bool) -> None:
    then = (
        (step("open", {"link": "https://wick.example/"}), step("find", {"pattern": "Bo Lund"})) if not is_known else ()
    )
    if first["observation"] == "nothing":
        then = ()
    assert (dropped(episode(first, *then, GOOD[2])) == "foreknown") == is_known


def test_the_best_of_each_task_and_nothing_twice() -> None:
    longer = (GOOD[0], GOOD[1], step("find", {"pattern": "mayor"}), GOOD[2])
    trajectories = [
        episode(*longer, sample=0),
        episode(*GOOD, sample=1),
        episode(*GOOD, sample=2),
        episode(*longer, sample=3, reward=0.95),
        episode(*GOOD, task="q-0"),
    ]
    selection = sft.select(trajectories, SelectionCriteria())
    assert [one["task"] for one in selection.conversations] == ["q-0", "q-1"]
    assert len(selection.conversations[1]["messages"]) == 7
    assert selection.dropped == {"the same actions": 2, "better ones of the task": 1}
    assert len(sft.select(trajectories, SelectionCriteria(per_task=9)).conversations) == 3
    assert (
        sft.select(trajectories[::-1], SelectionCriteria(per_task=9)).conversations
        == sft.select(trajectories, SelectionCriteria(per_task=9)).conversations
    )


def test_arguments_are_the_same_in_any_spelling() -> None:
    spelled = (step("search", '{"page": null, "query": "mayor of Wick"}', "[r1] Wick https://wick.example/"), *GOOD[1:])
    selection = sft.select([episode(), episode(*spelled, sample=1)], SelectionCriteria(per_task=2))
    assert (len(selection.conversations), selection.dropped) == (1, {"the same actions": 1})


def test_of_several_lines_about_an_attempt_the_last_counts(tmp_path: Path) -> None:
    (tmp_path / "episodes.jsonl").write_text(
        "".join(json.dumps(one) + "\n" for one in (episode(mask="x"), episode(), episode(sample=1)))
    )
    assert [(one["sample"], one["mask"]) for one in sft.read_episodes(tmp_path)] == [(0, ""), (1, "")]
    assert list(sft.read_episodes(tmp_path)) == list(sft.read_episodes(tmp_path / "episodes.jsonl"))


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(EpisodesError, match=r"none.jsonl: No such file"):
        list(sft.read_episodes(tmp_path / "none.jsonl"))
    (tmp_path / "e.jsonl").write_text(json.dumps(episode()) + "\n{}\n")
    with pytest.raises(EpisodesError, match="line 2"):
        list(sft.read_episodes(tmp_path / "e.jsonl"))


def command(*arguments: str) -> tuple[int, str, list[str]]:
    done = CliRunner().invoke(app, list(arguments))
    return done.exit_code, done.stdout, done.stderr.splitlines()


@pytest.fixture(scope="module")
def conversations(world: World, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the conversations of the oracle, over a real web."""
    folder = tmp_path_factory.mktemp("sft")
    tasks: list[Task] = [replace(task, split="train") for task in world.tasks[:30]]
    save(folder / "tasks.jsonl", tasks)
    options = ["--tasks", str(folder / "tasks.jsonl"), "--baseline", "oracle", "--server", world.url]
    assert command("eval", "-q", *options, "--out", str(folder / "o"))[0] == 0
    code, output, _ = command("data", "sft", str(folder / "o"), "--out", str(folder / "sft.jsonl"), "--grounded")
    assert code == 0
    assert output.startswith("written  ")
    return folder / "sft.jsonl"


def test_the_oracle_teaches(conversations: Path) -> None:
    dataset = list(sft.read_conversations(conversations))
    assert len(dataset) >= 28
    assert all(one["messages"][-1]["tool_calls"][0]["function"]["name"] == "finish" for one in dataset)
    opened = [call["function"]["arguments"]["link"] for one in dataset for message in one["messages"]
              for call in message.get("tool_calls", ()) if call["function"]["name"] == "open"]  # fmt: skip
    assert sum("://" in link for link in opened) / len(opened) < 0.1, (
        "addresses are not copied where a link id would do"
    )


def test_the_same_episodes_give_the_same_bytes(conversations: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.jsonl"
    assert command("data", "sft", str(conversations.parent / "o"), "--out", str(again), "--grounded")[0] == 0
    assert again.read_bytes() == conversations.read_bytes()


def test_the_command_looks_where_it_will_write(conversations: Path, tmp_path: Path) -> None:
    for out, message in ((tmp_path, "it is a folder"), (tmp_path / "none" / "sft.jsonl", "does not exist")):
        code, _, errors = command("data", "sft", str(conversations.parent / "o"), "--out", str(out))
        assert (code, len(errors)) == (1, 2)
        assert message in errors[0]


def test_the_command_counts_what_it_drops(conversations: Path, tmp_path: Path) -> None:
    folder, out = str(conversations.parent / "o"), str(tmp_path / "x.jsonl")
    code, output, _ = command("data", "sft", folder, "--out", out, "--split", "dev")
    assert (code, output.splitlines()) == (0, [f"written  0 conversations to {out}", "dropped  30 another split"])
    code, _, errors = command("data", "sft", str(tmp_path / "none"), "--out", out)
    assert (code, len(errors)) == (1, 2)


# Traps of tables and templates (they need the libraries of trainers)


def test_tables_add_no_arguments(conversations: Path) -> None:
    """Arrow gives every struct the fields of all others, as null; a template then writes them into every call."""
    datasets = pytest.importorskip("datasets")
    table, dataset = sft.load_dataset(conversations), list(sft.read_conversations(conversations))
    assert [row["messages"] for row in table] == [one["messages"] for one in dataset]
    assert [row["tools"] for row in table] == [one["tools"] for one in dataset]
    naive = datasets.Dataset.from_list([{"calls": m["tool_calls"]} for one in dataset for m in one["messages"][2::2]])
    assert "None" in str(naive[0]), "the trap is gone: `on_mixed_types` may go too"


@pytest.mark.parametrize("template", ["", "qwen3_training", "gptoss_training", "glm4moe_training", "llama3_1"])
def test_templates_render_them_without_nulls_and_keep_prefixes(conversations: Path, template: str) -> None:
    """A small template, and those of TRL for known models."""
    pytest.importorskip("datasets")
    rendered = pytest.importorskip("transformers.utils.chat_template_utils").render_jinja_template
    text = TEMPLATE
    if template:
        path = Path(pytest.importorskip("trl").__file__).parent / "chat_templates" / f"{template}.jinja"
        text = path.read_text() if path.exists() else pytest.skip(f"TRL has no {template} any more")
    for row in sft.load_dataset(conversations).select(range(6)):
        messages = row["messages"]
        ends = [count for count in range(3, len(messages) + 1) if messages[count - 1]["role"] == "assistant"]
        texts = [rendered([messages[:count]], tools=row["tools"], chat_template=text)[0][0] for count in ends]
        assert all(later.startswith(earlier) for earlier, later in pairwise(texts))
        for call in re.findall(r'"?(?:page|cursor)"?[=:]\s*\S+', texts[-1]):
            assert "None" not in call, call
            assert "null" not in call, call
        assert answer_rules("").splitlines()[0] in texts[-1]
        assert messages[2]["tool_calls"][0]["function"]["arguments"]["query"] in texts[-1]
