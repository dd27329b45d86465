"""`make` on machines whose Python is too old, absent or broken: one sentence, and nothing is left behind."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HOUSE = Path(__file__).parents[1]
OLD = f"""#!/bin/sh
if [ "$1" = -c ]; then
  exec {sys.executable} -c "import sys; sys.version_info = (3, 10, 12, 'final', 0); exec(sys.argv[1])" "$2"
fi
exec {sys.executable} "$@"
"""
"""An interpreter that says it is Python 3.10."""


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(HOUSE / name, tmp_path)
    script(tmp_path / "python3.10", OLD)
    return tmp_path


def script(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


def make(clone: Path, *arguments: str) -> list[str]:
    """What a command that must fail says, without make's own line about it."""
    done = subprocess.run(["make", "-C", str(clone), *arguments], capture_output=True, text=True, timeout=120)
    assert done.returncode
    return [line for line in done.stderr.splitlines() if not line.startswith("make")]


@pytest.mark.parametrize("goal", ["demo", "test", "train-demo", "test-ray"])
def test_an_old_python_is_refused_in_a_sentence(clone: Path, goal: str) -> None:
    before = sorted(clone.iterdir())
    [said] = make(clone, goal, f"PYTHON={clone}/python3.10")
    assert "needs Python 3.11 or newer" in said
    assert sorted(clone.iterdir()) == before


def test_a_python_that_is_not_there_is_named(clone: Path) -> None:
    [said] = make(clone, "demo", "PYTHON=python9.9")
    assert "there is no python9.9" in said
    assert not (clone / ".venv").exists()


def test_an_environment_of_an_old_python_is_noticed(clone: Path) -> None:
    script(clone / ".venv/bin/python", OLD)
    [said] = make(clone, "demo", f"PYTHON={sys.executable}")
    assert "rm -rf .venv" in said


def test_an_environment_that_is_half_made_is_noticed(clone: Path) -> None:
    (clone / ".venv").mkdir()
    assert "rm -rf .venv" in make(clone, "demo", f"PYTHON={sys.executable}")[-1]


def test_an_environment_that_cannot_be_made_is_not_left(clone: Path) -> None:
    script(
        clone / "halfway",
        f"""#!/bin/sh
[ "$1" = -m ] && {{ mkdir -p "$3/bin"; exit 1; }}
exec {sys.executable} "$@"
""",
    )
    assert "cannot make .venv" in make(clone, "demo", f"PYTHON={clone}/halfway")[-1]
    assert not (clone / ".venv").exists()
