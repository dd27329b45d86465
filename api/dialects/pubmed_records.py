"""Records of PubMed and PubMed Central in the formats of the E-utilities: XML, summaries, MEDLINE, plain text."""

from __future__ import annotations

from webemu.api.dialects.dialect import JsonObject
from webemu.api.dialects.papers import Paper
from webemu.api.dialects.site import open_page
from webemu.api.dialects.template import render_template
from webemu.api.http.request import Request
from webemu.api.http.response import Response
from webemu.emulator.world import World

_MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
_LANGUAGES = {"en": "eng", "fr": "fre", "de": "ger", "es": "spa", "it": "ita", "pt": "por", "ru": "rus", "zh": "chi"}
"""PubMed's codes of languages by those of ISO 639-1."""
XML_TYPE = b"text/xml; charset=UTF-8"


def render_record_xml(world: World, request: Request, papers: list[Paper], database: str) -> Response:
    """Return the records of papers: a PubmedArticleSet, or the full texts of PubMed Central as JATS."""
    records = [_build_record(world, request, paper, has_body=database == "pmc") for paper in papers]
    return render_template(f"{database}_articles.xml", XML_TYPE, records=records)


def _build_record(world: World, request: Request, paper: Paper, has_body: bool) -> JsonObject:
    """Return what a template reads about a paper; `body` are the paragraphs of the page's text."""
    year, month, day = (*(str(part) for part in paper.day), "", "", "")[:3]
    page = open_page(world, paper.url, "text", request.session.at_time) if has_body else None
    lines = page.content.split("\n") if page else []
    return {
        "paper": paper,
        "authors": [(name.rpartition(" ")[2], name.rpartition(" ")[0]) for name in paper.authors],
        "year": year,
        "month": month,
        "month_name": _MONTHS[int(month) - 1] if month else "",
        "day": day,
        "language": _LANGUAGES.get(paper.language[:2], "eng"),
        "body": [line.strip() for line in lines if line.strip()],
    }


def render_summary(paper: Paper, uid: str, database: str) -> JsonObject:
    """Return the summary of a paper, as `esummary` has it."""
    authors = [{"name": _short_name(name), "authtype": "Author", "clusterid": ""} for name in paper.authors]
    row: JsonObject = {"uid": uid, "pubdate": _format_date(paper), "epubdate": "", "source": paper.journal}
    row |= {"authors": authors, "lastauthor": _short_name(paper.authors[-1]) if paper.authors else ""}
    row |= {"title": paper.title, "sorttitle": paper.title.lower(), "volume": paper.volume, "issue": paper.issue}
    row |= {"pages": paper.pages, "lang": [_LANGUAGES.get(paper.language[:2], "eng")], "issn": paper.issn}
    row |= {"essn": "", "pubtype": ["Journal Article"], "fulljournalname": paper.journal}
    row |= {"elocationid": f"doi: {paper.doi}" if paper.doi else "", "pmcrefcount": 0, "doctype": "citation"}
    sortdate = f"{paper.iso_day.replace('-', '/')} 00:00" if paper.iso_day else ""
    ids = {"pubmed" if database == "pubmed" else "pmid": paper.pmid, "pmc": paper.pmcid, "doi": paper.doi}
    articleids = [{"idtype": name, "idtypen": 1, "value": value} for name, value in ids.items() if value]
    return row | {"articleids": articleids, "history": [], "references": [], "sortpubdate": sortdate}


def _short_name(name: str) -> str:
    """Return a name as `Family GN`; names that are initials already, such as `JQ`, stay."""
    given_name, _, family = name.rpartition(" ")
    parts = given_name.replace("-", " ").split()
    initials = "".join(part if part.isupper() and len(part) < 4 else part[0] for part in parts)
    return f"{family} {initials}".strip()


def _format_date(paper: Paper) -> str:
    """Return the day of publication as `2024 Jan 31`, as far as it is known."""
    year, month, day = (*paper.day, 0, 0, 0)[:3]
    return " ".join(filter(None, (str(year or ""), _MONTHS[month - 1] if month else "", str(day or ""))))


def render_medline(paper: Paper) -> str:
    """Return a record in the MEDLINE format: tags of four characters, a dash, and the value."""
    year = str(paper.day[0]) if paper.day else ""
    rows = [("PMID", paper.pmid), ("IS", paper.issn), ("VI", paper.volume), ("IP", paper.issue)]
    rows += [("DP", _format_date(paper)), ("TI", paper.title), ("PG", paper.pages)]
    rows += [("LID", f"{paper.doi} [doi]" if paper.doi else ""), ("AB", paper.abstract)]
    for name in paper.authors:
        given_name, _, family = name.rpartition(" ")
        rows += [("FAU", f"{family}, {given_name}" if given_name else family), ("AU", _short_name(name))]
    rows += [("LA", _LANGUAGES.get(paper.language[:2], "eng")), ("PT", "Journal Article"), ("JT", paper.journal)]
    rows += [("PMC", paper.pmcid), ("SO", f"{paper.journal}. {year}." if paper.journal else "")]
    return "\n" + "\n".join(f"{tag:<4}- {value}" for tag, value in rows if value) + "\n"


def render_text(paper: Paper, rank: int) -> str:
    """Return a record as text: where it appeared, title, authors, abstract and numbers."""
    volume = f"{paper.volume}({paper.issue})" if paper.issue else paper.volume
    pages = f":{paper.pages}" if paper.pages else ""
    source = f"{paper.journal}. {_format_date(paper)};{volume}{pages}." if paper.journal else _format_date(paper)
    doi = f" doi: {paper.doi}." if paper.doi else ""
    numbers = "\n".join(
        f"{name}: {value}"
        for name, value in (("DOI", paper.doi), ("PMCID", paper.pmcid), ("PMID", paper.pmid))
        if value
    )
    authors = ", ".join(_short_name(name) for name in paper.authors)
    parts = [f"{rank}. {source}{doi}", paper.title, f"{authors}." if authors else "", paper.abstract, numbers]
    return "\n\n".join(part for part in parts if part)
