"""What rewards are given for: an episode as it ended, from the ledger and from what the server showed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import urlsplit

from webemu.rl.ledger import Request, opened
from webemu.rl.tasks import Task

End = Literal["", "finished", "turns", "masked"]


@dataclass(frozen=True, slots=True)
class Record:
    task: Task
    answer: str = ""
    """As the model gave it."""
    citations: tuple[str, ...] = ()
    """As URLs, where they were such or known link ids."""
    requests: tuple[Request, ...] = ()
    """The ledger."""
    shown: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Parts that each page showed in this episode, by `key` of its final URL."""
    redirects: Mapping[str, str] = field(default_factory=dict)
    """From `key` of the URL that was asked for to that of where it led."""
    end: End = ""
    """Empty while it goes on."""
    mask: str = ""
    """Why it says nothing about the policy; empty if it does."""
    turns: int = 0
    misuses: int = 0
    """Calls that could not be made."""

    @property
    def masked(self) -> bool:
        return bool(self.mask)

    def page(self, citation: str) -> tuple[str, ...]:
        """Parts that the cited page showed; none where the ledger does not say that it was opened."""
        cited = key(citation)
        reached = {key(url) for url in opened(self.requests)}
        final = self.redirects.get(cited, cited)
        return self.shown.get(final, ()) if final in reached else ()


def key(url: str) -> str:
    """One spelling of an address: without scheme, fragment and the slash at the end, host in lower case."""
    try:
        parts = urlsplit(url.strip())
    except ValueError:
        return url
    query = f"?{parts.query}" if parts.query else ""
    return f"{parts.netloc.lower()}{parts.path.rstrip('/')}{query}" if parts.netloc else url.strip()
