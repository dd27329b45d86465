"""Whether a user's own questions can be answered in a collection, and what would have to be crawled for it."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, get_args

from webemu.agent_client import observation_parsing
from webemu.emulator import urls
from webemu.emulator.errors import BadRequest
from webemu.rl.gates import contains_phrase
from webemu.rl.tasks.cached_client import Served, Shown
from webemu.rl.tasks.filters.answerable import rank_of, ranks, recall
from webemu.rl.tasks.phrases import content, names
from webemu.rl.tasks.question_fields import Asked, Names, asked
from webemu.rl.verify import normalise

READ = 10
"""Results of a question that are read for its answers."""
BATCH = 64
"""Questions that are looked into at once."""
SHOWN = 10
"""Domains that are named of those that are missing most."""
_LINES = re.compile(r"[\n\t|]+")
State = Literal["found", "captured", "missing"]
"""A gold page that search shows for its own title, one that is only served, one that is not there."""
Status = Literal["answerable", "stated elsewhere", "not stated", "gold missing"]
_BINARY = frozenset({"yes", "no", "true", "false"})


@dataclass(frozen=True, slots=True)
class Gold:
    """A page that a question set says holds the answer."""

    url: str
    """Empty where only its title was given, and no page has it."""
    title: str
    state: State
    rank: int | None = None
    """For the question as it stands, among 50."""
    best: int | None = None
    """Over the question, its words and its names."""


@dataclass(frozen=True, slots=True)
class Row:
    """One question audited."""

    id: str
    question: str
    answers: tuple[str, ...]
    gold: tuple[Gold, ...]
    in_gold: bool | None
    """Whether a gold page states an accepted answer; None where there is no gold page, or no answer to look for."""
    in_results: int | None
    """Rank of the first of ten results that states one and is about the question; None if none does."""
    status: Status

    @property
    def is_answerable(self) -> bool:
        return self.status in ("answerable", "stated elsewhere")


def questions(path: Path, names: Names) -> list[Asked]:
    """A question set: JSON lines, a JSON list, CSV or TSV. Raises BadRequest."""
    found: list[Asked] = []
    for number, row in enumerate(_rows(path), 1):
        try:
            found.append(asked(row, number, names))
        except ValueError as error:
            raise BadRequest(
                f"{path}, row {number}: {error}", action="say which field is which: --question-field, --answer-field"
            ) from error
    return found


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    try:
        text = path.read_text(encoding="utf-8-sig")
        if path.suffix in (".csv", ".tsv"):
            yield from csv.DictReader(io.StringIO(text), delimiter="\t" if path.suffix == ".tsv" else ",")
            return
        rows = (
            json.loads(text)
            if text.lstrip()[:1] == "["
            else [json.loads(one) for one in text.splitlines() if one.strip()]
        )
    except OSError as error:
        raise BadRequest(f"{path}: {error.strerror}", action="name a file of questions") from error
    except ValueError as error:
        raise BadRequest(f"{path}: {error}", action="use JSON lines, a JSON list, CSV or TSV") from error
    if bad := next((row for row in rows if not isinstance(row, dict)), None):
        raise BadRequest(f"{path}: {str(bad)[:60]!r} is no object", action="use one JSON object per question")
    yield from rows


async def audit(asks: Sequence[Asked], web: Served, told: Callable[[int], object] = lambda _: None) -> list[Row]:
    """A row for each question, in order; `told` is called with how many more are done."""
    rows: list[Row] = []
    for start in range(0, len(asks), BATCH):
        rows += await asyncio.gather(*(_audited(one, web) for one in asks[start : start + BATCH]))
        told(len(rows) - start)
    return rows


async def _audited(one: Asked, web: Served) -> Row:
    gold = [await _by_url(url, web) for url in one.urls] + [await _by_title(title, web) for title in one.titles]
    known = [page.url for page in gold if page.state != "missing"]
    own, best = await ranks(one.question, known, web)
    places = {url: place for place, url in enumerate(known)}
    gold = [
        Gold(page.url, page.title, page.state, own[places[page.url]], best[places[page.url]])
        if page.url in places
        else page
        for page in gold
    ]
    sought = [answer for answer in map(normalise, one.answers) if answer and answer not in _BINARY]
    in_gold = await _in_gold(gold, sought, web) if gold and sought else None
    in_results = await _in_results(one.question, sought, web) if sought else None
    return Row(
        one.id, one.question, one.answers, tuple(gold), in_gold, in_results, _status(gold, sought, in_gold, in_results)
    )


def _status(gold: Sequence[Gold], sought: Sequence[str], in_gold: bool | None, in_results: int | None) -> Status:
    missing = any(page.state == "missing" for page in gold)
    if gold and not missing and in_gold is not False:
        return "answerable"
    if in_results is not None:
        return "stated elsewhere" if gold else "answerable"
    return "gold missing" if missing else "not stated"


async def _by_url(url: str, web: Served) -> Gold:
    page = await web.page(url)
    if page is None:
        return Gold(url, "", "missing")
    query = f"{page.title} site:{urls.host_of(page.url)}"
    return Gold(url, page.title, "found" if rank_of(page.url, await web.search(query)) else "captured")


async def _by_title(title: str, web: Served) -> Gold:
    for query in (title, f'intitle:"{title}"'):
        for hit in await web.search(query):
            if observation_parsing.has_title(hit.title, title) or normalise(hit.title) == normalise(title):
                return Gold(hit.url, title, "found")
    return Gold("", title, "missing")


async def _in_gold(gold: Sequence[Gold], sought: Sequence[str], web: Served) -> bool:
    pages = await asyncio.gather(*(web.page(page.url) for page in gold if page.state != "missing"))
    return any(page is not None and _states(page, sought) for page in pages)


async def _in_results(question: str, sought: Sequence[str], web: Served) -> int | None:
    hits = (await web.search(question))[:READ]
    pages = await asyncio.gather(*(web.page(hit.url) for hit in hits))
    stating = (rank for rank, page in enumerate(pages, 1) if page is not None and _states(page, sought))
    return next((rank for rank in stating if _is_about(pages[rank - 1], question)), None)


def _states(page: Shown, sought: Sequence[str]) -> bool:
    text = _said(f"{page.title}\n{page.text}")
    return any(contains_phrase(text, answer) for answer in sought)


def _is_about(page: Shown | None, question: str) -> bool:
    """Whether it has a name of the question, or where there is none, half of its words: short answers are anywhere."""
    text = _said(f"{page.title}\n{page.text}") if page else ""
    if named := [name for name in map(normalise, names(question)) if not name.isdigit()]:
        return any(contains_phrase(text, name) for name in named)
    words = [normalise(word) for word in content(question)]
    return 2 * sum(contains_phrase(text, word) for word in words) >= len(words)


@lru_cache(maxsize=2048)
def _said(text: str) -> str:
    """Normalised line by line, since numbers of two cells are not one."""
    return " ".join(normalise(line) for line in _LINES.split(text))


def as_row(row: Row) -> str:
    """A line of JSON."""
    return json.dumps({**asdict(row), "answerable": row.is_answerable}, ensure_ascii=False)


def missing(rows: Iterable[Row], title_url: str = "") -> list[str]:
    """Addresses to crawl, each once, sorted. `title_url` with `{title}` makes one of a page known by title alone."""
    gone = [page for row in rows for page in row.gold if page.state == "missing"]
    named = (page.url or title_url.replace("{title}", page.title.replace(" ", "_")) for page in gone)
    return sorted({url for url in named if url})


def figures(rows: Sequence[Row]) -> Iterator[tuple[str, str]]:
    """The summary, line by line: questions, answers stated, gold pages, recall, what is missing by domain."""
    gold = [page for row in rows for page in row.gold]
    yield "answerable", _share(sum(row.is_answerable for row in rows), len(rows), "questions")
    for status in get_args(Status):
        if count := sum(row.status == status for row in rows):
            yield f"  {status}", _share(count, len(rows))
    stated = [row.in_results for row in rows if any(normalise(answer) not in _BINARY for answer in row.answers)]
    for cut in (1, 5, READ):
        count = sum(rank is not None and rank <= cut for rank in stated)
        if stated:
            yield f"answer in top {cut}", _share(count, len(stated), "questions with an answer to look for")
    if not gold:
        return
    told = [row.in_gold for row in rows if row.in_gold is not None]
    if told:
        yield "answer on gold page", _share(sum(told), len(told), "questions with gold pages and an answer to look for")
    for state in get_args(State):
        yield f"gold {state}", _share(sum(page.state == state for page in gold), len(gold), "gold pages")
    for name, ranks_of in (("question", [page.rank for page in gold]), ("script", [page.best for page in gold])):
        yield f"recall by {name}", "  ".join(f"@{cut} {share:.3f}" for cut, share in recall(ranks_of).items())
    gone = Counter(
        urls.split_domain(urls.host_of(page.url))[0] for page in gold if page.state == "missing" and page.url
    )
    for domain, count in gone.most_common(SHOWN):
        yield "missing of", f"{domain}: {count:,}"
    if titles := sum(page.state == "missing" and not page.url for page in gold):
        yield "missing by title", f"{titles:,}"


def _share(part: int, whole: int, of: str = "") -> str:
    return f"{part:,} of {whole:,} {of}".rstrip() + (f" ({part / whole:.1%})" if whole else "")
