"""Every file of `examples/` runs against a server; `tests/trainers/test_docs.py` trains with `trl_search.py`."""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.rl.conftest import root, world
from tests.rl.worlds import World

__all__ = ["root", "world"]

EXAMPLES = Path(__file__).parents[1] / "examples"


def run_example(world: World, *command: str) -> str:
    """Return what an example prints; its server is the test's."""
    environment = os.environ | {"WEBEMU_SERVER": world.url}
    done = subprocess.run(
        command, cwd=EXAMPLES, env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def cells_of(notebook: Path) -> list[str]:
    """Return the code cells of a notebook, in order."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


def query_for(world: World) -> str:
    """Return a query that finds a page: the question of a task."""
    return world.tasks[0].question


def test_curl_asks_four_times(world: World) -> None:
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    lines = run_example(world, "sh", "curl.sh", world.url, query_for(world)).splitlines()
    answers = [json.loads(line) for line in lines if not line.startswith("#")]
    assert len(answers) == 4
    search, page, session, serper = answers
    assert page["final_url"] == search["results"][0]["url"]
    assert session["policy"]["budget"] == {"searches": 10}
    assert len(serper["organic"]) == 1


def test_curl_fails_where_no_server_is() -> None:
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    done = subprocess.run(["sh", EXAMPLES / "curl.sh", "http://127.0.0.1:1"], capture_output=True, check=False)
    assert done.returncode


def test_langchain_functions_search_and_open(world: World) -> None:
    listing, _, page = run_example(world, sys.executable, "langchain_tool.py", query_for(world)).partition("\n---\n")
    assert listing.splitlines()[1].startswith("https://")
    assert page.strip()


def test_langchain_tools_have_a_schema(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("langchain_core", reason="langchain-core is not installed")
    monkeypatch.setenv("WEBEMU_SERVER", world.url)
    spec = importlib.util.spec_from_file_location("langchain_tool", EXAMPLES / "langchain_tool.py")
    assert spec is not None
    assert spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    search, open_page = example.build_tools()
    assert (list(search.args), list(open_page.args)) == (["query"], ["url"])
    assert search.invoke({"query": query_for(world)}) == example.search(query_for(world))


def test_the_notebook_runs(world: World, tmp_path: Path) -> None:
    (tmp_path / "notebook.py").write_text("\n\n".join(cells_of(EXAMPLES / "browse.ipynb")))
    assert "https://" in run_example(world, sys.executable, str(tmp_path / "notebook.py"))


def test_the_notebook_is_kept_without_outputs() -> None:
    cells = json.loads((EXAMPLES / "browse.ipynb").read_text(encoding="utf-8"))["cells"]
    assert [cell for cell in cells if cell.get("outputs") or cell.get("execution_count")] == []


def test_every_example_is_described_and_parses() -> None:
    files = {path.name for path in EXAMPLES.iterdir() if path.is_file()} - {"README.md"}
    readme = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    assert [name for name in sorted(files) if f"`{name}`" not in readme] == []
    for path in EXAMPLES.glob("*.py"):
        assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))), path
