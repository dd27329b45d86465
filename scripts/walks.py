"""Count how often a walk through the code changes the file and the floor: a search, a session's request, a reward.

    webemu demo --once && python scripts/walks.py webemu-data demo

A walk is the list of files whose functions are called, in order; calls within a file are one stay. A call that is
repeated, as in a loop, is read once. *Files* are the different files, *returns* the stays in a file that the walk had
left before, *crossings* the changes of room, *climbs* the calls from a lower floor to a higher one (see `FLOORS`; most
are calls through a port). With `--stays` each stay is printed. Libraries are not part of a walk: a call from a library
counts as a call from the function of ours that called the library.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from types import CodeType, FrameType

from webemu.agent_client import AsyncClient
from webemu.api.app import create_app
from webemu.emulator.config import load_config
from webemu.rl.environment import AsyncEpisode
from webemu.rl.ledger import open_session_call
from webemu.rl.record import EpisodeRecord
from webemu.rl.rewards import rubric_of
from webemu.rl.tasks import Task

HOUSE = Path(__file__).resolve().parent.parent
FLOORS = {"emulator": 0, "index": 1, "ingest": 2, "api": 3, "agent_client": 4, "rl": 5}
"""Rooms from the bottom to the top, as the law of imports orders them."""
POLICY = {"budget": {"searches": 1000, "fetches": 1000}, "weather": {"latency": {"ms": 1}}}
"""Policy of the sessions: each step of the pipeline has something to do."""


@dataclass(slots=True)
class Walk:
    """Records the calls of this thread while it is open as a context."""

    name: str
    visits: list[str] = field(default_factory=list)
    """Files in the order in which they were entered, relative to the house."""
    climbs: list[str] = field(default_factory=list)
    """Calls from a lower floor to a higher one, as caller and function."""
    _frames: set[FrameType] = field(default_factory=set)
    """Frames that were called before: a coroutine or generator that goes on is not called again."""
    _calls: set[tuple[CodeType | None, CodeType]] = field(default_factory=set)
    """Calls that were read before, as caller and function."""

    def __enter__(self) -> Walk:
        sys.setprofile(self._note_call)
        return self

    def __exit__(self, *failure: object) -> None:
        sys.setprofile(None)
        self._frames.clear()

    def _note_call(self, frame: FrameType, event: str, argument: object) -> None:
        if event != "call" or frame in self._frames or (path := _house_path(frame)) is None:
            return
        self._frames.add(frame)
        caller = _find_caller(frame)
        call = (caller and caller.f_code, frame.f_code)
        if call in self._calls:
            return
        self._calls.add(call)
        if caller is not None and FLOORS[_room(_house_path(caller) or path)] < FLOORS[_room(path)]:
            self.climbs.append(f"{_house_path(caller)} -> {path} {frame.f_code.co_name}")
        if not self.visits or self.visits[-1] != path:
            self.visits.append(path)

    @property
    def crossings(self) -> int:
        """Number of times that the walk goes from one room to another."""
        return sum(_room(before) != _room(after) for before, after in pairwise(self.visits))

    def __str__(self) -> str:
        files, rooms = set(self.visits), {_room(path) for path in self.visits}
        return (
            f"{self.name:<24} {len(self.visits):>3} stays {len(files):>3} files {len(rooms):>2} rooms"
            f" {self.crossings:>3} crossings {len(self.climbs):>3} climbs {len(self.visits) - len(files):>3} returns"
        )


def _house_path(frame: FrameType) -> str | None:
    """Return the file of a frame relative to the house; None for a library and for this script."""
    path = Path(frame.f_code.co_filename).resolve()
    if not path.is_relative_to(HOUSE):
        return None
    relative = path.relative_to(HOUSE).as_posix()
    return relative if _room(relative) in FLOORS else None


def _room(path: str) -> str:
    return path.partition("/")[0]


def _find_caller(frame: FrameType) -> FrameType | None:
    """Return the nearest caller that belongs to the house; None if there is none."""
    caller = frame.f_back
    while caller is not None and _house_path(caller) is None:
        caller = caller.f_back
    return caller


async def measure(name: str, search: Callable[[str], Awaitable[object]], query: str) -> Walk:
    """Return the walk of a search whose answer is not cached, on files that are open already."""
    await search("warm up")
    with Walk(name) as walk:
        await search(query)
    return walk


async def finish_episode(client: AsyncClient) -> EpisodeRecord:
    """Return the record of an episode that searches, opens the first result and finishes."""
    episode = AsyncEpisode(client, policy=POLICY)
    await episode.reset(Task("walk", "Where is it?", ("there",)))
    for tool, arguments in (
        ("search", {"query": "town"}),
        ("open", {"id": "r1"}),
        ("finish", {"answer": "there", "citations": ["r1"]}),
    ):
        await episode.call(tool, arguments)
    return await episode.record()


async def walk_all(root: str, collection: str) -> list[Walk]:
    """Return the three walks over a collection that is served in this process."""
    app = create_app(load_config({"root": root, "collection": collection}))
    async with AsyncClient(app=app, retries=0) as client:
        session = await client.request(open_session_call(POLICY))
        async with AsyncClient(app=app, retries=0, session=session) as agent:
            # Two queries, since a session may be answered from the cache of the other search.
            search = await measure("a search", client.search, "the history of the town")
            session_search = await measure("a search in a session", agent.search, "the harbour of the island")
        record = await finish_episode(client)
    with Walk("the reward of an episode") as reward:
        rubric_of(record.task).score(record)
    return [search, session_search, reward]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("root", help="folder of the collections")
    parser.add_argument("collection", help="name of the collection")
    parser.add_argument("--stays", action="store_true", help="print the files of each walk in order, and its climbs")
    options = parser.parse_args()
    for walk in asyncio.run(walk_all(options.root, options.collection)):
        print(walk)
        if options.stays:
            print(*(f"    {path}" for path in walk.visits), sep="\n")
            print(*(f"    climb: {call}" for call in walk.climbs), sep="\n")


if __name__ == "__main__":
    main()
