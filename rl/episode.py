"""Logic of an episode: search, open, find, ask the user, finish. It does no input or output: its methods are
generators that yield requests (see `webemu.rl.session_client.Steps`), so that threads and event loops run the same code.

Every call returns an `Observation`: an invalid call is explained, injected weather is shown as a browser would show
it, and an outage of the server ends the episode as masked. Rewards read the server's ledger instead of this state.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Literal

from webemu.agent_client import calls
from webemu.agent_client.errors import InfrastructureError, WebError
from webemu.agent_client.tools import Misuse, refusal
from webemu.rl import arguments, user, views
from webemu.rl.ledger import Request
from webemu.rl.record import Record, key
from webemu.rl.sanitizing import framed, neutral
from webemu.rl.session_client import SessionWeb, Steps, Struck, begin
from webemu.rl.state import Kind, Limits, Observation, State
from webemu.rl.swap import Swap
from webemu.rl.tasks import Task


class Play:
    """One attempt at one task."""

    def __init__(self, limits: Limits, policy: Mapping[str, Any], swap: Swap, task: Task, seed: int) -> None:
        self._limits, self._policy, self._swap = limits, policy, swap
        self.state = State(task, seed)

    def begin(self) -> Steps[Observation]:
        """Open a new session and return the question; an outage masks the episode. Raises: BadRequest if the session
        policy is invalid.
        """
        state = self.state
        # A budget in the session policy takes precedence over the limits.
        budget = {"bytes": self._limits.bytes} | dict(self._policy.get("budget", {}))
        named = {"task": state.task.id, "rollout": str(state.seed), "seed": state.seed} | dict(self._policy)
        try:
            state.web = yield from begin(named | {"budget": budget}, self._limits.retries)
        except InfrastructureError as error:
            return self._mask(error)
        return Observation(neutral(state.task.question), "task")

    def call(self, name: object, given: object) -> Steps[Observation]:
        """Execute one tool call of the model; its arguments are JSON text or an object. Invalid calls never raise: the
        observation explains what is wrong.
        """
        state = self.state
        if state.end:
            return Observation("The work is over; nothing more is read.", "over", True)
        state.turns += 1
        tools: dict[str, Callable[..., Steps[Observation]]] = {
            "search": self._search, "open": self._open, "find": self._find, "finish": self._finish,
            "ask_user": self._ask_user,
        }  # fmt: skip
        try:
            checked = arguments.read(name, given, bool(state.task.user))
            seen = yield from tools[str(name)](**checked)
        except Misuse as error:
            state.misuses += 1
            seen = Observation(neutral(str(error)), "misuse")
        except WebError as error:
            seen = Observation(neutral(views.refused(error) or refusal(error)), "refusal")
        except Struck as error:
            seen = Observation(str(error), "weather")
        except InfrastructureError as error:
            return self._mask(error)
        return self._within_turns(self._in_brief(seen))

    def record(self) -> Steps[Record]:
        """Return the episode as rewards read it, with the server's ledger. If the ledger cannot be read, the episode
        is masked.
        """
        state = self.state
        requests: tuple[Request, ...] = ()
        if state.web is not None and not state.mask:
            try:
                requests = yield from state.web.requests()
            except InfrastructureError as error:
                self._mask(error)
        return Record(
            *(state.task, state.answer, state.citations, requests, dict(state.shown), dict(state.redirects)),
            *(state.end, state.mask, state.turns, state.misuses),
        )

    def _search(self, query: str, page: int = 1) -> Steps[Observation]:
        if self._is_spent():
            return _SPENT
        answer = yield from self._web().perform(calls.search(query, page, self._limits.results))
        self.state.results = tuple(result.url for result in answer.results)
        shown = views.titles(answer) if self._limits.brief else views.results(answer)
        return self._framed("results", self._swap.results(shown)[: self._limits.characters])

    def _open(self, link: str, cursor: int = 0) -> Steps[Observation]:
        """Show a window of a page. The open page is not requested again when only the cursor moves."""
        state, url = self.state, self._url(link)
        leaf = state.open_page
        # Reading on in the open page needs no request and costs no call.
        if not (cursor and leaf and key(url) in (key(leaf.url), key(leaf.asked))):
            if self._is_spent():
                return _SPENT
            answer = yield from self._web().perform(calls.page(url, "links", length=views.MOST))
            leaf = state.open_page = self._swap.leaf(views.leaf(answer))
            state.redirects[key(url)] = key(leaf.url)
        window = views.window(leaf, cursor, self._limits.characters)
        self._show(leaf, window.text)
        brief = self._limits.brief
        return self._framed("page", window.text if brief else window.head + window.text + window.tail)

    def _find(self, pattern: str) -> Steps[Observation]:
        """Show the matches of a pattern in the open page, which needs no request. Raises: InvalidToolCall if no page
        is open.
        """
        yield from ()  # a generator like the other tools, although it sends nothing
        leaf = self.state.open_page
        if leaf is None:
            raise Misuse('No page is open. Open one first: call open with {"link": "r1"}.')
        found = views.matches(leaf, pattern)
        for match in found:
            self._show(leaf, match.text)
        return self._framed("matches", views.told(leaf, pattern, found)[: self._limits.characters], "matches")

    def _ask_user(self, question: str) -> Steps[Observation]:
        yield from ()
        return Observation(neutral(user.reply(question, self.state.task.user)), "user")

    def _finish(self, answer: str, citations: list[str]) -> Steps[Observation]:
        yield from ()
        state = self.state
        state.answer, state.end = answer, "finished"
        state.citations = tuple(self._cited(citation) for citation in citations)
        return Observation("The answer is taken.", "over", True)

    def _cited(self, citation: str) -> str:
        """Return the URL that a citation stands for, or the citation itself if it is an unknown link id."""
        try:
            return self._url(citation)
        except Misuse:
            return citation

    def _url(self, link: str) -> str:
        """Return the URL that a link id or URL stands for. Raises: InvalidToolCall if the id is unknown."""
        page = self.state.open_page
        return views.address(link, self.state.results, tuple(self.state.opened), page.links if page else {})

    def _show(self, leaf: views.Leaf, text: str) -> None:
        """Record that a page showed a text, as evidence for the rewards."""
        shown, name = self.state.shown, key(leaf.url)
        self.state.opened.setdefault(leaf.url)  # a dict as an ordered set
        shown[name] = (*shown.get(name, ()), views.plain(text))

    def _framed(self, what: Literal["results", "page", "matches"], text: str, kind: Kind | None = None) -> Observation:
        """Return web text as an observation: sanitised, and delimited as data unless the limits ask for brief
        observations.
        """
        state = self.state
        if self._limits.brief:
            return Observation(neutral(text), kind or what)
        about = f"{state.seed}\0{state.task.id}\0{state.turns}"
        return Observation(framed(what, text, about), kind or what)

    def _in_brief(self, seen: Observation) -> Observation:
        """Reduce an error to its kind, in one word, if the limits ask for brief observations."""
        if self._limits.brief and seen.kind in ("misuse", "refusal", "weather", "limit"):
            return replace(seen, text=seen.kind)
        return seen

    def _is_spent(self) -> bool:
        """Count a request to the web; True if it exceeds the limit and must not be sent."""
        self.state.calls += 1
        return self.state.calls > self._limits.calls

    def _web(self) -> SessionWeb:
        """Return the client of the session. Raises: InfrastructureError if none was opened."""
        if self.state.web is None:
            raise InfrastructureError("the episode has no session; call `reset` first")
        return self.state.web

    def _within_turns(self, seen: Observation) -> Observation:
        """End the episode after its last turn."""
        state = self.state
        if state.end or state.turns < self._limits.turns:
            return seen
        state.end = "turns"
        return Observation(f"{seen.text}\n\nNo turn is left: the work is over.", seen.kind, True)

    def _mask(self, error: InfrastructureError) -> Observation:
        """End the episode as masked: an outage says nothing about the agent policy."""
        self.state.end, self.state.mask = "masked", f"{error.reason or 'outage'}: {error.message}"
        return Observation("The web is out of reach; this attempt does not count.", "over", True)


_SPENT = Observation("No search and no page is left. Call finish with what was found.", "limit")
