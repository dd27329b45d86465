"""Weather: the faults that a session's web suffers, and how often. Which request is hit is a matter of `KeyedRandom`.

`draw_weather` hits a whole request; dead links and CAPTCHAs hit pages (`webemu.emulator.request_world`), and noise hits
results (`webemu.emulator.noise`). Nothing here waits, answers or knows a wire format.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from math import exp
from typing import Literal, get_args

from webemu.emulator.errors import EmulatorError, ServiceRefusal
from webemu.emulator.keyed_random import KeyedRandom

LatencyKind = Literal["constant", "uniform", "lognormal"]
LATENCY_KINDS: tuple[LatencyKind, ...] = get_args(LatencyKind)
"""Distributions of an added delay."""
FaultKind = Literal["timeout", "error", "rate-limit", "reset", "truncated"]
INJECTED_REASON = "bad-weather"
"""Reason of an injected error, which is not a failure of the server."""
ERROR_STATUSES = (500, 502, 503, 504)
"""HTTP statuses of injected errors."""
MAX_LATENCY_MS = 60_000
"""Maximum added delay, in milliseconds."""


@dataclass(frozen=True, slots=True)
class Latency:
    """Distribution of the delay added to an answer."""

    kind: LatencyKind = "constant"
    """Kind of distribution."""
    ms: float = 0.0
    """Median, in milliseconds."""
    spread: float = 0.0
    """uniform: half of the range, in milliseconds; lognormal: standard deviation of the logarithm."""

    def sample_ms(self, random: KeyedRandom) -> float:
        """Return a delay in milliseconds, at most a minute."""
        if self.kind == "uniform":
            latency_ms = self.ms + self.spread * (2 * random.uniform("latency") - 1)
        elif self.kind == "lognormal":
            latency_ms = self.ms * exp(min(50.0, self.spread * random.normal("latency")))
        else:
            latency_ms = self.ms
        return min(max(0.0, latency_ms), MAX_LATENCY_MS)


NO_LATENCY = Latency()


@dataclass(frozen=True, slots=True)
class Weather:
    """Rates of faults, each from 0 to 1 (`latency`, `hold_ms` and `retry_after` are no rates)."""

    latency: Latency = NO_LATENCY
    timeouts: float = 0.0
    """Requests that are held and then closed without an answer."""
    hold_ms: float = 30_000
    """Time for which such a request is held, in milliseconds."""
    errors: float = 0.0
    """Requests answered 500, 502, 503 or 504."""
    rate_limits: float = 0.0
    """Requests answered 429."""
    retry_after: int = 1
    """Retry-After of a 429, in seconds."""
    resets: float = 0.0
    """Connections that are reset instead of answered."""
    truncated: float = 0.0
    """Answers that end before their declared length."""
    dead_links: float = 0.0
    """URLs that appear not to exist."""
    captchas: float = 0.0
    """Hosts that show a CAPTCHA instead of their pages."""
    dropped: float = 0.0
    """Results that are left out."""
    shuffled: float = 0.0
    """Blocks of ten results that are shuffled."""
    replaced: float = 0.0
    """Results that are replaced by plausible but wrong ones of another query (ZeroSearch, Sun et al. 2025)."""
    variation: float = 0.0
    """Strength with which this session's engine weights pages differently from that of other sessions."""


FAIR = Weather()
"""Weather without faults."""
RATES = tuple(field.name for field in fields(Weather) if field.name not in ("latency", "hold_ms", "retry_after"))
"""Names of the fields that are rates."""
_FAULTS: tuple[tuple[str, FaultKind], ...] = (
    ("timeouts", "timeout"),
    ("errors", "error"),
    ("rate_limits", "rate-limit"),
    ("resets", "reset"),
    ("truncated", "truncated"),
)


def draw_fault(weather: Weather, random: KeyedRandom) -> FaultKind | None:
    """Return the fault of a request; None for no fault. A request has at most one."""
    # One random value against the stacked rates, so that at most one fault is drawn.
    threshold = random.uniform("fault")
    for rate, kind in _FAULTS:
        threshold -= getattr(weather, rate)
        if threshold < 0:
            return kind
    return None


def fault_error(kind: FaultKind, random: KeyedRandom) -> EmulatorError | None:
    """Return the error that a fault is answered with; None for faults that have no response."""
    if kind == "rate-limit":
        return ServiceRefusal("too many requests", reason="rate-limited", status=429)
    if kind == "error":
        return ServiceRefusal(
            "the service is out of order", reason=INJECTED_REASON, status=random.choice(ERROR_STATUSES, "status")
        )
    return None


@dataclass(frozen=True, slots=True)
class RequestWeather:
    """Weather of one request."""

    fault: FaultKind | None
    """Fault of the whole request; None for no fault."""
    delay_ms: float
    """Milliseconds for which the answer is delayed, or for which the connection is held before it is closed."""
    has_response: bool
    """True if the request is answered: in full, in part or with an error."""


def draw_weather(weather: Weather, random: KeyedRandom) -> RequestWeather:
    """Return the weather of a request, all of it drawn from the randomness of the request."""
    fault = draw_fault(weather, random)
    delay_ms = weather.hold_ms if fault == "timeout" else weather.latency.sample_ms(random)
    return RequestWeather(fault, delay_ms, fault not in ("timeout", "reset"))


def curriculum_rate(start: float, end: float, progress: float, base: float = 4.0) -> float:
    """Return a rate that rises with training, slowly at first (ZeroSearch, equation 1); `progress` is from 0 to 1."""
    return start + (float(base**progress) - 1) / (base - 1) * (end - start)
