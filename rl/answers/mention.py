"""Places in an answer: what is taken for the accepted answer, and what competes with it."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Span:
    """Part of a text."""

    start: int
    end: int
    part: int = 0
    """Index of the part of the accepted answer that it equals; lists have several parts."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Mentions of an answer, sorted into hits and rivals."""

    hits: tuple[Span, ...] = field(default=())
    """Mentions that equal a part of the accepted answer."""
    rivals: tuple[Span, ...] = field(default=())
    """Mentions of the same kind with another value."""
