"""Train, dev and test, so that no page of one stands on a domain of another.

Tasks hang together that have evidence on the same domain, and so do those they hang together with: connected
components. Each component goes into one split, the largest first, to where most is missing of its share.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Literal

from webemu.emulator import urls
from webemu.rl.tasks.task import Task

NAMES = ("train", "dev", "test")
By = Literal["domain", "host", "page"]
"""What must not be shared between splits."""


@dataclass(frozen=True, slots=True)
class Split:
    """A task file divided."""

    tasks: tuple[Task, ...]
    """In the order they came."""
    components: dict[str, int]
    """How many components each split got."""
    sizes: tuple[int, ...]
    """Tasks of each component, the largest first."""

    @property
    def counts(self) -> Counter[str]:
        return Counter(task.split for task in self.tasks)


def split(tasks: Sequence[Task], shares: Sequence[float], seed: int, by: By = "domain") -> Split:
    """Give each task its split; `shares` of train, dev and test, which need not add up to 1."""
    groups = sorted(components(tasks, by).items(), key=lambda one: (-len(one[1]), _draw(one[0], seed)))
    wanted = {name: share / sum(shares) * len(tasks) for name, share in zip(NAMES, shares, strict=True)}
    given: Counter[str] = Counter()
    chosen: dict[int, str] = {}
    counts: Counter[str] = Counter()
    for _, members in groups:
        name = max((name for name in NAMES if wanted[name]), key=lambda name: wanted[name] - given[name])
        given[name] += len(members)
        counts[name] += 1
        chosen.update(dict.fromkeys(members, name))
    sorted_in = tuple(replace(task, split=chosen[place]) for place, task in enumerate(tasks))
    return Split(sorted_in, dict(counts), tuple(len(members) for _, members in groups))


def components(tasks: Sequence[Task], by: By = "domain") -> dict[str, list[int]]:
    """Places of tasks that hang together, by the first name of what they share; a task without evidence is alone."""
    union = _Union()
    held = [_held(task, by) for task in tasks]
    for names in held:
        union.join(names)
    found: defaultdict[str, list[int]] = defaultdict(list)
    for place, names in enumerate(held):
        found[union.root(names[0])].append(place)
    return {min(name for place in places for name in held[place]): places for places in found.values()}


def _held(task: Task, by: By) -> list[str]:
    return sorted({_key(one.url, by) for one in task.evidence}) or [f"task {task.id}"]


def _key(url: str, by: By) -> str:
    if by == "page":
        return urls.canonical_key(urls.normalize(url))
    host = urls.host_of(url)
    return urls.split_domain(host)[0] if by == "domain" else host


def _draw(name: str, seed: int) -> bytes:
    return blake2b(f"{seed}:{name}".encode(), digest_size=8).digest()


class _Union:
    """Disjoint sets of names."""

    def __init__(self) -> None:
        self._above: dict[str, str] = {}

    def root(self, name: str) -> str:
        above = self._above.setdefault(name, name)
        while above != self._above[above]:
            self._above[above] = self._above[self._above[above]]
            above = self._above[above]
        return above

    def join(self, names: Iterable[str]) -> None:
        roots = [self.root(name) for name in names]
        self._above.update(dict.fromkeys(roots, roots[0]))
