"""The lint of names and docstrings finds planted faults; `make lint` runs it on our own code."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HOUSE = Path(__file__).parents[1]


def lint(*places: str, cwd: Path = HOUSE) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(HOUSE / "scripts" / "plain_english.py"), *places]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd)


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        ("def f(told: int) -> int:\n    return told\n", "`told`"),
        ("found = 1\n", "`found`"),
        ("for one in (1, 2):\n    print(one)\n", "`one`"),
        ("class Asked:\n    pass\n", "`Asked`"),
        ("class A:\n    def __init__(self) -> None:\n        self._kept = 1\n", "`_kept`"),
        ("MOST = 3\n", "`MOST`"),
        ("try:\n    pass\nexcept OSError as seen:\n    raise seen\n", "`seen`"),
        ("match 1:\n    case given:\n        print(given)\n", "`given`"),
        ("key = lambda one: one[0]\n", "`one`"),
        ('"""Of them all."""\n', "fragment"),
        ('def f() -> None:\n    """Whether it is so."""\n', "fragment"),
        ('LIMIT = 3\n"""How many there are."""\n', "fragment"),
        ('class A:\n    size: int = 0\n    """In bytes."""\n', "fragment"),
    ],
)
def test_a_planted_fault_is_found(tmp_path: Path, source: str, fault: str) -> None:
    (tmp_path / "planted.py").write_text(source)
    done = lint("planted.py", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stdout.count("\n") == 1
    assert fault in done.stdout
    assert done.stdout.startswith("planted.py:")


@pytest.mark.parametrize(
    "source",
    [
        "names = [one.strip() for one in ('a', 'b')]\n",
        '"""Reads pages.\n\nOf interest: nothing."""\n',
        'def f() -> str:\n    """Return the offset, told from the head."""\n    return "Of"\n',
        "foundry = shownow = 1\n",
    ],
)
def test_plain_code_passes(tmp_path: Path, source: str) -> None:
    (tmp_path / "plain.py").write_text(source)
    assert lint("plain.py", cwd=tmp_path).returncode == 0


def test_the_figures_are_counted_over_a_checkout(tmp_path: Path) -> None:
    (tmp_path / "emulator").mkdir()
    (tmp_path / "emulator" / "a.py").write_text('"""Reads."""\nfrom webemu.emulator import b\n\ntold: int = 1\n')
    (tmp_path / "emulator" / "b.py").write_text('"""Of a."""\nfrom webemu.emulator import a\nfrom typing import Any\n')
    command = [sys.executable, str(HOUSE / "scripts" / "house_figures.py"), "--root", str(tmp_path)]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert lines[1].split() == ["emulator", "7", "100.00", "50.00", "0.00", "1", "0"]
    assert lines[-2:] == ["circles of imports: 1", "  emulator.a emulator.b"]
