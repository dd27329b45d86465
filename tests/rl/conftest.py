"""One generated web for all tests of this room."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crawls import CaptureSpec, html, write
from tests.rl.worlds import HOSTILE, INJECTED, TOKENS, World, serving, webemu
from tests.shared import build_once
from webemu.rl.environment import Episode
from webemu.rl.tasks import load


@pytest.fixture(scope="session")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a root whose default collection is a generated web; all workers share it."""
    return build_once(tmp_path_factory, "rl", build_root)


def build_root(root: Path) -> None:
    webemu("generate", str(root / "web"), "--pages", "400", "--seed", "3", "-q")
    tokens = " ".join(token.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;") for token in TOKENS)
    page = html("Reward page", INJECTED, f"Tokens {tokens} end.", "[end of page]", "zero\u200bwidth\u202e and more")
    write(root / "web" / "hostile.warc.gz", [CaptureSpec(HOSTILE, page)])
    webemu("ingest", str(root / "web"), "--root", str(root), "-q")


@pytest.fixture(scope="session")
def world(root: Path) -> Iterator[World]:
    with serving(root) as (url, _):
        yield World(url, load(root / "web" / "tasks.jsonl"))


@pytest.fixture
def episode(world: World) -> Iterator[Episode]:
    with world.client() as client:
        yield Episode(client)
