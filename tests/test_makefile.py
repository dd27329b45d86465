"""`make` on machines whose Python is too old, absent or broken: one sentence, and nothing is left behind."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import SERIAL

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
    """Return the output of a command that must fail, without make's own line about it."""
    done = subprocess.run(["make", "-C", str(clone), *arguments], capture_output=True, text=True, timeout=120)
    assert done.returncode
    return [line for line in done.stderr.splitlines() if not line.startswith("make")]


@pytest.mark.parametrize("goal", ["demo", "test", "test-fast", "check", "train-demo", "test-ray", "constraints"])
def test_an_old_python_is_refused_in_a_sentence(clone: Path, goal: str) -> None:
    before = sorted(clone.iterdir())
    [message] = make(clone, goal, f"PYTHON={clone}/python3.10")
    assert "needs Python 3.11 or newer" in message
    assert sorted(clone.iterdir()) == before


def test_a_python_that_is_not_there_is_named(clone: Path) -> None:
    [message] = make(clone, "demo", "PYTHON=python9.9")
    assert "there is no python9.9" in message
    assert not (clone / ".venv").exists()


def test_an_environment_of_an_old_python_is_noticed(clone: Path) -> None:
    script(clone / ".venv/bin/python", OLD)
    [message] = make(clone, "demo", f"PYTHON={sys.executable}")
    assert "rm -rf .venv" in message


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


def recipe(goal: str) -> str:
    """Return the commands that a target would run, with all environments there."""
    stamps = ["-o", ".venv/dev.stamp", "-o", ".venv/server.stamp"]
    command = ["make", "--no-print-directory", "--dry-run", *stamps, goal]
    return subprocess.run(command, capture_output=True, text=True, check=True, cwd=HOUSE, timeout=60).stdout


def test_the_fast_tests_are_files_that_exist() -> None:
    files = [word for word in recipe("test-fast").split() if word.startswith("tests/")]
    assert len(files) > 50
    assert [file for file in files if not (HOUSE / file).exists()] == []


def test_every_test_runs_in_ci_or_before_a_release() -> None:
    """`make test` leaves the slow tests out, so that a release must run the target that does not."""
    assert "-m 'not slow'" in recipe("test")
    everything = recipe("test-all")
    assert "WEBEMU_TEST_CASES=all" in everything
    assert "-m slow" not in everything
    assert "-m 'not slow'" not in everything
    assert "`make test-all`" in (HOUSE / "docs" / "release.md").read_text()
    elsewhere = {word.partition("=")[2] for word in everything.split() if word.startswith("--ignore=")}
    script = (HOUSE / ".ci" / "run").read_text()
    for goal in ("check", "test", *(f"test-{Path(folder).name}" for folder in elsewhere)):
        assert re.search(rf"make {goal}(?![\w-])", script), goal


def test_targets_that_the_docs_name_are_there() -> None:
    targets = set(re.findall(r"^([\w-]+):", (HOUSE / "Makefile").read_text(), re.MULTILINE))
    pages = [*HOUSE.glob("*.md"), *(HOUSE / "docs").glob("*.md")]
    named = {name for page in pages for name in re.findall(r"`make ([\w-]+)", page.read_text(encoding="utf-8"))}
    assert named - targets == set()


def test_files_that_run_one_after_another_exist() -> None:
    assert [file for file in SERIAL if not (HOUSE / file).exists()] == []


SPREAD = f"""
import importlib.util
spec = importlib.util.spec_from_file_location("ours", {str(HOUSE / "tests" / "conftest.py")!r})
ours = importlib.util.module_from_spec(spec)
spec.loader.exec_module(ours)
ours.SERIAL = ("test_a.py", "test_b.py")
pytest_xdist_make_scheduler = ours.pytest_xdist_make_scheduler
"""
NOTING = """
import time
from pathlib import Path
import pytest

@pytest.mark.parametrize("number", range(4))
def test_where(number, worker_id):
    time.sleep(0.1)
    Path(__file__).with_suffix(f".{worker_id}").touch()
"""


@pytest.mark.slow
def test_a_file_stays_in_one_worker_and_serial_files_in_the_same(tmp_path: Path) -> None:
    pytest.importorskip("xdist")
    (tmp_path / "conftest.py").write_text(SPREAD)
    for name in "abcd":
        (tmp_path / f"test_{name}.py").write_text(NOTING)
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "loadfile", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert "16 passed" in done.stdout
    workers = {name: {path.suffix for path in tmp_path.glob(f"test_{name}.gw*")} for name in "abcd"}
    assert {len(places) for places in workers.values()} == {1}
    assert workers["a"] == workers["b"]
    assert len(set.union(*workers.values())) == 2
