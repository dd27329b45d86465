"""The two ports of the world: who ranks pages, and who holds what was captured. Filled by `index`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from typing import Any, Protocol

from webemu.emulator.article import Article
from webemu.emulator.query import Parsed
from webemu.emulator.types import Archive, Capture, Hit, Payload

Entry = tuple[float, int]
"""(score, dense id)."""


class Numbers(Protocol):
    """Per dense id: when it is visible (seconds), its day number, domain number and duplicate cluster."""

    @property
    def since(self) -> Sequence[int]: ...

    @property
    def until(self) -> Sequence[int]: ...

    @property
    def day(self) -> Sequence[int]: ...

    @property
    def domain(self) -> Sequence[int]: ...

    @property
    def cluster(self) -> Sequence[int]: ...

    def rows(self, docs: Iterable[int]) -> Iterator[tuple[int, int, int]]:
        """(until, cluster, domain) of each page."""

    def current(self, ranked: list[Entry]) -> list[tuple[Entry, int]]:
        """`webemu.emulator.ranking.current` of a ranking."""


class Pending(BlockingIOError):
    """A search waits for what `ready` will bring, and must not wait where it was asked."""

    def __init__(self, ready: Future[Any]) -> None:
        super().__init__()
        self.ready = ready


class Finder(Protocol):
    """Port: ranks pages for a parsed query."""

    @property
    def columns(self) -> Numbers: ...

    @property
    def is_long(self) -> bool:
        """Whether it takes longer than an event loop may be held."""

    def ready(self, parsed: Parsed) -> Future[Any] | None:
        """What `plan` waits for, begun: who asks for many at once lets them be made together."""

    def plan(self, parsed: Parsed) -> Any: ...

    def top(self, plan: Any, limit: int) -> tuple[list[Entry], bool]: ...

    def hit(self, doc: int, score: float, plan: Any) -> Hit: ...

    def copies(self, doc: int) -> Sequence[int]:
        """All pages that say the same as one, itself among them; empty where there is no other."""

    def explain(self, doc: int, score: float, plan: Any) -> dict[str, float]: ...

    def terms(self, text: str, like: str = "") -> Sequence[str]: ...

    def frequency(self, words: str) -> int: ...


class Shelf(Protocol):
    """Port: knows the captures of a URL and holds their content."""

    def exact(self, url: str) -> list[Capture]: ...

    def canonical(self, url: str) -> list[Capture]: ...

    def surt(self, url: str) -> list[Capture]: ...

    def loose(self, url: str) -> list[Capture]: ...

    def listing(self, first: str, last: str) -> Iterator[tuple[str, list[Capture]]]: ...

    def archives(self) -> Sequence[Archive]: ...

    def bytes_of(self, archive: Archive, offset: int, length: int) -> Iterable[bytes]: ...

    def knows_host(self, host: str) -> bool: ...

    def missing(self, host: str) -> list[Capture]: ...

    def text(self, doc: int) -> tuple[str, str]: ...

    def payload(self, capture: Capture, wait: bool = True) -> Payload: ...

    def decoded(self, payload: Payload) -> bytes: ...

    def html(self, capture: Capture) -> str | None: ...

    def markdown(self, html: str, url: str, text: str = "", *, pictures: bool = False, whole: bool = False) -> str: ...

    def narrowed(self, html: str, wanted: Sequence[str], unwanted: Sequence[str]) -> str | None: ...

    def targets(self, html: str, url: str) -> list[tuple[str, str]]: ...

    def pictures(self, html: str, url: str) -> list[tuple[str, str]]: ...

    def links(self, html: str, url: str, text: str = "") -> str: ...

    def replayed(self, html: str, url: str, link: Callable[[str, str], str]) -> str: ...

    def replayed_css(self, css: str, url: str, link: Callable[[str, str], str]) -> str: ...

    def wiki(self, html: str, url: str) -> Article | None: ...

    def suggest(self, prefix: str, limit: int) -> list[str]: ...

    def nearest(self, word: str) -> Iterable[str]: ...
