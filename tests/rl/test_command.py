"""`webemu quiz` against a small real server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

URL = "https://lexicon.example/wiki/Wick"


class _Handler(BaseHTTPRequestHandler):
    """A web of one page."""

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        query = parse_qs(parts.query).get("q", [""])[0]
        body = json.dumps(_answer(parts.path, query)).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Silence."""


def _answer(route: str, query: str) -> dict[str, Any]:
    result = {"rank": 1, "url": URL, "title": "Wick - Lexicon", "snippet": "s", "date": "", "score": 1.0}
    if route == "/health":
        return {"status": "ok", "snapshot": "s"}
    if route == "/v1/search":
        return {"query": query, "page": 1, "size": 10, "as_of": None, "snapshot": "s",
                "results": [result], "more": False}  # fmt: skip
    content = "Wick\nMayor | Bo Lund\nPopulation | 9,421"
    return {"url": URL, "final_url": URL, "redirects": [], "status": 200, "fetched": "", "mime": "", "truncated": "",
            "title": "Wick", "format": "links", "start": 0, "length": 9, "total": 9, "line": 0, "next": None,
            "next_line": None, "content": content, "snapshot": "s"}  # fmt: skip


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{running.server_address[1]}"
        running.shutdown()
        thread.join()


@pytest.fixture
def tasks(tmp_path: Path) -> str:
    rows = [
        {"id": "demo-01", "question": "Who is the mayor of Wick?", "answers": ["Bo Lund"], "hops": 1},
        {"id": "demo-02", "question": "What is the population of Wick?", "answers": ["9421"], "hops": 1},
        {"id": "demo-03", "question": "Which river flows through Wick?", "answers": ["Tesk"], "hops": 1},
    ]
    path = tmp_path / "tasks.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def quiz(*arguments: str) -> tuple[int, list[str], list[str]]:
    command = [sys.executable, "-m", "webemu.emulator.cli", "quiz", *arguments]
    done = subprocess.run(command, capture_output=True, env=dict(os.environ), check=False, timeout=60)
    return done.returncode, done.stdout.decode().splitlines(), done.stderr.decode().splitlines()


def test_score(server: str, tasks: str) -> None:
    code, lines, _ = quiz(tasks, "--server", server)
    assert code == 0
    assert lines[0] == "Question: Who is the mayor of Wick?"
    assert "1. search(query='Wick')" in lines
    assert "   | Mayor | Bo Lund" in lines
    assert "Answer: Bo Lund  [correct]" in lines
    assert not any(line.startswith("Question: What") for line in lines)
    assert lines[-4:] == [
        "demo-01     1  yes          2  Bo Lund",
        "demo-02     1  yes          2  9,421",
        "demo-03     1  no           4  (none)",
        "score: 2 / 3",
    ]


def test_minimum(server: str, tasks: str) -> None:
    assert quiz(tasks, "--server", server, "--min-score", "2", "--show", "0")[0] == 0
    code, lines, _ = quiz(tasks, "--server", server, "--min-score", "3", "--show", "0")
    assert (code, lines[-1]) == (1, "score: 2 / 3")


def test_limit(server: str, tasks: str) -> None:
    assert quiz(tasks, "--server", server, "--limit", "1")[1][-1] == "score: 1 / 1"


@pytest.mark.slow
def test_no_server(tasks: str) -> None:
    code, lines, errors = quiz(tasks, "--server", "http://127.0.0.1:9")
    assert (code, lines, len(errors)) == (1, [], 2)
    assert "webemu serve" in errors[1]


def test_no_task_file(server: str, tmp_path: Path) -> None:
    code, _, errors = quiz(str(tmp_path / "none.jsonl"), "--server", server)
    assert (code, len(errors)) == (1, 2)
    assert "none.jsonl" in errors[0]
