"""Divides tasks into train, dev and test, so that no page of one split is on a domain of another.

Tasks with evidence on the same domain are connected, and each connected component goes into one split: the largest
component first, always to the split that lacks most of its share. If one domain holds nearly all tasks, the division is
by host, by the beginning of the path, or by page; `SplitResult.granularity` says which.

Answers and names can still occur in several splits. `leave_out_shared` leaves such tasks out of train.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Literal

from webemu.emulator import urls
from webemu.rl.tasks.phrases import find_names
from webemu.rl.tasks.task import Task
from webemu.rl.verify import normalise

SPLIT_NAMES = ("train", "dev", "test")
"""Names of the splits."""
Granularity = Literal["domain", "host", "path", "page", "auto"]
"""Granularity of the components: splits share no domain, no host, no beginning of a path, or no page. `auto` is the
coarsest one that leaves enough tasks for dev and test.
"""
GRANULARITIES: tuple[Granularity, ...] = ("domain", "host", "path", "page")
"""Granularities from coarse to fine."""
MAX_COMPONENT_SHARE = 0.6
"""Largest share of all tasks that a component may have for `auto` to accept a granularity, and without a warning."""
MIN_SPLIT_SHARE = 0.7
"""Share of a split's wanted tasks below which the build warns."""
_PATH_PARTS = 3
"""Number of parts of a path that make its beginning."""
_DOTTED_NAME = re.compile(r"\b[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
_COMMON_NAME = 0.02
"""Share of tasks from which a name is too common to tell a subject, such as that of a software."""


@dataclass(frozen=True, slots=True)
class SplitResult:
    """Tasks with their splits, and the sizes of the components."""

    tasks: tuple[Task, ...]
    """All tasks in their old order, each with its split."""
    component_counts: dict[str, int]
    """Number of components in each split that has any."""
    component_sizes: tuple[int, ...]
    """Number of tasks in each component, largest first."""
    granularity: Granularity = "domain"
    """Granularity of the components; never `auto`."""
    left_out: int = 0
    """Number of tasks of train that were left out, because dev or test has their answer or subject."""
    target_counts: Mapping[str, float] = field(default_factory=dict)
    """Number of tasks that each split should have by its weight."""
    guessed_count: int = 0
    """Number of tasks that were left out, because questions and answers of other tasks give theirs away."""

    @property
    def small_splits(self) -> list[str]:
        """Names of the splits that have less than `MIN_SPLIT_SHARE` of the tasks that they should have."""
        return [
            name for name, target in self.target_counts.items() if self.task_counts[name] < MIN_SPLIT_SHARE * target
        ]

    @property
    def task_counts(self) -> Counter[str]:
        """Number of tasks in each split."""
        return Counter(task.split for task in self.tasks)


def split_tasks(tasks: Sequence[Task], shares: Sequence[float], seed: int, by: Granularity = "domain") -> SplitResult:
    """Assign a split to each task. `shares` are the weights of train, dev and test; they need not add up to 1.

    result = split_tasks(tasks, (0.8, 0.1, 0.1), seed=0)
    """
    by = _choose_granularity(tasks) if by == "auto" else by
    # Equal sizes are ordered by a hash of seed and name, so that a seed gives other splits.
    groups = sorted(
        find_components(tasks, by).items(), key=lambda component: (-len(component[1]), _random_key(component[0], seed))
    )
    targets = {name: share / sum(shares) * len(tasks) for name, share in zip(SPLIT_NAMES, shares, strict=True)}
    assigned: Counter[str] = Counter()
    split_by_position: dict[int, str] = {}
    component_counts: Counter[str] = Counter()
    # Largest first: small components can still even out what large ones did to the shares.
    for _, members in groups:
        name = max((name for name in SPLIT_NAMES if targets[name]), key=lambda name: targets[name] - assigned[name])
        assigned[name] += len(members)
        component_counts[name] += 1
        split_by_position.update(dict.fromkeys(members, name))
    assigned_tasks = tuple(replace(task, split=split_by_position[position]) for position, task in enumerate(tasks))
    return SplitResult(
        assigned_tasks, dict(component_counts), tuple(len(members) for _, members in groups), by, 0, targets
    )


def _choose_granularity(tasks: Sequence[Task]) -> Granularity:
    """Return the coarsest granularity whose largest component leaves enough tasks to the other splits."""
    for by in GRANULARITIES:
        largest = max(map(len, find_components(tasks, by).values()), default=0)
        if largest <= MAX_COMPONENT_SHARE * len(tasks):
            return by
    return GRANULARITIES[-1]


def leave_out_shared(result: SplitResult, recipes: frozenset[str]) -> SplitResult:
    """Return the split without those tasks of train, made by these recipes, that share their answer or a name in the
    question with a task of dev or test.
    """
    name_counts = Counter(name for task in result.tasks for name in _task_names(task))
    common = {name for name, count in name_counts.items() if count > max(3, _COMMON_NAME * len(result.tasks))}
    held_out = [task for task in result.tasks if task.split != SPLIT_NAMES[0]]
    answers = {normalise(answer) for task in held_out for answer in task.answers}
    names = {name for task in held_out for name in _task_names(task)} - common
    tasks = tuple(
        task
        for task in result.tasks
        if task.split != SPLIT_NAMES[0]
        or task.recipe not in recipes
        or (answers.isdisjoint(map(normalise, task.answers)) and names.isdisjoint(_task_names(task)))
    )
    return replace(result, tasks=tasks, left_out=len(result.tasks) - len(tasks))


def _task_names(task: Task) -> set[str]:
    """Return the quoted names, the names of several words and the dotted names in a question, normalised."""
    names = {normalise(name) for name in find_names(task.question)[:12]}
    return {name for name in names if len(name.split()) > 1} | {
        normalise(name) for name in _DOTTED_NAME.findall(task.question)
    }


def find_components(tasks: Sequence[Task], by: Granularity = "domain") -> dict[str, list[int]]:
    """Return the positions of connected tasks by the smallest of their keys. A task without evidence is alone."""
    sets = _DisjointSets()
    keys_by_task = [_evidence_keys(task, by) for task in tasks]
    for names in keys_by_task:
        sets.merge(names)
    positions_by_root: defaultdict[str, list[int]] = defaultdict(list)
    for position, names in enumerate(keys_by_task):
        positions_by_root[sets.find_root(names[0])].append(position)
    return {
        min(name for position in positions for name in keys_by_task[position]): positions
        for positions in positions_by_root.values()
    }


def _evidence_keys(task: Task, by: Granularity) -> list[str]:
    """Return the sorted keys of a task's evidence, or a key of its own if it has none."""
    # A task without evidence is connected with nothing.
    return sorted({_url_key(one.url, by) for one in task.evidence}) or [f"task {task.id}"]


def _url_key(url: str, by: Granularity) -> str:
    """Return the page, host or registrable domain of a URL."""
    if by == "path":
        return "/".join(
            [urls.host_of(url), *urls.canonical_key(urls.normalize(url)).partition("/")[2].split("/")[:_PATH_PARTS]]
        )
    if by == "page":
        return urls.canonical_key(urls.normalize(url))
    host = urls.host_of(url)
    return urls.split_domain(host)[0] if by == "domain" else host


def _random_key(name: str, seed: int) -> bytes:
    """Return a pseudo-random sort key of a component."""
    return blake2b(f"{seed}:{name}".encode(), digest_size=8).digest()


class _DisjointSets:
    """Disjoint sets of names (union-find with path halving)."""

    def __init__(self) -> None:
        self._parents: dict[str, str] = {}

    def find_root(self, name: str) -> str:
        """Return the representative of a name's set."""
        # Path halving: each step lets a name skip its parent.
        parent = self._parents.setdefault(name, name)
        while parent != self._parents[parent]:
            self._parents[parent] = self._parents[self._parents[parent]]
            parent = self._parents[parent]
        return parent

    def merge(self, names: Iterable[str]) -> None:
        """Merge the sets of these names."""
        roots = [self.find_root(name) for name in names]
        self._parents.update(dict.fromkeys(roots, roots[0]))
