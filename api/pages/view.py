"""One URL of the crawl, looked at: the page itself in a frame, its text, markdown, links, and what its server said."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from webemu.api.http.request import Request
from webemu.api.pages import addresses
from webemu.api.pages.template import first, sheet
from webemu.api.services.origin import Reply
from webemu.emulator import urls
from webemu.emulator.dates import parse_time
from webemu.emulator.errors import BadRequest, EmulatorError
from webemu.emulator.types import Capture, PageRequest, View
from webemu.emulator.world import World

TABS = {"page": "Page", "text": "Text", "markdown": "Markdown", "links": "Links", "headers": "Headers"}
_VIEWS: dict[str, View] = {"text": "text", "markdown": "markdown", "links": "links"}
MAX_SHOWN = 300_000
"""Characters of a text; of longer ones the API gives the rest."""
MAX_CAPTURES = 100
MAX_LINKS = 2000
MAX_HEADERS = 300
MAX_VALUE = 4000
_LINK = re.compile(r"\[\d+\] (\S+)")
_REASON = re.compile(r"[^\x20-\x7e]")


@dataclass(frozen=True, slots=True)
class Seen:
    """One capture of the URL, to be chosen."""

    day: str
    time: str
    status: int
    mime: str
    href: str
    current: bool


@dataclass(frozen=True, slots=True)
class Link:
    """Where a link of the page leads."""

    url: str
    href: str


def answer(world: World, request: Request) -> Reply:
    """`/view?url=&as=page|text|markdown|links|headers&at=`."""
    url, tab, at = first(request, "url"), first(request, "as") or "page", first(request, "at", 40)
    if not url or tab not in TABS:
        raise BadRequest(
            "an address is needed" if not url else f"{tab[:40]!r} is no view of a page",
            action=f"use /view?url=ADDRESS&as={'|'.join(TABS)}",
        )
    moment = parse_time(at) if at else request.session.at
    capture = world.locate(PageRequest(url, "raw", moment, follow=False))
    problem, values = None, dict[str, Any]()
    try:
        values = _panel(world, capture, tab)
    except EmulatorError as error:
        problem = error
    return sheet(world, "view.html", problem, **_about(world, request, url, capture, tab, at), **values)


def _about(world: World, request: Request, asked: str, capture: Capture, tab: str, at: str) -> dict[str, Any]:
    """What all views of a capture show."""
    stamp = addresses.stamp(capture.time)
    return {
        "title": world.text_of(capture)[0] or addresses.readable(capture.url),
        "url": capture.url,
        "real": addresses.real(request, capture.url),
        "host": urls.host(capture.url),
        "near": capture.url != urls.guess(asked),
        "capture": capture,
        "when": datetime.fromtimestamp(capture.time, UTC),
        "redirect": _link(capture.redirect) if capture.redirect else None,
        "tab": tab,
        "tabs": [(name, label, addresses.view(asked, name, at)) for name, label in TABS.items()],
        "captures": _captures(world, asked, capture, tab),
        "alone": addresses.replay(capture.url, stamp),
    }


def _panel(world: World, capture: Capture, tab: str) -> dict[str, Any]:
    """What one view shows. Raises NoView and PayloadError."""
    if tab == "page":
        return {"frame": addresses.replay(capture.url, addresses.stamp(capture.time), "if_")}
    if tab == "headers":
        return _headers(world, capture)
    content = world.fetch(_exactly(capture, _VIEWS[tab])).content
    links: Sequence[Link] = []
    if tab == "links":
        content, _, listed = content.rpartition("\n\nLinks:\n") if "\n\nLinks:\n" in content else (content, "", "")
        links = [_link(target) for target in _LINK.findall(listed)[:MAX_LINKS]]
    return {"content": content[:MAX_SHOWN], "links": links, "total": len(content), "is_cut": len(content) > MAX_SHOWN}


def _exactly(capture: Capture, view: View) -> PageRequest:
    return PageRequest(capture.url, view, datetime.fromtimestamp(capture.time, UTC), follow=False)


def _headers(world: World, capture: Capture) -> dict[str, Any]:
    """Status and headers as recorded; none for records that are no answers of HTTP."""
    _, payload = world.payload(_exactly(capture, "raw"))
    lines = [(_shown(name), _shown(value)) for name, value in payload.headers[:MAX_HEADERS]]
    reason = _REASON.sub("�", payload.reason)[:200]
    return {"status_line": f"{payload.status} {reason}", "headers": lines, "size": len(payload.body)}


def _shown(value: bytes) -> str:
    try:
        text = value.decode()
    except UnicodeDecodeError:
        text = value.decode("latin-1")
    return "".join(c if c.isprintable() else "�" for c in text[:MAX_VALUE])


def _link(url: str) -> Link:
    return Link(url, addresses.view(url) if addresses.is_web(url) else "")


def _captures(world: World, asked: str, current: Capture, tab: str) -> list[Seen]:
    """The captures around the current one, in the order of time."""
    found = world.captures(asked)
    place = next((number for number, one in enumerate(found) if one == current), 0)
    start = max(0, min(place - MAX_CAPTURES // 2, len(found) - MAX_CAPTURES))
    return [_seen(one, asked, tab, one == current) for one in found[start : start + MAX_CAPTURES]]


def _seen(capture: Capture, asked: str, tab: str, current: bool) -> Seen:
    when = datetime.fromtimestamp(capture.time, UTC)
    href = addresses.view(asked, tab, addresses.stamp(capture.time))
    return Seen(f"{when:%Y-%m-%d}", f"{when:%H:%M:%S}", capture.status, capture.mime, href, current)
