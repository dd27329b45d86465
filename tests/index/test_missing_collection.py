"""Every command that reads a collection says that there is none, names those there are, and ends with 2.

Wrong inputs of commands that found their collection follow at the end.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from webemu.emulator.cli import app
from webemu.emulator.config import Config
from webemu.emulator.errors import BadRequest, SnapshotError
from webemu.emulator.folders import find_collection, list_collections
from webemu.index.catalog import Catalog

READERS = [
    ["sql", "SELECT 1"],
    ["stat"],
    ["traces"],
    ["snapshots", "list"],
    ["snapshots", "build"],
    ["snapshots", "split", "2"],
    ["snapshots", "use", "0"],
    ["snapshots", "remove", "0"],
    ["snapshots", "verify"],
    ["eval-search", "--queries", "q", "--qrels", "r"],
    ["known-items", "--out", "o"],
    ["embed", "--model", "m"],
    ["run", "true"],
    ["serve", "--port", "0"],
    ["bench"],
    ["tasks", "build", "--out", "t.jsonl", "--recipes", "crawl"],
    ["tasks", "audit", "{tmp}/q.jsonl"],
    ["tasks", "subset", "--urls", "{tmp}/urls", "--to", "small"],
]


@pytest.mark.parametrize("words", READERS, ids=lambda words: " ".join(words[:2]))
def test_a_missing_collection_is_an_error(words: list[str], tmp_path: Path) -> None:
    (tmp_path / "root" / "mine").mkdir(parents=True)
    (tmp_path / "root" / "mine" / "CURRENT").write_text("0")
    (tmp_path / "q.jsonl").write_text('{"question": "Who?", "answer": "x"}\n')
    (tmp_path / "urls").write_text("http://a.example/\n")
    filled = [word.format(tmp=tmp_path) for word in words]
    done = CliRunner().invoke(app, [*filled, "--root", str(tmp_path / "root"), "--collection", "mien"])
    is_run = words[0] == "run"  # whose status of 2 has another meaning
    assert isinstance(done.exception, SnapshotError if is_run else BadRequest), done.output
    assert done.exception.message == f"there is no collection 'mien' in {tmp_path / 'root'}; it has mine"
    assert sorted(path.name for path in (tmp_path / "root").iterdir()) == ["mine"], "nothing was made"


def test_close_names_come_first_and_many_are_counted(tmp_path: Path) -> None:
    for number in range(30):
        (tmp_path / f"a{number:02}").mkdir()
        (tmp_path / f"a{number:02}" / "catalog.duckdb").touch()
    (tmp_path / "zebra").mkdir()
    (tmp_path / "zebra" / "CURRENT").touch()
    assert len(list_collections(tmp_path)) == 31
    with pytest.raises(BadRequest) as raised:
        find_collection(Config(root=tmp_path, collection="zebar"))
    assert "; it has zebra, a00, " in raised.value.message
    assert raised.value.message.endswith(" and 11 more")
    assert raised.value.action == "choose one of them, such as --collection zebra"


def test_an_empty_root_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(BadRequest, match="nor any other") as raised:
        find_collection(Config(root=tmp_path))
    assert "webemu ingest" in raised.value.action


def run_on_a_catalog(root: Path, *words: str) -> BadRequest:
    """Return the error of a command on a collection that has a catalog and no page."""
    (root / "mine").mkdir()
    Catalog(root / "mine").close()
    done = CliRunner().invoke(app, [*words, "--root", str(root), "--collection", "mine"])
    assert isinstance(done.exception, BadRequest), done.output
    return done.exception


def test_an_unknown_weight_is_named(tmp_path: Path) -> None:
    error = run_on_a_catalog(tmp_path, "snapshots", "build", "--weights", '{"anchor": 0}')
    assert error.message == "--weights is invalid: there is no weight 'anchor'"
    assert "anchors" in error.action


def test_a_change_of_the_catalog_is_refused_with_the_reason(tmp_path: Path) -> None:
    error = run_on_a_catalog(tmp_path, "sql", "DELETE FROM pages")
    assert "read-only" in error.message
    assert error.action == "use SELECT: this command only reads the catalog"
