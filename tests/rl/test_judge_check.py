"""Calibration of a judge: labelled questions of our own, agreement, and the command."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.rl.openai_server import Fault, Script, openai_server
from webemu.emulator.cli import app
from webemu.rl.judge.agreement import Agreement, measure_agreement
from webemu.rl.judge.decision import decide
from webemu.rl.judge.labels import LabelledQuestion, load_labels

LABELS = Path(__file__).parent / "data" / "judge_labels.jsonl"


def check(script: Script, labels: Path = LABELS) -> tuple[int, str, str, int]:
    with openai_server(script) as server:
        done = CliRunner().invoke(app, ["judge", "check", str(labels), "--judge", server.url, "--judge-model", "j"])
        assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
        return done.exit_code, done.stdout, done.stderr, len(server.requests)


def knows(questions: tuple[LabelledQuestion, ...]) -> Script:
    """A judge that knows all labels."""
    by_prompt = {question.to_inquiry().prompt: question for question in questions}

    def reply(body: dict[str, Any]) -> str:
        question = by_prompt[body["messages"][-1]["content"]]
        return json.dumps({question.to_inquiry().field: question.label})

    return reply


def say_yes(body: dict[str, Any]) -> str:
    field = "equivalent" if "An answer to check" in body["messages"][-1]["content"] else "supported"
    return json.dumps({field: True})


def test_our_labels_are_balanced_and_open() -> None:
    questions = load_labels(LABELS)
    assert len({one.to_inquiry().prompt for one in questions}) == len(questions) >= 100
    labels, kinds = Counter(one.label for one in questions), Counter(one.kind for one in questions)
    assert 0.4 < labels[True] / len(questions) < 0.6
    assert kinds["support"] >= 20
    for row in questions:
        if row.kind == "equivalence":
            assert decide(row.answer, [row.gold], "", row.question) == "open", row


def test_a_judge_that_knows_all() -> None:
    questions = load_labels(LABELS)
    code, output, _, requests = check(knows(questions))
    assert (code, requests) == (0, len(questions))
    assert f"all          1.000 of {len(questions)}, kappa 1.000, wrongly allowed 0, wrongly refused 0" in output


def test_a_judge_that_says_yes_has_no_kappa() -> None:
    code, output, _, _ = check(say_yes)
    wrong = sum(not one.label for one in load_labels(LABELS))
    assert code == 0
    assert f"kappa 0.000, wrongly allowed {wrong}, wrongly refused 0" in output
    assert output.count("\nerror ") == wrong


def test_a_judge_that_fails_is_no_success() -> None:
    code, output, _, _ = check(lambda body: "It depends.")
    assert code == 1
    assert f"no verdict   {len(load_labels(LABELS))} (unreadable verdict)" in output
    assert check(lambda body: Fault(401))[0] == 1


@pytest.mark.parametrize(
    "line",
    ["{", "[]", "{}", '{"kind": "x", "question": "q", "gold": "g", "answer": "a", "label": true}',
     '{"kind": "support", "question": "q", "gold": "g", "answer": "a", "label": 1}'],
)  # fmt: skip
def test_a_line_that_is_no_label_is_named(line: str, tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    path.write_text(f"\n{line}\n")
    code, _, errors, requests = check(say_yes, path)
    assert (code, requests) == (1, 0)
    assert f"{path}, line 2" in errors


def test_agreement() -> None:
    assert measure_agreement([]) is None
    assert measure_agreement([(True, True)]) == Agreement(1, 1.0, None, 0, 0)
    pairs = [(True, True)] * 20 + [(True, False)] * 5 + [(False, True)] * 10 + [(False, False)] * 15
    agreement = measure_agreement(pairs)
    assert agreement is not None
    assert agreement.kappa == pytest.approx(0.4)
    assert (agreement.wrongly_allowed, agreement.wrongly_refused) == (10, 5)
