"""State of an episode: its limits, the observations that a model reads, and the values that `reset` creates anew."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Literal

from webemu.rl.record import End, Progress, UserQuestion
from webemu.rl.session_client import SessionClient
from webemu.rl.tasks import Task
from webemu.rl.views import OpenPage

ObservationKind = Literal["task", "results", "page", "matches", "user", "misuse", "refusal", "weather", "limit", "over"]
"""Kind of an observation: what was shown, or why nothing was."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of an episode. The names are those of recipes, `--limits-json` and the trainers' configurations."""

    turns: int = 24
    """Tool calls of the model, including invalid ones and `finish`."""
    calls: int = 16
    """Searches and page views that are sent to the web."""
    bytes: int = 4_000_000
    """Bytes of the web's answers; enforced by the server."""
    characters: int = 8_000
    """Characters of web text in one observation."""
    results: int = 10
    """Results that a search shows."""
    brief: bool = False
    """True for short observations: result titles, page text, one word for an error, and no markers around web text.
    Meant for models too small to read more. Web text is still sanitised, but nothing separates it from the episode's
    own messages.
    """
    retries: int = 5
    """Retries of a request that failed because of an outage, before the episode is masked."""


def parse_limits(config: Mapping[str, object]) -> Limits:
    """Return the limits in a configuration; names that are left out keep their default.

        parse_limits({"turns": 8, "brief": True})

    Raises: ValueError if a name is unknown or a value is not a whole number.
    """
    names = [one.name for one in fields(Limits)]
    if unknown := sorted(set(config) - set(names)):
        raise ValueError(f"unknown limit {unknown[0]!r}; known limits: {', '.join(names)}")
    numbers = {name: _read_number(name, value) for name, value in config.items()}
    # Configurations that allow only numbers have 0 and 1 for False and True.
    brief = bool(numbers.pop("brief", False))
    return Limits(**numbers, brief=brief)


def _read_number(name: str, value: object) -> int:
    """Return a limit. Raises: ValueError if it is not a whole number; True and False count as 1 and 0."""
    if not isinstance(value, int):
        raise ValueError(f"the limit {name!r} must be a whole number, got {value!r}")
    return value


@dataclass(frozen=True, slots=True)
class Observation:
    """Text that the model reads next."""

    text: str
    kind: ObservationKind
    done: bool = False
    """True if the episode has ended."""


@dataclass(slots=True)
class EpisodeState:
    """Mutable state of an episode; `reset` replaces it as a whole."""

    task: Task
    seed: int
    session: SessionClient | None = None
    """Client of the session; None before it is opened."""
    turns: int = 0
    calls: int = 0
    invalid_calls: int = 0
    answer: str = ""
    citations: tuple[str, ...] = ()
    end: End = ""
    mask: str = ""
    results: tuple[str, ...] = ()
    """URLs of the last search, so that `r1` is the first."""
    open_page: OpenPage | None = None
    opened: dict[str, None] = field(default_factory=dict)
    """URLs of the pages in the order in which they were first opened, so that `p1` is the first. The values are
    unused.
    """
    parts_by_page: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Texts that each page showed, by `webemu.rl.record.url_key` of its final URL."""
    titles: dict[str, str] = field(default_factory=dict)
    """Titles of the pages that were shown, by `url_key` of the final URL."""
    questions: tuple[UserQuestion, ...] = ()
    """Questions that were put to the simulated user."""
    redirects: dict[str, str] = field(default_factory=dict)
    """Mapping from `url_key` of each requested URL to that of its final URL."""
    progress: list[Progress] = field(default_factory=list)
    """State of the episode after each tool call."""
