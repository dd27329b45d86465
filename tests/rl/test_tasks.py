"""Task files."""

from __future__ import annotations

from pathlib import Path

import pytest

from webemu.rl.tasks import Evidence, Reply, Task, TaskError, load, save


def test_load(tmp_path: Path) -> None:
    path = tmp_path / "tasks.jsonl"
    path.write_text(
        '{"id": 1, "question": "Wer? é", "answers": ["A", 2], "evidence": ["u"], "hops": 2, "recipe": "bridge"}\n'
        '\n{"id": "b", "question": "q", "answers": ["c"], "x": 1}\n',
        encoding="utf-8",
    )
    assert load(path) == (
        Task("1", "Wer? é", ("A", "2"), (Evidence("u"),), 2, "bridge"),
        Task("b", "q", ("c",)),
    )


@pytest.mark.parametrize(
    "line", ["{", "[]", '{"id": 1, "question": "q"}', '{"id": 1, "question": "q", "answers": []}',
             '{"id": 1, "question": "q", "answers": "abc"}',
             '{"id": 1, "question": "q", "answers": ["a"], "answer_type": "riddle"}',
             '{"id": 1, "question": "q", "answers": [" "]}', '{"id": 1, "question": "q", "answers": [null]}',
             '{"id": 1, "question": "q", "answers": ["a"], "evidence": "https://a.example/"}',
             '{"id": 1, "question": "q", "answers": ["a"], "filters": {"quote": true}}',
             '{"id": 1, "question": "q", "answers": ["a"], "hops": [2]}',
             '{"id": 1, "question": "", "answers": ["a"]}', '{"id": 1, "question": "q", "answers": ["a"], "hops": 0}']
)  # fmt: skip
def test_a_bad_line_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "tasks.jsonl"
    path.write_text('{"id": "b", "question": "q", "answers": ["c"]}\n' + line)
    with pytest.raises(TaskError, match="line 2"):
        load(path)


def test_nulls_marks_and_other_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "tasks.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"id": 0, "question": "q", "answers": ["a"], "evidence": null, "hops": null}\r\n')
    assert load(path) == (Task("0", "q", ("a",)),)
    path.write_bytes(b"\xff\xfe{")
    with pytest.raises(TaskError, match="not UTF-8"):
        load(path)


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match="No such file"):
        load(tmp_path / "none.jsonl")


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    tasks = (
        Task(
            *("a", "Wo?", ("é", "2"), (Evidence("https://x.example/", "so 2", "2", "sha1:A"),), 3, "table", "number"),
            *("dev", 0.25, {"quote": {"ok": True}}, (Reply(("which", "town"), "the northern one"),)),
        ),
        Task("b", "q", ("c",), difficulty=0.0),
    )
    save(tmp_path / "tasks.jsonl", tasks)
    assert load(tmp_path / "tasks.jsonl") == tasks
