"""`webemu misses`: what sessions asked for in vain, from traces that the real server writes."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from webemu.emulator.cli import app
from webemu.emulator.trace import Trace
from webemu.index.misses import find_misses
from webemu.index.traces import TraceWriter


def trace(
    session: str, kind: str, text: str, *, result_count: int = 0, weather: str = "", failed: bool = False
) -> Trace:
    """Return a row of a session, whose name is its task, a dash and its rollout."""
    task, _, rollout = session.partition("-")
    is_search = kind == "search"
    return Trace(
        session, task, rollout, 1, "webemu", kind, text if is_search else "", "" if is_search else text, "",
        1 if is_search else 0, tuple(f"http://r.example/{rank}" for rank in range(result_count)), 0, 0,
        404 if kind == "miss" else 200, 1.0, 10, weather, failed,
    )  # fmt: skip


ROWS = (
    trace("t1-1", "miss", "http://a.example/x"),
    trace("t1-2", "miss", "http://a.example/x"),
    trace("t1-2", "miss", "http://a.example/x"),
    trace("t2-1", "miss", "http://b.example/y"),
    trace("t2-1", "open", "http://b.example/"),
    trace("t2-1", "miss", "http://c.example/", weather="dead-link"),
    trace("t2-1", "miss", "http://d.example/", failed=True),
    trace("t2-1", "search", "rare  words", result_count=2),
    trace("t2-1", "search", "common words", result_count=3),
)


def test_urls_hosts_and_queries_are_ranked_by_sessions() -> None:
    assert [(miss.kind, miss.text, miss.sessions, miss.requests) for miss in find_misses(ROWS, 3)] == [
        ("host", "a.example", 2, 3), ("url", "http://a.example/x", 2, 3), ("query", "rare words", 1, 1),
        ("url", "http://b.example/y", 1, 1),
    ]  # fmt: skip


def test_what_cost_the_most_reward_comes_first() -> None:
    misses = find_misses(ROWS, 3, {("t1", "1"): 1.0, ("t1", "2"): 0.75, ("t2", "1"): 0.0})
    assert [(miss.text, miss.lost_reward) for miss in misses][:2] == [("rare words", 1.0), ("http://b.example/y", 1.0)]
    assert misses[-1].lost_reward == 0.25


@pytest.fixture
def root(tmp_path: Path) -> Path:
    writer = TraceWriter(tmp_path / "c" / "traces")
    writer.put(ROWS)
    writer.close()
    return tmp_path


def run(root: Path, *arguments: str) -> str:
    result = CliRunner().invoke(app, ["misses", "--root", str(root), "--collection", "c", *arguments])
    assert result.exit_code == 0, result.exception
    return result.stdout


def test_the_command_prints_a_table_lines_and_a_list_for_pick(root: Path) -> None:
    assert run(root).splitlines()[1].split() == ["host", "2", "3", "0.00", "a.example"]
    assert run(root, "--format", "urls") == "http://a.example/x\nhttp://b.example/y\n"
    assert run(root, "--format", "urls", "--task", "t2") == "http://b.example/y\n"
    assert json.loads(run(root, "--format", "jsonl", "--kind", "query"))["tasks"] == ["t2"]
    (root / "attempts.jsonl").write_text(
        '{"task": "t1", "seed": 2, "reward": 0.0}\n{"task": "t2", "seed": 1, "reward": null}\n'
    )
    ranked = run(root, "--rewards", str(root / "attempts.jsonl"), "--limit", "1")
    assert ranked.splitlines()[1].split() == ["host", "2", "3", "1.00", "a.example"]


def test_a_file_without_attempts_is_refused(root: Path) -> None:
    (root / "other.jsonl").write_text("{}\n")
    arguments = ["misses", "--root", str(root), "--collection", "c", "--rewards", str(root / "other.jsonl")]
    assert "holds no attempts" in str(CliRunner().invoke(app, arguments).exception)
