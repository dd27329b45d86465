"""Semantic Scholar's graph API (`api.semanticscholar.org`): search of papers, and papers by DOI, arXiv, PubMed or URL.

A crawl knows no citations: their counts are 0 and their lists are empty. A `paperId` holds the page's number in the
snapshot, so that papers are looked up by it without state.
"""

from __future__ import annotations

import re
from datetime import date
from hashlib import sha1
from urllib.parse import unquote

from webemu.api.dialects.dialect import (
    Dialect,
    JsonObject,
    Route,
    build_response,
    get_header,
    get_number,
    get_text,
    get_texts,
    read_params,
)
from webemu.api.dialects.papers import (
    Order,
    Paper,
    find_papers,
    open_arxiv,
    open_doc,
    open_doi,
    open_paper,
    open_pubmed,
)
from webemu.api.dialects.search import SearchParams, estimate_total
from webemu.api.http.request import Request
from webemu.api.http.response import Response
from webemu.emulator.errors import BadRequest, EmulatorError, ServiceRefusal
from webemu.emulator.world import World

MAX_RESULTS, MAX_BATCH, LAST_RESULT = 100, 500, 1000
"""Most results of a request, most papers of a batch, and the last rank that a search reaches."""
DEFAULT_FIELDS = ("paperId", "title")
_ORDERS: dict[str, Order] = {
    "publicationDate": "oldest",
    "publicationDate:asc": "oldest",
    "publicationDate:desc": "newest",
}
"""Orders by the value of `sort` in a bulk search."""
_HASH_DIGITS, _NO_DOC = 32, 0xFFFFFFFF
"""Digits of a `paperId` that are a hash of the page's URL; the other eight are its dense id, all ones if none."""
_COUNTS = ("referenceCount", "citationCount", "influentialCitationCount")
_NULLS = ("fieldsOfStudy", "publicationTypes", "publicationVenue", "tldr", "embedding", "corpusId")
"""Fields that a crawl does not know, null as the service has them where it does not know them."""
_LISTS = ("s2FieldsOfStudy", "citations", "references")
_FIELDS = frozenset(
    "paperId externalIds url title abstract venue year isOpenAccess openAccessPdf publicationDate journal "
    "citationStyles authors".split()
).union(_COUNTS, _NULLS, _LISTS)


def answer_search(world: World, request: Request) -> Response:
    """Answer `/graph/v1/paper/search`. Without results there is no `data`, as the service has it."""
    params = read_params(request)
    query, fields = _read_query(params), _read_fields(params)
    search_params = _read_search_params(params)
    papers, has_more = find_papers(world, query, request.session.at_time, search_params)
    total = estimate_total(search_params, len(papers), has_more)
    payload: JsonObject = {"total": total, "offset": search_params.offset}
    if has_more:
        payload["next"] = search_params.offset + search_params.count
    rows = [_render_paper(paper, fields) for paper in papers]
    return build_response(payload | ({"data": rows} if rows else {}))


def answer_bulk_search(world: World, request: Request) -> Response:
    """Answer `/graph/v1/paper/search/bulk` with all papers at once."""
    params = read_params(request)
    search_params = SearchParams(0, LAST_RESULT, *_read_days(params))
    order = _ORDERS.get(get_text(params, "sort"), "relevance")
    papers, _ = find_papers(world, _read_query(params), request.session.at_time, search_params, order=order)
    rows = [_render_paper(paper, _read_fields(params)) for paper in papers]
    return build_response({"total": len(rows), "token": None, "data": rows})


def answer_match(world: World, request: Request) -> Response:
    """Answer `/graph/v1/paper/search/match` with the paper whose title is closest to the query.

    Raises: ServiceRefusal if no paper has all words of the query in its title.
    """
    params = read_params(request)
    query = _read_query(params)
    words = set(re.findall(r"\w+", query.lower()))
    papers, _ = find_papers(world, query, request.session.at_time, SearchParams(0, 20))
    for paper in papers:
        if words <= set(re.findall(r"\w+", paper.title.lower())):
            row = _render_paper(paper, _read_fields(params)) | {"matchScore": round(paper.score, 4)}
            return build_response({"data": [row]})
    raise ServiceRefusal("Title match not found", reason="no-result", status=404)


def answer_paper(world: World, request: Request) -> Response:
    """Answer `/graph/v1/paper/{id}`. Raises ServiceRefusal if the paper is unknown."""
    params = read_params(request)
    fields = _read_fields(params)
    paper_id = unquote(request.path.partition("/paper/")[2])
    return build_response(_render_paper(_open(world, request, paper_id), fields))


def answer_relations(world: World, request: Request) -> Response:
    """Answer the authors, citations and references of a paper; a crawl knows its authors only."""
    read_params(request)
    paper_id, _, kind = unquote(request.path.partition("/paper/")[2]).rpartition("/")
    paper = _open(world, request, paper_id)
    return build_response({"offset": 0, "data": _render_authors(paper) if kind == "authors" else []})


def answer_batch(world: World, request: Request) -> Response:
    """Answer `/graph/v1/paper/batch`: papers in the order of their identifiers, null where one is unknown."""
    params = read_params(request)
    ids, fields = get_texts(params, "ids"), _read_fields(params)
    if not 1 <= len(ids) <= MAX_BATCH:
        raise BadRequest(f"No more than {MAX_BATCH} and at least 1 paper ids are required", reason="bad-ids")
    rows: list[JsonObject | None] = []
    for paper_id in ids:
        try:
            rows.append(_render_paper(_open(world, request, paper_id), fields))
        except ServiceRefusal:
            rows.append(None)
    return build_response(rows)


def _read_query(params: JsonObject) -> str:
    """Return the query. Raises BadRequest if it is missing."""
    if not (query := get_text(params, "query")).strip():
        raise BadRequest("Missing required parameter: 'query'", reason="bad-query")
    return query


def _read_fields(params: JsonObject) -> tuple[str, ...]:
    """Return the fields that are asked for, without those of nested objects. Raises BadRequest if one is unknown."""
    names = tuple(dict.fromkeys(name.partition(".")[0] for name in get_texts(params, "fields"))) or DEFAULT_FIELDS
    if unknown := [name for name in names if name not in _FIELDS]:
        raise BadRequest(f"Unrecognized or unsupported fields: [{', '.join(unknown)[:200]}]", reason="bad-fields")
    return tuple(dict.fromkeys(("paperId", *names)))


def _read_search_params(params: JsonObject) -> SearchParams:
    """Return filters and paging. Raises BadRequest if the page is beyond the last result."""
    offset, count = get_number(params, "offset", 0, 0, 100_000), get_number(params, "limit", 10, 1, MAX_RESULTS)
    if offset + count > LAST_RESULT:
        message = (
            f"Requested data for this limit and/or offset is not available (offset + limit must be < {LAST_RESULT})"
        )
        raise BadRequest(message, reason="bad-offset")
    return SearchParams(offset, count, *_read_days(params))


def _read_days(params: JsonObject) -> tuple[date | None, date | None]:
    """Return the first and last day of `publicationDateOrYear` (`2019-03:2020`) or of `year` (`2016-2020`, `2010-`)."""
    if span := get_text(params, "publicationDateOrYear"):
        first, mark, last = span.partition(":")
    else:
        first, mark, last = get_text(params, "year").partition("-")
    return _parse_day(first, is_last=False), _parse_day(last if mark else first, is_last=True)


def _parse_day(text: str, is_last: bool) -> date | None:
    """Return a day of a date whose month and day may be missing, None if it is no date."""
    parts = [int(part) for part in text.split("-") if part.isdecimal() and len(part) < 5][:3]
    if not parts:
        return None
    # The 28th is in every month: days after it are lost at the end of a month that is named without a day.
    defaults = (12, 31 if len(parts) == 1 else 28) if is_last else (1, 1)
    year, month, day = (*parts, *defaults[len(parts) - 1 :])[:3]
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _open(world: World, request: Request, paper_id: str) -> Paper:
    """Return the paper of an identifier such as `DOI:10.1/a` or `ARXIV:2101.00001`.

    Raises: ServiceRefusal if the crawl does not hold it.
    """
    kind, mark, value = paper_id.partition(":")
    at_time = request.session.at_time
    openers = {"doi": open_doi, "arxiv": open_arxiv, "pmid": open_pubmed, "url": open_paper}
    paper: Paper | None = None
    if mark and kind.lower() in openers:
        paper = openers[kind.lower()](world, value, at_time)
    elif mark and kind.lower() == "pmcid":
        paper = open_pubmed(world, value, at_time, is_full_text=True)
    elif re.fullmatch("[0-9a-f]{40}", paper_id):
        paper = open_doc(world, int(paper_id[_HASH_DIGITS:], 16), at_time)
    if paper is None:
        raise ServiceRefusal(f"Paper with id {paper_id[:200]} not found", reason="no-result", status=404)
    return paper


def _render_paper(paper: Paper, fields: tuple[str, ...]) -> JsonObject:
    """Return a paper with the fields that are asked for, in the service's order."""
    paper_id = sha1(paper.url.encode(), usedforsecurity=False).hexdigest()[:_HASH_DIGITS] + f"{paper.doc & _NO_DOC:08x}"
    row: JsonObject = {"paperId": paper_id, "externalIds": _render_ids(paper)}
    row |= {"url": f"https://www.semanticscholar.org/paper/{paper_id}", "title": paper.title}
    row |= {"abstract": paper.abstract or None, "venue": paper.journal, "year": paper.day[0] if paper.day else None}
    row |= dict.fromkeys(_COUNTS, 0)
    pdf = {"url": paper.pdf_url, "status": None, "license": None} if paper.pdf_url else None
    row |= {"isOpenAccess": bool(paper.pdf_url), "openAccessPdf": pdf} | dict.fromkeys(_NULLS)
    row |= {name: [] for name in _LISTS} | {"publicationDate": paper.iso_day if len(paper.day) == 3 else None}
    journal = {"name": paper.journal, "volume": paper.volume or None, "pages": paper.pages or None}
    row |= {"journal": journal if paper.journal else None, "citationStyles": None}
    row["authors"] = _render_authors(paper)
    return {name: value for name, value in row.items() if name in fields}


def _render_ids(paper: Paper) -> JsonObject:
    ids = {"ArXiv": paper.arxiv_id, "DOI": paper.doi, "PubMed": paper.pmid}
    ids["PubMedCentral"] = paper.pmcid.removeprefix("PMC")
    return {name: value for name, value in ids.items() if value}


def _render_authors(paper: Paper) -> list[JsonObject]:
    """Return the authors, whose profiles a crawl does not know."""
    return [{"authorId": None, "name": name} for name in paper.authors]


_MESSAGES = {
    "bad-key": "Forbidden",
    "rate-limited": (
        "Too Many Requests. Please wait and try again or apply for a key for higher rate limits. "
        "https://www.semanticscholar.org/product/api#api-key-form"
    ),
}
"""Message by reason of the error."""


def render_error(error: EmulatorError, request: Request) -> Response:
    """Render an error as `{"error"}` if the request is at fault, else as `{"message"}`."""
    reason = "rate-limited" if error.reason == "out-of-budget" else error.reason
    status = {"bad-key": 403, "rate-limited": 429}.get(reason, error.status)
    message = _MESSAGES.get(reason) or error.message
    if status in (403, 429) or status >= 500:
        return build_response({"message": message} | ({"code": "429"} if status == 429 else {}), status)
    return build_response({"error": message}, status)


DIALECT = Dialect(
    "semantic-scholar",
    "Semantic Scholar",
    ("api.semanticscholar.org",),
    (
        Route(("GET",), "/graph/v1/paper/search", answer_search),
        Route(("GET",), "/graph/v1/paper/search/bulk", answer_bulk_search),
        Route(("GET",), "/graph/v1/paper/search/match", answer_match),
        Route(("POST",), "/graph/v1/paper/batch", answer_batch),
        Route(("GET",), "/graph/v1/paper/.+/(authors|citations|references)", answer_relations),
        Route(("GET",), "/graph/v1/paper/.+", answer_paper),
    ),
    lambda request: get_header(request, b"x-api-key"),
    render_error,
    '`SemanticScholar(api_url="http://127.0.0.1:8800/semantic-scholar")`',
    ("semanticscholar",),
)
