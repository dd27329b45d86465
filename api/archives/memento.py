"""Memento (RFC 7089): `LinkRewriter` headers and TimeMaps that lead from one capture of a URL to the others."""

from __future__ import annotations

from collections.abc import Iterator

from webemu.api.archives.address import ReplayAddress
from webemu.api.archives.responses import ascii_url, make_response
from webemu.api.archives.timestamps import format_http_date, format_timestamp
from webemu.api.http.response import Response
from webemu.emulator.errors import NotCaptured
from webemu.emulator.types import Capture
from webemu.emulator.world import World

Memento = tuple[int, str]
"""Time of a capture in seconds since the epoch, and its URL."""
_MAX_TIMEMAP_ENTRIES = 100_000
"""Captures in one TimeMap; the oldest are kept."""


def list_mementos(captures: list[Capture]) -> list[Memento]:
    """Return the distinct mementos of the captures, in the order given (oldest first)."""
    return list(dict.fromkeys((capture.time, capture.url) for capture in captures))


def format_link_header(
    origin: str, address: ReplayAddress, url: str, all_mementos: list[Memento], current: Memento | None
) -> bytes:
    """Return the `LinkRewriter` header of a memento, or of the TimeGate if `current` is the memento that it leads to.

    It names the original, TimeMap and TimeGate, and the first, last, previous and next mementos.
    """
    # -1 if the capture is not among them: then only the first and the last are linked.
    position = all_mementos.index(current) if current in all_mementos else -1
    roles: dict[int, list[str]] = {}  # one link per memento: the first may be the previous one as well
    for role, index in (
        ("first", 0),
        ("last", len(all_mementos) - 1),
        ("prev", position - 1),
        ("next", position + 1),
        ("", position),
    ):
        if 0 <= index < len(all_mementos) and (position >= 0 or role in ("first", "last")):
            roles.setdefault(index, []).extend([role] if role else [])
    links = [
        _format_link(origin, address, all_mementos[index], " ".join([*relations, "memento"]))
        for index, relations in sorted(roles.items())
    ]
    return ", ".join([*_common_links(origin, address, url), *links]).encode()


def _common_links(origin: str, address: ReplayAddress, url: str) -> list[str]:
    """Return the links to the original, its TimeMap and its TimeGate, which every answer carries."""
    return [
        f'<{ascii_url(url)}>; rel="original"',
        f'<{_timemap_url(origin, url)}>; rel="timemap"; type="application/link-format"',
        f'<{origin}{address.timegate_path(url)}>; rel="timegate"',
    ]


def _timemap_url(origin: str, url: str) -> str:
    return f"{origin}/web/timemap/link/{ascii_url(url)}"


def _format_link(origin: str, address: ReplayAddress, memento: Memento, role: str) -> str:
    time, url = memento
    return (
        f'<{origin}{address.capture_path(format_timestamp(time), url, "")}>; rel="{role}"; '
        f'datetime="{format_http_date(time)}"'
    )


def timemap_response(world: World, origin: str, address: ReplayAddress) -> Response:
    """Return all captures of a URL as `application/link-format`. Raises NotCaptured if there are none."""
    all_mementos = list_mementos(world.captures(address.url))[:_MAX_TIMEMAP_ENTRIES]
    if not all_mementos:
        raise NotCaptured(f"{address.url} was not captured")
    return make_response(
        200, ",\n".join(_timemap_lines(origin, address, all_mementos)) + "\n", "application/link-format"
    )


def _timemap_lines(origin: str, address: ReplayAddress, all_mementos: list[Memento]) -> Iterator[str]:
    (first, url), last = all_mementos[0], all_mementos[-1][0]
    original, _, timegate = _common_links(origin, address, url)
    span = f'type="application/link-format"; from="{format_http_date(first)}"; until="{format_http_date(last)}"'
    yield from (original, f'<{_timemap_url(origin, url)}>; rel="self"; {span}', timegate)
    for number, memento in enumerate(all_mementos):
        relations = ["first"] * (number == 0) + ["last"] * (number == len(all_mementos) - 1)
        yield _format_link(origin, address, memento, " ".join([*relations, "memento"]))
