"""Kills `webemu remove`, `merge`, `gc` and `move` at random moments; each collection must be as before or as after.

    python -m benchmarks.kills CRAWL_FOLDER --moments 30

The archives of CRAWL_FOLDER are ingested into two collections. For each moment they are copied, a command is started,
killed with its processes (SIGKILL), and what is then served is read: the results of some queries, the captures and
whether the removed host is known. Every file, record and payload is verified. Then the command runs again, to its end.
Prints how many moments fell before and after, and each that was neither.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from webemu.emulator.cli import main as main_of_webemu
from webemu.emulator.types import Query
from webemu.index.catalog import Catalog
from webemu.index.keeping.relocate import copy_tree
from webemu.index.manifest import current_id
from webemu.index.open import open_world
from webemu.index.verify import verify_snapshot
from webemu.ingest.run import run
from webemu.ingest.sources import expand_sources

QUERIES = ("domain", "example page", "archive", "harbour", "internet names")
_HOST = """
SELECT url_host_name FROM captures JOIN pages USING (source_id, warc_record_offset)
GROUP BY 1 ORDER BY count(*) DESC, 1
"""
_PROCESSES = get_context("forkserver")
"""Starts commands from a process that has imported them already: a moment is seldom one of imports then."""
_PROCESSES.set_forkserver_preload(
    ["webemu.ingest.removal_command", "webemu.ingest.keeping_command", "webemu.emulator.cli"]
)


@dataclass(frozen=True, slots=True)
class KillCase:
    """One command that is killed."""

    name: str
    arguments: tuple[str, ...]
    """Arguments; ROOT stands for the folder of the collections, AWAY for a folder on another disk."""


def list_cases(host: str) -> list[KillCase]:
    """Return the commands that are killed; `host` is the one that is removed."""
    place = ("--collection", "a", "--root", "ROOT", "-q")
    return [
        KillCase("remove", ("remove", "--host", host, "--reason", "test", "--purge", "--workers", "1", *place)),
        KillCase("merge", ("merge", "a", "b", "--workers", "1", "--root", "ROOT", "-q")),
        KillCase("gc", ("gc", "--keep", "1", *place[:-1])),
        KillCase("move", ("move", "AWAY/a", *place)),
    ]


def run_command(arguments: list[str]) -> None:
    """Run a command of webemu in this process, which becomes the leader of a group of processes."""
    os.setsid()
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
    sys.argv = ["webemu", *arguments]
    main_of_webemu()


def find_host(collection: Path) -> str:
    """Return the host with the most pages."""
    with Catalog(collection, read_only=True) as catalog:
        return str(catalog.db.execute(_HOST).fetchall()[0][0])


def describe(collection: Path) -> str:
    """Return what a collection serves, or what is damaged."""
    snapshot = current_id(collection) or ""
    faults: list[str] = []
    verify_snapshot(collection, snapshot, faults.append)
    if faults:
        return f"damaged: {faults[:3]}"
    world = open_world(collection)
    results = [[hit.url for hit in world.search(Query(text)).hits] for text in QUERIES]
    return repr((world.figures() | {"snapshot": "", "collection": ""}, results))


class _Trial:
    """One copy of the collections, on which a command is run."""

    def __init__(self, base: Path, case: KillCase) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="kills-", dir=base.parent))
        self._away = Path(tempfile.mkdtemp(prefix="kills-", dir=_other_disk()))
        copy_tree(base, self._folder / "root")
        values = {"ROOT": str(self._folder / "root"), "AWAY/a": str(self._away / "a")}
        self._arguments = [values.get(word, word) for word in case.arguments]

    def play(self, seconds: float | None) -> float:
        """Run the command, and kill it after so many seconds; return how long it ran."""
        started = time.monotonic()
        process = _PROCESSES.Process(target=run_command, args=(self._arguments,))
        process.start()
        process.join(seconds)
        if process.is_alive():
            with suppress(ProcessLookupError):  # it has not made its group yet, or has ended
                os.killpg(process.pid or 0, signal.SIGKILL)
            process.kill()
            process.join()
        return time.monotonic() - started

    def state(self) -> str:
        """Return what the collection serves, wherever it is."""
        places = [place for place in (self._folder / "root" / "a", self._away / "a") if place.exists()]
        states = {describe(place) for place in places}
        return states.pop() if len(states) == 1 else f"{len(states)} states at {len(places)} places"

    def remove(self) -> None:
        """Delete the copies."""
        shutil.rmtree(self._folder)
        shutil.rmtree(self._away)


def _other_disk() -> str | None:
    """Return a folder on another disk than temporary files, if there is one."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


def play_case(base: Path, case: KillCase, moments: int, seed: int) -> Iterator[str]:
    """Yield for each moment `before`, `after`, or what else was found."""
    first_trial = _Trial(base, case)
    before = first_trial.state()
    duration = first_trial.play(None)
    after = first_trial.state()
    first_trial.remove()
    generator = random.Random(f"{seed} {case.name}")
    for _ in range(moments):
        trial = _Trial(base, case)
        trial.play(generator.uniform(0, duration))
        killed_state = trial.state()
        trial.play(None)
        final_state = trial.state()
        trial.remove()
        if final_state != after:
            yield f"not ended by a second run: {final_state[:300]}"
        elif killed_state not in (before, after):
            yield f"between: {killed_state[:300]}"
        else:
            yield "before" if killed_state == before else "after"


def build_base(crawl: Path, base: Path) -> None:
    """Ingest the archives of a folder into two collections; the first gets two snapshots."""
    files = sorted(str(path) for path in crawl.rglob("*") if path.name.endswith((".warc", ".warc.gz")))
    for collection, names in (("a", files[::3]), ("a", files[1::3]), ("b", files[2::3])):
        run(expand_sources(names).sources, base / collection, workers=1, quiet=True)


def main() -> None:
    """Print the outcome of all moments."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("crawl", type=Path)
    parser.add_argument("--moments", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="webemu-kills-") as name:
        base = Path(name) / "base"
        build_base(options.crawl, base)
        for case in list_cases(find_host(base / "a")):
            outcomes = Counter(play_case(base, case, options.moments, options.seed))
            counts = ", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items()))
            print(f"{case.name:<7} {counts}", flush=True)


if __name__ == "__main__":
    main()
