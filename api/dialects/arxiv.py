"""The arXiv API (`export.arxiv.org/api/query`): papers as an Atom feed.

They are the pages of arxiv.org in the crawl. A query's fields and operators become words and exclusions; a category is
a condition, and so is a range of `submittedDate`. An address names a version only if the crawl's page does, so that it
opens.
"""

from __future__ import annotations

import re
from datetime import date
from typing import NamedTuple

from webemu.api.dialects.dialect import Dialect, JsonObject, Route, get_number, get_text, read_params, request_digest
from webemu.api.dialects.papers import Paper, find_papers, open_arxiv
from webemu.api.dialects.search import SearchParams, date_days_ago
from webemu.api.dialects.template import render_template
from webemu.api.http.request import Request
from webemu.api.http.response import Response
from webemu.emulator.errors import BadRequest, EmulatorError
from webemu.emulator.world import World

ATOM_TYPE = b"application/atom+xml; charset=utf-8"
SITES = ("arxiv.org",)
MAX_RESULTS = 2000
"""Most results of one request."""
_CATEGORY = re.compile(r"\bcat:\"?([\w.*-]+)\"?")
_SUBMITTED = re.compile(r"submittedDate:\[\s*(\d{8})\d*\s+TO\s+(\d{8})\d*\s*\]")
_FIELD = re.compile(r"\b(?:ti|au|abs|co|jr|rn|id|all):")
_EXCLUSION = re.compile(r"\bANDNOT\s+(\"[^\"]*\"|\S+)")
_SUBJECTS = re.compile(r"class=\"[^\"]*\bsubjects\b[^\"]*\"[^>]*>(.*?)</td>", re.DOTALL)
_CELL = r"class=\"[^\"]*\btablecell {}\b[^\"]*\"[^>]*>(.*?)</td>"
_CODE = re.compile(r"\(([a-z-]+(?:\.[A-Za-z-]+)?)\)")


class _Entry(NamedTuple):
    """One entry of the feed, as the template reads it."""

    url: str
    paper: Paper
    published: str
    updated: str
    categories: list[str]
    comment: str
    journal: str


class _ParsedQuery(NamedTuple):
    """A query in the words of this server's search, and its conditions."""

    text: str
    categories: tuple[str, ...]
    after: date | None
    before: date | None


def answer_query(world: World, request: Request) -> Response:
    """Answer `/api/query`."""
    params = read_params(request)
    start, count = get_number(params, "start", 0, 0, 30_000), get_number(params, "max_results", 10, 0, MAX_RESULTS)
    text, ids = get_text(params, "search_query"), get_text(params, "id_list")
    entries = _list_by_id(world, request, ids) if ids else _search(world, request, text)
    entries = _sort(entries, params)
    page = entries[start : start + count]
    return _render_feed(
        world,
        request,
        f"search_query={text}&id_list={ids}&start={start}&max_results={count}",
        page,
        start,
        len(entries),
        count,
    )


def _list_by_id(world: World, request: Request, ids: str) -> list[_Entry]:
    """Return the papers of a list of identifiers. Raises BadRequest if one cannot be an identifier."""
    entries: list[_Entry] = []
    for arxiv_id in filter(None, (part.strip() for part in ids.split(","))):
        if not re.fullmatch(r"[\w.-]+(/\d{7})?(v\d+)?", arxiv_id):
            raise BadRequest(f"incorrect id format for {arxiv_id[:100]}", reason="bad-id_list")
        if paper := open_arxiv(world, arxiv_id, request.session.at_time):
            entries.append(_build_entry(paper))
    return entries


def _search(world: World, request: Request, text: str) -> list[_Entry]:
    """Return all papers that match a query, as far as the search reads."""
    parsed = _parse_query(text)
    search_params = SearchParams(0, MAX_RESULTS, parsed.after, parsed.before)
    papers, _ = find_papers(world, parsed.text, request.session.at_time, search_params, SITES)
    entries = [_build_entry(paper) for paper in papers if paper.arxiv_id]
    return [entry for entry in entries if _has_category(entry, parsed.categories)]


def _parse_query(text: str) -> _ParsedQuery:
    """Return a query without its fields and operators: `all:electron ANDNOT ti:proton` is `electron -proton`."""
    submitted = _SUBMITTED.search(text)
    after, before = (_parse_day(submitted[1]), _parse_day(submitted[2])) if submitted else (None, None)
    categories = tuple(_CATEGORY.findall(text))
    words = _CATEGORY.sub(" ", _SUBMITTED.sub(" ", text))
    words = _EXCLUSION.sub(r" -\1", _FIELD.sub("", words))
    words = re.sub(r"[()]|\bAND\b", " ", words)
    words = re.sub(r"^\s*(?:OR\s+)+|(?:\s+OR)+\s*$", " ", words)
    return _ParsedQuery(" ".join(words.split()) or " ".join(categories), categories, after, before)


def _parse_day(digits: str) -> date | None:
    try:
        return date(int(digits[:4]), int(digits[4:6]), int(digits[6:8]))
    except ValueError:
        return None


def _has_category(entry: _Entry, categories: tuple[str, ...]) -> bool:
    """True if a paper is in one of the categories; `cs.*` is any of computer science."""
    patterns = [re.escape(category).replace(r"\*", ".*") for category in categories]
    return not patterns or any(re.fullmatch(pattern, code) for pattern in patterns for code in entry.categories)


def _build_entry(paper: Paper) -> _Entry:
    subjects = _SUBJECTS.search(paper.html)
    codes = _CODE.findall(re.sub(r"<[^>]*>", "", subjects[1])) if subjects else []
    version = re.search(r"v\d+$", paper.url)
    url = f"http://arxiv.org/abs/{paper.arxiv_id}{version[0] if version else ''}"
    published = f"{paper.iso_day or '1970-01-01'}T00:00:00Z"
    updated = "-".join(f"{part:02d}" for part in paper.updated) if len(paper.updated) == 3 else ""
    comment, journal = (_read_cell(paper.html, name) for name in ("comments", "jref"))
    return _Entry(url, paper, published, f"{updated}T00:00:00Z" if updated else published, codes, comment, journal)


def _read_cell(html: str, name: str) -> str:
    """Return the text of a row of the table that arXiv shows below an abstract; empty if it is missing."""
    match = re.search(_CELL.format(name), html, re.DOTALL)
    return " ".join(re.sub(r"<[^>]*>", " ", match[1]).split()) if match else ""


def _sort(entries: list[_Entry], params: JsonObject) -> list[_Entry]:
    """Return the entries in the order that `sortBy` asks for; by relevance, they are in it."""
    key = {"submittedDate": "published", "lastUpdatedDate": "updated"}.get(get_text(params, "sortBy"))
    is_ascending = get_text(params, "sortOrder", "descending") == "ascending"
    if key is None:
        return entries[::-1] if is_ascending else entries
    return sorted(entries, key=lambda entry: str(getattr(entry, key)), reverse=not is_ascending)


def _render_feed(
    world: World, request: Request, title: str, entries: list[_Entry], start: int, total: int, count: int
) -> Response:
    """Return the feed. Its time is the session's day, so that equal requests get equal bytes."""
    feed_id = f"http://arxiv.org/api/{request_digest(request)[:27]}"
    day = date_days_ago(world, 0, request.session.at_time)
    numbers = {"start": start, "total": total, "count": count}
    return render_template(
        "arxiv.xml", ATOM_TYPE, title=title, feed_id=feed_id, day=str(day), entries=entries, error="", **numbers
    )


def render_error(error: EmulatorError, request: Request) -> Response:
    """Render an error as a feed of one entry, which has the title `Error`."""
    status = 503 if error.reason in ("rate-limited", "out-of-budget") else error.status
    message = "Rate exceeded." if status == 503 else error.message
    values: JsonObject = {"title": "", "feed_id": "http://arxiv.org/api/errors", "day": "1970-01-01", "entries": []}
    return render_template("arxiv.xml", ATOM_TYPE, status, **values, error=message, start=0, total=1, count=1)


DIALECT = Dialect(
    "arxiv",
    "arXiv",
    ("export.arxiv.org",),
    (Route(("GET", "POST"), "/api/query/?", answer_query),),
    None,
    render_error,
    'by name through the proxy; `arxiv.Client.query_url_format = "http://127.0.0.1:8800/arxiv/api/query?{}"`',
    ("arxiv",),
)
