"""Commands that change collections are killed: a collection is then as before or as after, and a second run ends it."""

from pathlib import Path

import pytest

from benchmarks.kills import build_base, find_host, list_cases, play_case
from tests.crawls import CaptureSpec, html, write
from tests.in_process import in_process

WORDS = "Boats and nets of the harbour town, in enough words to be a page of its own: an example archive."


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kills")
    for number in range(3):
        pages = [CaptureSpec(f"https://{host}.example/{number}", html(f"{host} {number}", WORDS)) for host in "abc"]
        write(folder / "crawl" / f"{number}.warc.gz", pages)
    with in_process():
        build_base(folder / "crawl", folder / "base")
    return folder / "base"


@pytest.mark.slow
@pytest.mark.parametrize("number", range(4), ids=["remove", "merge", "gc", "move"])
def test_a_killed_command_leaves_nothing_between(base: Path, number: int) -> None:
    case = list_cases(find_host(base / "a"))[number]
    assert set(play_case(base, case, 1, seed=1)) <= {"before", "after"}
