"""Whether something is blocked: by the name of its host, by its URL in any spelling, by what it says. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from html import unescape
from itertools import islice
from urllib.parse import unquote

from webemu.emulator import urls
from webemu.emulator.ngrams import ngrams, plain
from webemu.emulator.policy import Blocked

MAX_DEPTH = 4
"""An address in an address is looked for under so many layers of escapes."""
MAX_INNER = 32
_TAG = re.compile(r"<[^<>]*>")
_INNER = re.compile(r"(?<=[/=:?&])(?=(?:[\w-]+\.)+[^\W\d_]{2})")
"""Where a name may begin inside a URL, as in those of archives, caches and proxies."""


class Blocklist:
    """One policy's list, made ready to ask."""

    def __init__(self, blocked: Blocked) -> None:
        self._domains = frozenset(_domain(one) for one in blocked.domains) - {""}
        self._keys = frozenset(key for url in blocked.urls for key in _keys(urls.guess(url)))
        self._pattern = _pattern(blocked.patterns)
        self._texts = tuple(filter(None, map(plain, blocked.texts)))
        self._ngrams = frozenset(one.lower().strip() for one in blocked.ngrams)
        self.reads = bool(self._texts or self._ngrams)
        """Whether what pages say counts."""
        self.is_url = lru_cache(1 << 16)(self._is_url)

    def is_host(self, host: str) -> bool:
        """Whether all of a host is blocked."""
        if not self._domains:
            return False
        labels = host.lower().rstrip(".").split(".")
        return any(".".join(labels[at:]) in self._domains for at in range(len(labels)))

    def _is_url(self, url: str) -> bool:
        """Whether the URL, or one that stands in it (as in those of archives and caches), is blocked."""
        return any(self._is_one(one) for one in (url, *_inner(url)))

    def _is_one(self, url: str) -> bool:
        if self.is_host(urls.host(url)):
            return True
        if self._keys and not self._keys.isdisjoint(_keys(url)):
            return True
        return self._pattern is not None and any(map(self._pattern.fullmatch, (url, unquote(url))))

    def is_text(self, text: str) -> bool:
        """Whether a text says what is blocked."""
        if self._texts:
            said = plain(text)
            if any(one in said for one in self._texts):
                return True
        return bool(self._ngrams) and any(one in self._ngrams for one in ngrams(text))

    def is_document(self, html: str) -> bool:
        """Whether a document does, in its text or its source."""
        return self.is_text(unescape(_TAG.sub(" ", html))) or self.is_text(unescape(_TAG.sub("", html)))


def _domain(text: str) -> str:
    """The name in what people write for one: `*.example.org`, `https://example.org/`."""
    return urls.host(urls.guess(text.strip().removeprefix("*").strip("./")))


def _keys(url: str) -> tuple[str, str]:
    exact = urls.exact(url)
    return urls.surt(exact), urls.loose(exact)


def _pattern(patterns: tuple[str, ...]) -> re.Pattern[str] | None:
    if not patterns:
        return None
    scheme = "" if all("://" in one for one in patterns) else r"[a-z]+://"
    return re.compile("|".join((scheme if "://" not in one else "") + _glob(one) for one in patterns), re.I | re.S)


def _glob(pattern: str) -> str:
    """`*` is the shortest run that lets the rest fit, and is not tried again: no pattern takes long."""
    first, *rest = [re.escape(part) for part in re.split(r"\*+", pattern)]
    if not rest:
        return first
    middle = "".join(f"(?>.*?{part})" for part in rest[:-1] if part)
    return f"{first}{middle}.*{rest[-1]}"


def _inner(url: str) -> Iterator[str]:
    text = url.partition("://")[2].partition("/")[2]
    text = f"/{text}"
    for _ in range(MAX_DEPTH):
        for found in islice(_INNER.finditer(text), MAX_INNER):
            rest = text[found.start() :]
            yield urls.guess(rest)
            if "&" in rest:
                yield urls.guess(rest.partition("&")[0])
        if (further := unquote(text)) == text:
            return
        text = further
