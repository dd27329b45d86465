"""Availability API of the Wayback Machine, `/wayback/available?url=`: the capture nearest to a time."""

from __future__ import annotations

import re

import orjson

from webemu.api.archives.parameters import first_value, timestamp_value
from webemu.api.archives.responses import ascii_url, make_response
from webemu.api.archives.timestamps import format_timestamp, parse_timestamp
from webemu.api.http.request import Request
from webemu.api.http.response import Response
from webemu.emulator.errors import BadRequest
from webemu.emulator.types import Capture
from webemu.emulator.world import World

_CALLBACK = re.compile(r"[\w$.]{1,100}", re.ASCII)
"""JSONP callback: a JavaScript name, so that no other code can be injected."""


def answer(world: World, request: Request) -> Response:
    """Answer with the nearest successful capture, the newest one if no time is given.

    Raises BadRequest if `url` is missing, or `timestamp` or `callback` is malformed.
    """
    url, callback = first_value(request.parameters, "url"), first_value(request.parameters, "callback")
    timestamp = timestamp_value(request.parameters, "timestamp")
    if not url:
        raise BadRequest("the url parameter is required")
    if callback and not _CALLBACK.fullmatch(callback):
        raise BadRequest(f"callback={callback[:60]!r} is not a JavaScript name")
    # The session may be pinned to a day; without either, the newest capture is nearest.
    at_time = parse_timestamp(timestamp) if timestamp else request.session.at_time
    capture = _closest_capture(world.captures(url), None if at_time is None else at_time.timestamp())
    payload: dict[str, object] = {
        "url": url,
        "archived_snapshots": {"closest": _snapshot_fields(capture, request)} if capture else {},
    }
    body = orjson.dumps(payload | ({"timestamp": timestamp} if timestamp else {}))
    if callback:
        return make_response(200, b"%s(%s);" % (callback.encode(), body), "application/javascript")
    return make_response(200, body, "application/json")


def _closest_capture(captures: list[Capture], at_time: float | None) -> Capture | None:
    """Return the capture with a status below 400 that is nearest in time, the newest if `at_time` is None; None if
    none.
    """
    good = [capture for capture in captures if 0 < capture.status < 400]
    if at_time is None:
        return good[-1] if good else None
    return min(good, key=lambda capture: abs(capture.time - at_time), default=None)


def _snapshot_fields(capture: Capture, request: Request) -> dict[str, object]:
    timestamp = format_timestamp(capture.time)
    replay_url = f"{replay_origin(request)}/web/{timestamp}/{ascii_url(capture.url)}"
    return {"status": str(capture.status), "available": True, "url": replay_url, "timestamp": timestamp}


def replay_origin(request: Request) -> str:
    """Return the origin that replays captures: archive.org itself does not, web.archive.org does."""
    if request.host in ("archive.org", "www.archive.org"):
        return f"{request.scheme}://web.archive.org"
    return request.origin
