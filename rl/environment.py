"""One episode over the emulated web, for threads (`Episode`) and for an event loop (`AsyncEpisode`).

Independent of models, chat templates and trainers. The logic is in `webemu.rl.episode`; this module only sends its requests.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any, TypeVar

from webemu.agent_client import AsyncClient, Client
from webemu.agent_client.errors import ClientError
from webemu.rl import arguments
from webemu.rl.episode import Play
from webemu.rl.record import Record
from webemu.rl.session_client import Ask, Pause, Steps
from webemu.rl.state import Limits, Observation
from webemu.rl.swap import Swap
from webemu.rl.tasks import Task

T = TypeVar("T")

_NONE = Task("", "", ("",))
"""Task of an episode before its first `reset`."""


class _Episode:
    """State and properties shared by `Episode` and `AsyncEpisode`."""

    def __init__(self, limits: Limits | None, policy: Mapping[str, Any] | None, swap: Mapping[str, str] | None) -> None:
        self._rules = (limits or Limits(), dict(policy or {}), Swap(dict(swap or {})))
        self._play = self._new(_NONE, 0)
        # An episode that was never reset counts as ended, so that a call answers instead of failing.
        self._play.state.end = "finished"

    def _new(self, task: Task, seed: int) -> Play:
        return Play(*self._rules, task, seed)

    @property
    def done(self) -> bool:
        """True if the episode has ended, or has not been reset yet."""
        return bool(self._play.state.end)

    @property
    def masked(self) -> bool:
        """True if an outage ended the episode, so that it says nothing about the agent policy."""
        return bool(self._play.state.mask)

    @property
    def reason(self) -> str:
        """Reason why the episode is masked; empty if it is not."""
        return self._play.state.mask

    @property
    def tools(self) -> tuple[dict[str, Any], ...]:
        """Schemas of the tools of this task, in OpenAI's function format."""
        return arguments.tools(bool(self._play.state.task.user))

    @property
    def links(self) -> dict[str, str]:
        """URL by link id: `r3` of the last results, `8` of the open page. Models never see the URLs behind numbers."""
        state = self._play.state
        results = {f"r{number}": url for number, url in enumerate(state.results, 1)}
        return results | dict(state.open_page.links if state.open_page else {})

    @property
    def calls_left(self) -> int:
        """Number of searches and page views that the limits still allow."""
        return self._rules[0].calls - self._play.state.calls


class Episode(_Episode):
    """Blocking episode. It may be reset any number of times, and one client with `retries=0` may serve episodes in
    many threads.

        episode = Episode(Client("http://127.0.0.1:8800", retries=0))
        observation = episode.reset(task, seed=1)
        observation = episode.call("search", {"query": "river town"})
    """

    def __init__(
        self,
        client: Client,
        limits: Limits | None = None,
        policy: Mapping[str, Any] | None = None,
        swap: Mapping[str, str] | None = None,
    ) -> None:
        """Prepare an episode; nothing is sent. `policy` is the session policy (docs/sessions.md): a day, blocked
        pages, weather. `swap` holds words to replace in all that the web says (`webemu.rl.swap`).
        """
        super().__init__(limits, policy, swap)
        self._client = client

    def reset(self, task: Task, seed: int = 0) -> Observation:
        """Open a new session and return the question. Raises: BadRequest if the session policy is invalid."""
        self._play = self._new(task, seed)
        return self._drive(self._play.begin())

    def call(self, name: object, given: object) -> Observation:
        """Execute one tool call of the model; its arguments are JSON text or an object. Invalid calls never raise: the
        observation explains what is wrong.
        """
        return self._drive(self._play.call(name, given))

    def record(self) -> Record:
        """Return the episode as rewards read it, with the server's ledger."""
        return self._drive(self._play.record())

    def _drive(self, steps: Steps[T]) -> T:
        """Run a generator of requests to its end: send its requests, and pass it their answers or errors."""
        try:
            ask = next(steps)
            while True:
                try:
                    answer = self._do(ask)
                except ClientError as error:
                    ask = steps.throw(error)
                else:
                    ask = steps.send(answer)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]

    def _do(self, ask: Ask) -> Any:
        return time.sleep(ask.seconds) if isinstance(ask, Pause) else self._client.perform(ask)


class AsyncEpisode(_Episode):
    """Asynchronous episode. One client with `retries=0` may serve thousands of episodes on one event loop."""

    def __init__(
        self,
        client: AsyncClient,
        limits: Limits | None = None,
        policy: Mapping[str, Any] | None = None,
        swap: Mapping[str, str] | None = None,
    ) -> None:
        """Prepare an episode; nothing is sent. The parameters are those of `Episode`."""
        super().__init__(limits, policy, swap)
        self._client = client

    async def reset(self, task: Task, seed: int = 0) -> Observation:
        """Open a new session and return the question. Raises: BadRequest if the session policy is invalid."""
        self._play = self._new(task, seed)
        return await self._drive(self._play.begin())

    async def call(self, name: object, given: object) -> Observation:
        """Execute one tool call of the model; its arguments are JSON text or an object. Invalid calls never raise: the
        observation explains what is wrong.
        """
        return await self._drive(self._play.call(name, given))

    async def record(self) -> Record:
        """Return the episode as rewards read it, with the server's ledger."""
        return await self._drive(self._play.record())

    async def _drive(self, steps: Steps[T]) -> T:
        """Run a generator of requests to its end: send its requests, and pass it their answers or errors."""
        try:
            ask = next(steps)
            while True:
                try:
                    answer = await self._do(ask)
                except ClientError as error:
                    ask = steps.throw(error)
                else:
                    ask = steps.send(answer)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]

    async def _do(self, ask: Ask) -> Any:
        return await (asyncio.sleep(ask.seconds) if isinstance(ask, Pause) else self._client.perform(ask))
