"""Keeps the last converted documents, since agents read a long page in pieces and batches name a page again and again.

A document of a megabyte takes a third of a second to convert, and each piece of it would take that again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from hashlib import blake2b
from threading import Lock

from webemu.index.kept_texts import KeptTexts

MAX_CHARS = 8 << 20
"""Characters that are kept in all."""


class RecentConversions:
    """Converted documents by what they were made from, the least recently used of which make room. Thread-safe."""

    def __init__(self, max_chars: int = MAX_CHARS) -> None:
        self._max_chars = max_chars
        self._char_count = 0
        self._text_of_digest: OrderedDict[bytes, str] = OrderedDict()
        self._lock = Lock()
        self.kept_texts: KeptTexts | None = None
        """Store in which conversions outlive the process; None for none."""

    def find(self, *inputs: str) -> str | None:
        """Return what was made of these inputs before; None if nothing is kept of it."""
        return self._find(_digest(inputs))

    def get_or_convert(self, convert: Callable[[], str], *inputs: str) -> str:
        """Return what `convert` makes of these inputs, which must say all that its result depends on."""
        digest = _digest(inputs)
        if (text := self._find(digest)) is None:
            self._remember(digest, text := convert())
            if self.kept_texts is not None:
                self.kept_texts.put(digest, text)
        return text

    def _find(self, digest: bytes) -> str | None:
        """Return a text from memory, else from the disk."""
        with self._lock:
            if (recent_text := self._text_of_digest.get(digest)) is not None:
                self._text_of_digest.move_to_end(digest)
                return recent_text
        if self.kept_texts is None or (text := self.kept_texts.get(digest)) is None:
            return None
        self._remember(digest, text)
        return text

    def _remember(self, digest: bytes, text: str) -> None:
        """Keep a text in memory, and let older ones make room."""
        with self._lock:
            if digest not in self._text_of_digest and len(text) <= self._max_chars:
                self._text_of_digest[digest] = text
                self._char_count += len(text)
            while self._char_count > self._max_chars:
                self._char_count -= len(self._text_of_digest.popitem(last=False)[1])


def _digest(inputs: Sequence[str]) -> bytes:
    return blake2b("\0".join(inputs).encode("utf-8", "surrogatepass"), digest_size=16).digest()
