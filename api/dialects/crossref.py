"""Crossref's REST API (`api.crossref.org`): works that have a DOI, by search and one by one.

Members, funders and journals are not served. Numbers of references and citations are 0.
"""

from __future__ import annotations

import html
from datetime import date
from urllib.parse import unquote

from webemu.api.dialects.dialect import (
    Dialect,
    JsonObject,
    Route,
    build_response,
    get_number,
    get_text,
    get_texts,
    read_params,
)
from webemu.api.dialects.papers import Order, Paper, find_papers, open_doi
from webemu.api.dialects.search import SearchParams, estimate_total
from webemu.api.http.request import Request
from webemu.api.http.response import Response
from webemu.emulator.errors import BadRequest, EmulatorError, ServiceRefusal
from webemu.emulator.world import World

MAX_ROWS, MAX_OFFSET = 1000, 10_000
"""Most results of a request, and the last one that an offset reaches."""
_QUERY_PARAMS = ("query", "query.bibliographic", "query.title", "query.author", "query.container-title")
"""Parameters whose words are searched, all together."""
_DAY_SORTS = {
    "published",
    "published-print",
    "published-online",
    "issued",
    "created",
    "deposited",
    "updated",
    "indexed",
}
"""Values of `sort` that order by a day."""
_DATE_FILTERS = {"pub-date", "issued-date", "online-pub-date", "print-pub-date", "created-date"}


def answer_works(world: World, request: Request) -> Response:
    """Answer `/works`."""
    params = read_params(request)
    filters = _read_filters(params)
    query = " ".join(text for name in _QUERY_PARAMS if (text := get_text(params, name).strip()))
    search_params = _read_search_params(params, filters)
    if doi := filters.get("doi"):
        paper = open_doi(world, doi, request.session.at_time)
        papers, has_more = [paper] if paper else [], False
    else:
        order = _read_order(params)
        papers, has_more = find_papers(world, query, request.session.at_time, search_params, order=order)
    items = [_select(_render_work(paper), get_texts(params, "select")) for paper in papers if paper.doi]
    message: JsonObject = {"facets": {}, "total-results": estimate_total(search_params, len(items), has_more)}
    message |= {"items": items, "items-per-page": search_params.count}
    message["query"] = {"start-index": search_params.offset, "search-terms": query or None}
    return _wrap("work-list", message)


def _read_filters(params: JsonObject) -> dict[str, str]:
    """Return the filters by name. Raises BadRequest if one has no value."""
    filters: dict[str, str] = {}
    for entry in get_texts(params, "filter"):
        name, mark, value = entry.partition(":")
        if not mark:
            raise BadRequest(f"Filter {name[:100]} specified but no value given", reason="bad-filter")
        filters[name] = value
    return filters


def _read_search_params(params: JsonObject, filters: dict[str, str]) -> SearchParams:
    """Return filters and paging. Raises BadRequest if the page has too many rows or lies too far."""
    count, offset = get_number(params, "rows", 20, 0, 10**6), get_number(params, "offset", 0, 0, 10**6)
    if count > MAX_ROWS:
        raise BadRequest(f"Integer specified as {count} but must be a positive integer less than or equal to 1000.")
    if offset > MAX_OFFSET:
        raise BadRequest(f"Integer specified as {offset} but must be a positive integer less than or equal to 10000.")
    first, last = (
        next((filters[f"{end}-{name}"] for name in _DATE_FILTERS if f"{end}-{name}" in filters), "")
        for end in ("from", "until")
    )
    return SearchParams(offset, count, _parse_day(first, (1, 1)), _parse_day(last, (12, 31)))


def _read_order(params: JsonObject) -> Order:
    """Return the order that `sort` and `order` ask for: by a day, or else by relevance."""
    if get_text(params, "sort") not in _DAY_SORTS:
        return "relevance"
    return "oldest" if get_text(params, "order") == "asc" else "newest"


def _parse_day(text: str, defaults: tuple[int, int]) -> date | None:
    """Return a day of `2020`, `2020-05` or `2020-05-01`, None if it is no date."""
    parts = [int(part) for part in text.split("-") if part.isdecimal() and len(part) < 5]
    try:
        year, month, day = (*parts, *(defaults if len(parts) == 1 else (min(defaults[1], 28),)))[:3]
        return date(year, month, day)
    except ValueError:
        return None


def answer_work(world: World, request: Request) -> Response:
    """Answer `/works/{doi}`. Raises ServiceRefusal if the DOI is unknown."""
    paper = open_doi(world, unquote(request.path.removeprefix("/works/")), request.session.at_time)
    if paper is None:
        raise ServiceRefusal("Resource not found.", reason="no-result", status=404)
    return _wrap("work", _render_work(paper))


def _wrap(kind: str, message: object) -> Response:
    return build_response({"status": "ok", "message-type": kind, "message-version": "1.0.0", "message": message})


def _select(work: JsonObject, names: list[str]) -> JsonObject:
    """Return the members that are asked for, all if none is named."""
    return {name: value for name, value in work.items() if name in names} if names else work


def _render_work(paper: Paper) -> JsonObject:
    issued = {"date-parts": [list(paper.day)]} if paper.day else {"date-parts": [[None]]}
    stamp = {"date-parts": [list(paper.day)], "date-time": f"{paper.iso_day}T00:00:00Z"} if paper.day else issued
    work: JsonObject = {"indexed": stamp, "reference-count": 0, "publisher": paper.publisher}
    work |= {"issue": paper.issue} if paper.issue else {}
    work |= {"content-domain": {"domain": [], "crossmark-restriction": False}}
    work |= {"short-container-title": [], "published-print": issued, "DOI": paper.doi.lower()}
    work |= {"type": "journal-article" if paper.journal else "posted-content", "created": stamp}
    work |= {"page": paper.pages} if paper.pages else {}
    work |= {"source": "Crossref", "is-referenced-by-count": 0, "title": [paper.title]}
    work |= {"prefix": paper.doi.partition("/")[0]} | ({"volume": paper.volume} if paper.volume else {})
    work |= {"author": [_render_author(name, index) for index, name in enumerate(paper.authors)]}
    work |= {"container-title": [paper.journal] if paper.journal else []}
    work |= {"language": paper.language} if paper.language else {}
    work |= {"link": [_render_link(paper.pdf_url)]} if paper.pdf_url else {}
    work |= {"deposited": stamp, "score": paper.score, "resource": {"primary": {"URL": paper.url}}}
    work |= {"subtitle": [], "short-title": [], "issued": issued, "references-count": 0}
    work |= {"URL": f"https://doi.org/{paper.doi.lower()}", "relation": {}}
    work |= {"ISSN": [paper.issn]} if paper.issn else {}
    work |= {"subject": [], "published": issued}
    return work | (
        {"abstract": f"<jats:p>{html.escape(paper.abstract, quote=False)}</jats:p>"} if paper.abstract else {}
    )


def _render_author(name: str, index: int) -> JsonObject:
    given_name, _, family = name.rpartition(" ")
    sequence = "additional" if index else "first"
    author: JsonObject = {"given": given_name} if given_name else {}
    author |= {"family": family, "sequence": sequence, "affiliation": []}
    return author


def _render_link(url: str) -> JsonObject:
    link: JsonObject = {"URL": url, "content-type": "application/pdf", "content-version": "vor"}
    link["intended-application"] = "text-mining"
    return link


def render_error(error: EmulatorError, request: Request) -> Response:
    """Render an error: a list of messages if a parameter is wrong, else one line of text."""
    if isinstance(error, BadRequest):
        details = [{"type": "parameter-not-valid", "value": request.query[:200], "message": error.message}]
        failure = {"status": "failed", "message-type": "validation-failure", "message": details}
        return build_response(failure, 400)
    if error.reason in ("rate-limited", "out-of-budget"):
        return build_response(b"Too many requests", 429, content_type=b"text/plain")
    message = "Resource not found." if error.status == 404 else error.message
    return build_response(message.encode(), error.status, content_type=b"text/plain")


DIALECT = Dialect(
    "crossref",
    "Crossref",
    ("api.crossref.org",),
    (Route(("GET",), "/(v1/)?works", answer_works), Route(("GET",), "/works/.+", answer_work)),
    None,
    render_error,
    '`Crossref(base_url="http://127.0.0.1:8800/crossref")`',
    ("habanero",),
)
