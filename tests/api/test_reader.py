"""The reader of result records in use is named in every place where one would look, and both readers answer alike."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.attacked import crawled

START = "import sys; {}; sys.argv[0] = 'webemu'; from webemu.emulator.cli import main; main()"
READERS = {
    "compiled": START.format("import webemu.index._reading"),
    "python": START.format("sys.modules['webemu.index._reading'] = None"),
}
"""The environment that starts `webemu` with each reader; None keeps a module from import, as without a compiler."""
pytest.importorskip("webemu.index._reading", reason="there was no compiler where this was installed")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return crawled(tmp_path_factory.mktemp("readers"))


@pytest.fixture(scope="module", params=READERS)
def served(root: Path, request: pytest.FixtureRequest) -> Iterator[tuple[str, str, str]]:
    """Reader, its line at the start, and address of a server."""
    command = [
        sys.executable,
        "-c",
        READERS[request.param],
        "serve",
        "--root",
        str(root),
        "--collection",
        "c",
        "--port",
        "0",
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        match = re.search(r"http://127\.0\.0\.1:\d+", process.stdout.readline())
        assert match
        yield request.param, process.stdout.readline(), match[0]
    finally:
        process.terminate()
        process.wait(30)


def test_a_server_says_which_reader_runs(served: tuple[str, str, str]) -> None:
    reader, line, address = served
    assert line.startswith(f"webemu: reader of result records: {reader}")
    assert ("install a C compiler" in line) == (reader == "python")
    assert httpx.get(f"{address}/v1/stats", trust_env=False, timeout=60).json()["process"]["reader"] == reader


@pytest.mark.parametrize("reader", READERS)
def test_stat_says_which_reader_runs(root: Path, reader: str) -> None:
    command = [sys.executable, "-c", READERS[reader], "stat", "--root", str(root), "--collection", "c"]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    [line] = [line for line in output.splitlines() if line.startswith("reader ")]
    assert line.split()[1].strip(":") == reader
    assert ("install a C compiler" in line) == (reader == "python")


ANSWERS: dict[str, Any] = {}


def test_both_readers_answer_alike(served: tuple[str, str, str]) -> None:
    reader, _, address = served
    with httpx.Client(base_url=address, trust_env=False, timeout=60) as client:
        queries = ("ships", "harbour ships", '"plain"', "nothing at all")
        answers = [client.get("/v1/search", params={"q": query}).content for query in queries]
    assert json.loads(answers[0])["results"]
    ANSWERS[reader] = answers
    assert all(other == answers for other in ANSWERS.values())
