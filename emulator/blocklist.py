"""Checks whether a host, a URL in any spelling, or a text is blocked by a policy.

Pure: it only compares; `webemu.emulator.policy_filter` removes what is blocked from a world.
"""

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
"""Maximum number of percent-encoding layers searched for a URL inside a URL."""
MAX_INNER = 32
"""Maximum number of inner URLs examined per layer."""
_TAG = re.compile(r"<[^<>]*>")
_INNER = re.compile(r"(?<=[/=:?&])(?=(?:[\w-]+\.)+[^\W\d_]{2})")
"""Position where a host name may begin inside a URL, as in URLs of archives, caches and proxies."""


class Blocklist:
    """The block rules of one policy, compiled for fast checks."""

    def __init__(self, blocked: Blocked) -> None:
        self._domains = frozenset(_domain(one) for one in blocked.domains) - {""}
        self._keys = frozenset(key for url in blocked.urls for key in _keys(urls.guess(url)))
        self._pattern = _pattern(blocked.patterns)
        self._texts = tuple(filter(None, map(plain, blocked.texts)))
        self._ngrams = frozenset(one.lower().strip() for one in blocked.ngrams)
        self.reads = bool(self._texts or self._ngrams)
        """True if the policy blocks by page content, so that texts have to be checked."""
        self.is_url = lru_cache(1 << 16)(self._is_url)

    def is_host(self, host: str) -> bool:
        """True if the whole host is blocked, by its own name or a parent domain."""
        if not self._domains:
            return False
        labels = host.lower().rstrip(".").split(".")
        return any(".".join(labels[at:]) in self._domains for at in range(len(labels)))

    def _is_url(self, url: str) -> bool:
        """True if the URL, or a URL inside it (as in archives and caches), is blocked."""
        return any(self._is_one(one) for one in (url, *_inner(url)))

    def _is_one(self, url: str) -> bool:
        """True if the URL itself is blocked, by host, by key or by pattern."""
        if self.is_host(urls.host(url)):
            return True
        if self._keys and not self._keys.isdisjoint(_keys(url)):
            return True
        return self._pattern is not None and any(map(self._pattern.fullmatch, (url, unquote(url))))

    def is_text(self, text: str) -> bool:
        """True if a text contains a blocked text or a blocked run of words."""
        if self._texts:
            said = plain(text)
            if any(one in said for one in self._texts):
                return True
        return bool(self._ngrams) and any(one in self._ngrams for one in ngrams(text))

    def is_document(self, html: str) -> bool:
        """True if an HTML document contains blocked text, with its tags read as spaces or as nothing."""
        return self.is_text(unescape(_TAG.sub(" ", html))) or self.is_text(unescape(_TAG.sub("", html)))


def _domain(text: str) -> str:
    """Return the host in what people write for one, such as `*.example.org` or `https://example.org/`."""
    return urls.host(urls.guess(text.strip().removeprefix("*").strip("./")))


def _keys(url: str) -> tuple[str, str]:
    """Return the SURT key and the loose key of a URL."""
    exact = urls.exact(url)
    return urls.surt(exact), urls.loose(exact)


def _pattern(patterns: tuple[str, ...]) -> re.Pattern[str] | None:
    """Compile URL patterns into one regex, None without patterns; one without a scheme matches any scheme."""
    if not patterns:
        return None
    scheme = "" if all("://" in one for one in patterns) else r"[a-z]+://"
    return re.compile("|".join((scheme if "://" not in one else "") + _glob(one) for one in patterns), re.I | re.S)


def _glob(pattern: str) -> str:
    """Translate a glob pattern into a regular expression that runs in linear time.

    Each `*` takes the shortest run that lets the next literal match and never backtracks (atomic groups).
    """
    first, *rest = [re.escape(part) for part in re.split(r"\*+", pattern)]
    if not rest:
        return first
    middle = "".join(f"(?>.*?{part})" for part in rest[:-1] if part)
    return f"{first}{middle}.*{rest[-1]}"


def _inner(url: str) -> Iterator[str]:
    """Yield the URLs that may stand inside a URL, also percent-encoded."""
    text = url.partition("://")[2].partition("/")[2]
    text = f"/{text}"
    for _ in range(MAX_DEPTH):
        for found in islice(_INNER.finditer(text), MAX_INNER):
            rest = text[found.start() :]
            yield urls.guess(rest)
            if "&" in rest:  # the inner URL may be followed by parameters of the outer one
                yield urls.guess(rest.partition("&")[0])
        if (further := unquote(text)) == text:
            return
        text = further
