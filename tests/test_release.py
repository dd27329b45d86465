"""Releases: a dated changelog, and constraints that mean the same on every machine."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from datetime import date
from pathlib import Path

import pytest

HOUSE = Path(__file__).parents[1]
HEADINGS = re.findall(r"^## (.+)$", (HOUSE / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
PINS = (HOUSE / "constraints.txt").read_text(encoding="utf-8")
PROJECT = tomllib.loads((HOUSE / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def pin(tmp_path: Path, frozen: str) -> subprocess.CompletedProcess[str]:
    (tmp_path / "frozen.txt").write_text(frozen)
    command = [sys.executable, str(HOUSE / "scripts" / "pin_versions.py"), str(tmp_path / "frozen.txt")]
    return subprocess.run(command, capture_output=True, text=True)


def test_versions_are_dated_and_the_newest_is_first() -> None:
    assert HEADINGS[0] == "[Unreleased]"
    versions = [re.fullmatch(r"\[(\d+\.\d+\.\d+)\] - (\d{4}-\d\d-\d\d)", heading) for heading in HEADINGS[1:]]
    days = [date.fromisoformat(version[2]) for version in versions if version]
    assert len(days) == len(versions)
    assert days == sorted(days, reverse=True)


def test_the_version_is_in_the_changelog() -> None:
    version = PROJECT["version"]
    assert ".dev" in version or any(heading.startswith(f"[{version}] - ") for heading in HEADINGS)


def test_sections_have_the_names_of_keep_a_changelog() -> None:
    text = (HOUSE / "CHANGELOG.md").read_text(encoding="utf-8")
    sections = set(re.findall(r"^### (.+)$", text, re.MULTILINE))
    assert sections <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def test_constraints_are_as_the_script_writes_them(tmp_path: Path) -> None:
    assert pin(tmp_path, PINS).stdout == PINS


@pytest.mark.parametrize("extra", ["server", "rl", "train", "dense", "ray", "dev"])
def test_every_package_of_an_extra_is_pinned(extra: str) -> None:
    pinned = {line.partition("==")[0] for line in PINS.splitlines()}
    wishes = [re.match(r"[\w.-]+", wish) for wish in PROJECT["optional-dependencies"][extra]]
    names = {re.sub(r"[-_.]+", "-", wish[0]).lower() for wish in wishes if wish}
    assert names - {"webemu"} <= pinned


def test_labels_of_builds_are_dropped_and_names_are_normalised(tmp_path: Path) -> None:
    assert pin(tmp_path, "torch==2.13.0+cpu\nIR_measures==0.4.3\n").stdout.splitlines()[1:] == [
        "ir-measures==0.4.3",
        "torch==2.13.0",
    ]


@pytest.mark.parametrize("line", ["-e /somewhere/webemu", "pkg @ file:///wheels/pkg.whl", "--index-url x", "pkg"])
def test_a_line_that_names_a_place_is_refused(tmp_path: Path, line: str) -> None:
    done = pin(tmp_path, f"httpx==0.28.1\n{line}\n")
    assert done.returncode == 1
    assert done.stdout == ""
    assert repr(line) in done.stderr
