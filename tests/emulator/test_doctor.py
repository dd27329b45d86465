"""`webemu doctor`: each thing that is missing or broken is named, with what to do about it."""

import json
import resource
import shutil
import socket
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from tests.crawls import CaptureSpec, html, ingest, write
from webemu.emulator import doctor as module
from webemu.emulator.cli import app


def run(root: Path, *options: str) -> tuple[int, dict[str, dict[str, str]]]:
    """Return the exit status, and the results by subject."""
    result = CliRunner().invoke(app, ["doctor", "--root", str(root), "--json", *options])
    assert not result.exception or isinstance(result.exception, SystemExit), result.exception
    rows = [json.loads(line) for line in result.output.splitlines()]
    return result.exit_code, {row["subject"]: row for row in rows}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    ingest(tmp_path / "web", write(tmp_path / "a.warc.gz", [CaptureSpec("https://a.example/", html("A", "A page."))]))
    return tmp_path


def test_a_sound_installation_has_nothing_that_fails(root: Path) -> None:
    status, results = run(root)
    assert status == 0
    assert {row["state"] for row in results.values()} <= {"ok", "note"}
    assert results["python"]["state"] == results["extra server"]["state"] == results["disk"]["state"] == "ok"
    assert "can be served" in results["web"]["text"]


def test_a_root_without_collections_says_how_to_begin(tmp_path: Path) -> None:
    status, results = run(tmp_path / "nothing" / "here")
    assert (status, results["collections"]["state"]) == (0, "note")
    assert "webemu demo" in results["collections"]["action"]


@pytest.mark.parametrize("lost", ["manifest.json", "pages.lmdb", "text"])
def test_a_broken_snapshot_fails(root: Path, lost: str) -> None:
    current = (root / "web" / "CURRENT").read_text().strip()
    path = root / "web" / "snapshots" / current / lost
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    status, results = run(root)
    assert (status, results["web"]["state"]) == (1, "fail")
    assert results["web"]["action"]


def test_a_collection_without_a_snapshot_is_noted(root: Path) -> None:
    (root / "web" / "CURRENT").unlink()
    status, results = run(root)
    assert (status, results["web"]["state"]) == (0, "note")
    assert "snapshots build" in results["web"]["action"]


def test_missing_packages_are_named_with_their_extra(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    find_spec = module.find_spec
    monkeypatch.setattr(module, "find_spec", lambda name: None if name in ("tantivy", "trl") else find_spec(name))
    _, results = run(root)
    assert "no tantivy" in results["extra server"]["text"]
    assert "server" in results["extra server"]["action"]
    assert "trl" in results["extra train"]["text"]


def test_it_works_without_the_packages_of_the_server(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str) -> SimpleNamespace:
        raise ModuleNotFoundError(f"No module named {name!r}")

    monkeypatch.setattr(module, "import_module", refuse)
    status, results = run(root)
    assert (status, results["python"]["state"]) == (0, "ok")
    assert "web" not in results


def test_limits_are_noted(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (256, 65536))
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1 << 20))
    with socket.create_server(("127.0.0.1", 0)) as server:
        monkeypatch.setenv("WEBEMU_PORT", str(server.getsockname()[1]))
        status, results = run(root)
    assert status == 1
    assert results["open files"]["action"] == "ulimit -n 65536, before `webemu serve`"
    assert results["disk"]["state"] == "fail"
    assert "in use" in results["port"]["text"]


def test_namespaces_that_are_forbidden_are_noted(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webemu.api.proxy.run.find_unshare_flags", lambda: ([], "", "root lacks CAP_SYS_ADMIN"))
    _, results = run(root)
    assert results["namespaces"]["state"] == "note"
    assert "CAP_SYS_ADMIN" in results["namespaces"]["text"]
    assert "webemu env" in results["namespaces"]["action"]


def test_people_read_one_line_for_each_thing(root: Path) -> None:
    result = CliRunner().invoke(app, ["doctor", "--root", str(root)])
    lines = result.output.splitlines()
    assert any(line.startswith("ok    python         ") for line in lines)
    assert all(line[:5].strip() in ("ok", "note", "fail", "") for line in lines)
