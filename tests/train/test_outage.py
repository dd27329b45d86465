"""`webemu train` against a server that sheds all requests: one line, soon, and no complaints of the event loop."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("trl")

from tests.rl.front import before
from webemu.rl.train.served_web import ServedWeb

pytestmark = pytest.mark.slow

RECIPE = """\
summary = "for tests"
[model]
size = "tiny"
[limits]
turns = 4
calls = 3
results = 3
brief = true
[[stages]]
name = "skills"
kind = "sft"
steps = 2
batch = 8
rate = 6e-3
recipes = ["fact"]
mix = { unread = 1.0 }
turn = 24
context = 200
"""


def test_an_outage_ends_a_run_in_one_line(toy: ServedWeb, tmp_path: Path) -> None:
    (tmp_path / "r.toml").write_text(RECIPE)
    held_out = Path(shutil.copy(toy.file, tmp_path / "held-out.jsonl"))
    with before(toy.server, "503", 10**6) as front:
        front.free = {"GET health"}  # the run begins, and its traces do not
        command = [
            sys.executable,
            "-P",
            "-m",
            "webemu.emulator.cli",
            "train",
            "--recipe",
            str(tmp_path / "r.toml"),
            "--quiet",
        ]
        command += ["--server", front.url, "--tasks", str(toy.file), "--held-out", str(held_out)]
        done = subprocess.run(
            [*command, "--out", str(tmp_path / "run")],
            capture_output=True,
            text=True,
            timeout=300,
            env=dict(os.environ),
        )
    lines = [line for line in done.stderr.splitlines() if "Warning" not in line and not line.startswith("  ")]
    assert done.returncode == 1
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("webemu: task ")
    assert "the same command" in lines[0]
    assert "Traceback" not in done.stderr
