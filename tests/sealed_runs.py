"""Commands under `webemu run`, over a collection of one page."""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.crawls import CaptureSpec, html, ingest, write
from webemu.api.proxy.run import find_unshare_flags

PAGE = html("Harbour", "The river port.")
"""The page at https://a.example/."""
PROBLEM = find_unshare_flags()[2]
needs_network = pytest.mark.skipif(bool(PROBLEM), reason=f"no network of its own: {PROBLEM}")
WEBEMU = [sys.executable, "-m", "webemu.emulator.cli"]


def ingest_page(root: Path) -> Iterator[Path]:
    """Ingest the page into the collection `c`. HOME is a folder of the test's, since a run that is killed leaves a
    folder behind there.
    """
    ingest(root / "c", write(root / "a.warc.gz", [CaptureSpec("https://a.example/", PAGE)]))
    (root / "home").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(root / "home"))
        yield root


def line(root: Path, *command: str) -> list[str]:
    return [*WEBEMU, "run", "--root", str(root), "--collection", "c", "--", *command]


def run(command: Sequence[str], **options: Any) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(command, capture_output=True, text=True, timeout=120, **options)


def python(*lines: str) -> list[str]:
    return [sys.executable, "-c", "\n".join(lines)]
