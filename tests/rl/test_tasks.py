"""Task files."""

from __future__ import annotations

from pathlib import Path

import pytest

from rl.tasks import Task, TaskError, load


def test_load(tmp_path: Path) -> None:
    path = tmp_path / "tasks.jsonl"
    path.write_text(
        '{"id": 1, "question": "Wer? é", "answers": ["A", 2], "evidence": ["u"], "hops": 2, "kind": "bridge"}\n'
        '\n{"id": "b", "question": "q", "answers": ["c"], "x": 1}\n',
        encoding="utf-8",
    )
    assert load(path) == (
        Task("1", "Wer? é", ("A", "2"), ("u",), 2, "bridge"),
        Task("b", "q", ("c",)),
    )


@pytest.mark.parametrize(
    "line", ["{", "[]", '{"id": 1, "question": "q"}', '{"id": 1, "question": "q", "answers": []}',
             '{"id": 1, "question": "q", "answers": "abc"}']
)  # fmt: skip
def test_a_bad_line_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "tasks.jsonl"
    path.write_text('{"id": "b", "question": "q", "answers": ["c"]}\n' + line)
    with pytest.raises(TaskError, match="line 2"):
        load(path)


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match="No such file"):
        load(tmp_path / "none.jsonl")
