"""The law of the house: who may import whom, and what is installed under our name."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

HOUSE = Path(__file__).parent.parent
ROOMS = ("emulator", "index", "ingest", "worlds", "api", "agent_client", "recorder", "rl")
MAY_IMPORT = {
    "emulator": set(),
    "index": {"emulator"},
    "ingest": {"emulator", "index"},
    "worlds": {"emulator"},
    "api": {"emulator"},
    "agent_client": set(),
    "recorder": {"emulator", "api"},
    "rl": {"agent_client"},
}
COMPOSES = {
    "api/runtime/live_snapshot.py",
    "api/app.py",
    "api/audit/as_of.py",
    "api/audit/command.py",
    "api/runtime/live_partitions.py",
    "api/runtime/ray_cluster.py",
    "api/runtime/ray_partitions.py",
}
"""The modules that put the server together: these may import `index`."""
READS_CRAWLS = "rl/tasks/"
"""The folder in which tasks are made from a crawl: it may import `emulator` and `index`."""
PURE = {"webemu.emulator.bootstrap"}
"""Arithmetic in one module of `emulator` that tells nothing of the web: every room may import it, so that no room has
a copy of its own. It imports nothing of ours.
"""
KNOWS = {
    "duckdb": {"index"},
    "tantivy": {"index"},
    "rensa": {"ingest"},
    "lmdb": {"index"},
    "pyarrow": {"index", "ingest", "rl"},
    "warcio": {"ingest", "recorder", "worlds"},
    "fastwarc": {"ingest"},
    "pypdfium2": {"ingest"},
    "selectolax": {"ingest", "index", "rl"},
    "resiliparse": {"ingest", "index"},
    "py3langid": {"ingest"},
    "fastapi": {"api"},
    "uvicorn": {"api", "recorder", "rl"},
    "httpx": {"agent_client", "ingest", "recorder"},
    "openai": {"rl"},
    "torch": {"rl", "index"},
    "sentence_transformers": {"index"},
    "usearch": {"index"},
    "numkong": {"index"},
    "trl": {"rl"},
    "ray": {"emulator", "api"},
}
"""Libraries that only some rooms may know of."""


def modules() -> list[Path]:
    return sorted(path for room in ROOMS for path in (HOUSE / room).rglob("*.py"))


def imports(path: Path) -> set[str]:
    """Return what a module imports: `webemu.<room>` for a room of ours, else the top-level name."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names |= {f"{node.module}.{name.name}" for name in node.names}
    names = {name for name in names if not any(f"{name}.".startswith(f"{pure}.") for pure in PURE)}
    return {".".join(name.split(".")[: 2 if name.startswith("webemu.") else 1]) for name in names}


def breaches(path: Path) -> list[str]:
    name = path.relative_to(HOUSE).as_posix()
    room = name.partition("/")[0]
    allowed = MAY_IMPORT[room] | {room} | ({"index"} if name in COMPOSES else set())
    allowed |= {"emulator", "index"} if name.startswith(READS_CRAWLS) else set()
    imported = imports(path)
    forbidden = {f"webemu.{other}" for other in ROOMS if other not in allowed} | set(ROOMS)
    rooms = [f"{name} imports {other}" for other in sorted(imported & forbidden)]
    return rooms + [f"{name} imports {lib}" for lib in sorted(imported & KNOWS.keys()) if room not in KNOWS[lib]]


@pytest.mark.parametrize("path", modules(), ids=lambda path: path.relative_to(HOUSE).as_posix())
def test_a_module_imports_only_what_its_room_may(path: Path) -> None:
    assert breaches(path) == []


def test_the_law_sees_a_breach(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "HOUSE", tmp_path)
    (tmp_path / "rl").mkdir()
    source = "import webemu.api.app\nfrom webemu import index\nimport agent_client\nfrom duckdb import connect\n"
    (tmp_path / "rl" / "x.py").write_text(source)
    assert breaches(tmp_path / "rl" / "x.py") == [
        "rl/x.py imports agent_client",
        "rl/x.py imports webemu.api",
        "rl/x.py imports webemu.index",
        "rl/x.py imports duckdb",
    ]


def test_a_pure_module_imports_nothing_of_ours_and_frees_no_neighbour(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for pure in PURE:
        path = HOUSE / Path(*pure.split(".")[1:]).with_suffix(".py")
        assert not [name for name in imports(path) if name.startswith("webemu")]
    monkeypatch.setattr(sys.modules[__name__], "HOUSE", tmp_path)
    (tmp_path / "rl").mkdir()
    (tmp_path / "rl" / "x.py").write_text("from webemu.emulator.bootstrap import Interval\n")
    assert breaches(tmp_path / "rl" / "x.py") == []
    (tmp_path / "rl" / "x.py").write_text("from webemu.emulator import bootstrap, world\n")
    assert breaches(tmp_path / "rl" / "x.py") == ["rl/x.py imports webemu.emulator"]


def test_every_module_says_its_job() -> None:
    silent = [
        str(path) for path in modules() if path.stat().st_size and not ast.get_docstring(ast.parse(path.read_text()))
    ]
    assert silent == []


def test_no_test_folder_is_a_package() -> None:
    assert list((HOUSE / "tests").rglob("__init__.py")) == []


def test_every_room_has_a_short_readme() -> None:
    lengths = {room: len((HOUSE / room / "README.md").read_text().splitlines()) for room in ROOMS}
    assert all(0 < length <= 25 for length in lengths.values()), lengths


@pytest.mark.parametrize("room", ROOMS)
def test_a_readme_names_files_that_are_there(room: str) -> None:
    names = re.findall(r"`([\w/]+\.(?:py|c|sql))`", (HOUSE / room / "README.md").read_text())
    assert names, "a readme names its modules"
    missing = [name for name in names if not any((HOUSE / room).rglob(name))]
    assert missing == [], f"{room}/README.md"


def test_every_room_is_typed_and_installed_from_here() -> None:
    for room in ROOMS:
        assert (HOUSE / room / "py.typed").exists()
        code = f"import webemu.{room} as room; print(room.__file__)"
        out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd="/").stdout
        assert Path(out.strip()).resolve() == (HOUSE / room / "__init__.py").resolve()


def test_the_command_and_the_client_start_without_heavy_packages() -> None:
    heavy = "{'torch', 'duckdb', 'tantivy', 'pyarrow', 'fastapi', 'numpy', 'lmdb'}"
    code = (
        f"import sys, webemu.emulator.cli, webemu.agent_client, webemu.rl; print(sorted({heavy} & sys.modules.keys()))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[]"


def test_serving_imports_nothing_that_only_building_needs() -> None:
    heavy = "{'torch', 'duckdb', 'pyarrow', 'numpy', 'ray'}"
    code = f"import sys, webemu.api.command, webemu.index.open; print(sorted({heavy} & sys.modules.keys()))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[]"
