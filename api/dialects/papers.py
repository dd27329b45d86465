"""Papers of the crawl: pages that declare what they cite as a paper, in the `meta` elements that Google Scholar reads.

Services of scholarly metadata answer from them. A page without a `citation_title` is no paper; a crawl without such
pages has none, and the services answer as for a query that matches nothing. See
https://scholar.google.com/intl/en/scholar/inclusion.html for the names of the elements.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Literal

from webemu.api.dialects.metas import read_language, read_metas
from webemu.api.dialects.search import SearchParams, search
from webemu.api.dialects.site import open_page
from webemu.emulator import urls
from webemu.emulator.types import Hit
from webemu.emulator.world import World

MAX_CANDIDATES = 200
"""Most results of a search whose pages are read for papers."""
PUBLISHER_SITES = tuple(
    "arxiv.org pubmed.ncbi.nlm.nih.gov pmc.ncbi.nlm.nih.gov ncbi.nlm.nih.gov biorxiv.org medrxiv.org plos.org "
    "nature.com springer.com sciencedirect.com wiley.com tandfonline.com sagepub.com oup.com cambridge.org science.org "
    "pnas.org acm.org ieee.org mdpi.com frontiersin.org biomedcentral.com elifesciences.org aclanthology.org "
    "openreview.net jmlr.org neurips.cc mlr.press iop.org acs.org rsc.org royalsocietypublishing.org hal.science "
    "zenodo.org ssrn.com osf.io jstor.org bmj.com thelancet.com nejm.org jamanetwork.com".split()
)
"""Sites that publish papers: they are searched besides the whole crawl, where papers may rank far below."""
Order = Literal["relevance", "newest", "oldest"]
"""Order of papers."""
_PREFIXES = ("citation_", "bepress_citation_")
_DOI = re.compile(r"10\.\d{4,9}/[^\s\"<>]+")
_ARXIV_URL = re.compile(r"arxiv\.org/abs/([\w.-]+(?:/\d{7})??)(v\d+)?$")
_PMC_OF_PUBMED = re.compile(r'class="identifier pmc".{0,600}?\b(PMC\d+)', re.DOTALL)
"""Number of the full text, as PubMed's page of a paper has it."""
_INITIALS_LAST = re.compile(r"\S.* [A-Z]{1,3}")
_DATE_FORMATS = (
    re.compile(r"(?P<year>\d{4})\s+(?P<name>[A-Z][a-z]{2})\w*(?:\s+(?P<day>\d{1,2}))?"),
    re.compile(r"(?P<year>\d{4})(?:[-/](?P<month>\d{1,2}))?(?:[-/](?P<day>\d{1,2}))?"),
    re.compile(r"(?P<month>\d{1,2})/(?P<day>\d{1,2})/(?P<year>\d{4})"),
    re.compile(r"(?P<name>[A-Z][a-z]{2})\w*\.?\s+(?:(?P<day>\d{1,2}),?\s+)?(?P<year>\d{4})"),
    re.compile(r"(?P<day>\d{1,2})\s+(?P<name>[A-Z][a-z]{2})\w*\.?,?\s+(?P<year>\d{4})"),
)
"""Dates of publishers: `2024/1/31`, `2024 Jan 31`, `1/31/2024`, `January 31, 2024` and `31 January 2024`."""
_MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()


@dataclass(frozen=True, slots=True)
class Paper:
    """Metadata that a page declares about its paper; a text is empty if the page does not declare it."""

    url: str
    title: str
    authors: tuple[str, ...]
    """Names as `Given Family`, in order."""
    day: tuple[int, ...]
    """Year, month and day of publication as far as they are declared; may be empty."""
    updated: tuple[int, ...]
    """Year, month and day of the last version, as far as they are declared; may be empty."""
    abstract: str
    journal: str
    publisher: str
    volume: str
    issue: str
    pages: str
    issn: str
    doi: str
    arxiv_id: str
    """Identifier without a version."""
    pmid: str
    pmcid: str
    """Identifier of PubMed Central, with its `PMC`."""
    pdf_url: str
    language: str
    keywords: tuple[str, ...]
    html: str
    """The page itself, for what only some services read."""
    doc: int = -1
    """Dense id of the page inside the snapshot; -1 if it has none."""
    score: float = 0.0
    """Relevance in the search that found it."""

    @property
    def iso_day(self) -> str:
        """The day of publication as `2024-01-31`; missing parts are 1, and a paper without a year has none."""
        year, month, day = (*self.day, 1, 1)[:3] if self.day else (0, 0, 0)
        return f"{year:04d}-{month:02d}-{day:02d}" if year else ""


def read_paper(html: str, url: str) -> Paper | None:
    """Return the paper that a page declares, None if it declares none."""
    values = _collect(read_metas(html))
    title = _first(values, "title")
    if not title:
        return None
    first_page, last_page = _first(values, "firstpage"), _first(values, "lastpage")
    doi = _DOI.search(_first(values, "doi"))
    arxiv_match = _ARXIV_URL.search(url)
    return Paper(
        url=url,
        title=title,
        authors=tuple(_read_authors(values)),
        day=_parse_date(_first(values, "publication_date", "date", "online_date", "cover_date", "year")),
        updated=_parse_date(_first(values, "online_date", "publication_date", "date")),
        abstract=_read_abstract(values, html),
        journal=_first(values, "journal_title", "conference_title", "inbook_title", "journal_abbrev"),
        publisher=_first(values, "publisher", "dissertation_institution", "technical_report_institution"),
        volume=_first(values, "volume"),
        issue=_first(values, "issue"),
        pages=f"{first_page}-{last_page}" if first_page and last_page else first_page,
        issn=_first(values, "issn"),
        doi=doi[0] if doi else "",
        arxiv_id=re.sub(r"v\d+$", "", _first(values, "arxiv_id")) or (arxiv_match[1] if arxiv_match else ""),
        pmid=_first(values, "pmid") or _id_in(url, r"pubmed\.ncbi\.nlm\.nih\.gov/(\d+)"),
        pmcid=_id_in(url, r"/(PMC\d+)") or _first(values, "pmcid") or _id_in(html, _PMC_OF_PUBMED),
        pdf_url=urls.resolve(url, _first(values, "pdf_url")) if _first(values, "pdf_url") else "",
        language=_first(values, "language") or read_language(html)[:2],
        keywords=tuple(_split_list(values.get("keywords", []))),
        html=html,
    )


def _collect(metas: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Return the contents of the elements by name without its prefix; the page's description is `description`."""
    values: dict[str, list[str]] = {}
    for name, content in metas:
        prefix = next((prefix for prefix in _PREFIXES if name.startswith(prefix)), "")
        if prefix or name in ("description", "og:description", "dc.description"):
            text = " ".join(content.split())
            values.setdefault(name.removeprefix(prefix).rpartition(":")[2].removeprefix("dc."), []).append(text)
    return values


def _first(values: dict[str, list[str]], *names: str) -> str:
    """Return the first content of the first name that has one; empty if none has."""
    return next((values[name][0] for name in names if name in values), "")


def _id_in(text: str, pattern: str | re.Pattern[str]) -> str:
    match = re.search(pattern, text)
    return match[1] if match else ""


def _read_authors(values: dict[str, list[str]]) -> Iterator[str]:
    """Yield the authors as `Given Family`, of one element each or of one list that is separated by semicolons.

    A list may have them as PubMed does, with initials last: `Doe JQ` is `JQ Doe`.
    """
    names = values.get("author") or _split_list(values.get("authors", []))
    has_initials_last = bool(names) and all(_INITIALS_LAST.fullmatch(name) for name in names)
    for name in names:
        family, mark, given_name = name.rpartition(" ") if has_initials_last else name.partition(",")
        yield f"{given_name.strip()} {family.strip()}" if mark else name


def _split_list(contents: Iterable[str]) -> list[str]:
    return [part.strip() for content in contents for part in content.split(";") if part.strip()]


def _parse_date(text: str) -> tuple[int, ...]:
    """Return year, month and day as far as a date has them, in any of the formats of publishers."""
    match = next((match for pattern in _DATE_FORMATS if (match := pattern.match(text))), None)
    if match is None:
        return ()
    groups = {name: value for name, value in match.groupdict().items() if value}
    month = _MONTHS.index(groups["name"]) + 1 if groups.get("name") in _MONTHS else int(groups.get("month", 0))
    parts = [int(groups["year"]), month, int(groups.get("day", 0))]
    date_parts = tuple(parts[: parts.index(0)] if 0 in parts else parts)
    try:
        date(*(*date_parts, 1, 1)[:3]) if date_parts else None
    except ValueError:
        return date_parts[:1]
    return date_parts


def _read_abstract(values: dict[str, list[str]], html: str) -> str:
    """Return the abstract: declared, in an element that PubMed and others mark as such, or else the description."""
    if declared := _first(values, "abstract"):
        return declared
    match = re.search(r'<(?:div|section|blockquote)[^>]*class="[^"]*\babstract(?:-content)?\b[^"]*"[^>]*>', html)
    if match and (text := _text_until_close(html[match.end() : match.end() + 20_000])):
        return text
    return _first(values, "description")


def _text_until_close(markup: str) -> str:
    """Return the text of the markup up to the end of its block, without a leading `Abstract`."""
    block = re.split(r"</(?:div|section|blockquote)>", markup, maxsplit=1)[0]
    text = " ".join(re.sub(r"<[^>]*>", " ", block).split())
    return re.sub(r"^Abstract:?\s*", "", text)


def find_papers(
    world: World,
    query: str,
    at_time: datetime | None,
    search_params: SearchParams,
    sites: tuple[str, ...] = (),
    order: Order = "relevance",
) -> tuple[list[Paper], bool]:
    """Return the papers that match a query from `search_params.offset` on, and True if more follow.

    Without `sites` the whole crawl and the sites of publishers are searched; the same paper is returned once. An order
    by day sorts the papers that are most relevant, those without a day last.
    """
    first, last = search_params.offset, search_params.offset + search_params.count
    limit = last if order == "relevance" else MAX_CANDIDATES
    papers: list[Paper] = []
    names: set[str] = set()
    for hit in _find_candidates(world, query, at_time, search_params, sites) if query.strip() else ():
        paper = open_paper(world, hit.url, at_time)
        if paper is None or not names.isdisjoint(name := {paper.url, paper.doi or paper.url}):
            continue
        names |= name
        papers.append(replace(paper, score=hit.score))
        if len(papers) > limit:
            break
    if order != "relevance":
        papers.sort(key=lambda paper: paper.iso_day, reverse=order == "newest")
        papers.sort(key=lambda paper: not paper.day)
    return papers[first:last], len(papers) > last


def _find_candidates(
    world: World, query: str, at_time: datetime | None, search_params: SearchParams, sites: tuple[str, ...]
) -> list[Hit]:
    """Return results whose pages may be papers, best first, each page once."""
    wide = replace(search_params, offset=0, count=MAX_CANDIDATES)
    narrow = search(world, query, replace(wide, sites=sites or PUBLISHER_SITES), at_time)[0]
    everywhere = () if sites else search(world, query, wide, at_time)[0]
    by_url = {hit.url: hit for hit in (*narrow, *everywhere)}
    return sorted(by_url.values(), key=lambda hit: (-hit.score, hit.url))[:MAX_CANDIDATES]


def open_paper(world: World, url: str, at_time: datetime | None) -> Paper | None:
    """Return the paper that the page at a URL declares; None if there is no such page or it declares none."""
    page = open_page(world, url, "html", at_time)
    paper = read_paper(page.content, page.capture.url) if page else None
    return replace(paper, doc=page.capture.doc) if page and paper else None


def open_doc(world: World, doc: int, at_time: datetime | None) -> Paper | None:
    """Return the paper whose page has a dense id, None if there is none.

    The page is searched by its title, so that a session finds only what it may see.
    """
    if not 0 <= doc < int(str(world.figures().get("documents", 0))):
        return None
    title, _ = world.text_of(Hit(doc, 0.0, b"", b"", b"", ""))
    hits = search(world, title, SearchParams(0, MAX_CANDIDATES), at_time)[0] if title.strip() else ()
    url = next((hit.url for hit in hits if hit.doc == doc), "")
    return open_paper(world, url, at_time) if url else None


def open_doi(world: World, doi: str, at_time: datetime | None) -> Paper | None:
    """Return the paper with a DOI: where the crawl knows that the DOI leads, or a page that names it; None if none."""
    if paper := open_paper(world, f"https://doi.org/{doi}", at_time):
        return paper
    candidates, _ = find_papers(world, f'"{doi}"', at_time, SearchParams(0, 10))
    return next((paper for paper in candidates if paper.doi.lower() == doi.lower()), None)


def open_arxiv(world: World, arxiv_id: str, at_time: datetime | None) -> Paper | None:
    """Return the paper of an arXiv identifier, with or without a version; None if the crawl does not hold it."""
    bare_id = re.sub(r"v\d+$", "", arxiv_id)
    ids = dict.fromkeys((arxiv_id, bare_id, f"{bare_id}v1"))
    papers = (open_paper(world, f"https://arxiv.org/abs/{one}", at_time) for one in ids)
    return next((paper for paper in papers if paper), None)


def open_pubmed(world: World, number: str, at_time: datetime | None, is_full_text: bool = False) -> Paper | None:
    """Return the paper of a number of PubMed, or of PubMed Central with `is_full_text`; None if it is not held."""
    digits = number.removeprefix("PMC")
    addresses = [f"https://pubmed.ncbi.nlm.nih.gov/{digits}/"]
    if is_full_text:
        addresses = [
            f"https://{host}/PMC{digits}/"
            for host in ("pmc.ncbi.nlm.nih.gov/articles", "www.ncbi.nlm.nih.gov/pmc/articles")
        ]
    papers = (open_paper(world, address, at_time) for address in addresses)
    return next((paper for paper in papers if paper), None)
