"""WARC records at the extremes of what a record may hold, made from a seed: the same number is the same record.

Every record is framed well (its Content-Length is true), so that each must become a capture or a counted drop of its
own. Damage of the framing itself is tested in `tests/ingest/test_readers.py`.
"""

from __future__ import annotations

import gzip
import random
import zlib
from dataclasses import dataclass

from tests import extremes

GOOD_WORD = "wellkeptlighthouse"
"""Only the good pages say it."""
GIVES_NO_CAPTURE = ("metadata", "request", "warcinfo")
"""Kinds of records that say something of others."""
_KINDS = (
    ("response",) * 8 + ("revisit",) * 3 + ("resource", "conversion") * 2 + (*GIVES_NO_CAPTURE, "continuation", "odd")
)
_EDGES = (65_535, 65_536, 491, 2048)
_LINE = b"\r\n"
_ID = b"<urn:uuid:00000000-0000-0000-0000-%012d>"
_SHARED = [b"http://a.example/" + path for path in (b"loop-a", b"loop-b", b"shared", b"good")] + [b"", b" ", b"<>"]


@dataclass(frozen=True, slots=True)
class Mutant:
    """One record."""

    number: int
    kind: str
    """WARC-Type, in lower case."""
    url: bytes
    raw: bytes
    """The record without container, with the empty lines after it."""

    def packed(self, is_gzip: bool) -> bytes:
        return gzip.compress(self.raw, 1, mtime=0) if is_gzip else self.raw


def mutant(seed: str, number: int) -> Mutant:
    """Return record `number` of a seed. Most differ from a plain page in a few places, some everywhere."""
    return _Maker(random.Random(f"{seed} {number}"), number).record()


class _Maker:
    """Makes one record."""

    def __init__(self, rng: random.Random, number: int) -> None:
        self._rng = rng
        self._number = number
        self._odd = rng.choice((0.03, 0.12, 0.12, 0.4, 1.0))
        """The share of values that are extreme."""

    def record(self) -> Mutant:
        rng = self._rng
        url = self._url()
        kind = rng.choice(_KINDS) if self._is_odd(1, minimum=0.3) else "response"
        block = self._http(url) if kind in ("response", "revisit") else self._body()
        if kind in GIVES_NO_CAPTURE:
            block = rng.choice((*extremes.NOTES, block))
        lines = [*self._head(kind, url), *(self._revisited(url) if kind == "revisit" else ())]
        if self._is_odd(1 / 2):
            lines += rng.sample((*extremes.WARC_HEADERS, b"WARC-Concurrent-To: " + _ID % self._number), 3)
        rng.shuffle(lines)
        version = self._pick((b"WARC/1.1", b"WARC/0.17"), b"WARC/1.0")
        head = _LINE.join([version, *lines, b"Content-Length: %d" % len(block)])
        return Mutant(self._number, kind, url, head + 2 * _LINE + block + 2 * _LINE)

    def _is_odd(self, share: float, minimum: float = 0.0) -> bool:
        return self._rng.random() < max(self._odd * share, minimum)

    def _pick(self, choices: tuple[bytes, ...], plain: bytes) -> bytes:
        return self._rng.choice(choices) if self._is_odd(1) else plain

    def _url(self) -> bytes:
        rng = self._rng
        if rng.random() < 0.03:
            return rng.choice(_SHARED)
        origin = self._pick(extremes.SCHEMES, b"http://") + self._pick(extremes.HOSTS, b"a.example") + b"/"
        path = b""
        if self._is_odd(1, minimum=0.3):
            unit = rng.choice(extremes.UNITS)
            path = unit * (rng.choice(extremes.LENGTHS) // len(unit))
            if rng.random() < 0.5:  # so that the whole is exactly at an edge
                path = path[: max(0, rng.choice(_EDGES) - len(origin))]
        mark = rng.choice((b"", b"?", b"&", b"#", b";", b"/", b"?utm_source=x&", b"?sid=")) + b"n%d" % self._number
        return origin + (path + mark if rng.random() < 0.5 else mark + path)

    def _head(self, kind: str, url: bytes) -> list[bytes]:
        """Headers that most records have, each of them odd or missing at times."""
        is_http = kind in ("response", "revisit") and not self._is_odd(1 / 4)
        content_type = b"application/http; msgtype=response" if is_http else self._pick(extremes.TYPES, b"text/html")
        lines = [
            b"WARC-Type: " + (kind.upper() if self._is_odd(1 / 4) else kind).encode(),
            b"WARC-Date: " + self._pick(extremes.DATES, b"2024-01-%02dT12:00:00Z" % (1 + self._number % 28)),
            b"WARC-Record-ID: " + self._pick(extremes.IDS, _ID % self._number),
            b"Content-Type: " + content_type,
        ]
        if not self._is_odd(1 / 20):
            target = url.replace(b"\r", b"").replace(b"\n", b"")
            lines.append(b"WARC-Target-URI: " + (b"<%b>" % target if self._rng.random() < 0.1 else target))
        for name, choices in extremes.OPTIONAL:
            if value := self._pick(choices, b""):
                lines.append(name + b": " + value)
        return lines

    def _revisited(self, url: bytes) -> list[bytes]:
        """Headers that name what a revisit repeats: itself at times, or nothing that there is."""
        target = self._rng.choice((url, *_SHARED, b"\xff\xfe", b"x" * 70_000))
        date = self._pick(extremes.DATES, b"2024-01-10T12:00:00Z")
        return [b"WARC-Refers-To-Target-URI: " + target, b"WARC-Refers-To-Date: " + date]

    def _http(self, url: bytes) -> bytes:
        rng = self._rng
        status = self._pick(extremes.STATUS_LINES, b"HTTP/1.1 200 OK")
        lines = [status, b"Content-Type: " + self._pick(extremes.TYPES, b"text/html; charset=utf-8")]
        if b" 30" in status or self._is_odd(1 / 4):
            lines.append(b"Location: " + rng.choice((*extremes.LOCATIONS, url[:100_000])))
        if coding := self._pick(extremes.CODINGS, b""):
            lines.append(b"Content-Encoding: " + coding)
        if self._is_odd(1 / 2):
            lines += rng.sample(extremes.HTTP_HEADERS, rng.randint(1, 6))
        end = self._pick((b"\n\n", b"\r\n", b""), b"\r\n\r\n")
        return rng.choice((b"\r\n", b"\r\n", b"\n")).join(lines) + end + self._body()

    def _body(self) -> bytes:
        rng = self._rng
        text = self._pick(extremes.TEXTS, b"These are the words of page number %d. " % self._number * 5)
        body = b"<html lang=%b><head><title>%b</title>%b</head><body>%b<p>%b</p>" % (
            self._pick((b"", b"x" * 9000, b"zz-ZZ", b"\xff"), b"en"),
            self._pick(extremes.TITLES, b"Page %d" % self._number),
            self._pick(extremes.HEADS, b""),
            self._pick(extremes.LINKS, b""),
            text,
        )
        packed = gzip.compress(body, 1, mtime=0)
        shapes = (packed, packed[:100], b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body), zlib.compress(bytes(3_000_000)))
        other_bodies = (b'{"a": "%b"}' % text, text, b"\xff\xfe" + body, b"<?xml version='1.0'?><a>" + text)
        return rng.choice((*shapes, *other_bodies, *extremes.BODIES)) if rng.random() < 0.17 else body


def good(number: int) -> Mutant:
    """Return a plain page that must be found and read, whatever stands beside it."""
    url = b"http://good%d.example/page" % number
    body = (
        b"<html lang=en><head><title>Good page %d</title></head><body><main><h1>Good page</h1><p>The %b of harbour "
        b"number%d stands on the cliff and is lit at night by its keeper. <a href='/next'>More of it</a></p></main>"
    ) % (number, GOOD_WORD.encode(), number)
    block = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n" + body
    lines = [
        b"WARC/1.0",
        b"WARC-Type: response",
        b"WARC-Date: 2024-01-10T12:00:00Z",
        b"WARC-Record-ID: <urn:uuid:good-%d>" % number,
        b"Content-Type: application/http; msgtype=response",
        b"WARC-Target-URI: " + url,
        b"Content-Length: %d" % len(block),
    ]
    return Mutant(-number - 1, "response", url, _LINE.join(lines) + 2 * _LINE + block + 2 * _LINE)
