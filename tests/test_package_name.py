"""One name in people's environments: a wheel and an editable install bring `webemu` and nothing else.

Training repositories have folders called `rl`, `api`, `index` and `tests`; none of them may hide a room of ours, and
none of ours may hide theirs (docs/decisions/018-one-package-name.md).
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

HOUSE = Path(__file__).parents[1]
FOLDERS = ("rl", "api", "index", "ingest", "emulator", "agent_client", "tests")
USES = """
import rl, api, index, tests
from webemu.agent_client import Client
from webemu.rl.environment import Episode
from webemu.rl.adapters.trl import SearchEnv

assert {rl.MINE, api.MINE, index.MINE, tests.MINE} == {"rl", "api", "index", "tests"}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a project of somebody else, whose folders are called like our rooms."""
    for folder in FOLDERS:
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "__init__.py").write_text(f"MINE = {folder!r}\n")
    return tmp_path


def test_a_foreign_project_keeps_its_folders_and_finds_ours(project: Path) -> None:
    for command in (["-c", USES], ["-m", "webemu.emulator.cli", "--version"]):
        done = subprocess.run([sys.executable, *command], cwd=project, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_a_foreign_project_is_checked_against_our_types(project: Path) -> None:
    pytest.importorskip("mypy", reason="a type checker is no part of this environment")
    (project / "good.py").write_text(
        "from webemu.agent_client import Client\n\n\ndef close(client: Client) -> None:\n    client.close()\n"
    )
    (project / "bad.py").write_text('from webemu.agent_client import Client\n\nCLIENT: Client = "no client"\n')
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "good.py", "bad.py"]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True)
    assert "bad.py:3: error: Incompatible types in assignment" in done.stdout, done.stdout + done.stderr
    assert "Found 1 error in 1 file" in done.stdout, done.stdout


def test_a_wheel_holds_one_top_level_name(tmp_path: Path) -> None:
    pytest.importorskip("hatchling", reason="builds are made in an environment of their own")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=HOUSE, check=True, capture_output=True, text=True)
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.partition("/")[0] for name in names if ".dist-info/" not in name} == {"webemu"}
    rooms = {name.split("/")[1] for name in names if name.startswith("webemu/")}
    assert rooms == {path.parent.name for path in HOUSE.glob("*/py.typed")}
    assert {name for name in names if name.endswith("py.typed")} == {f"webemu/{room}/py.typed" for room in rooms}
    site = tmp_path / "site"
    zipfile.ZipFile(wheel).extractall(site)
    code = f"import sys; sys.path.insert(0, {str(site)!r}); import webemu.rl.state; print(webemu.rl.state.__file__)"
    out = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, capture_output=True, text=True)
    assert out.stdout.strip() == str(site / "webemu" / "rl" / "state.py")


def test_a_source_distribution_holds_every_room(tmp_path: Path) -> None:
    """A wheel is built of it on machines for which none is published."""
    pytest.importorskip("hatchling", reason="builds are made in an environment of their own")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", str(tmp_path)]
    subprocess.run(command, cwd=HOUSE, check=True, capture_output=True, text=True)
    (sdist,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    for room in sorted(path.parent.name for path in HOUSE.glob("*/py.typed")):
        modules = {path.relative_to(HOUSE).as_posix() for path in (HOUSE / room).rglob("*.py")}
        assert modules - names == set(), room


def test_the_links_lead_to_the_rooms() -> None:
    links = {path.name: path.resolve() for path in (HOUSE / "src" / "webemu").iterdir() if path.name != "__pycache__"}
    assert links == {path.parent.name: path.parent.resolve() for path in HOUSE.glob("*/py.typed")}
