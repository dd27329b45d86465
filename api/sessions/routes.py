"""Routes below `/v1/sessions`: open a session, and read what it did.

They are for the trainer. A request that itself belongs to a session never reaches them, so that an agent learns
nothing about sessions.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import orjson

from webemu.api.http.params import read_query, whole_number
from webemu.api.http.response import Answer
from webemu.api.runtime.thread_pool import Pool
from webemu.api.services.routes import Route
from webemu.api.sessions.store import MOST, Book
from webemu.emulator.policy import read_policy

PATH = "/v1/sessions"


class SessionRoutes:
    """Routes of the sessions, by path."""

    def __init__(self, book: Book, pool: Pool) -> None:
        self._book = book
        self._pool = pool

    def of(self, path: str) -> Mapping[str, Route] | None:
        """Return the routes of a path by method; None if it is not below `/v1/sessions`."""
        if path == PATH:
            return {"POST": self._open}
        if not path.startswith(f"{PATH}/"):
            return None
        show = partial(self._show, path.removeprefix(f"{PATH}/"))
        return {"GET": show, "HEAD": show}

    async def _open(self, body: bytes) -> Answer:
        """Answer `POST /v1/sessions`."""
        policy = read_policy(body or b"{}")
        if self._book.opens_at_once(policy):
            told = self._book.open(policy)
        else:
            told = await self._pool.run(partial(self._book.open, policy))
        return Answer(orjson.dumps(told), told["snapshot"], 201)

    async def _show(self, session: str, query: bytes) -> Answer:
        """Answer `GET /v1/sessions/<session>`."""
        params = read_query(query, ("from", "limit"))
        first, limit = whole_number(params, "from", 1, 1), whole_number(params, "limit", MOST, 1, MOST)
        account = partial(self._book.account, session, first, limit)
        told = account() if self._book.is_short(session) else await self._pool.run(account)
        return Answer(orjson.dumps(told), told["snapshot"])
