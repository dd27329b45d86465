"""One episode over the emulated web, for threads (`Episode`) and for an event loop (`AsyncEpisode`).

Knows no model, no chat template and no trainer. What happens is in `webemu.rl.episode`; here it is only sent.
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


class _Episode:
    """What both know: the rules, and the attempt that goes on."""

    def __init__(self, limits: Limits | None, policy: Mapping[str, Any] | None, swap: Mapping[str, str] | None) -> None:
        self._rules = (limits or Limits(), dict(policy or {}), Swap(dict(swap or {})))
        self._play = self._new(_NONE, 0)
        self._play.state.end = "finished"

    def _new(self, task: Task, seed: int) -> Play:
        return Play(*self._rules, task, seed)

    @property
    def done(self) -> bool:
        return bool(self._play.state.end)

    @property
    def masked(self) -> bool:
        return bool(self._play.state.mask)

    @property
    def reason(self) -> str:
        """Why the episode is masked."""
        return self._play.state.mask

    @property
    def tools(self) -> tuple[dict[str, Any], ...]:
        """What can be called for this task, in OpenAI's function format."""
        return arguments.tools(bool(self._play.state.task.user))

    @property
    def links(self) -> dict[str, str]:
        """Address by link id: `r3` of the last results, `8` of the open page. No model is shown the latter's."""
        state = self._play.state
        results = {f"r{number}": url for number, url in enumerate(state.results, 1)}
        return results | dict(state.open_page.links if state.open_page else {})

    @property
    def calls_left(self) -> int:
        """Searches and pages that can still be asked for."""
        return self._rules[0].calls - self._play.state.calls


class Episode(_Episode):
    """May be reset again and again; one client, of `retries=0`, may serve many episodes in many threads."""

    def __init__(
        self,
        client: Client,
        limits: Limits | None = None,
        policy: Mapping[str, Any] | None = None,
        swap: Mapping[str, str] | None = None,
    ) -> None:
        """`policy` is that of the session (docs/sessions.md): a day, blocked pages, weather. `swap`: see `webemu.rl.swap`."""
        super().__init__(limits, policy, swap)
        self._client = client

    def reset(self, task: Task, seed: int = 0) -> Observation:
        """A new session and the question. Raises BadRequest on a policy that is none."""
        self._play = self._new(task, seed)
        return self._drive(self._play.begin())

    def call(self, name: object, given: object) -> Observation:
        """One tool call of the model, its arguments as JSON text or as an object. Never raises on what they are."""
        return self._drive(self._play.call(name, given))

    def record(self) -> Record:
        """The episode as rewards read it, with the server's ledger."""
        return self._drive(self._play.record())

    def _drive(self, steps: Steps[T]) -> T:
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
    """The same, awaited; one client, of `retries=0`, may serve thousands of episodes."""

    def __init__(
        self,
        client: AsyncClient,
        limits: Limits | None = None,
        policy: Mapping[str, Any] | None = None,
        swap: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(limits, policy, swap)
        self._client = client

    async def reset(self, task: Task, seed: int = 0) -> Observation:
        """A new session and the question. Raises BadRequest on a policy that is none."""
        self._play = self._new(task, seed)
        return await self._drive(self._play.begin())

    async def call(self, name: object, given: object) -> Observation:
        """One tool call of the model, its arguments as JSON text or as an object. Never raises on what they are."""
        return await self._drive(self._play.call(name, given))

    async def record(self) -> Record:
        """The episode as rewards read it, with the server's ledger."""
        return await self._drive(self._play.record())

    async def _drive(self, steps: Steps[T]) -> T:
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
