"""PubMed's E-utilities (`eutils.ncbi.nlm.nih.gov`): esearch, esummary and efetch over PubMed and PubMed Central.

Their papers are the pages of pubmed.ncbi.nlm.nih.gov and of PubMed Central in the crawl. A query's field tags are
dropped, and its dates are conditions. The history server is a `WebEnv` that holds the query itself, since no state is
held between requests.
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import date
from typing import NamedTuple

import orjson

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
from webemu.api.dialects.papers import Paper, find_papers, open_pubmed
from webemu.api.dialects.pubmed_records import render_medline, render_record_xml, render_summary, render_text
from webemu.api.dialects.search import SearchParams, date_days_ago, estimate_total
from webemu.api.dialects.template import render_template
from webemu.api.http.request import Request
from webemu.api.http.response import Response
from webemu.emulator.errors import BadRequest, EmulatorError
from webemu.emulator.world import World

XML_TYPE, TEXT_TYPE = b"text/xml; charset=UTF-8", b"text/plain; charset=UTF-8"
DATABASES = {"pubmed": ("pubmed.ncbi.nlm.nih.gov",), "pmc": ("pmc.ncbi.nlm.nih.gov", "www.ncbi.nlm.nih.gov")}
"""Sites of each database."""
MAX_RESULTS, MAX_FETCHED = 200, 200
"""Last result that a search reaches, and most records of one request."""
_HISTORY_PREFIX = "MCID_"
_DATE_RANGE = re.compile(
    r'"?(\d{4})(?:/(\d{1,2})(?:/(\d{1,2}))?)?"?(?:\[[^\]]*\])?\s*:\s*"?(\d{4})(?:/(\d{1,2})(?:/(\d{1,2}))?)?"?\[[^\]]*\]'
)
_FILTER = re.compile(r"\S+\[(?:filter|sb|subset|lang|language|pt|ptyp|publication type)\]", re.IGNORECASE)
_TAG = re.compile(r"\[[^\]]*\]")
_EXCLUSION = re.compile(r"\bNOT\s+(\"[^\"]*\"|\S+)")


class _SearchResult(NamedTuple):
    """Papers that a search finds, and the number of all that are known."""

    papers: list[Paper]
    total: int


def answer_search(world: World, request: Request) -> Response:
    """Answer `esearch.fcgi` with the numbers of the papers found."""
    params = read_params(request)
    database, term = _read_database(params), get_text(params, "term")
    if not term.strip():
        raise BadRequest("Empty term and query_key - nothing todo", reason="bad-term")
    start, count = get_number(params, "retstart", 0, 0, 9998), get_number(params, "retmax", 20, 0, 10_000)
    result = _search(world, request, params, start, count)
    ids = [_number_of(paper, database) for paper in result.papers]
    numbers: JsonObject = {"count": str(result.total), "retmax": str(len(ids)), "retstart": str(start)}
    history = _render_history(database, term) if get_text(params, "usehistory") == "y" else {}
    if get_text(params, "retmode", "xml") == "json":
        payload: JsonObject = {**numbers, **history, "idlist": ids, "translationset": [], "querytranslation": term}
        payload |= {} if ids else _NOTHING_FOUND
        return build_response({"header": {"type": "esearch", "version": "0.3"}, "esearchresult": payload})
    return render_template("esearch.xml", XML_TYPE, numbers=numbers, history=history, ids=ids, term=term)


_NOTHING_FOUND: JsonObject = {
    "errorlist": {"phrasesnotfound": [], "fieldsnotfound": []},
    "warninglist": {"phrasesignored": [], "quotedphrasesnotfound": [], "outputmessages": ["No items found."]},
}
"""Members of a search that found nothing."""


def _read_database(params: JsonObject) -> str:
    """Return the database. Raises BadRequest if it is unknown."""
    database = get_text(params, "db", "pubmed").lower()
    if database not in DATABASES:
        raise BadRequest(f"Invalid db name specified: {database[:50]}", reason="bad-db")
    return database


def _number_of(paper: Paper, database: str) -> str:
    """Return a paper's number in a database."""
    return paper.pmcid.removeprefix("PMC") if database == "pmc" else paper.pmid


def _search(world: World, request: Request, params: JsonObject, start: int, count: int) -> _SearchResult:
    """Return the papers of a search, in the order that `sort` asks for."""
    database = _read_database(params)
    words, after, before = _parse_term(get_text(params, "term"))
    after, before = _read_days(world, request, params, after, before)
    search_params = SearchParams(0, MAX_RESULTS, after, before)
    matches, _ = find_papers(world, words, request.session.at_time, search_params, DATABASES[database])
    papers = [paper for paper in matches if _number_of(paper, database)]
    if get_text(params, "sort") in ("pub_date", "pub+date", "pub date"):
        papers.sort(key=lambda paper: paper.iso_day, reverse=True)
    return _SearchResult(papers[start : start + count], estimate_total(search_params, len(papers), has_more=False))


def _parse_term(term: str) -> tuple[str, date | None, date | None]:
    """Return the words of a query without tags and operators, and the days of the dates that it names."""
    match = _DATE_RANGE.search(term)
    after = _build_day(match[1], match[2] or "1", match[3] or "1") if match else None
    before = _build_day(match[4], match[5] or "12", match[6] or ("28" if match[5] else "31")) if match else None
    words = _TAG.sub(" ", _FILTER.sub(" ", _DATE_RANGE.sub(" ", term)))
    words = re.sub(r"[()]|\bAND\b", " ", _EXCLUSION.sub(r" -\1", words))
    words = re.sub(r"^\s*(?:OR\s+)+|(?:\s+OR)+\s*$", " ", words)
    return " ".join(words.split()), after, before


def _build_day(year: str, month: str, day: str) -> date | None:
    try:
        return date(int(year), int(month), int(day))
    except (ValueError, OverflowError):
        return None


def _read_days(
    world: World, request: Request, params: JsonObject, after: date | None, before: date | None
) -> tuple[date | None, date | None]:
    """Return the days of `mindate`, `maxdate` and `reldate`, or else those of the query."""
    if days := get_number(params, "reldate", 0, 0, 100_000):
        return date_days_ago(world, days, request.session.at_time), before
    first, last = (get_text(params, name).split("/") for name in ("mindate", "maxdate"))
    after = _build_day(*(*first, "1", "1")[:3]) if first[0] else after
    before = _build_day(*(*last, "12", "31")[:3]) if len(last) == 1 and last[0] else before
    return after, _build_day(*(*last, "28")[:3]) if len(last) > 1 else before


def _render_history(database: str, term: str) -> JsonObject:
    """Return the members that name a query on the history server: here, the query itself."""
    token = urlsafe_b64encode(orjson.dumps([database, term])).decode()
    return {"querykey": "1", "webenv": _HISTORY_PREFIX + token}


def _open_papers(world: World, request: Request, params: JsonObject, database: str) -> list[Paper]:
    """Return the papers of the numbers in `id`, or of a search on the history server.

    Numbers that the crawl does not hold are left out. Raises BadRequest if the request names neither.
    """
    if ids := get_texts(params, "id"):
        records = (
            open_pubmed(world, number, request.session.at_time, is_full_text=database == "pmc")
            for number in ids[:MAX_FETCHED]
            if re.fullmatch(r"(PMC)?\d{1,9}", number)
        )
        return [paper for paper in records if paper]
    term = _read_history(get_text(params, "WebEnv", get_text(params, "webenv")))
    if not term:
        raise BadRequest("Empty id list - nothing todo", reason="bad-id")
    start, count = get_number(params, "retstart", 0, 0, 9998), get_number(params, "retmax", 20, 0, MAX_FETCHED)
    return _search(world, request, params | {"term": term}, start, count).papers


def _read_history(token: str) -> str:
    """Return the query that a `WebEnv` holds; empty if it holds none."""
    try:
        value = orjson.loads(urlsafe_b64decode(token.removeprefix(_HISTORY_PREFIX)))
    except ValueError:
        return ""
    return str(value[1]) if isinstance(value, list) and len(value) == 2 else ""


def answer_summary(world: World, request: Request) -> Response:
    """Answer `esummary.fcgi`."""
    params = read_params(request)
    database = _read_database(params)
    summaries = [
        render_summary(paper, _number_of(paper, database), database)
        for paper in _open_papers(world, request, params, database)
    ]
    if get_text(params, "retmode", "xml") == "json":
        uids = [str(summary["uid"]) for summary in summaries]
        result: JsonObject = {"uids": uids, **dict(zip(uids, summaries, strict=True))}
        return build_response({"header": {"type": "esummary", "version": "0.3"}, "result": result})
    return render_template("esummary.xml", XML_TYPE, summaries=summaries)


def answer_fetch(world: World, request: Request) -> Response:
    """Answer `efetch.fcgi` with records as XML, as MEDLINE or as text."""
    params = read_params(request)
    database = _read_database(params)
    papers = _open_papers(world, request, params, database)
    mode, kind = get_text(params, "retmode"), get_text(params, "rettype")
    if mode != "xml" and kind in ("medline", "uilist"):
        records = [render_medline(paper) if kind == "medline" else paper.pmid for paper in papers]
        return build_response("\n".join(records).encode() + b"\n", content_type=TEXT_TYPE)
    if mode == "text":
        texts = [render_text(paper, rank) for rank, paper in enumerate(papers, 1)]
        return build_response("\n\n".join(texts).encode(), content_type=TEXT_TYPE)
    return render_record_xml(world, request, papers, database)


def render_error(error: EmulatorError, request: Request) -> Response:
    """Render an error in the format of the answer: `{"error"}` as JSON, `ERROR` in XML."""
    if error.reason in ("rate-limited", "out-of-budget"):
        limit: JsonObject = {"error": "API rate limit exceeded", "api-key": "unknown", "count": "4", "limit": "3"}
        return build_response(limit, 429)
    message = error.message
    if "retmode=json" in request.query:
        return build_response({"error": message}, error.status)
    return render_template("eutils_refused.xml", XML_TYPE, error.status, message=message)


_PATH = r"/entrez/eutils/{}\.fcgi/?"

DIALECT = Dialect(
    "pubmed",
    "PubMed E-utilities",
    ("eutils.ncbi.nlm.nih.gov",),
    (
        Route(("GET", "POST"), _PATH.format("esearch"), answer_search),
        Route(("GET", "POST"), _PATH.format("esummary"), answer_summary),
        Route(("GET", "POST"), _PATH.format("efetch"), answer_fetch),
    ),
    None,
    render_error,
    "by name through the proxy; `http://127.0.0.1:8800/pubmed/entrez/eutils` where a client has a base URL",
    ("biopython", "langchain-community"),
)
