"""Fixtures and rules that all tests share: golden files, and how tests spread over worker processes.

A golden file holds what a wire format gave when it was last reviewed; `--update-golden` rewrites them.

`make test` runs one worker per core (pytest-xdist). A file's tests stay together in one worker, so that its collection
and its server are built once. Files of `SERIAL` run one after another in a single worker, since two of them at once
would disturb each other. Things that several files need are built once for all workers: see `tests/shared.py`.
"""

import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from xdist.remote import Producer
    from xdist.scheduler import LoadFileScheduling
    from xdist.workermanage import WorkerController

SERIAL = (
    "tests/api/test_accepting.py",
    "tests/api/test_bench.py",
    "tests/api/test_browser.py",
    "tests/api/test_netns.py",
    "tests/api/test_overload.py",
    "tests/api/test_patience.py",
    "tests/api/test_soak.py",
    "tests/index/test_views_bounds.py",
    "tests/ingest/test_kill.py",
    "tests/test_scale.py",
)
"""Files that measure time or memory, take the machine's network apart, or start many processes."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write golden files instead of comparing with them")


def pytest_configure(config: pytest.Config) -> None:
    """Hear SIGINT, and let programs that tests start hear it: a shell's background jobs are started without."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(optionalhook=True)  # environments without pytest-xdist do not know this hook
def pytest_xdist_make_scheduler(config: pytest.Config, log: "Producer") -> "LoadFileScheduling | None":
    """Return a scheduler that keeps files whole and the files of `SERIAL` in one worker, which begins with them, for
    `--dist loadfile`.
    """
    if config.getoption("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class SerialScheduling(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = super()._split_scope(nodeid)
            return "serial" if file in SERIAL else file

        def _assign_work_unit(self, node: "WorkerController") -> None:
            # They take the longest, and xdist would begin with the file of the most tests.
            if "serial" in self.workqueue:
                self.workqueue.move_to_end("serial", last=False)
            super()._assign_work_unit(node)

    return SerialScheduling(config, log)


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, Any], None]:
    """Return `golden(name, value)`, which compares a JSON-like value with `golden/<name>.json` beside the test."""
    folder = Path(request.path).parent / "golden"

    def check(name: str, value: Any) -> None:
        path = folder / f"{name}.json"
        if request.config.getoption("--update-golden"):
            folder.mkdir(exist_ok=True)
            path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        # Texts are compared, so that the order of members counts.
        assert json.dumps(value, ensure_ascii=False) == json.dumps(
            json.loads(path.read_text(encoding="utf-8")), ensure_ascii=False
        )

    return check
