"""One episode over the emulated web, for threads (`Episode`) and for an event loop (`AsyncEpisode`).

Independent of models, chat templates and trainers. The logic is in `webemu.rl.episode`; this module only sends its
requests.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import TypeVar

from webemu.agent_client import AsyncClient, Client
from webemu.agent_client.errors import ClientError
from webemu.rl import arguments
from webemu.rl.episode import EpisodeLogic
from webemu.rl.record import EpisodeRecord
from webemu.rl.session_client import Delay, Effect, Steps
from webemu.rl.state import Limits, Observation
from webemu.rl.swap import WordSwap
from webemu.rl.tasks import Task
from webemu.rl.tool_schema import ToolSchema

T = TypeVar("T")

_NO_TASK = Task("", "", ("",))
"""Task of an episode before its first `reset`."""


class _BaseEpisode:
    """State and properties shared by `Episode` and `AsyncEpisode`."""

    def __init__(
        self, limits: Limits | None, policy: Mapping[str, object] | None, swap: Mapping[str, str] | None
    ) -> None:
        self._settings = (limits or Limits(), dict(policy or {}), WordSwap(dict(swap or {})))
        self._logic = self._create_logic(_NO_TASK, 0)
        # An episode that was never reset counts as ended, so that a call answers instead of failing.
        self._logic.state.end = "finished"

    def _create_logic(self, task: Task, seed: int) -> EpisodeLogic:
        return EpisodeLogic(*self._settings, task, seed)

    @property
    def done(self) -> bool:
        """True if the episode has ended, or has not been reset yet."""
        return bool(self._logic.state.end)

    @property
    def masked(self) -> bool:
        """True if an outage ended the episode, so that it says nothing about the agent policy."""
        return bool(self._logic.state.mask)

    @property
    def mask_reason(self) -> str:
        """Reason why the episode is masked; empty if it is not."""
        return self._logic.state.mask

    @property
    def tools(self) -> tuple[ToolSchema, ...]:
        """Schemas of the tools, in OpenAI's function format; the same for every task."""
        return arguments.TOOLS

    @property
    def links(self) -> dict[str, str]:
        """URL by link id: `r3` of the last results, `8` of the open page. Models never see the URLs behind numbers."""
        state = self._logic.state
        results = {f"r{number}": url for number, url in enumerate(state.results, 1)}
        return results | dict(state.open_page.links if state.open_page else {})

    @property
    def opened_pages(self) -> dict[str, str]:
        """URL by page id, such as `p1`, of the pages that were opened, in order."""
        return {f"p{number}": url for number, url in enumerate(self._logic.state.opened, 1)}

    @property
    def calls_left(self) -> int:
        """Number of searches and page views that the limits still allow."""
        return self._settings[0].calls - self._logic.state.calls


class Episode(_BaseEpisode):
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
        policy: Mapping[str, object] | None = None,
        swap: Mapping[str, str] | None = None,
    ) -> None:
        """Prepare an episode; nothing is sent. `policy` is the session policy (docs/sessions.md): a day, blocked
        pages, weather. `swap` holds words to replace in all that the web says (`webemu.rl.swap`).
        """
        super().__init__(limits, policy, swap)
        self._client = client

    def reset(self, task: Task, seed: int = 0) -> Observation:
        """Open a new session and return the question. Raises: BadRequest if the session policy is invalid."""
        self._logic = self._create_logic(task, seed)
        return self._drive(self._logic.begin())

    def call(self, name: object, tool_arguments: object) -> Observation:
        """Execute one tool call of the model; its arguments are JSON text or an object. Invalid calls never raise: the
        observation explains what is wrong.
        """
        return self._drive(self._logic.call(name, tool_arguments))

    def record(self) -> EpisodeRecord:
        """Return the episode as rewards read it, with the server's ledger."""
        return self._drive(self._logic.record())

    def _drive(self, steps: Steps[T]) -> T:
        """Run a generator of requests to its end: send its requests, and pass it their answers or errors."""
        try:
            effect = next(steps)
            while True:
                try:
                    answer = self._perform(effect)
                except ClientError as error:
                    effect = steps.throw(error)
                else:
                    effect = steps.send(answer)
        except StopIteration as stop:
            return stop.value  # type: ignore[no-any-return]

    def _perform(self, effect: Effect) -> object:
        """Return the answer of a request; None after a delay."""
        if isinstance(effect, Delay):
            time.sleep(effect.seconds)
            return None
        return self._client.request(effect)


class AsyncEpisode(_BaseEpisode):
    """Asynchronous episode. One client with `retries=0` may serve thousands of episodes on one event loop."""

    def __init__(
        self,
        client: AsyncClient,
        limits: Limits | None = None,
        policy: Mapping[str, object] | None = None,
        swap: Mapping[str, str] | None = None,
    ) -> None:
        """Prepare an episode; nothing is sent. The parameters are those of `Episode`."""
        super().__init__(limits, policy, swap)
        self._client = client

    async def reset(self, task: Task, seed: int = 0) -> Observation:
        """Open a new session and return the question. Raises: BadRequest if the session policy is invalid."""
        self._logic = self._create_logic(task, seed)
        return await self._drive(self._logic.begin())

    async def call(self, name: object, tool_arguments: object) -> Observation:
        """Execute one tool call of the model; its arguments are JSON text or an object. Invalid calls never raise: the
        observation explains what is wrong.
        """
        return await self._drive(self._logic.call(name, tool_arguments))

    async def record(self) -> EpisodeRecord:
        """Return the episode as rewards read it, with the server's ledger."""
        return await self._drive(self._logic.record())

    async def _drive(self, steps: Steps[T]) -> T:
        """Run a generator of requests to its end: send its requests, and pass it their answers or errors."""
        try:
            effect = next(steps)
            while True:
                try:
                    answer = await self._perform(effect)
                except ClientError as error:
                    effect = steps.throw(error)
                else:
                    effect = steps.send(answer)
        except StopIteration as stop:
            return stop.value  # type: ignore[no-any-return]

    async def _perform(self, effect: Effect) -> object:
        """Return the answer of a request; None after a delay."""
        if isinstance(effect, Delay):
            await asyncio.sleep(effect.seconds)
            return None
        return await self._client.request(effect)
