"""One URL of the crawl: the page in a frame, its text, markdown and links, and the headers of its server."""

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
"""Labels of the views, in order."""
_VIEWS: dict[str, View] = {"text": "text", "markdown": "markdown", "links": "links"}
MAX_SHOWN = 300_000
"""Most characters of a text; the API gives the rest."""
MAX_CAPTURES = 100
"""Most captures in the list."""
MAX_LINKS = 2000
"""Most links in the list."""
MAX_HEADERS = 300
"""Most headers in the table."""
MAX_VALUE = 4000
"""Most characters of a header's name or value."""
_LINK = re.compile(r"\[\d+\] (\S+)")
_REASON = re.compile(r"[^\x20-\x7e]")
"""Characters that no reason phrase may have."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One capture of the URL, for the list to choose from."""

    day: str
    time: str
    status: int
    mime: str
    href: str
    """Address that shows the capture."""
    current: bool
    """True for the capture on view."""


@dataclass(frozen=True, slots=True)
class Link:
    """A link of the page; `href` is the address that shows its target, empty if that is no web page."""

    url: str
    href: str


def answer(world: World, request: Request) -> Reply:
    """Answer `/view?url=&as=page|text|markdown|links|headers&at=`.

    Raises: BadRequest if the URL is missing or the view unknown, NotCaptured if the URL is not captured.
    """
    url, tab, at = first(request, "url"), first(request, "as") or "page", first(request, "at", 40)
    if not url or tab not in TABS:
        raise BadRequest(
            "the parameter url is missing" if not url else f"{tab[:40]!r} is not a view of a page",
            action=f"use /view?url=URL&as={'|'.join(TABS)}",
        )
    moment = parse_time(at) if at else request.session.at
    capture = world.locate(PageRequest(url, "raw", moment, follow=False))
    # A view that fails is an error inside the page: the other views and captures stay reachable.
    problem, values = None, dict[str, Any]()
    try:
        values = _panel(world, capture, tab)
    except EmulatorError as error:
        problem = error
    return sheet(world, "view.html", problem, **_about(world, request, url, capture, tab, at), **values)


def _about(world: World, request: Request, asked: str, capture: Capture, tab: str, at: str) -> dict[str, Any]:
    """Return the template values that all views of a capture share."""
    stamp = addresses.stamp(capture.time)
    return {
        "title": world.text_of(capture)[0] or addresses.readable(capture.url),
        "url": capture.url,
        "direct_url": addresses.real(request, capture.url),
        "host": urls.host(capture.url),
        "is_inexact": capture.url != urls.guess(asked),
        "capture": capture,
        "captured_at": datetime.fromtimestamp(capture.time, UTC),
        "redirect": _link(capture.redirect) if capture.redirect else None,
        "tab": tab,
        "tabs": [(name, label, addresses.view(asked, name, at)) for name, label in TABS.items()],
        "captures": _captures(world, asked, capture, tab),
        "replay_url": addresses.replay(capture.url, stamp),
    }


def _panel(world: World, capture: Capture, tab: str) -> dict[str, Any]:
    """Return the template values of one view. Raises ViewUnavailable or PayloadError if it cannot be shown."""
    if tab == "page":
        return {"frame_url": addresses.replay(capture.url, addresses.stamp(capture.time), "if_")}
    if tab == "headers":
        return _headers(world, capture)
    content = world.fetch(_exactly(capture, _VIEWS[tab])).content
    links: Sequence[Link] = []
    if tab == "links":
        # This view is the text of the page, followed by a numbered list of link targets.
        content, _, listed = content.rpartition("\n\nLinks:\n") if "\n\nLinks:\n" in content else (content, "", "")
        links = [_link(target) for target in _LINK.findall(listed)[:MAX_LINKS]]
    return {"content": content[:MAX_SHOWN], "links": links, "total": len(content), "is_cut": len(content) > MAX_SHOWN}


def _exactly(capture: Capture, view: View) -> PageRequest:
    """Return the request for one capture, without following redirects."""
    return PageRequest(capture.url, view, datetime.fromtimestamp(capture.time, UTC), follow=False)


def _headers(world: World, capture: Capture) -> dict[str, Any]:
    """Return status and headers as recorded; no headers if the record is not an HTTP response."""
    _, payload = world.payload(_exactly(capture, "raw"))
    lines = [(_shown(name), _shown(value)) for name, value in payload.headers[:MAX_HEADERS]]
    reason = _REASON.sub("�", payload.reason)[:200]
    return {"status_line": f"{payload.status} {reason}", "headers": lines, "size": len(payload.body)}


def _shown(value: bytes) -> str:
    """Decode a header's name or value, cut, with unprintable characters replaced."""
    try:
        text = value.decode()
    except UnicodeDecodeError:
        text = value.decode("latin-1")
    return "".join(c if c.isprintable() else "�" for c in text[:MAX_VALUE])


def _link(url: str) -> Link:
    return Link(url, addresses.view(url) if addresses.is_web(url) else "")


def _captures(world: World, asked: str, current: Capture, tab: str) -> list[Seen]:
    """Return the captures around the current one, in order of time."""
    found = world.captures(asked)
    place = next((number for number, one in enumerate(found) if one == current), 0)
    start = max(0, min(place - MAX_CAPTURES // 2, len(found) - MAX_CAPTURES))
    return [_seen(one, asked, tab, one == current) for one in found[start : start + MAX_CAPTURES]]


def _seen(capture: Capture, asked: str, tab: str, current: bool) -> Seen:
    when = datetime.fromtimestamp(capture.time, UTC)
    href = addresses.view(asked, tab, addresses.stamp(capture.time))
    return Seen(f"{when:%Y-%m-%d}", f"{when:%H:%M:%S}", capture.status, capture.mime, href, current)
