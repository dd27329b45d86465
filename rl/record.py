"""Finished episode as the input of rewards: the answer, the server's ledger, and the texts that the server showed."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Literal
from urllib.parse import urlsplit

from webemu.rl.ledger import Request, find_opened_urls
from webemu.rl.tasks import Task

End = Literal["", "finished", "turns", "masked"]
"""Way in which an episode ended; empty while it runs."""


MAX_TITLE_CHARACTERS = 90
"""Characters of a first line that may stand for a missing title."""


@dataclass(frozen=True, slots=True)
class UserQuestion:
    """Question to the simulated user and what it was worth."""

    question: str
    has_reply: bool
    """True if the user knew what was asked for."""


@dataclass(frozen=True, slots=True)
class Progress:
    """State of an episode after one of its tool calls."""

    answered_requests: int
    """Number of requests that were answered so far, those excluded that the server failed."""
    parts_by_page: Mapping[str, tuple[str, ...]]
    """Texts that pages had shown so far, as in `EpisodeRecord`."""
    questions: tuple[UserQuestion, ...]
    """Questions that had been put to the simulated user."""


@dataclass(frozen=True, slots=True)
class EpisodeRecord:
    """Finished episode, read-only."""

    task: Task
    answer: str = ""
    """Answer as the model gave it."""
    citations: tuple[str, ...] = ()
    """Cited pages as URLs. A citation that is neither a URL nor a known link id is kept as it is."""
    requests: tuple[Request, ...] = ()
    """Requests of the session in order, from the server's ledger."""
    parts_by_page: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Texts that each page showed in this episode, by `url_key` of its final URL."""
    redirects: Mapping[str, str] = field(default_factory=dict)
    """Mapping from `url_key` of each requested URL to that of its final URL."""
    end: End = ""
    """Way in which the episode ended; empty while it runs."""
    mask: str = ""
    """Reason why the episode says nothing about the agent policy; empty if it does."""
    turns: int = 0
    """Tool calls of the model."""
    invalid_calls: int = 0
    """Tool calls that were invalid."""
    titles: Mapping[str, str] = field(default_factory=dict)
    """Titles of the pages that were shown, by `url_key` of the final URL."""
    questions: tuple[UserQuestion, ...] = ()
    """Questions that were put to the simulated user, with their replies."""
    progress: tuple[Progress, ...] = ()
    """State of the episode after each tool call, in order."""

    @property
    def masked(self) -> bool:
        """True if the episode says nothing about the agent policy and must not be learned from."""
        return bool(self.mask)

    def cut_after(self, progress: Progress) -> EpisodeRecord:
        """Return the record as if nothing had been read after a tool call, with the same answer and citations."""
        answered_counts = list(accumulate(not request.failed for request in self.requests))
        count = progress.answered_requests
        return replace(
            self,
            requests=self.requests[: bisect_left(answered_counts, count) + 1] if count else (),
            parts_by_page=progress.parts_by_page,
            questions=progress.questions,
        )

    def shown_parts_of(self, citation: str) -> tuple[str, ...]:
        """Return the texts that the cited page showed; empty if the ledger does not confirm its opening."""
        opened_keys = {url_key(url) for url in find_opened_urls(self.requests)}
        final_key = self.final_key(citation)
        return self.parts_by_page.get(final_key, ()) if final_key in opened_keys else ()

    def opened_citations(self) -> tuple[str, ...]:
        """Return the pages that showed something, as `shown_parts_of` takes them."""
        return tuple(self.parts_by_page)

    def final_key(self, url: str) -> str:
        """Return the `url_key` of a page, whether its URL is named before or after its redirects."""
        return self.redirects.get(url_key(url), url_key(url))

    def title_of(self, citation: str) -> str:
        """Return the title of a page that was shown. If it has none, its first line may be one: empty if that is too
        long or a sentence.
        """
        final_key = self.final_key(citation)
        first_part = next(iter(self.parts_by_page.get(final_key, ())), "")
        first_line = first_part.lstrip()[: MAX_TITLE_CHARACTERS + 1].partition("\n")[0].strip()
        is_title = len(first_line) <= MAX_TITLE_CHARACTERS and not first_line.endswith((".", "!", "?"))
        return self.titles.get(final_key) or (first_line if is_title else "")


def url_key(url: str) -> str:
    """Return one spelling of a URL: without scheme, fragment and trailing slash, with the host in lower case. A text
    that is not a URL is returned as it is.

        url_key("https://Example.org/a/#top")  # "example.org/a"
    """
    try:
        parts = urlsplit(url.strip())
    except ValueError:
        return url
    query = f"?{parts.query}" if parts.query else ""
    return f"{parts.netloc.lower()}{parts.path.rstrip('/')}{query}" if parts.netloc else url.strip()
