"""Routes below `/v1/sessions`: open a session, and read what it did.

They are for the trainer. A request that itself belongs to a session never reaches them, so that an agent learns
nothing about sessions.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import orjson

from webemu.api.http.params import read_integer, read_query
from webemu.api.http.response import ApiResponse
from webemu.api.runtime.thread_pool import ThreadPool
from webemu.api.services.routes import Route
from webemu.api.sessions.store import MAX_STEPS, SessionStore
from webemu.emulator.policy import parse_policy

PATH = "/v1/sessions"


class SessionRoutes:
    """Routes of the sessions, by path."""

    def __init__(self, store: SessionStore, pool: ThreadPool) -> None:
        self._store = store
        self._pool = pool

    def find_methods(self, path: str) -> Mapping[str, Route] | None:
        """Return the routes of a path by method; None if it is not below `/v1/sessions`."""
        if path == PATH:
            return {"POST": self._open}
        if not path.startswith(f"{PATH}/"):
            return None
        show = partial(self._show, path.removeprefix(f"{PATH}/"))
        return {"GET": show, "HEAD": show}

    async def _open(self, body: bytes) -> ApiResponse:
        """Answer `POST /v1/sessions`."""
        policy = parse_policy(body or b"{}")
        if self._store.can_open_inline(policy):
            payload = self._store.open(policy)
        else:
            payload = await self._pool.run(partial(self._store.open, policy))
        return ApiResponse(orjson.dumps(payload), payload["snapshot"], 201)

    async def _show(self, session: str, query: bytes) -> ApiResponse:
        """Answer `GET /v1/sessions/<session>`."""
        params = read_query(query, ("from", "limit"))
        first, limit = read_integer(params, "from", 1, 1), read_integer(params, "limit", MAX_STEPS, 1, MAX_STEPS)
        build_report = partial(self._store.build_report, session, first, limit)
        payload = build_report() if self._store.can_report_inline(session) else await self._pool.run(build_report)
        return ApiResponse(orjson.dumps(payload), payload["snapshot"])
