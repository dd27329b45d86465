"""Makes known-item queries from the crawl itself, so that the page they look for is known.

    anchor  the text of a link on a page whose links are held out, which no other page uses
    called  the same, with a text that pages use too whose links are not held out
    title   two to five rare words of a title, in order
    quote   six to twelve consecutive words of a text

All pages with the same text as the target are right; for a title also all pages that have it, for a quote all that
contain it. Queries with too many right pages are discarded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import md5
from importlib.resources import files
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

from webemu.emulator.query import parse_query
from webemu.emulator.ranking import FOREVER
from webemu.emulator.world import World
from webemu.index.catalog import Catalog
from webemu.index.evaluation.held_out import held_out_sql
from webemu.index.signals.anchors import gather_anchors

KINDS = ("anchor", "called", "title", "quote")
"""Kinds of queries."""
MAX_SAME_TEXTS = 10
"""Distinct texts that may have a title or a quote."""
CANDIDATES_PER_QUERY = 30
"""Candidates that are examined per query."""
MIN_BYTES = 8
"""Shortest query in UTF-8 bytes: eight letters of English, three characters of Chinese."""
MIN_QUOTE_WORDS, MAX_QUOTE_WORDS = 6, 12
"""Fewest and most words of a quote."""
MIN_LETTER_SHARE = 0.7
"""Smallest share of letters in a sentence; code and tables have fewer."""
_BATCH_ROWS = 500
_MAX_QUOTE_HITS = 200
_BLANK = re.compile(r"\s")
_NAVIGATION_WORDS = frozenset(
    "a about all and article back chapter click conditions contact content contents edit find first full go help here"
    " home in index last link log login main map more next of on out page policy prev previous privacy read return"
    " search section see show sign site sitemap skip source story table terms the this to top up us use view".split()
)
"""Words of navigation: a link of these alone says where it is, not what it leads to."""
_PAGING_WORDS = (["next"], ["prev"], ["previous"], ["up"])
"""First words of links to neighbouring pages."""
_SENTENCES = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")
_UNSPACED = "\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_PIECES = re.compile(rf"[{_UNSPACED}]|[^\s{_UNSPACED}]+")
_WORDS = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A page that an item may be made of, with the text that its query comes from."""

    url: str
    site: str
    text: str
    """Link text, title or page text, depending on the kind."""
    source: str = ""
    """Page with the link; empty for other kinds."""


@dataclass(frozen=True, slots=True)
class KnownItem:
    """One query with its answers."""

    id: str
    kind: str
    """One of `KINDS`."""
    text: str
    site: str
    """Registrable domain of the target page, else its host."""
    half: str
    """`fit` or `report`, see `choose_half`."""
    source: str
    """Page with the link whose text must not be indexed; empty for other kinds."""
    relevant: tuple[str, ...]
    """URLs of all pages that are right."""


def choose_half(site: str) -> str:
    """Return `fit` or `report`: weights are fitted on queries of one half of the sites and reported on the other."""
    return ("fit", "report")[hash_number("half", site) % 2]


def hash_number(*parts: object) -> int:
    """Return a pseudo-random number that depends on the arguments alone."""
    text = " ".join(map(str, parts)).encode("utf-8", "replace")
    return int(md5(text, usedforsecurity=False).hexdigest()[:12], 16)


def make_known_items(catalog: Catalog, world: World, count: int, seed: int) -> Iterator[KnownItem]:
    """Yield up to `count` items, a quarter of each kind if there are enough. Equal snapshots and seeds give equal
    items.
    """
    db = catalog.db
    db.execute("SET threads = 2")
    db.execute(f"CREATE TEMP MACRO held_out(url) AS {held_out_sql('url')}")
    db.execute(f"SET VARIABLE seed = '{seed:d}'")
    with TemporaryDirectory() as folder:
        gather_anchors(db, (anchors_path := Path(folder) / "anchors.parquet"), held_out_sql("c.url"))
        db.execute(f"CREATE TEMP TABLE told AS SELECT * FROM read_parquet('{anchors_path}')")
    db.execute(files("webemu.index.evaluation").joinpath("candidates.sql").read_text())
    for kind_index, kind in enumerate(KINDS):
        limit = count // len(KINDS) + (kind_index < count % len(KINDS))
        candidates = (
            _make_item(kind, row, catalog, world, seed)
            for row in _candidate_rows(catalog, kind, limit * CANDIDATES_PER_QUERY)
        )
        yield from islice((item for item in candidates if item), limit)


_LINKED = """SELECT url, site, anchor, source FROM anchors_in_turn WHERE {} AND turn > ? AND turn <= ? ORDER BY turn"""
_ROWS = {
    "anchor": _LINKED.format("unheard"),
    "called": _LINKED.format("NOT unheard"),
    "title": "SELECT url, site, title FROM pages_in_turn WHERE turn > ? AND turn <= ? AND titled <= {} ORDER BY turn",
    "quote": """SELECT t.url, t.site, p.text FROM pages_in_turn t JOIN pages p USING (source_id, warc_record_offset)
                WHERE t.turn > ? AND t.turn <= ? ORDER BY t.turn""",
}


def _candidate_rows(catalog: Catalog, kind: str, limit: int) -> Iterator[Candidate]:
    """Yield the first candidates of a kind, in order."""
    for begin in range(0, limit, _BATCH_ROWS):
        answer = catalog.db.execute(_ROWS[kind].format(MAX_SAME_TEXTS), [begin, begin + _BATCH_ROWS])
        for url, site, text, *source in answer.fetchall():
            yield Candidate(url, site, text or "", *source)


def _make_item(kind: str, candidate: Candidate, catalog: Catalog, world: World, seed: int) -> KnownItem | None:
    """Return the item made from a candidate; None if it is unsuitable."""
    dice = hash_number(seed, kind, candidate.url)
    if kind in ("anchor", "called"):
        text = candidate.text if is_descriptive(candidate.text) else ""
    else:
        text = pick_title_words(candidate.text, world, dice) if kind == "title" else pick_quote(candidate.text, dice)
    if not _is_askable(text, world):
        return None
    relevant_urls = (
        _pages_containing(world, text) if kind == "quote" else _pages_like(catalog, candidate.url, kind == "title")
    )
    if candidate.url not in relevant_urls or any(_BLANK.search(url) for url in relevant_urls):
        return None
    item_id = f"{kind}-{hash_number(text, candidate.url):012x}"
    return KnownItem(
        item_id, kind, text, candidate.site, choose_half(candidate.site), candidate.source, tuple(relevant_urls)
    )


def _is_askable(text: str, world: World) -> bool:
    """True if a query is long enough and contains no operator."""
    is_long_enough = len(text.encode("utf-8", "replace")) >= MIN_BYTES and len(world.ranker.terms(text)) >= 2
    return is_long_enough and not parse_query(text).has_filters


def is_descriptive(anchor: str) -> bool:
    """True if a link text has at least two words, is no URL, and says more than where the link is."""
    words = _WORDS.findall(anchor.lower())
    if len(_PIECES.findall(anchor)) < 2 or "://" in anchor:
        return False
    return words[:1] not in _PAGING_WORDS and not _NAVIGATION_WORDS.issuperset(words)


def pick_title_words(title: str, world: World, dice: int) -> str:
    """Return two to five words of a title, the rarest ones in their order; fewer if it has fewer. `dice` decides the
    number.
    """
    frequency = world.ranker.frequency
    words = {word.lower(): word for word in _WORDS.findall(title) if not word.isdigit() and frequency(word)}.values()
    # The number of words comes from the dice, so that queries of all lengths are measured.
    rarest = sorted(words, key=lambda word: (frequency(word), word))[: 2 + dice % 4]
    return " ".join(word for word in words if word in rarest)


def pick_quote(text: str, dice: int) -> str:
    """Return six to twelve consecutive words of one sentence; empty if no sentence is long enough. `dice` chooses
    them.
    """
    sentences = [s for s in _SENTENCES.split(text) if sum(map(str.isalpha, s)) > MIN_LETTER_SHARE * len(s)]
    long_sentences = [matches for s in sentences if len(matches := list(_PIECES.finditer(s))) >= MIN_QUOTE_WORDS]
    if not long_sentences:
        return ""
    sentence = long_sentences[dice % len(long_sentences)]
    length = min(MIN_QUOTE_WORDS + dice // 7 % (MAX_QUOTE_WORDS - MIN_QUOTE_WORDS + 1), len(sentence))
    begin = dice // 97 % (len(sentence) - length + 1)
    return " ".join(sentence[0].string[sentence[begin].start() : sentence[begin + length - 1].end()].split())


def _pages_containing(world: World, words: str) -> list[str]:
    """Return the URLs of pages that contain these words in sequence; empty if they are too many."""
    ranker = world.ranker
    plan, columns = ranker.plan(parse_query(f'"{words}"')), ranker.doc_values
    entries, is_complete = plan.top(_MAX_QUOTE_HITS)
    live_docs = [doc for _, doc in entries if columns.until[doc] == FOREVER]
    if not is_complete or len({columns.cluster[doc] for doc in live_docs}) > MAX_SAME_TEXTS:
        return []
    return sorted(plan.render_hit(doc, 0.0).url for doc in live_docs)


_SAME = """
SELECT DISTINCT b.url FROM live a JOIN live b ON b.text_hash = a.text_hash OR (? AND b.title = a.title)
WHERE a.url = ? ORDER BY b.url LIMIT 1000
"""


def _pages_like(catalog: Catalog, url: str, by_title: bool) -> list[str]:
    """Return the URLs of pages with the text of this one, and with its title if `by_title`."""
    return [same_url for (same_url,) in catalog.db.execute(_SAME, [by_title, url]).fetchall()]
