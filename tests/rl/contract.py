"""Every adapter keeps one contract: the same calls give the same observations, requests and reward as the episode."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any

from tests.rl.worlds import World
from webemu.rl.adapters.environment_config import EnvironmentConfig
from webemu.rl.ledger import Request
from webemu.rl.state import Limits
from webemu.rl.tasks import Reply, Task

Calls = tuple[tuple[Any, Any], ...]
SEED = 5


@dataclass(frozen=True)
class Case:
    """One sequence of calls."""

    name: str
    task: Task
    calls: Calls
    limits: Limits = field(default_factory=Limits)
    policy: Mapping[str, Any] = field(default_factory=dict)
    judge: Mapping[str, Any] = field(default_factory=dict)
    """Configuration of a judge; empty for none."""

    @property
    def names_only_tools(self) -> bool:
        """True if every call names a tool and has an object: some trainers hand over no others."""
        offered = {"search", "open", "find", "finish", "ask_user"}
        return all(name in offered and isinstance(arguments, dict) for name, arguments in self.calls)


@dataclass(frozen=True)
class Played:
    """The outcome of a case that was played."""

    observations: tuple[str, ...]
    """The question and each observation."""
    earned: Mapping[str, Any]
    """`EnvironmentConfig.score`: reward, terms, masked, end."""
    requests: tuple[Request, ...] | None = None
    """The ledger; None where the adapter keeps its episode to itself, whose terms count it."""


def cases(world: World) -> list[Case]:
    task = world.of("founded_by")
    page, gold = task.evidence[0].url, task.answers[0]
    search: tuple[Any, Any] = ("search", {"query": task.question})
    finish: tuple[Any, Any] = ("finish", {"answer": gold, "citations": [page]})
    ambiguous = replace(task, id="asked", user=(Reply(("when", "year"), "I mean in 1901."),))
    none = replace(
        task, id="none", question="Who founded Qqzzx?", answers=("not found",), answer_type="none", evidence=()
    )
    report = replace(task, id="report", answer_type="report")
    storm = {"weather": {"errors": 0.3, "resets": 0.2, "rate_limits": 0.2, "dead_links": 0.2}}
    return [
        Case("good", task, (search, ("open", {"link": "r1"}), ("find", {"pattern": gold}), finish)),
        Case("by address", task, (("open", {"link": page}), ("open", {"link": page, "cursor": 50}), finish)),
        Case("wrong", task, (search, ("open", {"link": page}), ("finish", {"answer": "Nobody", "citations": [page]}))),
        Case("uncited", task, (search, ("finish", {"answer": gold, "citations": []}))),
        Case("repeats", task, (search, search, search, ("open", {"link": page}), finish)),
        Case("misuses", task, (("search", {"query": ["a", "b"]}), ("search", {"query": "x", "top_k": 5}), ("open", {}),
             ("search", {"query": "x", "page": "2"}), ("search", {"query": "town", "page": None}),
             ("finish", {"answer": gold, "citations": page}), ("find", {"pattern": 7}), finish)),
        Case("unknown tool", task, (("browse", {"url": page}), ("ask_user", {"question": "when?"}), (None, {}),
             finish)),
        Case("malformed", task, (("search", '{"query": '), ("search", '["x"]'), ("search", 7),
             ("open", '{"link": "r1"}'), ("search", '{"query": "town"}'), finish)),
        Case("after the end", task, (search, finish, search, finish)),
        Case("weather", task, (search, *(("open", {"link": one.evidence[0].url}) for one in world.tasks[:8]), finish),
             policy=storm),
        Case("turns", task, (search, ("open", {"link": "r1"}), finish), Limits(turns=2)),
        Case("calls", task, (search, ("open", {"link": page}), finish), Limits(calls=1)),
        Case("asks", ambiguous,
             (("ask_user", {"question": "In which year?"}), ("ask_user", {"question": "Hm?"}), finish)),
        Case("none", none, (("search", {"query": "founder of Qqzzx"}), ("search", {"query": "Qqzzx"}),
             ("finish", {"answer": "not found", "citations": []}))),
        Case("report", report, (("open", {"link": page}),
             ("finish", {"answer": f"It was {gold} [1].", "citations": [page]}))),
    ]  # fmt: skip


NAMES = ("good", "by address", "wrong", "uncited", "repeats", "misuses", "unknown tool", "malformed", "after the end",
         "weather", "turns", "calls", "asks", "none", "report")  # fmt: skip


def case(world: World, name: str) -> Case:
    return next(one for one in cases(world) if one.name == name)


def place(url: str, case: Case) -> EnvironmentConfig:
    """Return the configuration of the episodes of a case."""
    limits = {name: getattr(case.limits, name) for name in ("turns", "calls", "retries")}
    return EnvironmentConfig.from_config(
        {"server": url, "limits": limits, "policy": json.loads(json.dumps(case.policy)), "judge": case.judge}
    )


def expected(url: str, case: Case) -> Played:
    """The episode itself."""
    config = place(url, case)
    episode = config.new_episode()
    observations = [
        episode.reset(case.task, SEED).text,
        *(episode.call(name, arguments).text for name, arguments in case.calls),
    ]
    record = episode.record()
    return Played(tuple(observations), config.score(record), record.requests)


def same(outcome: Played, expected_outcome: Played) -> None:
    assert outcome.observations == expected_outcome.observations
    assert outcome.earned == expected_outcome.earned
    assert outcome.requests in (None, expected_outcome.requests)


class Line:
    """A way to a server that can be cut in the middle of an episode."""

    def __init__(self, url: str) -> None:
        host, _, port = url.removeprefix("http://").partition(":")
        self._server, self._open = (host, int(port)), []
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)  # wakes the thread that waits; closing does not
        self._listening.close()
        for connection in self._open:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near = self._listening.accept()[0]
                far = socket.create_connection(self._server)
                self._open += [near, far]
                for source, target in ((near, far), (far, near)):
                    threading.Thread(target=self._carry, args=(source, target), daemon=True).start()

    def _carry(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 16):
                target.sendall(data)
        with suppress(OSError):
            target.shutdown(socket.SHUT_WR)


@contextmanager
def line(world: World) -> Iterator[Line]:
    open_line = Line(world.url)
    try:
        yield open_line
    finally:
        open_line.cut()
