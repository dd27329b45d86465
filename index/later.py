"""Finds what a collection captured after a moment and never before: words, URLs, times; for `webemu audit-leak`.

Also samples of its captures, from which requests are made. Everything is read from the catalog.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import NamedTuple

from webemu.emulator.errors import PayloadError
from webemu.index.analysis import STEMMERS, normalize_text, stem_text
from webemu.index.catalog import Catalog
from webemu.index.manifest import read_manifest
from webemu.index.open import SnapshotPageStore

MIN_WORD_CHARACTERS = 4
"""Shorter words are met by chance in identifiers and numbers."""
MAX_SAMPLE_WORDS = 40
"""Words of a page that its sample keeps."""
_WORD = re.compile(rf"[^\W_]{{{MIN_WORD_CHARACTERS},40}}")

_FACTS = """
CREATE TEMP TABLE facts AS
SELECT source_id, warc_record_offset, url, fetch_time, floor(epoch(fetch_time)) > {until} AS is_late,
       fetch_redirect, content_digest FROM captures;
CREATE TEMP VIEW texts AS
SELECT is_late, f.url || ' ' || coalesce(fetch_redirect, '') || ' ' || coalesce(content_digest, '') || ' '
  || strftime(fetch_time, '%Y%m%d%H%M%S') AS text FROM facts f
UNION ALL BY NAME SELECT is_late, concat_ws(' ', p.title, p.text, p.headings, p.description) AS text
  FROM pages p JOIN facts USING (source_id, warc_record_offset)
UNION ALL BY NAME SELECT is_late, concat_ws(' ', l.target, l.anchor) AS text
  FROM links l JOIN facts USING (source_id, warc_record_offset);
"""
_LATE_WORDS = """
SELECT word FROM (
  SELECT is_late, unnest(regexp_extract_all(lower(text), '[\\p{L}\\p{N}]{4,40}')) AS word FROM texts)
GROUP BY word HAVING bool_and(is_late)
"""
_EARLY_WORDS = """
SELECT DISTINCT unnest(regexp_extract_all(lower(text), '[\\p{L}\\p{N}]{2,40}')) FROM texts WHERE NOT is_late
"""
_LATE_URLS = """
SELECT url FROM facts GROUP BY url HAVING bool_and(is_late)
EXCEPT SELECT target FROM links JOIN facts USING (source_id, warc_record_offset) WHERE NOT is_late
EXCEPT SELECT fetch_redirect FROM facts WHERE NOT is_late AND fetch_redirect IS NOT NULL
"""
_SAMPLE = """
SELECT f.url, strftime(f.fetch_time, '%Y%m%d%H%M%S'), is_late, coalesce(p.title, ''), coalesce(p.text, '')
FROM facts f LEFT JOIN pages p USING (source_id, warc_record_offset)
WHERE is_late = ? AND f.url LIKE 'http%'
ORDER BY p.url IS NULL AND md5(f.url) > '8', md5(f.url || f.fetch_time || ?), f.url, f.fetch_time
LIMIT ?
"""
_SAMPLE_ANCHORS = """
SELECT DISTINCT anchor FROM links JOIN facts USING (source_id, warc_record_offset)
WHERE is_late AND length(anchor) > 3 ORDER BY md5(anchor || ?), anchor LIMIT ?
"""


class CaptureSample(NamedTuple):
    """One capture, with words that its page says."""

    url: str
    stamp: str
    """Time of the capture, 14 digits."""
    is_late: bool
    title: str
    words: tuple[str, ...]
    """Words of the text as written, in their order."""


@dataclass(frozen=True, slots=True)
class LaterFacts:
    """Words and URLs that only captures after a moment have, and samples of captures before and after it."""

    words: frozenset[str]
    """Words in lower case that stand in no earlier page, link, URL, redirect, digest or time of capture."""
    urls: frozenset[str]
    """URLs that were neither captured nor linked before."""
    strict_words: tuple[str, ...]
    """Some of the words, of which no form stands in an earlier text: in no language have they a stem in common."""
    samples: tuple[CaptureSample, ...]
    """Captures before and after the moment, about as many of each."""
    anchors: tuple[str, ...]
    """Texts of later links."""
    captures: tuple[int, int]
    """Numbers of captures by then and later."""


def words_of(text: str) -> Iterator[str]:
    """Yield the words of a text as they are compared here: runs of 4 to 40 letters and digits, in lower case."""
    return (match[0] for match in _WORD.finditer(text.lower()))


def read_later_facts(collection: Path, as_of: datetime, samples: int, seed: int) -> LaterFacts:
    """Read what only captures after `as_of` say, with about `samples` captures drawn by `seed`.

    Raises:
        CatalogError: the catalog is missing or locked.
    """
    with Catalog(collection, read_only=True) as catalog:
        db = catalog.db
        db.execute(_FACTS.format(until=int(as_of.timestamp())))
        rows = [row for is_late in (False, True) for row in _fetch(db, _SAMPLE, is_late, str(seed), samples // 2)]
        early, late = _fetch(db, "SELECT count(*) FILTER (NOT is_late), count(*) FILTER (is_late) FROM facts")[0]
        late_words = sorted(word for (word,) in _fetch(db, _LATE_WORDS))
        candidates = Random(seed).sample(late_words, min(len(late_words), samples))
        return LaterFacts(
            frozenset(late_words),
            frozenset(url for (url,) in _fetch(db, _LATE_URLS)),
            tuple(_drop_related(candidates, (word for (word,) in _fetch(db, _EARLY_WORDS)))),
            tuple(_to_sample(*row) for row in rows),
            tuple(anchor for (anchor,) in _fetch(db, _SAMPLE_ANCHORS, str(seed), samples // 2)),
            (early, late),
        )


def _drop_related(words: list[str], early_words: Iterable[str]) -> list[str]:
    """Return the words that have no stem in common with an early word, in any language."""
    early_text = normalize_text(" ".join(early_words))
    early_stems = {stem for stemmer in set(STEMMERS.values()) for stem in stem_text(early_text, stemmer)}
    return [word for word in words if early_stems.isdisjoint(_stems(word))]


def _stems(word: str) -> set[str]:
    """Return the stems of a word in all languages."""
    text = normalize_text(word)
    return {stem for stemmer in set(STEMMERS.values()) for stem in stem_text(text, stemmer)}


def _fetch(db: object, query: str, *values: object) -> list[tuple]:  # type: ignore[type-arg]
    return db.execute(query, list(values)).fetchall()  # type: ignore[attr-defined,no-any-return]


def _to_sample(url: str, stamp: str, is_late: bool, title: str, text: str) -> CaptureSample:
    start = len(text) // 3
    words = re.findall(r"[^\W_]+", text[start : start + 1000] or text[:1000])[1 : MAX_SAMPLE_WORDS + 1]
    return CaptureSample(url, stamp, is_late, title, tuple(words))


def keep_unsaid(words: Iterable[str], texts: Iterable[str]) -> frozenset[str]:
    """Return those words and URLs that none of the texts says, which are read until nothing is left to look for."""
    unsaid = set(words)
    urls = {word for word in unsaid if "/" in word}
    for text in texts:
        if not unsaid:
            break
        lower_text = text.lower()
        unsaid.difference_update([word for word in unsaid if word in (text if word in urls else lower_text)])
    return frozenset(unsaid)


def open_pages(collection: Path, snapshot: str) -> SnapshotPageStore:
    """Open the captures of a snapshot. Raises SnapshotError."""
    folder = collection / "snapshots" / snapshot
    return SnapshotPageStore(folder, collection, read_manifest(folder))


def list_early_revisits(pages: SnapshotPageStore, past: SnapshotPageStore) -> frozenset[str]:
    """Return URLs with a revisit in the past whose payload, the same by its digest, was recorded only later."""
    return frozenset(
        url
        for url in past.iter_urls()
        if {(capture.file, capture.offset, capture.length) for capture in past.exact(url)}
        - {(capture.file, capture.offset, capture.length) for capture in pages.exact(url)}
    )


def latest_capture(pages: SnapshotPageStore) -> datetime:
    """Return the time of the latest capture that a snapshot finds, by reading every entry of its lookup file."""
    return datetime.fromtimestamp(max(capture.time for url in pages.iter_urls() for capture in pages.exact(url)), UTC)


def iter_served_texts(pages: SnapshotPageStore) -> Iterator[str]:
    """Yield everything that can be read in the captures of a snapshot: heads, bodies, and what is hidden in them."""
    for url in pages.iter_urls():
        for capture in pages.exact(url):
            with suppress(PayloadError):
                payload = pages.payload(capture)
                yield " ".join(value.decode("latin-1") for _, value in payload.headers)
                yield from pages.readable_texts(payload, pages.html(capture))
