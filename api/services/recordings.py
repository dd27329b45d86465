"""Answers requests with the exchanges of a recorded run (`webemu record`), and marks how each answer was found.

`X-Webemu-Recorded` is `exact 2/3` (the second of three responses to this very request), `near 1/1` (the request
differs only in what changes from run to run), or `none` (the index answered, because nothing was recorded).
"""

from __future__ import annotations

from webemu.api.http.request import Request
from webemu.api.http.response import Response
from webemu.api.services.origin import rebuild_response
from webemu.emulator.exchange_keys import make_keys
from webemu.emulator.ledger import BudgetKind
from webemu.emulator.world import World

MARK = b"X-Webemu-Recorded"
"""Header of answers from a snapshot that has recordings."""


def replay_exchange(world: World, request: Request, kind: BudgetKind, wait: bool = True) -> Response | None:
    """Return the recorded response to a request; None if none was recorded.

    `kind` is the budget of the session that pays for it. Raises: PayloadError if the bytes of the response are gone;
    BlockingIOError if `wait` is false, and a disk or another machine has to be asked.
    """
    if not wait and world.is_remote:
        raise BlockingIOError
    keys = make_keys(request.method, request.url, request.headers, request.body)
    if (exchange := world.find_exchange(keys, kind, wait)) is None:
        return None
    # The recorded server has seen range and conditions; only the content coding depends on the client's program.
    coding = {name: value for name, value in request.headers.items() if name == b"accept-encoding"}
    reply = rebuild_response(exchange.payload, request.method, coding, world.decode_body)
    mark = f"{exchange.match} {exchange.number}/{exchange.total}".encode()
    snapshot = (b"X-Webemu-Snapshot", world.snapshot.encode())
    return reply._replace(headers=[*reply.headers, snapshot, (MARK, mark)])


def has_recorded_answer(world: World, request: Request) -> bool:
    """True if a request has a recorded exchange, exact or near, or asks for a captured page."""
    if world.has_exchanges:
        keys = make_keys(request.method, request.url, request.headers, request.body)
        if any(map(world.page_store.recorded_exchanges, keys)):
            return True
    return request.method in ("GET", "HEAD") and world.has_url(request.url)


def mark_unrecorded(reply: Response) -> Response:
    """Return a response with the mark that nothing was recorded for its request."""
    return reply._replace(headers=[*reply.headers, (MARK, b"none")])
