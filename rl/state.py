"""What an episode is made of: its limits, what the model reads, and everything that `reset` makes anew."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from webemu.rl.record import End
from webemu.rl.session_client import SessionWeb
from webemu.rl.tasks import Task
from webemu.rl.views import Leaf

Kind = Literal["task", "results", "page", "matches", "user", "misuse", "refusal", "weather", "limit", "over"]


@dataclass(frozen=True, slots=True)
class Limits:
    turns: int = 24
    """Tool calls of the model, those that cannot be made and `finish` among them."""
    calls: int = 16
    """Searches and pages asked of the web."""
    bytes: int = 4_000_000
    """Of the web's answers; kept by the server."""
    characters: int = 8_000
    """Of the web's words in one observation."""
    results: int = 10
    """Shown by a search."""
    brief: bool = False
    """Titles alone for results, text alone for pages, one word for what went wrong, no frames: for models that are too
    small to read more. What pages say is still made data, but nothing tells it from the episode's own words."""
    retries: int = 5
    """Of a request that an outage of ours took, before the episode is masked."""


def limits_of(told: Mapping[str, Any]) -> Limits:
    """Limits from a configuration. Raises ValueError on an unknown name."""
    names = [one.name for one in fields(Limits)]
    if unknown := sorted(set(told) - set(names)):
        raise ValueError(f"there is no limit {unknown[0]!r}; there are {', '.join(names)}")
    return Limits(**told)


@dataclass(frozen=True, slots=True)
class Observation:
    """What the model reads next."""

    text: str
    kind: Kind
    done: bool = False


@dataclass(slots=True)
class State:
    """Everything that `reset` makes anew."""

    task: Task
    seed: int
    web: SessionWeb | None = None
    turns: int = 0
    calls: int = 0
    misuses: int = 0
    answer: str = ""
    citations: tuple[str, ...] = ()
    end: End = ""
    mask: str = ""
    results: tuple[str, ...] = ()
    open_page: Leaf | None = None
    opened: dict[str, None] = field(default_factory=dict)
    """Addresses of pages in the order in which they were opened first: p1, p2 and so on."""
    shown: dict[str, tuple[str, ...]] = field(default_factory=dict)
    redirects: dict[str, str] = field(default_factory=dict)
