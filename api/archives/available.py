"""Availability API of the Wayback Machine, `/wayback/available?url=`: the capture nearest to a time."""

from __future__ import annotations

import re

import orjson

from webemu.api.archives.parameters import digits, one
from webemu.api.archives.responses import ascii_url, reply
from webemu.api.archives.timestamps import moment, stamp
from webemu.api.http.request import Request
from webemu.api.services.origin import Reply
from webemu.emulator.errors import BadRequest
from webemu.emulator.types import Capture
from webemu.emulator.world import World

_CALLBACK = re.compile(r"[\w$.]{1,100}", re.ASCII)
"""JSONP callback: a JavaScript name, so that no other code can be injected."""


def answer(world: World, request: Request) -> Reply:
    """Answer with the nearest successful capture, the newest one if no time is given.

    Raises BadRequest if `url` is missing, or `timestamp` or `callback` is malformed.
    """
    url, callback = one(request.parameters, "url"), one(request.parameters, "callback")
    asked = digits(request.parameters, "timestamp")
    if not url:
        raise BadRequest("the url parameter is required")
    if callback and not _CALLBACK.fullmatch(callback):
        raise BadRequest(f"callback={callback[:60]!r} is not a JavaScript name")
    # The session may be pinned to a day; without either, the newest capture is nearest.
    at = moment(asked) if asked else request.session.at
    found = _closest(world.captures(url), None if at is None else at.timestamp())
    told: dict[str, object] = {"url": url, "archived_snapshots": {"closest": _told(found, request)} if found else {}}
    body = orjson.dumps(told | ({"timestamp": asked} if asked else {}))
    if callback:
        return reply(200, b"%s(%s);" % (callback.encode(), body), "application/javascript")
    return reply(200, body, "application/json")


def _closest(captures: list[Capture], at: float | None) -> Capture | None:
    """Return the capture with a status below 400 that is nearest in time, the newest if `at_time` is None; None if
    none.
    """
    good = [capture for capture in captures if 0 < capture.status < 400]
    if at is None:
        return good[-1] if good else None
    return min(good, key=lambda capture: abs(capture.time - at), default=None)


def _told(capture: Capture, request: Request) -> dict[str, object]:
    time = stamp(capture.time)
    where = f"{archive_of(request)}/web/{time}/{ascii_url(capture.url)}"
    return {"status": str(capture.status), "available": True, "url": where, "timestamp": time}


def archive_of(request: Request) -> str:
    """Return the origin that replays captures: archive.org itself does not, web.archive.org does."""
    if request.host in ("archive.org", "www.archive.org"):
        return f"{request.scheme}://web.archive.org"
    return request.origin
