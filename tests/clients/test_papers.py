"""Clients of the services of papers, as published, against a crawl that has a few: `arxiv`, `semanticscholar`,
`pyalex`, `habanero`, and `Bio.Entrez`.
"""

import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.conftest import Server, serving, webemu
from tests.crawls import write
from tests.papers import DOI, RECORDS

KELP = 12
"""Papers of the crawl that are about kelp."""


@pytest.fixture(scope="module")
def papers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    root: Path = tmp_path_factory.mktemp("papers")
    write(root / "papers.warc.gz", RECORDS)
    webemu("ingest", str(root / "papers.warc.gz"), "--root", str(root), "-q")
    with serving(root) as running:
        yield running


@pytest.fixture
def library(papers: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    """The server of papers, this process being on its web."""
    for name, value in papers.environment().items():
        monkeypatch.setenv(name, value)
    # urllib keeps the proxies of its first request for all later ones.
    monkeypatch.setattr("urllib.request._opener", None)
    return papers


def test_arxiv_searches(library: Server) -> None:
    arxiv = pytest.importorskip("arxiv")
    client = arxiv.Client(delay_seconds=0)
    [paper] = client.results(arxiv.Search("all:lanterns AND cat:cs.LG", max_results=5))
    assert (paper.title, paper.get_short_id()) == ("Lanterns on the Tide", "2101.00001")
    assert [author.name for author in paper.authors] == ["Jane Doe", "Richard Roe"]
    assert (paper.primary_category, paper.published.isoformat()) == ("physics.flu-dyn", "2021-01-01T00:00:00+00:00")
    assert paper.pdf_url == "http://arxiv.org/pdf/2101.00001"
    assert list(client.results(arxiv.Search("all:zzyzzyx"))) == []
    [by_id] = client.results(arxiv.Search(id_list=["2101.00001"]))
    assert by_id == paper


def test_arxiv_refuses_what_is_no_identifier(library: Server) -> None:
    arxiv = pytest.importorskip("arxiv")
    client = arxiv.Client(delay_seconds=0, num_retries=0)
    with pytest.raises(arxiv.HTTPError):
        list(client.results(arxiv.Search(id_list=["no id"])))


def test_semantic_scholar(papers: Server) -> None:
    semanticscholar = pytest.importorskip("semanticscholar")
    client = semanticscholar.SemanticScholar(api_url=f"{papers.url}/semantic-scholar")
    pages = client.search_paper("kelp", limit=5)
    assert (pages.total, len({paper.title for paper in pages})) == (6, KELP)
    paper = client.get_paper(f"DOI:{DOI}")
    assert (paper.title, paper.year, paper.journal.name) == ("A model of the tide", 2022, "PLOS Tide")
    assert client.search_paper("zzyzzyx").items == []
    with pytest.raises(semanticscholar.SemanticScholarException.ObjectNotFoundException):
        client.get_paper("ARXIV:9999.99999")


def test_openalex(library: Server) -> None:
    pyalex = pytest.importorskip("pyalex")
    [work] = pyalex.Works().search("model tide").filter(publication_year=2022).get()
    assert (work["title"], work["abstract"]) == ("A model of the tide", "The tide is modelled by lanterns.")
    assert pyalex.Works()[f"https://doi.org/{DOI}"]["id"] == work["id"]
    pages = list(pyalex.Works().search("kelp").paginate(per_page=5))
    assert [len(page) for page in pages] == [5, 5, 2]
    assert pyalex.Works().search("zzyzzyx").get() == []


def test_crossref(papers: Server) -> None:
    habanero = pytest.importorskip("habanero")
    client = habanero.Crossref(base_url=f"{papers.url}/crossref", timeout=30)
    message = client.works(query="model tide", limit=1)["message"]
    assert [(one["DOI"], one["title"], one["author"][0]["family"]) for one in message["items"]] == [
        (DOI, ["A model of the tide"], "Stone")
    ]
    assert client.works(ids=DOI)["message"]["container-title"] == ["PLOS Tide"]
    assert client.works(query="zzyzzyx")["message"]["items"] == []


def test_entrez(library: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("Bio")
    from Bio import Entrez, Medline

    monkeypatch.setattr(Entrez, "email", "reader@example.org")
    monkeypatch.setattr(Entrez, "max_tries", 1)
    ids = Entrez.read(Entrez.esearch(db="pubmed", term="fevers[Title] AND keepers", usehistory="y"))
    assert list(ids["IdList"]) == ["12345678"]
    handle = Entrez.efetch(db="pubmed", webenv=ids["WebEnv"], query_key=ids["QueryKey"], retmode="xml")
    [article] = Entrez.read(handle)["PubmedArticle"]
    citation = article["MedlineCitation"]["Article"]
    assert citation["ArticleTitle"] == "Tidal fevers of keepers"
    assert citation["Journal"]["JournalIssue"]["PubDate"]["Year"] == "2020"
    assert [author["LastName"] for author in citation["AuthorList"]] == ["Doe", "Roe"]
    [summary] = Entrez.read(Entrez.esummary(db="pubmed", id="12345678"))
    assert (summary["Title"], list(summary["AuthorList"])) == ("Tidal fevers of keepers", ["Doe JQ", "Roe R"])
    record = Medline.read(Entrez.efetch(db="pubmed", id="12345678", rettype="medline", retmode="text"))
    assert (record["PMID"], record["AU"]) == ("12345678", ["Doe JQ", "Roe R"])
    with warnings.catch_warnings(action="ignore"):
        assert list(Entrez.read(Entrez.esearch(db="pubmed", term="zzyzzyx"))["IdList"]) == []


def test_langchain_reads_pubmed(library: Server) -> None:
    pytest.importorskip("langchain_community")
    pytest.importorskip("xmltodict")
    from langchain_community.utilities.pubmed import PubMedAPIWrapper

    [document] = PubMedAPIWrapper().load("fevers of keepers")
    assert (document["Title"], document["Published"]) == ("Tidal fevers of keepers", "2020-03-05")
