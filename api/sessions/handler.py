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

from webemu.api.http.errors import reraise_if_fatal
from webemu.api.http.request import Request
from webemu.api.http.response import Headers, Response
from webemu.api.runtime.thread_pool import ThreadPool, wait_until_done
from webemu.api.sessions.responder import Responder
from webemu.api.sessions.step import (
    ActiveSession,
    Step,
    build_traces,
    collect_impressions,
    render_ledger_entry,
    request_fingerprint,
)
from webemu.api.sessions.store import SessionStore
from webemu.api.sessions.worlds import WorldCache
from webemu.emulator.errors import EmulatorError, Overloaded, ServiceRefusal
from webemu.emulator.ledger import BudgetKind, Ledger
from webemu.emulator.ports import SearchNotReady
from webemu.emulator.request_world import RequestWorld
from webemu.emulator.trace import Traces
from webemu.emulator.weather import FaultKind as Fault
from webemu.emulator.weather import draw_fault, fault_error

ConnectionFault = Literal["", "reset", "close", "half"]
"""Fault below HTTP: none, the connection is reset, closed without an answer, or closed in the middle of one."""


class Outcome(NamedTuple):
    """Result of a request of a session."""

    reply: Response | None
    """Response; None if the service has no answer, or none may be sent."""
    connection_fault: ConnectionFault = ""
    """Fault by which the connection ends; empty for none."""
    sends_debug_headers: bool = True
    """True if debug headers may be sent."""
    delay_ms: float = 0.0
    """Milliseconds for which the weather delayed the response."""


_CONNECTION_FAULTS: dict[Fault, ConnectionFault] = {"timeout": "close", "reset": "reset", "truncated": "half"}
"""Faults that end the connection, and how."""


class SessionHandler:
    """Handles all requests with a session; one for each server. All its state is in the ledger."""

    def __init__(
        self, ledger: Ledger, worlds: WorldCache, trace: Traces, pool: ThreadPool, on_request: Callable[[str], None]
    ) -> None:
        """Take the ports. `on_request` is called with the session id of each request."""
        self.store = SessionStore(ledger, worlds)
        self.worlds = worlds
        self.trace = trace
        self._ledger = ledger
        self._pool = pool
        self._on_request = on_request

    async def handle(self, request: Request, responder: Responder) -> Outcome:
        """Answer a request whose session has a policy, on the event loop if that is quick, else in a thread."""
        start = perf_counter()
        self._on_request(request.session.id)
        try:
            step = await self._start_step(request, responder.service)
            fault_kind = draw_fault(step.session.policy.weather, step.keyed_random)
            if self._set_delay(step, fault_kind):
                await asyncio.sleep(step.delay_ms / 1000)
            reply = (
                await self._answer_step(step, fault_kind, responder) if fault_kind not in ("timeout", "reset") else None
            )
            return self._finish(step, fault_kind, responder, reply, start)
        except BaseException as failure:
            return Outcome(
                responder.render_error(request, reraise_if_fatal(failure)),
                sends_debug_headers=request.session.sends_debug_headers,
            )

    async def _start_step(self, request: Request, service: str) -> Step:
        """Start a step, on the event loop if its snapshot is open, else in a thread."""
        try:
            return self._start_step_now(request, service, wait=False)
        except BlockingIOError:
            return await self._pool.run(partial(self._start_step_now, request, service))

    async def _answer_step(self, step: Step, fault_kind: Fault | None, responder: Responder) -> Response | None:
        """Return the response of a step, on the event loop if the service allows it, else from a thread."""
        if responder.runs_inline(step.request):
            try:
                return self._answer_step_now(step, fault_kind, responder, wait=False)
            except SearchNotReady as search:
                await wait_until_done(search.future)
            except BlockingIOError:
                pass
        try:
            return await self._pool.run(partial(self._answer_step_now, step, fault_kind, responder))
        except Overloaded as error:
            return responder.render_error(step.request, error)

    def _finish(
        self, step: Step, fault_kind: Fault | None, responder: Responder, reply: Response | None, start: float
    ) -> Outcome:
        """Record a step and return its outcome."""
        if fault_kind == "truncated" and reply is None:  # nothing was sent that could be cut off
            fault_kind = None
        if fault_kind:
            step.events.faults.add(fault_kind)
        self._record_step(step, responder.service, reply, 1000 * (perf_counter() - start))
        connection_fault = _CONNECTION_FAULTS.get(fault_kind, "") if fault_kind else ""
        return Outcome(
            _with_weather_header(step, reply), connection_fault, step.request.session.sends_debug_headers, step.delay_ms
        )

    def _start_step_now(self, request: Request, service: str, wait: bool = True) -> Step:
        """Start a step in the ledger.

        Raises:
            BlockingIOError: `wait` is False, and the snapshot of the session is not open.
        """
        session = self.store.activate(request.session, wait)
        request = request._replace(session=request.session.with_policy(session.policy))
        fingerprint = request_fingerprint(request, service)
        number, attempt, used_bytes = self._ledger.start_step(session.id, fingerprint)
        limit = session.policy.budget.bytes
        is_over_budget = limit is not None and used_bytes >= limit
        return Step(
            request, session, number, attempt, session.keyed_random.derive(fingerprint.hex(), attempt), is_over_budget
        )

    @staticmethod
    def _set_delay(step: Step, fault_kind: Fault | None) -> float:
        """Set and return the delay of a step in milliseconds."""
        weather = step.session.policy.weather
        step.delay_ms = weather.hold_ms if fault_kind == "timeout" else weather.latency.sample_ms(step.keyed_random)
        return step.delay_ms

    def _answer_step_now(
        self, step: Step, fault_kind: Fault | None, responder: Responder, wait: bool = True
    ) -> Response | None:
        """Return the response of a step; a failure becomes an error response of the service.

        Raises:
            BlockingIOError: `wait` is False, and the answer needs a disk or long work.
        """
        try:
            if fault_kind and (error := fault_error(fault_kind, step.keyed_random)):
                raise error
            if step.is_over_budget:
                raise _out_of_budget_error("bytes", step.session)
            return responder.handler(self._request_world(step, wait), step.request)
        except BaseException as failure:
            if not wait and isinstance(failure, BlockingIOError):
                raise
            error_to_render = reraise_if_fatal(failure)
            return _with_retry_after(
                responder.render_error(step.request, error_to_render), error_to_render, step.session
            )

    def _request_world(self, step: Step, wait: bool) -> RequestWorld:
        """Return the world of a step, created on the first call."""
        session, world = step.session, step.world
        if world is None:
            world = RequestWorld(
                session.world, session.policy, session.keyed_random, step.keyed_random, partial(self._spend, step)
            )
            step.world, step.events = world, world.events
        world.may_block = wait
        return world

    def _spend(self, step: Step, kind: BudgetKind) -> None:
        """Charge one search or fetch to the budget of a session. Raises ServiceRefusal if the budget is spent.

        What has a limit is charged in the ledger at once, so that all workers see it. Anything else is recorded when
        the step ends.
        """
        limit = getattr(step.session.policy.budget, kind)
        if limit is None:
            step.usage[kind] = step.usage.get(kind, 0) + 1
        elif not self._ledger.spend(step.session.id, kind, limit):
            raise _out_of_budget_error(kind, step.session)

    def _record_step(self, step: Step, service: str, reply: Response | None, milliseconds: float) -> None:
        """Record a step in the ledger and in the traces."""
        session, opened_urls = step.session.id, tuple(step.events.opened_urls)
        step.usage["bytes"] = len(reply.body) if reply else 0
        impressions = self._ledger.find_impressions(session, opened_urls) if opened_urls else {}
        self._ledger.finish_step(
            session,
            step.number,
            render_ledger_entry(step, service, reply, impressions),
            collect_impressions(step),
            step.usage,
        )
        self.trace.put(build_traces(step, service, reply, impressions, milliseconds))


def _out_of_budget_error(kind: BudgetKind, session: ActiveSession) -> ServiceRefusal:
    """Return the 429 error for a budget that is spent."""
    limit = getattr(session.policy.budget, kind)
    return ServiceRefusal(f"the session's budget of {limit:,} {kind} is spent", reason="out-of-budget", status=429)


def _with_retry_after(reply: Response, error: Exception, session: ActiveSession) -> Response:
    """Return the response to a rate limit with `Retry-After`, the header that every service uses for it; any other
    unchanged.
    """
    if not (isinstance(error, EmulatorError) and error.reason == "rate-limited"):
        return reply
    other_headers = [one for one in reply.headers if one[0].lower() != b"retry-after"]
    return reply._replace(headers=[*other_headers, (b"Retry-After", b"%d" % session.policy.weather.retry_after)])


def _with_weather_header(step: Step, reply: Response | None) -> Response | None:
    """Return the response with a debug header that names the faults of the step."""
    if reply is None or not step.events.faults:
        return reply
    mark: Headers = [(b"X-Webemu-Weather", ",".join(sorted(step.events.faults)).encode())]
    return reply._replace(headers=[*reply.headers, *mark])
