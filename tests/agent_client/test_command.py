"""The commands, run as a person runs them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

URL = "https://example.org/a"


def webemu(*arguments: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "webemu.emulator.cli", *arguments]
    return subprocess.run(command, capture_output=True, env=os.environ | environment, check=False, timeout=60)


@pytest.fixture
def server(web: Any) -> str:
    web.pages = {URL: ("A river\nport", "0123456789 ünï"), "https://example.org/b": ("Another river", "text")}
    return str(web.url)


def test_search(server: str) -> None:
    done = webemu("search", "river", "port", "--server", server)
    assert done.returncode == 0
    assert done.stdout.decode().splitlines()[:3] == [
        "  1  A river port",
        f"     {URL}  2024-11-30",
        "     0123456789 ünï",
    ]
    assert webemu("search", "nothing", WEBEMU_SERVER=server).stdout == b"No results.\n"


def test_search_as_json(server: str) -> None:
    answer = json.loads(webemu("search", "river", "--json", "--size", "1", WEBEMU_SERVER=server).stdout)
    assert (answer["results"][0]["url"], answer["more"]) == (URL, True)


def test_fetch(server: str) -> None:
    output = webemu("fetch", URL, "--length", "4", WEBEMU_SERVER=server).stdout.decode()
    assert "\n0123\n" in output
    assert "--start 4" in output
    assert json.loads(webemu("fetch", URL, "--json", WEBEMU_SERVER=server).stdout)["content"] == "0123456789 ünï"


def test_fetch_raw_is_bytes(server: str) -> None:
    assert webemu("fetch", URL, "--format", "raw", WEBEMU_SERVER=server).stdout == b"\x1f\x8b\x00\xff"
    assert json.loads(webemu("fetch", URL, "--format", "raw", "--json", WEBEMU_SERVER=server).stdout)["status"] == 404


def test_find(server: str) -> None:
    output = webemu("find", URL, "567", WEBEMU_SERVER=server).stdout.decode()
    assert "1 of '567'" in output
    assert "--start 5" in output


def test_refusals_are_two_lines(server: str) -> None:
    done = webemu("fetch", "https://example.org/none", WEBEMU_SERVER=server)
    assert done.returncode == 1
    assert done.stderr.decode().splitlines() == ["webemu: https://example.org/none was not captured", "  -> search"]


@pytest.mark.parametrize("server", ["http://127.0.0.1:9", "nonsense"])
def test_no_server_is_two_lines(server: str) -> None:
    done = webemu("search", "x", "--server", server)
    assert done.returncode == 1
    lines = done.stderr.decode().splitlines()
    assert len(lines) == 2
    assert lines[1].startswith("  -> ")
    assert "--server" in lines[1]


@pytest.mark.parametrize("command", ["search", "fetch", "find"])
def test_help_shows_an_example(command: str) -> None:
    assert f"\n    webemu {command} " in webemu(command, "--help").stdout.decode()
