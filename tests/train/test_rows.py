"""Rows of SFT stages: episodes of policies, files with weights, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("trl")

from tests.train.toy import FULL, of
from webemu.rl.chat import answer_rules
from webemu.rl.tasks import Task
from webemu.rl.train.event_loop import EventLoopThread
from webemu.rl.train.recipe import EpisodeSettings, RecipeError, Stage
from webemu.rl.train.run_folder import RunError
from webemu.rl.train.served_web import ServedWeb
from webemu.rl.train.sft_rows import collect_rows
from webemu.rl.train.trainer import TrainingJob

RULES = EpisodeSettings(FULL, system="rules")


def job(folder: Path, **keys: object) -> TrainingJob:
    return TrainingJob(Stage("skills", "sft", 2, 1e-3, **keys), folder, 0)  # type: ignore[arg-type]


def conversation(question: str, answer: str) -> str:
    messages = [
        {"role": "system", "content": "Search."},
        {"role": "user", "content": question},
        {"role": "assistant", "content": answer},
    ]
    return json.dumps({"messages": messages, "tools": [], "task": question})


@pytest.mark.slow
def test_the_oracle_plays_rows_on_any_web(toy: ServedWeb, tmp_path: Path) -> None:
    tasks = of(toy, "fact", 6)
    with EventLoopThread(toy.server) as loop_thread:
        rows = collect_rows(job(tmp_path, mix={"oracle": 1.0}), tasks, [], RULES, loop_thread)
        again = collect_rows(job(tmp_path, mix={"oracle": 1.0}), tasks, [], RULES, loop_thread)
    assert len(rows) >= 4
    for row in rows:
        assert row["messages"][0] == {"role": "system", "content": answer_rules("")}
        assert row["messages"][-1]["tool_calls"][-1]["function"]["name"] == "finish"
        assert {"search", "open", "finish"} <= {tool["function"]["name"] for tool in row["tools"]}  # type: ignore[index]
    assert json.dumps(rows) == json.dumps(again)


def test_files_are_taken_by_their_weights_and_rows_once(tmp_path: Path) -> None:
    first = [conversation(f"q{number}", "a") for number in range(4)]
    (tmp_path / "first.jsonl").write_text("\n".join([*first, first[0]]) + "\n")
    (tmp_path / "second.jsonl").write_text(conversation("other", "b") + "\n")
    names = (str(tmp_path / "first.jsonl"), str(tmp_path / "second.jsonl"))
    rows = collect_rows(job(tmp_path, rows=names, mix={"first": 0.5, "second": 2.0}), [], [], RULES, None)  # type: ignore[arg-type]
    questions = [row["messages"][1]["content"] for row in rows]
    assert len(questions) == 4
    assert len(set(questions[:2])) == 2
    assert questions[2:] == ["other", "other"]
    plain = collect_rows(job(tmp_path, rows=names), [], [], EpisodeSettings(FULL), None)  # type: ignore[arg-type]
    assert {row["messages"][0]["role"] for row in plain} == {"user"}


def test_patterns_do_not_meet_questions_that_they_cannot_read(toy: ServedWeb, tmp_path: Path) -> None:
    real = Task("t", "In which town was the founder of Solona Brothers born?", ("x",))
    with EventLoopThread(toy.server) as loop_thread, pytest.raises(RecipeError, match=r"cannot read 'In which town"):
        collect_rows(job(tmp_path, mix={"good": 1.0}), [real], [], RULES, loop_thread)


def test_what_holds_no_rows_is_named(tmp_path: Path) -> None:
    (tmp_path / "odd.jsonl").write_text('{"question": 1}\n')
    (tmp_path / "empty.jsonl").write_text("")
    with pytest.raises(RecipeError, match=r"odd.jsonl: not a file of `webemu data sft` \(KeyError: 'messages'\)"):
        collect_rows(job(tmp_path, rows=(str(tmp_path / "odd.jsonl"),)), [], [], RULES, None)  # type: ignore[arg-type]
    with pytest.raises(RecipeError, match=r"none.jsonl: not a file of `webemu data sft` \(FileNotFoundError"):
        collect_rows(job(tmp_path, rows=(str(tmp_path / "none.jsonl"),)), [], [], RULES, None)  # type: ignore[arg-type]
    with pytest.raises(RunError, match=r"stage 'skills' has no rows to learn from: see its keys `rows` and `mix`"):
        collect_rows(job(tmp_path, rows=(str(tmp_path / "empty.jsonl"),)), [], [], RULES, None)  # type: ignore[arg-type]
