"""Bad weather: what a session's web suffers, and how often. Which request it strikes is drawn, and drawn alike again.

`fault` strikes a request as a whole; dead links and captcha walls strike pages (`webemu.emulator.request_world`), and noise strikes
results (`webemu.emulator.noise`). Nothing here waits, answers or knows a wire.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from math import exp
from typing import Literal

from webemu.emulator.errors import EmulatorError, Refused
from webemu.emulator.keyed_random import Draws

Kind = Literal["timeout", "error", "rate-limit", "reset", "truncated"]
REASON = "bad-weather"
"""Of an error that was wanted: no failure of ours."""
STATUSES = (500, 502, 503, 504)
LONGEST_MS = 60_000


@dataclass(frozen=True, slots=True)
class Latency:
    """How much later an answer comes."""

    kind: str = "constant"
    """constant, uniform or lognormal."""
    ms: float = 0.0
    """The median."""
    spread: float = 0.0
    """uniform: ms more or less at most; lognormal: deviation of the logarithm."""

    def drawn(self, draws: Draws) -> float:
        """Milliseconds, at most a minute."""
        if self.kind == "uniform":
            wait = self.ms + self.spread * (2 * draws.share("latency") - 1)
        elif self.kind == "lognormal":
            wait = self.ms * exp(min(50.0, self.spread * draws.normal("latency")))
        else:
            wait = self.ms
        return min(max(0.0, wait), LONGEST_MS)


NONE = Latency()


@dataclass(frozen=True, slots=True)
class Weather:
    """Rates are from 0 to 1."""

    latency: Latency = NONE
    timeouts: float = 0.0
    """Requests that are held, then closed without an answer."""
    hold_ms: float = 30_000
    """How long they are held."""
    errors: float = 0.0
    """Requests answered 500, 502, 503 or 504."""
    rate_limits: float = 0.0
    """Requests answered 429."""
    retry_after: int = 1
    """Seconds that a 429 names."""
    resets: float = 0.0
    """Connections reset instead of an answer."""
    truncated: float = 0.0
    """Answers that end before their length."""
    dead_links: float = 0.0
    """URLs that are not there."""
    captchas: float = 0.0
    """Hosts that show a wall instead of their pages."""
    dropped: float = 0.0
    """Results left out."""
    shuffled: float = 0.0
    """Tens of results in another order."""
    replaced: float = 0.0
    """Results replaced by those of another query: plausible and wrong (ZeroSearch, Sun et al. 2025)."""
    variation: float = 0.0
    """How much the engine of this session weighs differently from that of others."""


FAIR = Weather()
RATES = tuple(field.name for field in fields(Weather) if field.name not in ("latency", "hold_ms", "retry_after"))
_FAULTS: tuple[tuple[str, Kind], ...] = (
    ("timeouts", "timeout"),
    ("errors", "error"),
    ("rate_limits", "rate-limit"),
    ("resets", "reset"),
    ("truncated", "truncated"),
)


def fault(weather: Weather, draws: Draws) -> Kind | None:
    """What strikes the request that the draws are about; at most one thing."""
    at = draws.share("fault")
    for rate, kind in _FAULTS:
        at -= getattr(weather, rate)
        if at < 0:
            return kind
    return None


def refusal(kind: Kind, draws: Draws) -> EmulatorError | None:
    """The error that a fault is answered with; None for those without words."""
    if kind == "rate-limit":
        return Refused("too many requests", reason="rate-limited", status=429)
    if kind == "error":
        return Refused("the service is out of order", reason=REASON, status=draws.choice(STATUSES, "status"))
    return None


def curriculum(start: float, end: float, progress: float, base: float = 4.0) -> float:
    """A rate that grows with training, slowly first (ZeroSearch, equation 1); `progress` is from 0 to 1."""
    return start + (float(base**progress) - 1) / (base - 1) * (end - start)
