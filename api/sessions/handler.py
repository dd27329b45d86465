"""Runs a request under the policy of its session. One value passes through the steps of `SessionHandler.handle`.

    SessionRequest  open      look the session up, count the request in the ledger, draw its weather
    Step            wait      as long as the weather says
    Step            answer    with the injected error, the refusal of a spent budget, or what the service answers
    FinishedStep    record    in the ledger and in the traces
    Outcome         send      with or without debug headers, or break the connection (`webemu.api.services.web`)

Weather is drawn before anything is answered. A refusal is worded as the requested service would word it. A failure of
this server is never reported as an injected fault, nor a fault as a failure. The values are in
`webemu.api.sessions.step`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from time import perf_counter

from webemu.api.http.errors import reraise_if_fatal
from webemu.api.http.request import Request
from webemu.api.http.response import Response
from webemu.api.runtime.thread_pool import ThreadPool, wait_until_done
from webemu.api.sessions.responder import Responder
from webemu.api.sessions.step import (
    ConnectionFault,
    FinishedStep,
    Outcome,
    SessionRequest,
    Step,
    request_fingerprint,
)
from webemu.api.sessions.step_record import record_step
from webemu.api.sessions.store import SessionStore
from webemu.api.sessions.worlds import WorldCache
from webemu.emulator import inline_work
from webemu.emulator.errors import EmulatorError, Overloaded
from webemu.emulator.ledger import Ledger
from webemu.emulator.policy import UNLIMITED
from webemu.emulator.ports import SearchNotReady
from webemu.emulator.request_budget import Account, RequestBudget
from webemu.emulator.request_world import RequestWorld
from webemu.emulator.trace import Traces
from webemu.emulator.weather import FaultKind

_CONNECTION_FAULTS: Mapping[FaultKind | None, ConnectionFault] = {
    "timeout": "close",
    "reset": "reset",
    "truncated": "half",
}
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
        arrival = SessionRequest(request, responder, perf_counter())
        self._on_request(request.session.id)
        try:
            step = await self._open(arrival)
            await _wait(step)
            finished = _finish(step, await self._answer(step))
            record_step(finished, self._ledger, self.trace)
            return _conclude(finished)
        except BaseException as failure:
            reply = responder.render_error(request, reraise_if_fatal(failure))
            return Outcome(reply, sends_debug_headers=request.session.sends_debug_headers)

    async def _open(self, arrival: SessionRequest) -> Step:
        """Open a step, on the event loop if the snapshot of its session is open, else in a thread."""
        try:
            return open_step(arrival, self.store, self._ledger, wait=False)
        except BlockingIOError:
            return await self._pool.run(partial(open_step, arrival, self.store, self._ledger, wait=True))

    async def _answer(self, step: Step) -> Response | None:
        """Return the response of a step, from the event loop if the service allows it, else from a thread.

        None if the weather allows no response, or if the service has no answer.
        """
        if not step.world.weather.has_response:
            return None
        if step.arrival.responder.runs_inline(step.request):
            try:
                with inline_work.on_event_loop():
                    return answer_step(step, wait=False)
            except SearchNotReady as search:
                await wait_until_done(search.future)
            except BlockingIOError:
                pass
        try:
            return await self._pool.run(partial(answer_step, step, wait=True))
        except Overloaded as error:
            return step.arrival.responder.render_error(step.request, error)


def open_step(arrival: SessionRequest, store: SessionStore, ledger: Ledger, wait: bool) -> Step:
    """Look the session of a request up, count the request in the ledger, and draw its weather.

    Raises:
        ServiceRefusal: nobody opened the session.
        SnapshotError: the snapshot of the session is gone.
        BlockingIOError: `wait` is False, and the snapshot of the session is not open.
    """
    session = store.activate(arrival.request.session, wait)
    policy = session.policy
    request = arrival.request._replace(session=arrival.request.session.with_policy(policy))
    fingerprint = request_fingerprint(request, arrival.responder.service)
    started = ledger.start_step(session.id, fingerprint)
    request_random = session.keyed_random.derive(fingerprint.hex(), started.attempt)
    accounts = [Account(session.id, policy.budget, started.bytes)]
    if session.limits != UNLIMITED:
        accounts.append(Account(session.limits_id, session.limits, ledger.read_usage(session.limits_id).bytes))
    budget = RequestBudget(ledger, accounts)
    count_repeat = partial(ledger.count_repeat, session.id)
    world = RequestWorld(session.world, policy, session.keyed_random, request_random, budget, count_repeat)
    return Step(arrival, request, session, started, world)


async def _wait(step: Step) -> None:
    """Wait as long as the weather delays the answer."""
    if step.world.weather.delay_ms:
        await asyncio.sleep(step.world.weather.delay_ms / 1000)


def answer_step(step: Step, wait: bool) -> Response | None:
    """Return the response of the service; a failure becomes an error response of the service.

    Raises:
        BlockingIOError: `wait` is False, and the answer needs a disk or long work.
    """
    try:
        step.world.admit(may_block=wait)
        return step.arrival.responder.handler(step.world, step.request)
    except BaseException as failure:
        if not wait and isinstance(failure, BlockingIOError):
            raise
        return _render_error(step, reraise_if_fatal(failure))


def _render_error(step: Step, error: Exception) -> Response:
    """Return the error response of the service; for a rate limit with the header `Retry-After`, as every service."""
    reply = step.arrival.responder.render_error(step.request, error)
    if not (isinstance(error, EmulatorError) and error.reason == "rate-limited"):
        return reply
    other_headers = [header for header in reply.headers if header[0].lower() != b"retry-after"]
    retry_after = (b"Retry-After", b"%d" % step.session.policy.weather.retry_after)
    return reply._replace(headers=[*other_headers, retry_after])


def _finish(step: Step, reply: Response | None) -> FinishedStep:
    """Return a step with its response, the faults that had an effect, and the end of its connection."""
    fault = step.world.weather.fault
    if fault == "truncated" and reply is None:  # nothing was sent that could be cut off
        fault = None
    faults = tuple(sorted(step.world.events.faults | ({fault} if fault else set())))
    milliseconds = 1000 * (perf_counter() - step.arrival.start)
    return FinishedStep(step, reply, faults, _CONNECTION_FAULTS.get(fault, ""), milliseconds)


def _conclude(finished: FinishedStep) -> Outcome:
    """Return what remains to be sent, with a debug header that names the faults."""
    reply, step = finished.reply, finished.step
    if reply is not None and finished.faults:
        header = (b"X-Webemu-Weather", ",".join(finished.faults).encode())
        reply = reply._replace(headers=[*reply.headers, header])
    return Outcome(
        reply, finished.connection_fault, step.request.session.sends_debug_headers, step.world.weather.delay_ms
    )
