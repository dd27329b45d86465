"""One URL of the crawl: its text, the original in a frame, markdown and links, and the headers of its server."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from webemu.api.http.request import Request
from webemu.api.http.response import Response
from webemu.api.pages import addresses
from webemu.api.pages.missing_styles import count_missing_styles
from webemu.api.pages.template import first_param, render_page
from webemu.emulator import urls
from webemu.emulator.dates import parse_time
from webemu.emulator.errors import BadRequest, EmulatorError
from webemu.emulator.types import Capture, PageRequest, View
from webemu.emulator.world import World

TAB_LABELS = {"text": "Text", "page": "Original", "markdown": "Markdown", "links": "Links", "headers": "Headers"}
"""Labels of the views, in order."""
_VIEWS: dict[str, View] = {"text": "text", "markdown": "markdown", "links": "links"}
MAX_TEXT_CHARS = 300_000
"""Most characters of a text; the API gives the rest."""
MAX_CAPTURES = 100
"""Most captures in the list."""
MAX_LINKS = 2000
"""Most links in the list."""
MAX_HEADERS = 300
"""Most headers in the table."""
MAX_HEADER_CHARS = 4000
"""Most characters of a header's name or value."""
_LINK = re.compile(r"\[\d+\] (\S+)")
_UNPRINTABLE = re.compile(r"[^\x20-\x7e]")
"""Characters that no reason phrase may have."""


@dataclass(frozen=True, slots=True)
class CaptureOption:
    """One capture of the URL, for the list to choose from."""

    day: str
    time: str
    status: int
    mime: str
    href: str
    """Address that shows the capture."""
    is_current: bool
    """True for the capture on view."""


@dataclass(frozen=True, slots=True)
class Link:
    """A link of the page; `href` is the address that shows its target, empty if that is no web page."""

    url: str
    href: str


def answer_view(world: World, request: Request) -> Response:
    """Answer `/view?url=&as=page|text|markdown|links|headers&at=`.

    Raises: BadRequest if the URL is missing or the view unknown, NotCaptured if the URL is not captured.
    """
    url, tab, timestamp = (
        first_param(request, "url"),
        first_param(request, "as"),
        first_param(request, "at", 40),
    )
    if not url or tab not in ("", *TAB_LABELS):
        raise BadRequest(
            "the parameter url is missing" if not url else f"{tab[:40]!r} is not a view of a page",
            action=f"use /view?url=URL&as={'|'.join(TAB_LABELS)}",
        )
    at_time = parse_time(timestamp) if timestamp else request.session.at_time
    capture = world.locate(PageRequest(url, "raw", at_time, follow=False))
    tab = tab or _default_tab(world, capture)
    # A view that fails is an error inside the page: the other views and captures stay reachable.
    problem, values = None, dict[str, object]()
    try:
        values = _view_values(world, capture, tab)
    except EmulatorError as error:
        problem = error
    return render_page(
        world, "view.html", problem, **_common_values(world, request, url, capture, tab, timestamp), **values
    )


def _default_tab(world: World, capture: Capture) -> str:
    """Return the view in which a capture opens: its text if it has any, else the original."""
    return "text" if not capture.redirect and world.text_of(capture)[1].strip() else "page"


def _common_values(
    world: World, request: Request, requested_url: str, capture: Capture, tab: str, timestamp: str
) -> dict[str, object]:
    """Return the template values that all views of a capture share."""
    stamp = addresses.format_timestamp(capture.time)
    options = _list_captures(world, requested_url, capture, tab)
    return {
        "title": world.text_of(capture)[0] or addresses.decode_for_display(capture.url),
        "url": capture.url,
        "direct_url": addresses.direct_url(request, capture.url),
        "host": urls.host_of(capture.url),
        "is_inexact": capture.url != urls.parse_user_url(requested_url),
        "capture": capture,
        "captured_at": datetime.fromtimestamp(capture.time, UTC),
        "redirect": _build_link(capture.redirect) if capture.redirect else None,
        "tab": tab,
        "tabs": [
            (name, label, addresses.view_url(requested_url, name, timestamp)) for name, label in TAB_LABELS.items()
        ],
        "captures": options,
        "current_index": next((number for number, option in enumerate(options) if option.is_current), 0),
        "replay_url": addresses.replay_url(capture.url, stamp),
    }


def _view_values(world: World, capture: Capture, tab: str) -> dict[str, object]:
    """Return the template values of one view. Raises ViewUnavailable or PayloadError if it cannot be shown."""
    if tab == "page":
        stamp = addresses.format_timestamp(capture.time)
        styles = count_missing_styles(world, capture)
        return {"frame_url": addresses.replay_url(capture.url, stamp, "if_"), "styles": styles}
    if tab == "headers":
        return _header_values(world, capture)
    content = world.fetch(_request_capture(capture, _VIEWS[tab])).content
    links: Sequence[Link] = []
    if tab == "links":
        # This view is the text of the page, followed by a numbered list of link targets.
        content, _, link_list = content.rpartition("\n\nLinks:\n") if "\n\nLinks:\n" in content else (content, "", "")
        links = [_build_link(target) for target in _LINK.findall(link_list)[:MAX_LINKS]]
    return {
        "content": content[:MAX_TEXT_CHARS],
        "links": links,
        "total": len(content),
        "is_cut": len(content) > MAX_TEXT_CHARS,
    }


def _request_capture(capture: Capture, view: View) -> PageRequest:
    """Return the request for one capture, without following redirects."""
    return PageRequest(capture.url, view, datetime.fromtimestamp(capture.time, UTC), follow=False)


def _header_values(world: World, capture: Capture) -> dict[str, object]:
    """Return status and headers as recorded; no headers if the record is not an HTTP response."""
    _, payload = world.payload(_request_capture(capture, "raw"))
    lines = [(_decode_header(name), _decode_header(value)) for name, value in payload.headers[:MAX_HEADERS]]
    reason = _UNPRINTABLE.sub("�", payload.reason)[:200]
    return {"status_line": f"{payload.status} {reason}", "headers": lines, "size": len(payload.body)}


def _decode_header(value: bytes) -> str:
    """Decode a header's name or value, cut, with unprintable characters replaced."""
    try:
        text = value.decode()
    except UnicodeDecodeError:
        text = value.decode("latin-1")
    return "".join(c if c.isprintable() else "�" for c in text[:MAX_HEADER_CHARS])


def _build_link(url: str) -> Link:
    return Link(url, addresses.view_url(url) if addresses.is_web_url(url) else "")


def _list_captures(world: World, requested_url: str, current: Capture, tab: str) -> list[CaptureOption]:
    """Return the captures around the current one, in order of time."""
    captures = world.captures(requested_url)
    position = next((number for number, one in enumerate(captures) if one == current), 0)
    start = max(0, min(position - MAX_CAPTURES // 2, len(captures) - MAX_CAPTURES))
    return [_build_option(one, requested_url, tab, one == current) for one in captures[start : start + MAX_CAPTURES]]


def _build_option(capture: Capture, requested_url: str, tab: str, is_current: bool) -> CaptureOption:
    capture_time = datetime.fromtimestamp(capture.time, UTC)
    href = addresses.view_url(requested_url, tab, addresses.format_timestamp(capture.time))
    return CaptureOption(
        f"{capture_time:%Y-%m-%d}", f"{capture_time:%H:%M:%S}", capture.status, capture.mime, href, is_current
    )
