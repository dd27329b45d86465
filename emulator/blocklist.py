"""Checks whether a host, a URL in any spelling, or a text is blocked by a policy.

Pure: it only compares; `webemu.emulator.policy_filter` removes what is blocked from a world.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice
from urllib.parse import unquote

from webemu.emulator import urls
from webemu.emulator.folding import fold, fold_words
from webemu.emulator.ngrams import hash_ngrams, normalize_text
from webemu.emulator.policy import Blocked
from webemu.emulator.similarity import SimilarTexts

MAX_DEPTH = 4
"""Maximum number of percent-encoding layers searched for a URL inside a URL."""
MAX_INNER_URLS = 32
"""Maximum number of inner URLs examined per layer."""
MIN_FOLDED, MIN_WORDS = 12, 5
"""Letters and digits that a blocked text needs to be found without its spaces, and to be found without its punctuation.
A shorter one is compared as it stands, since `C++` without its signs would block nearly everything.
"""
FEW_TEXTS = 32
"""Number of texts up to which each is looked for on its own."""
_INNER_HOST = re.compile(r"(?<=[/=:?&])(?=(?:[\w-]+\.)+[^\W\d_]{2})")
"""Position where a host name may begin inside a URL, as in URLs of archives, caches and proxies."""

_PLAIN_HOST = re.compile(r"[a-z0-9._-]+|\[[0-9a-f:.]+\]")
"""A host as browsers write it."""
_WWW = re.compile(r"www\d*\.")
"""Beginning of a host that SURT keys leave out."""


class Blocklist:
    """The block rules of one policy, compiled for fast checks."""

    def __init__(self, blocked: Blocked, similar: SimilarTexts | None = None) -> None:
        """Compile the rules; `similar` has the texts that `blocked.similar` names (`webemu.emulator.similar_pages`)."""
        self._domains = frozenset(_host_from_user_text(one) for one in blocked.domains) - {""}
        self._urls = UrlSet(blocked.urls)
        self._pattern = _compile_patterns(blocked.patterns)
        self._folded, self._worded, self._plain = _sort_texts(blocked.texts)
        self._ngrams = frozenset(one.lower().strip() for one in blocked.ngrams)
        self._similar = similar or SimilarTexts(())
        self.checks_text = bool(self._folded or self._worded or self._plain or self._ngrams or self._similar)
        """True if the policy blocks by page content, so that texts have to be checked."""
        self.blocks_url = lru_cache(1 << 16)(self._blocks_url_or_inner)

    def blocks_host(self, host: str) -> bool:
        """True if the whole host is blocked, by its own name or a parent domain."""
        if not self._domains:
            return False
        labels = host.lower().rstrip(".").split(".")
        return any(".".join(labels[start:]) in self._domains for start in range(len(labels)))

    def _blocks_url_or_inner(self, url: str) -> bool:
        """True if the URL, or a URL inside it (as in archives and caches), is blocked."""
        return any(self._blocks_single_url(one) for one in (url, *_inner_urls(url)))

    def _blocks_single_url(self, url: str) -> bool:
        """True if the URL itself is blocked, by host, by key or by pattern."""
        if self.blocks_host(urls.host_of(url)):
            return True
        if self._urls.has(url):
            return True
        return self._pattern is not None and any(map(self._pattern.fullmatch, (url, unquote(url))))

    def blocks_text(self, text: str) -> bool:
        """True if a text contains a blocked text or a blocked run of words, or holds most of a text of `similar`."""
        return self.blocks_any_text((text,))

    def blocks_any_text(self, texts: Iterable[str]) -> bool:
        """True if one of the readings of a page is blocked. Those that fold alike are looked through once.

        Blocked texts are found in any disguise that `webemu.emulator.folding` sees through, and backwards.
        """
        needs_words = bool(self._worded or self._similar)
        folded_texts = set[str]()
        for text in texts:
            folded = fold_words(text) if needs_words else fold(text) if self._folded else ""
            if (folded and folded not in folded_texts and self._blocks_folded(folded)) or self._blocks_plain(text):
                return True
            folded_texts.add(folded)
        return False

    def _blocks_folded(self, folded: str) -> bool:
        """True if a folded text, with single spaces where words are compared, has a blocked one or is similar."""
        return (
            (bool(self._folded) and self._folded.occur_in(folded.replace(" ", "")))
            or (bool(self._worded) and self._worded.occur_in(folded))
            or (bool(self._similar) and self._similar.are_held_by(folded))
        )

    def _blocks_plain(self, text: str) -> bool:
        """True if a text, as it stands but for case and white space, has a blocked one or a blocked run of words."""
        return (bool(self._plain) and self._plain.occur_in(normalize_text(text))) or (
            bool(self._ngrams) and any(one in self._ngrams for one in hash_ngrams(text))
        )


class UrlSet:
    """A set of URLs, in which every equivalent spelling of them is found.

    Their keys are made when a URL of their host is first looked for, since making 100,000 takes seconds.
    UrlSet(["example.org/a"]).has("https://www.example.org/a?utm_source=x")   # True
    """

    def __init__(self, user_urls: Iterable[str]) -> None:
        self._urls_by_host: dict[str, list[str]] = {}
        self._keys_by_host: dict[str, frozenset[str]] = {}
        for url in map(urls.parse_user_url, user_urls):
            self._urls_by_host.setdefault(_host_group(url), []).append(url)

    def has(self, url: str) -> bool:
        """True if the set has a spelling of the URL."""
        host = _host_group(url)
        if not (host_urls := self._urls_by_host.get(host)):
            return False
        if (keys := self._keys_by_host.get(host)) is None:
            keys = self._keys_by_host[host] = frozenset(key for one in host_urls for key in _lookup_keys(one))
        return not keys.isdisjoint(_lookup_keys(url))


class TextSet:
    """A set of texts that are looked for together: many of them cost hardly more than one.

    TextSet(["final answer"]).occur_in("the final answer is")   # True
    """

    def __init__(self, texts: Iterable[str]) -> None:
        """Prepare the search: a text of n characters that occurs covers one of every n/2 positions with one of its
        first runs of n/2 characters, so that only those positions are looked at.
        """
        self._texts = tuple(dict.fromkeys(texts))
        self._length = min(map(len, self._texts), default=0)
        self._run = (self._length + 1) // 2
        self._step = self._length - self._run + 1
        self._by_start: dict[str, list[str]] = {}
        self._offsets: dict[str, set[int]] = {}
        for text in self._texts if len(self._texts) > FEW_TEXTS else ():
            self._by_start.setdefault(text[: self._length], []).append(text)
        for start in self._by_start:
            for offset in range(self._step):
                self._offsets.setdefault(start[offset : offset + self._run], set()).add(offset)

    def __bool__(self) -> bool:
        return bool(self._texts)

    def occur_in(self, text: str) -> bool:
        """True if the text contains any of the set."""
        if not self._by_start:
            return any(one in text for one in self._texts)
        run, offsets_by_run = self._run, self._offsets
        for position in range(0, len(text) - run + 1, self._step):
            for offset in offsets_by_run.get(text[position : position + run], ()):
                if position >= offset and self._begins_one(text, position - offset):
                    return True
        return False

    def _begins_one(self, text: str, position: int) -> bool:
        """True if a text of the set stands at a position."""
        candidates = self._by_start.get(text[position : position + self._length], ())
        return any(text.startswith(one, position) for one in candidates)


def _sort_texts(texts: Iterable[str]) -> tuple[TextSet, TextSet, TextSet]:
    """Return the texts by how they are compared: folded, and backwards too; as words; as they stand."""
    folded, worded, plain = list[str](), list[str](), list[str]()
    for text in texts:
        letters = fold(text)
        if len(letters) >= MIN_FOLDED:
            folded += [letters, letters[::-1]]
        elif len(letters) >= MIN_WORDS:
            worded.append(fold_words(text))
        elif normalized := normalize_text(text):
            plain.append(normalized)
    return TextSet(folded), TextSet(worded), TextSet(plain)


def _host_from_user_text(text: str) -> str:
    """Return the host in what people write for one, such as `*.example.org` or `https://example.org/`."""
    return urls.host_of(urls.parse_user_url(text.strip().removeprefix("*").strip("./")))


def _host_group(url: str) -> str:
    """Return the host without `www.`, by which URLs are grouped; empty for all hosts that browsers would refuse."""
    host = urls.host_of(urls.normalize(url))
    if not _PLAIN_HOST.fullmatch(host):
        return ""
    host = ".".join(filter(None, host.split(".")))  # SURT keys tell no empty labels apart
    www = _WWW.match(host)
    return host[www.end() :] if www else host


def _lookup_keys(url: str) -> tuple[str, str]:
    """Return the SURT key and the loose key of a URL."""
    exact = urls.normalize(url)
    key, stripped = urls.surt_key(exact), urls.strip_idle_parameters(exact)
    return key, key if stripped == exact else urls.surt_key(stripped)


def _compile_patterns(patterns: tuple[str, ...]) -> re.Pattern[str] | None:
    """Compile URL patterns into one regex, None without patterns; one without a scheme matches any scheme."""
    if not patterns:
        return None
    scheme = "" if all("://" in one for one in patterns) else r"[a-z]+://"
    return re.compile(
        "|".join((scheme if "://" not in one else "") + _glob_to_regex(one) for one in patterns), re.I | re.S
    )


def _glob_to_regex(pattern: str) -> str:
    """Translate a glob pattern into a regular expression that runs in linear time.

    Each `*` takes the shortest run that lets the next literal match and never backtracks (atomic groups).
    """
    first, *remaining = [re.escape(part) for part in re.split(r"\*+", pattern)]
    if not remaining:
        return first
    middle = "".join(f"(?>.*?{part})" for part in remaining[:-1] if part)
    return f"{first}{middle}.*{remaining[-1]}"


def _inner_urls(url: str) -> Iterator[str]:
    """Yield the URLs that may stand inside a URL, also percent-encoded."""
    text = url.partition("://")[2].partition("/")[2]
    text = f"/{text}"
    for _ in range(MAX_DEPTH):
        for match in islice(_INNER_HOST.finditer(text), MAX_INNER_URLS):
            tail = text[match.start() :]
            yield urls.parse_user_url(tail)
            if "&" in tail:  # the inner URL may be followed by parameters of the outer one
                yield urls.parse_user_url(tail.partition("&")[0])
        if (unquoted := unquote(text)) == text:
            return
        text = unquoted
