"""What all tests share: golden files.

A golden file holds what a wire format gave when it was last looked at; `--update-golden` writes them anew for review.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write golden files instead of comparing with them")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, Any], None]:
    """`golden(name, value)`: the JSON-like value is what `golden/<name>.json` beside the test says."""
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
