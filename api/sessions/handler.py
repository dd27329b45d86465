"""Where requests of sessions pass: counted, struck by weather, answered by whom they ask, and written down.

Weather is drawn before anything is answered. What is refused here is said in the words of whom was asked; a failure of
ours is never called weather, nor weather a failure.
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


class Outcome(NamedTuple):
    """How a request of a session ends."""

    reply: Reply | None
    """None where whom it asks has no answer, or none is given."""
    cut: Cut = ""
    """How the connection is ended: not, without an answer (reset, closed), or in the middle of one."""
    marks: bool = True
    delay_ms: float = 0.0
    """That weather held it."""


_CUTS: dict[Fault, Cut] = {"timeout": "close", "reset": "reset", "truncated": "half"}


class Desk:
    """One for a server; what it must remember is in the ledger."""

    def __init__(
        self, ledger: Ledger, worlds: Worlds, trace: Traces, pool: Pool, attended: Callable[[str], None]
    ) -> None:
        """`attended` is told of each request whose session it is."""
        self.book = Book(ledger, worlds)
        self.worlds = worlds
        self.trace = trace
        self._ledger = ledger
        self._pool = pool
        self._attended = attended

    async def attend(self, request: Request, whom: Whom) -> Outcome:
        """Answer a request whose session has a policy: in the event loop where that takes no longer than a turn of a
        thread would, else in a thread."""
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
        try:
            return self._begin(request, service, wait=False)
        except BlockingIOError:
            return await self._pool.run(partial(self._begin, request, service))

    async def _replied(self, step: Step, struck: Fault | None, whom: Whom) -> Reply | None:
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
        if struck == "truncated" and reply is None:
            struck = None
        if struck:
            step.seen.weather.add(struck)
        self._note(step, whom.service, reply, 1000 * (perf_counter() - start))
        how = _CUTS.get(struck, "") if struck else ""
        return Outcome(_marked(step, reply), how, step.request.session.marks, step.delay_ms)

    def _begin(self, request: Request, service: str, wait: bool = True) -> Step:
        """Raises BlockingIOError where the snapshot is not open and it must not wait."""
        rules = self.book.rules(request.session, wait)
        request = request._replace(session=request.session.ruled(rules.policy))
        same = asked(request, service)
        number, attempt, used = self._ledger.begin(rules.id, same)
        limit = rules.policy.budget.bytes
        is_spent = limit is not None and used >= limit
        return Step(request, rules, number, attempt, rules.draws.of(same.hex(), attempt), is_spent)

    @staticmethod
    def _delay(step: Step, struck: Fault | None) -> float:
        weather = step.rules.policy.weather
        step.delay_ms = weather.hold_ms if struck == "timeout" else weather.latency.drawn(step.draws)
        return step.delay_ms

    def _reply(self, step: Step, struck: Fault | None, whom: Whom, wait: bool = True) -> Reply | None:
        """A failure is put into words here too. Raises only BlockingIOError, where it must not wait and would."""
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
        rules, visit = step.rules, step.visit
        if visit is None:
            visit = Visit(rules.world, rules.policy, rules.draws, step.draws, partial(self._spend, step))
            step.visit, step.seen = visit, visit.seen
        visit.waits = wait
        return visit

    def _spend(self, step: Step, kind: Kind) -> None:
        """What has a limit is used up at once, and all workers see it; all else is written down in the end."""
        limit = getattr(step.rules.policy.budget, kind)
        if limit is None:
            step.used[kind] = step.used.get(kind, 0) + 1
        elif not self._ledger.spend(step.rules.id, kind, limit):
            raise _spent(kind, step.rules)

    def _note(self, step: Step, service: str, reply: Reply | None, milliseconds: float) -> None:
        session, opened = step.rules.id, tuple(step.seen.opened)
        step.used["bytes"] = len(reply.body) if reply else 0
        places = self._ledger.places(session, opened) if opened else {}
        self._ledger.note(session, step.number, entry(step, service, reply, places), shown(step), step.used)
        self.trace.put(traces(step, service, reply, places, milliseconds))


def _spent(kind: Kind, rules: Rules) -> Refused:
    limit = getattr(rules.policy.budget, kind)
    return Refused(f"the session's budget of {limit:,} {kind} is spent", reason="out-of-budget", status=429)


def _told(reply: Reply, error: Exception, rules: Rules) -> Reply:
    """With `Retry-After` on a rate limit, which every service says in this header."""
    if not (isinstance(error, EmulatorError) and error.reason == "rate-limited"):
        return reply
    kept = [one for one in reply.headers if one[0].lower() != b"retry-after"]
    return reply._replace(headers=[*kept, (b"Retry-After", b"%d" % rules.policy.weather.retry_after)])


def _marked(step: Step, reply: Reply | None) -> Reply | None:
    if reply is None or not step.seen.weather:
        return reply
    mark: Headers = [(b"X-Webemu-Weather", ",".join(sorted(step.seen.weather)).encode())]
    return reply._replace(headers=[*reply.headers, *mark])
