"""OpenAlex (`api.openalex.org`): works by search, by filters and by DOI or PubMed's number.

Authors, sources and institutions have no records of their own here. A work's number is that of its page in the
snapshot. Citations are not counted.
"""

from __future__ import annotations

import re
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
from webemu.api.dialects.papers import Order, Paper, find_papers, open_doc, open_doi, open_pubmed
from webemu.api.dialects.search import SearchParams, estimate_total
from webemu.api.http.request import Request
from webemu.api.http.response import Response
from webemu.emulator import urls
from webemu.emulator.errors import BadRequest, EmulatorError, ServiceRefusal
from webemu.emulator.world import World

MAX_PER_PAGE, LAST_RESULT = 200, 10_000
"""Most results on a page, and the last that page numbers reach."""
_SEARCH_FILTERS = (
    "default.search",
    "title.search",
    "abstract.search",
    "title_and_abstract.search",
    "fulltext.search",
    "display_name.search",
)
"""Filters whose words are searched."""
_FIRST_CURSOR = "*"
_FIRST_NUMBER = 4_000_000_000
"""Number of the work whose page is the first of the snapshot."""


def answer_works(world: World, request: Request) -> Response:
    """Answer `/works`."""
    params = read_params(request)
    filters = _read_filters(params)
    query = " ".join(filter(None, (get_text(params, "search"), *(filters.get(name, "") for name in _SEARCH_FILTERS))))
    count = get_number(params, "per-page", get_number(params, "per_page", 25, 1, MAX_PER_PAGE), 1, MAX_PER_PAGE)
    cursor = get_text(params, "cursor")
    page = _read_page(params, cursor, count)
    search_params = SearchParams((page - 1) * count, count, *_read_days(filters))
    papers, has_more = _find(world, request, query, filters, search_params, _read_order(get_text(params, "sort")))
    meta: JsonObject = {"count": estimate_total(search_params, len(papers), has_more), "db_response_time_ms": 0}
    meta |= {"page": None if cursor else page, "per_page": count, "groups_count": None}
    meta |= {"next_cursor": f"page-{page + 1}" if has_more else None} if cursor else {}
    rows = [_select(_render_work(paper, has_score=bool(query)), get_texts(params, "select")) for paper in papers]
    return build_response({"meta": meta, "results": rows, "group_by": []})


def _read_filters(params: JsonObject) -> dict[str, str]:
    """Return the filters by name: conditions that are separated by commas. Raises BadRequest if one has no value."""
    filters: dict[str, str] = {}
    for condition in filter(None, get_text(params, "filter").split(",")):
        name, mark, value = condition.partition(":")
        if not mark:
            raise BadRequest(f"{condition[:100]} is not a valid filter: it must be in the form of key:value.")
        filters[name.strip()] = value.strip()
    return filters


def _read_page(params: JsonObject, cursor: str, count: int) -> int:
    """Return the number of the page, which a cursor names as well. Raises BadRequest if it is beyond the last."""
    match = re.fullmatch(r"page-(\d{1,5})", cursor)
    if cursor not in ("", _FIRST_CURSOR) and match is None:
        raise BadRequest("Cursor value is invalid.")
    page = int(match[1]) if match else get_number(params, "page", 1, 1, LAST_RESULT)
    if page * count > LAST_RESULT + count:
        raise BadRequest(f"Maximum results size of {LAST_RESULT:,} records is exceeded. Cursor pagination is required.")
    return page


def _read_days(filters: dict[str, str]) -> tuple[date | None, date | None]:
    """Return the first and last day of publication that filters name: days, a year or a span of years."""
    first, last = filters.get("from_publication_date", ""), filters.get("to_publication_date", "")
    year = filters.get("publication_year", "")
    if match := re.fullmatch(r"(\d{4})?(-)?(\d{4})?", year) if year else None:
        first = first or (f"{match[1]}-01-01" if match[1] else "")
        last_year = match[3] or ("" if match[2] else match[1])
        last = last or (f"{last_year}-12-31" if last_year else "")
    if match := re.fullmatch(r"([<>])(\d{4})", year):
        first = f"{int(match[2]) + 1}-01-01" if match[1] == ">" else first
        last = f"{int(match[2]) - 1}-12-31" if match[1] == "<" else last
    return _parse_day(first), _parse_day(last)


def _read_order(sort: str) -> Order:
    """Return the order that `sort` asks for: by day of publication, or else by relevance."""
    name, _, direction = sort.partition(",")[0].partition(":")
    if name not in ("publication_date", "publication_year"):
        return "relevance"
    return "newest" if direction == "desc" else "oldest"


def _parse_day(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def _find(
    world: World, request: Request, query: str, filters: dict[str, str], search_params: SearchParams, order: Order
) -> tuple[list[Paper], bool]:
    """Return the works of a page, and True if more follow. A DOI is looked up, whatever the query."""
    at_time = request.session.at_time
    if doi := filters.get("doi"):
        works = (open_doi(world, _bare_doi(one), at_time) for one in doi.split("|"))
        return [paper for paper in works if paper][search_params.offset :][: search_params.count], False
    return find_papers(world, query, at_time, search_params, order=order)


def _bare_doi(text: str) -> str:
    return re.sub(r"^(https?://(dx\.)?doi\.org/|doi:)", "", text.strip(), flags=re.IGNORECASE)


def answer_work(world: World, request: Request) -> Response:
    """Answer `/works/{id}`, by the number of the work, a DOI or a PubMed number. Raises ServiceRefusal if unknown."""
    params = read_params(request)
    name, at_time = unquote(request.path.removeprefix("/works/")), request.session.at_time
    bare = _bare_doi(name)
    number = re.fullmatch(r"(?:pmid:|https://pubmed\.ncbi\.nlm\.nih\.gov/)(\d+)/?", name)
    paper = open_pubmed(world, number[1], at_time) if number else None
    paper = open_doi(world, bare, at_time) if bare.startswith("10.") else paper
    if work_number := re.fullmatch(r"(?:https://openalex\.org/)?(?:works/)?[wW](\d{10})", name):
        paper = open_doc(world, int(work_number[1]) - _FIRST_NUMBER, at_time)
    if paper is None:
        raise ServiceRefusal("Not found", reason="no-result", status=404)
    return build_response(_select(_render_work(paper, has_score=False), get_texts(params, "select")))


def _select(work: JsonObject, names: list[str]) -> JsonObject:
    """Return the members that are asked for, all if none is named."""
    return {name: value for name, value in work.items() if name in names} if names else work


def _render_work(paper: Paper, has_score: bool) -> JsonObject:
    """Return a work in the service's order of members."""
    doi = f"https://doi.org/{paper.doi.lower()}" if paper.doi else None
    work_id = f"https://openalex.org/W{_FIRST_NUMBER + paper.doc}"
    work: JsonObject = {"id": work_id, "doi": doi, "title": paper.title, "display_name": paper.title}
    work |= {"relevance_score": paper.score} if has_score else {}
    work |= {"publication_year": paper.day[0] if paper.day else None, "publication_date": paper.iso_day or None}
    work["ids"] = _render_ids(paper, work_id, doi)
    location = _render_location(paper, doi)
    work |= {"language": paper.language or None, "primary_location": location}
    work |= {"type": "article" if paper.journal else "preprint", "type_crossref": "journal-article", "indexed_in": []}
    is_open = bool(paper.pdf_url)
    access = {"is_oa": is_open, "oa_status": "gold" if is_open else "closed", "oa_url": paper.pdf_url or None}
    work["open_access"] = access | {"any_repository_has_fulltext": is_open}
    work["authorships"] = _render_authorships(paper)
    work |= {"cited_by_count": 0, "is_retracted": False, "is_paratext": False, "biblio": _render_biblio(paper)}
    work |= {"primary_topic": None, "topics": [], "keywords": _render_keywords(paper), "concepts": [], "mesh": []}
    work |= {"locations_count": 1, "locations": [location], "best_oa_location": location if is_open else None}
    work |= {"referenced_works_count": 0, "referenced_works": [], "related_works": [], "counts_by_year": []}
    return work | {"abstract_inverted_index": _invert(paper.abstract) if paper.abstract else None}


def _render_ids(paper: Paper, work_id: str, doi: str | None) -> JsonObject:
    ids = {"openalex": work_id, "doi": doi or ""}
    ids["pmid"] = f"https://pubmed.ncbi.nlm.nih.gov/{paper.pmid}" if paper.pmid else ""
    ids["pmcid"] = f"https://www.ncbi.nlm.nih.gov/pmc/articles/{paper.pmcid[3:]}" if paper.pmcid else ""
    return {name: value for name, value in ids.items() if value}


def _render_location(paper: Paper, doi: str | None) -> JsonObject:
    source = {"id": None, "display_name": paper.journal, "issn_l": paper.issn or None, "type": "journal"}
    location: JsonObject = {"is_oa": bool(paper.pdf_url), "landing_page_url": paper.url or doi}
    location |= {"pdf_url": paper.pdf_url or None, "source": source if paper.journal else None}
    location |= {"license": None, "version": "publishedVersion" if paper.journal else "submittedVersion"}
    location["raw_source_name"] = paper.journal or urls.host_of(paper.url)
    return location


def _render_authorships(paper: Paper) -> list[JsonObject]:
    last = len(paper.authors) - 1
    positions = ["first" if index == 0 else "last" if index == last else "middle" for index in range(last + 1)]
    return [
        {
            "author_position": position,
            "author": {"id": None, "display_name": name, "orcid": None},
            "institutions": [],
            "countries": [],
            "is_corresponding": False,
            "raw_author_name": name,
            "raw_affiliation_strings": [],
        }
        for position, name in zip(positions, paper.authors, strict=True)
    ]


def _render_biblio(paper: Paper) -> JsonObject:
    first_page, _, last_page = paper.pages.partition("-")
    biblio = {"volume": paper.volume, "issue": paper.issue, "first_page": first_page, "last_page": last_page}
    return {name: value or None for name, value in biblio.items()}


def _render_keywords(paper: Paper) -> list[JsonObject]:
    return [{"id": None, "display_name": word, "score": 0.0} for word in paper.keywords]


def _invert(text: str) -> dict[str, list[int]]:
    """Return the positions of each word of a text, as the service has abstracts."""
    positions: dict[str, list[int]] = {}
    for position, word in enumerate(text.split()):
        positions.setdefault(word, []).append(position)
    return positions


def render_error(error: EmulatorError, request: Request) -> Response:
    """Render an error as `{"error", "message"}`; an unknown work is a page of HTML."""
    if error.status == 404:
        page = b"<!doctype html>\n<html lang=en>\n<title>404 Not Found</title>\n<h1>Not Found</h1>\n"
        return build_response(page, 404, content_type=b"text/html; charset=utf-8")
    if isinstance(error, BadRequest):
        return build_response({"error": "Invalid query parameters error.", "message": error.message}, 400)
    if error.reason in ("rate-limited", "out-of-budget"):
        return build_response({"error": "Too Many Requests", "message": "Rate limit exceeded"}, 429)
    return build_response({"error": error.message, "message": error.message}, error.status)


DIALECT = Dialect(
    "openalex",
    "OpenAlex",
    ("api.openalex.org",),
    (Route(("GET",), "/works", answer_works), Route(("GET",), "/works/.+", answer_work)),
    None,
    render_error,
    "by name through the proxy; `http://127.0.0.1:8800/openalex` where a client has a base URL",
    ("pyalex",),
)
