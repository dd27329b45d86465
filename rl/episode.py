"""Logic of an episode: search, open, find, ask the user, finish. It does no input or output: its methods are
generators that yield requests (see `webemu.rl.session_client.Steps`), so that threads and event loops run the same
code.

Every call returns an `Observation`: an invalid call is explained, injected weather is shown as a browser would show
it, and an outage of the server ends the episode as masked. Rewards read the server's ledger instead of this state.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Literal

from webemu.agent_client import calls
from webemu.agent_client.errors import InfrastructureError, WebError
from webemu.agent_client.tools import InvalidToolCall, refusal_text
from webemu.rl import arguments, user, views
from webemu.rl.ledger import Request
from webemu.rl.record import EpisodeRecord, Progress, UserQuestion, url_key
from webemu.rl.sanitizing import delimit, sanitize
from webemu.rl.session_client import InjectedFault, SessionClient, Steps, open_session
from webemu.rl.state import EpisodeState, Limits, Observation, ObservationKind
from webemu.rl.swap import WordSwap
from webemu.rl.tasks import Task


class EpisodeLogic:
    """One attempt at one task."""

    def __init__(self, limits: Limits, policy: Mapping[str, object], swap: WordSwap, task: Task, seed: int) -> None:
        self._limits, self._policy, self._swap = limits, policy, swap
        self.state = EpisodeState(task, seed)

    def begin(self) -> Steps[Observation]:
        """Open a new session and return the question; an outage masks the episode. Raises: BadRequest if the session
        policy is invalid.
        """
        state = self.state
        try:
            state.session = yield from open_session(self._session_policy(), self._limits.retries)
        except InfrastructureError as error:
            return self._mask_episode(error)
        return Observation(sanitize(state.task.question), "task")

    def call(self, name: object, tool_arguments: object) -> Steps[Observation]:
        """Execute one tool call of the model; its arguments are JSON text or an object. Invalid calls never raise: the
        observation explains what is wrong.
        """
        state = self.state
        if state.end:
            return Observation("The work is over; nothing more is read.", "over", True)
        state.turns += 1
        observation = yield from self._perform(name, tool_arguments)
        answered_requests = state.session.answered_requests if state.session else 0
        state.progress.append(Progress(answered_requests, dict(state.parts_by_page), state.questions))
        return observation

    def _perform(self, name: object, tool_arguments: object) -> Steps[Observation]:
        """Execute a tool call of an episode that goes on."""
        state = self.state
        tools: dict[str, Callable[..., Steps[Observation]]] = {
            "search": self._search, "open": self._open, "find": self._find, "finish": self._finish,
            "ask_user": self._ask_user,
        }  # fmt: skip
        try:
            checked_arguments = arguments.parse_arguments(name, tool_arguments)
            observation = yield from tools[str(name)](**checked_arguments)
        except InvalidToolCall as error:
            state.invalid_calls += 1
            observation = Observation(sanitize(str(error)), "misuse")
        except WebError as error:
            observation = Observation(sanitize(views.refusal_text(error) or refusal_text(error)), "refusal")
        except InjectedFault as error:
            observation = Observation(str(error), "weather")
        except InfrastructureError as error:
            return self._mask_episode(error)
        return self._end_after_last_turn(self._shorten_if_brief(observation))

    def record(self) -> Steps[EpisodeRecord]:
        """Return the episode as rewards read it, with the server's ledger. If the ledger cannot be read, the episode
        is masked.
        """
        state = self.state
        requests: tuple[Request, ...] = ()
        if state.session is not None and not state.mask:
            try:
                requests = yield from state.session.requests()
            except InfrastructureError as error:
                self._mask_episode(error)
        return EpisodeRecord(
            *(state.task, state.answer, state.citations, requests, dict(state.parts_by_page), dict(state.redirects)),
            *(state.end, state.mask, state.turns, state.invalid_calls, dict(state.titles), state.questions),
            tuple(state.progress),
        )

    def _session_policy(self) -> dict[str, object]:
        """Return the session policy with the task, the seed and the limit on bytes, which the policy may override."""
        state, budget = self.state, self._policy.get("budget", {})
        # The server refuses a budget that is no object, with a better message than any of ours.
        if isinstance(budget, Mapping):
            budget = {"bytes": self._limits.bytes} | dict(budget)
        defaults = {"task": state.task.id, "rollout": str(state.seed), "seed": state.seed}
        return {**defaults, **self._policy, "budget": budget}

    def _search(self, query: str, page: int = 1) -> Steps[Observation]:
        if self._charge_call():
            return _OUT_OF_CALLS
        answer = yield from self._require_session().perform(calls.search(query, page, self._limits.results))
        self.state.results = tuple(result.url for result in answer.results)
        results_text = views.format_titles(answer) if self._limits.brief else views.format_results(answer)
        return self._data_observation("results", self._swap.swap_in_results(results_text)[: self._limits.characters])

    def _open(self, link: str, cursor: int = 0) -> Steps[Observation]:
        """Show a window of a page. The open page is not requested again when only the cursor moves."""
        state, url = self.state, self._resolve_link(link)
        page = state.open_page
        # Reading on in the open page needs no request and costs no call.
        if not (cursor and page and url_key(url) in (url_key(page.url), url_key(page.requested_url))):
            if self._charge_call():
                return _OUT_OF_CALLS
            answer = yield from self._require_session().perform(
                calls.open_page(url, "links", length=views.MAX_PAGE_CHARACTERS)
            )
            page = state.open_page = self._swap.swap_in_page(views.parse_page(answer))
            state.redirects[url_key(url)] = url_key(page.url)
        window = views.cut_window(page, cursor, self._limits.characters)
        self._record_shown(page, window.text)
        brief = self._limits.brief
        return self._data_observation("page", window.text if brief else window.head + window.text + window.tail)

    def _find(self, pattern: str) -> Steps[Observation]:
        """Show the matches of a pattern in the open page, which needs no request. Raises: InvalidToolCall if no page
        is open.
        """
        yield from ()  # a generator like the other tools, although it sends nothing
        page = self.state.open_page
        if page is None:
            raise InvalidToolCall('No page is open. Open one first: call open with {"link": "r1"}.')
        page_matches = views.find_matches(page, pattern)
        for match in page_matches:
            self._record_shown(page, match.text)
        return self._data_observation(
            "matches", views.format_matches(page, pattern, page_matches)[: self._limits.characters], "matches"
        )

    def _ask_user(self, question: str) -> Steps[Observation]:
        """Put a question to the simulated user, which costs as much as a request to the web."""
        yield from ()
        if self._charge_call():
            return _OUT_OF_CALLS
        task = self.state.task
        text = user.answer_question(question, task.user, task.question)
        self.state.questions = (*self.state.questions, UserQuestion(question, text != user.NO_HELP))
        return Observation(sanitize(text), "user")

    def _finish(self, answer: str, citations: list[str]) -> Steps[Observation]:
        yield from ()
        state = self.state
        state.answer, state.end = answer, "finished"
        state.citations = tuple(self._resolve_citation(citation) for citation in citations)
        return Observation("The answer is taken.", "over", True)

    def _resolve_citation(self, citation: str) -> str:
        """Return the URL that a citation stands for, or the citation itself if it is an unknown link id."""
        try:
            return self._resolve_link(citation)
        except InvalidToolCall:
            return citation

    def _resolve_link(self, link: str) -> str:
        """Return the URL that a link id or URL stands for. Raises: InvalidToolCall if the id is unknown."""
        page = self.state.open_page
        return views.resolve_link(link, self.state.results, tuple(self.state.opened), page.links if page else {})

    def _record_shown(self, page: views.OpenPage, text: str) -> None:
        """Record that a page showed a text, as evidence for the rewards."""
        parts_by_page, page_key = self.state.parts_by_page, url_key(page.url)
        self.state.opened.setdefault(page.url)  # a dict as an ordered set
        self.state.titles[page_key] = page.title
        parts_by_page[page_key] = (*parts_by_page.get(page_key, ()), views.strip_link_numbers(text))

    def _data_observation(
        self, label: Literal["results", "page", "matches"], text: str, kind: ObservationKind | None = None
    ) -> Observation:
        """Return web text as an observation: sanitised, and delimited as data unless the limits ask for brief
        observations.
        """
        state = self.state
        if self._limits.brief:
            return Observation(sanitize(text), kind or label)
        secret = f"{state.seed}\0{state.task.id}\0{state.turns}"
        return Observation(delimit(label, text, secret), kind or label)

    def _shorten_if_brief(self, observation: Observation) -> Observation:
        """Reduce an error to its kind, in one word, if the limits ask for brief observations."""
        if self._limits.brief and observation.kind in ("misuse", "refusal", "weather", "limit"):
            return replace(observation, text=observation.kind)
        return observation

    def _charge_call(self) -> bool:
        """Count a request to the web; True if it exceeds the limit and must not be sent."""
        self.state.calls += 1
        return self.state.calls > self._limits.calls

    def _require_session(self) -> SessionClient:
        """Return the client of the session. Raises: InfrastructureError if none was opened."""
        if self.state.session is None:
            raise InfrastructureError("the episode has no session; call `reset` first")
        return self.state.session

    def _end_after_last_turn(self, observation: Observation) -> Observation:
        """End the episode after its last turn."""
        state = self.state
        if state.end or state.turns < self._limits.turns:
            return observation
        state.end = "turns"
        return Observation(f"{observation.text}\n\nNo turn is left: the work is over.", observation.kind, True)

    def _mask_episode(self, error: InfrastructureError) -> Observation:
        """End the episode as masked: an outage says nothing about the agent policy."""
        self.state.end, self.state.mask = "masked", f"{error.reason or 'outage'}: {error.message}"
        return Observation("The web is out of reach; this attempt does not count.", "over", True)


_OUT_OF_CALLS = Observation("No search and no page is left. Call finish with what was found.", "limit")
