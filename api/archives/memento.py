"""Memento (RFC 7089): `Link` headers and TimeMaps that lead from one capture of a URL to the others."""

from __future__ import annotations

from collections.abc import Iterator

from webemu.api.archives.address import Address
from webemu.api.archives.responses import ascii_url, reply
from webemu.api.archives.timestamps import http_date, stamp
from webemu.api.services.origin import Reply
from webemu.emulator.errors import NotCaptured
from webemu.emulator.types import Capture
from webemu.emulator.world import World

Memento = tuple[int, str]
"""Time of a capture in seconds since the epoch, and its URL."""
_MOST = 100_000
"""Captures in one TimeMap; the oldest are kept."""


def mementos(captures: list[Capture]) -> list[Memento]:
    """Return the distinct mementos of the captures, in the order given (oldest first)."""
    return list(dict.fromkeys((capture.time, capture.url) for capture in captures))


def link_header(origin: str, address: Address, url: str, known: list[Memento], this: Memento | None) -> bytes:
    """Return the `Link` header of a memento, or of the TimeGate if `current` is the memento that it leads to.

    It names the original, TimeMap and TimeGate, and the first, last, previous and next mementos.
    """
    # -1 if the capture is not among them: then only the first and the last are linked.
    place = known.index(this) if this in known else -1
    roles: dict[int, list[str]] = {}  # one link per memento: the first may be the previous one as well
    for role, at in (("first", 0), ("last", len(known) - 1), ("prev", place - 1), ("next", place + 1), ("", place)):
        if 0 <= at < len(known) and (place >= 0 or role in ("first", "last")):
            roles.setdefault(at, []).extend([role] if role else [])
    links = [_link(origin, address, known[at], " ".join([*words, "memento"])) for at, words in sorted(roles.items())]
    return ", ".join([*_around(origin, address, url), *links]).encode()


def _around(origin: str, address: Address, url: str) -> list[str]:
    """Return the links to the original, its TimeMap and its TimeGate, which every answer carries."""
    return [
        f'<{ascii_url(url)}>; rel="original"',
        f'<{_map_of(origin, url)}>; rel="timemap"; type="application/link-format"',
        f'<{origin}{address.gate(url)}>; rel="timegate"',
    ]


def _map_of(origin: str, url: str) -> str:
    return f"{origin}/web/timemap/link/{ascii_url(url)}"


def _link(origin: str, address: Address, memento: Memento, role: str) -> str:
    time, url = memento
    return f'<{origin}{address.of(stamp(time), url, "")}>; rel="{role}"; datetime="{http_date(time)}"'


def timemap(world: World, origin: str, address: Address) -> Reply:
    """Return all captures of a URL as `application/link-format`. Raises NotCaptured if there are none."""
    known = mementos(world.captures(address.url))[:_MOST]
    if not known:
        raise NotCaptured(f"{address.url} was not captured")
    return reply(200, ",\n".join(_lines(origin, address, known)) + "\n", "application/link-format")


def _lines(origin: str, address: Address, known: list[Memento]) -> Iterator[str]:
    (first, url), last = known[0], known[-1][0]
    original, _, gate = _around(origin, address, url)
    span = f'type="application/link-format"; from="{http_date(first)}"; until="{http_date(last)}"'
    yield from (original, f'<{_map_of(origin, url)}>; rel="self"; {span}', gate)
    for number, memento in enumerate(known):
        words = ["first"] * (number == 0) + ["last"] * (number == len(known) - 1)
        yield _link(origin, address, memento, " ".join([*words, "memento"]))
