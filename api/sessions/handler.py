"""Run requests under the policy of their session: count them, inject faults, answer them, and record them.

Faults are drawn before anything is answered. A refusal is worded as the requested service would word it. A failure of
this server is never reported as an injected fault, nor a fault as a failure.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import Literal, NamedTuple

from webemu.api.http.errors import ours
from webemu.api.http.request import Request
from webemu.api.runtime.thread_pool import Pool, begun
from webemu.api.services.origin import Headers, Reply
from webemu.api.sessions.responder import Whom
from webemu.api.sessions.step import Rules, Step, asked, entry, shown, traces
from webemu.api.sessions.store import Book
from webemu.api.sessions.worlds import Worlds
from webemu.emulator.errors import EmulatorError, Overloaded, Refused
from webemu.emulator.ledger import Kind, Ledger
from webemu.emulator.ports import Pending
from webemu.emulator.request_world import Visit
from webemu.emulator.trace import Traces
from webemu.emulator.weather import Kind as Fault
from webemu.emulator.weather import fault, refusal

Cut = Literal["", "reset", "close", "half"]
"""Fault below HTTP: none, the connection is reset, closed without an answer, or closed in the middle of one."""


class Outcome(NamedTuple):
    """Result of a request of a session."""

    reply: Reply | None
    """Response; None if the service has no answer, or none may be sent."""
    cut: Cut = ""
    """Fault by which the connection ends; empty for none."""
    marks: bool = True
    """True if debug headers may be sent."""
    delay_ms: float = 0.0
    """Milliseconds for which the weather delayed the response."""


_CUTS: dict[Fault, Cut] = {"timeout": "close", "reset": "reset", "truncated": "half"}
"""Faults that end the connection, and how."""


class Desk:
    """Handles all requests with a session; one for each server. All its state is in the ledger."""

    def __init__(
        self, ledger: Ledger, worlds: Worlds, trace: Traces, pool: Pool, attended: Callable[[str], None]
    ) -> None:
        """Take the ports. `on_request` is called with the session id of each request."""
        self.book = Book(ledger, worlds)
        self.worlds = worlds
        self.trace = trace
        self._ledger = ledger
        self._pool = pool
        self._attended = attended

    async def attend(self, request: Request, whom: Whom) -> Outcome:
        """Answer a request whose session has a policy, on the event loop if that is quick, else in a thread."""
        start = perf_counter()
        self._attended(request.session.id)
        try:
            step = await self._began(request, whom.service)
            struck = fault(step.rules.policy.weather, step.draws)
            if self._delay(step, struck):
                await asyncio.sleep(step.delay_ms / 1000)
            reply = await self._replied(step, struck, whom) if struck not in ("timeout", "reset") else None
            return self._finish(step, struck, whom, reply, start)
        except BaseException as failure:
            return Outcome(whom.refuse(request, ours(failure)), marks=request.session.marks)

    async def _began(self, request: Request, service: str) -> Step:
        """Start a step, on the event loop if its snapshot is open, else in a thread."""
        try:
            return self._begin(request, service, wait=False)
        except BlockingIOError:
            return await self._pool.run(partial(self._begin, request, service))

    async def _replied(self, step: Step, struck: Fault | None, whom: Whom) -> Reply | None:
        """Return the response of a step, on the event loop if the service allows it, else from a thread."""
        if whom.is_quick(step.request):
            try:
                return self._reply(step, struck, whom, wait=False)
            except Pending as search:
                await begun(search.ready)
            except BlockingIOError:
                pass
        try:
            return await self._pool.run(partial(self._reply, step, struck, whom))
        except Overloaded as error:
            return whom.refuse(step.request, error)

    def _finish(self, step: Step, struck: Fault | None, whom: Whom, reply: Reply | None, start: float) -> Outcome:
        """Record a step and return its outcome."""
        if struck == "truncated" and reply is None:  # nothing was sent that could be cut off
            struck = None
        if struck:
            step.seen.weather.add(struck)
        self._note(step, whom.service, reply, 1000 * (perf_counter() - start))
        how = _CUTS.get(struck, "") if struck else ""
        return Outcome(_marked(step, reply), how, step.request.session.marks, step.delay_ms)

    def _begin(self, request: Request, service: str, wait: bool = True) -> Step:
        """Start a step in the ledger.

        Raises:
            BlockingIOError: `wait` is False, and the snapshot of the session is not open.
        """
        rules = self.book.rules(request.session, wait)
        request = request._replace(session=request.session.ruled(rules.policy))
        same = asked(request, service)
        number, attempt, used = self._ledger.begin(rules.id, same)
        limit = rules.policy.budget.bytes
        is_spent = limit is not None and used >= limit
        return Step(request, rules, number, attempt, rules.draws.of(same.hex(), attempt), is_spent)

    @staticmethod
    def _delay(step: Step, struck: Fault | None) -> float:
        """Set and return the delay of a step in milliseconds."""
        weather = step.rules.policy.weather
        step.delay_ms = weather.hold_ms if struck == "timeout" else weather.latency.drawn(step.draws)
        return step.delay_ms

    def _reply(self, step: Step, struck: Fault | None, whom: Whom, wait: bool = True) -> Reply | None:
        """Return the response of a step; a failure becomes an error response of the service.

        Raises:
            BlockingIOError: `wait` is False, and the answer needs a disk or long work.
        """
        try:
            if struck and (error := refusal(struck, step.draws)):
                raise error
            if step.is_spent:
                raise _spent("bytes", step.rules)
            return whom.handler(self._visit(step, wait), step.request)
        except BaseException as failure:
            if not wait and isinstance(failure, BlockingIOError):
                raise
            failed = ours(failure)
            return _told(whom.refuse(step.request, failed), failed, step.rules)

    def _visit(self, step: Step, wait: bool) -> Visit:
        """Return the world of a step, created on the first call."""
        rules, visit = step.rules, step.visit
        if visit is None:
            visit = Visit(rules.world, rules.policy, rules.draws, step.draws, partial(self._spend, step))
            step.visit, step.seen = visit, visit.seen
        visit.waits = wait
        return visit

    def _spend(self, step: Step, kind: Kind) -> None:
        """Charge one search or fetch to the budget of a session. Raises ServiceRefusal if the budget is spent.

        What has a limit is charged in the ledger at once, so that all workers see it. Anything else is recorded when
        the step ends.
        """
        limit = getattr(step.rules.policy.budget, kind)
        if limit is None:
            step.used[kind] = step.used.get(kind, 0) + 1
        elif not self._ledger.spend(step.rules.id, kind, limit):
            raise _spent(kind, step.rules)

    def _note(self, step: Step, service: str, reply: Reply | None, milliseconds: float) -> None:
        """Record a step in the ledger and in the traces."""
        session, opened = step.rules.id, tuple(step.seen.opened)
        step.used["bytes"] = len(reply.body) if reply else 0
        places = self._ledger.places(session, opened) if opened else {}
        self._ledger.note(session, step.number, entry(step, service, reply, places), shown(step), step.used)
        self.trace.put(traces(step, service, reply, places, milliseconds))


def _spent(kind: Kind, rules: Rules) -> Refused:
    """Return the 429 error for a budget that is spent."""
    limit = getattr(rules.policy.budget, kind)
    return Refused(f"the session's budget of {limit:,} {kind} is spent", reason="out-of-budget", status=429)


def _told(reply: Reply, error: Exception, rules: Rules) -> Reply:
    """Return the response to a rate limit with `Retry-After`, the header that every service uses for it; any other
    unchanged.
    """
    if not (isinstance(error, EmulatorError) and error.reason == "rate-limited"):
        return reply
    kept = [one for one in reply.headers if one[0].lower() != b"retry-after"]
    return reply._replace(headers=[*kept, (b"Retry-After", b"%d" % rules.policy.weather.retry_after)])


def _marked(step: Step, reply: Reply | None) -> Reply | None:
    """Return the response with a debug header that names the faults of the step."""
    if reply is None or not step.seen.weather:
        return reply
    mark: Headers = [(b"X-Webemu-Weather", ",".join(sorted(step.seen.weather)).encode())]
    return reply._replace(headers=[*reply.headers, *mark])
