"""`firecrawl-py` in both its versions: what they return and what they raise."""

import pytest

from tests.clients.conftest import LEXICON, Server

firecrawl = pytest.importorskip("firecrawl", reason="firecrawl-py is not installed")
errors = pytest.importorskip("firecrawl.v2.utils.error_handler", reason="firecrawl-py is not installed")

SITE = "https://en.openlexicon.org"
LOST = f"{SITE}/wiki/No_such_page"


@pytest.fixture
def app(server: Server) -> "firecrawl.Firecrawl":
    return firecrawl.Firecrawl(api_key="fc-any", api_url=server.url)


@pytest.fixture
def old(server: Server) -> "firecrawl.V1FirecrawlApp":
    return firecrawl.V1FirecrawlApp(api_key="fc-any", api_url=f"{server.url}/firecrawl")


def test_scrape(app: "firecrawl.Firecrawl") -> None:
    page = app.scrape(LEXICON, formats=["markdown", "rawHtml", "links"])
    assert page.markdown
    assert "<html" in page.raw_html
    assert any(link.startswith(f"{SITE}/wiki/") for link in page.links)
    assert (page.metadata.url, page.metadata.status_code, page.metadata.cache_state) == (LEXICON, 200, "hit")


def test_what_a_page_says_of_itself(app: "firecrawl.Firecrawl", old: "firecrawl.V1FirecrawlApp") -> None:
    url = app.search("town river bursts its banks", sources=["news"]).news[0].url
    metadata = app.scrape(url).metadata
    assert (metadata.language, metadata.source_url, metadata.url) == ("en", url, url)
    assert metadata.title
    assert metadata.published_time
    assert old.scrape_url(url).metadata["publishedTime"] == metadata.published_time
    described = [app.scrape(one.url).metadata for one in app.search("town river", limit=20).web]
    assert any(one.description for one in described)


def test_search(app: "firecrawl.Firecrawl") -> None:
    results = app.search("town river", limit=3).web
    assert len(results) == 3
    assert all(one.url and one.title and one.description for one in results)
    scraped = app.search("town river", limit=2, scrape_options={"formats": ["markdown"]}).web
    assert [page.metadata.url for page in scraped] == [one.url for one in results[:2]]
    assert all(page.markdown for page in scraped)


def test_nothing_found(app: "firecrawl.Firecrawl") -> None:
    assert app.search("zzyzzyx").web == []


def test_map(app: "firecrawl.Firecrawl") -> None:
    links = app.map(SITE, limit=30).links
    assert len(links) == 30
    assert all("openlexicon.org" in link.url for link in links)
    assert any(link.title for link in links)
    assert app.map("https://nowhere.example").links == []


def test_crawl(app: "firecrawl.Firecrawl") -> None:
    """More than one reply holds."""
    job = app.crawl(LEXICON, limit=130, crawl_entire_domain=True, timeout=120)
    pages = [page.metadata.url for page in job.data]
    assert (job.status, job.total, len(set(pages))) == ("completed", 130, 130)
    assert all(page.markdown is not None for page in job.data)
    again = app.get_crawl_status(job.id)
    assert [page.metadata.url for page in again.data] == pages
    assert app.get_crawl_errors(job.id).errors == []
    assert app.cancel_crawl(job.id)


def test_crawl_of_a_place_without_a_page(app: "firecrawl.Firecrawl") -> None:
    job = app.crawl(f"{SITE}/wiki/", limit=5, timeout=60)
    assert len(job.data) == 5
    assert all(page.metadata.url.startswith(f"{SITE}/wiki/") for page in job.data)
    assert app.crawl(f"{SITE}/wiki/", limit=5, sitemap="skip", timeout=60).data == []


def test_version_1(old: "firecrawl.V1FirecrawlApp") -> None:
    assert old.scrape_url(LEXICON, formats=["markdown"]).markdown
    assert len(old.search("town river", limit=3).data) == 3
    assert old.search("zzyzzyx").data == []
    assert len(old.map_url(SITE, limit=20).links) == 20
    job = old.crawl_url(LEXICON, limit=120, crawl_entire_domain=True)
    assert (job.status, len(job.data)) == ("completed", 120)


def test_by_its_variable(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FIRECRAWL_API_URL", f"{server.url}/firecrawl")
    assert firecrawl.V1FirecrawlApp(api_key="fc-any").scrape_url(LEXICON).markdown


def test_through_the_proxy(web: Server) -> None:
    assert firecrawl.Firecrawl(api_key="fc-any").scrape(LEXICON).markdown


def test_errors(app: "firecrawl.Firecrawl", keyed_server: Server) -> None:
    with pytest.raises(errors.DNSResolutionError):
        app.scrape("https://nowhere.example/")
    with pytest.raises(errors.FirecrawlError, match=r"404.*Page not found") as raised:
        app.scrape(LOST)
    assert raised.value.code == "SCRAPE_NO_CACHED_DATA"
    with pytest.raises(errors.FirecrawlError, match="Job not found"):
        app.get_crawl_status("5d0c0ffe")
    with pytest.raises(errors.UnauthorizedError, match="Invalid token"):
        firecrawl.Firecrawl(api_key="bad", api_url=keyed_server.url).scrape(LEXICON)
    assert firecrawl.Firecrawl(api_key="good", api_url=keyed_server.url).scrape(LEXICON).markdown


def test_batch(app: "firecrawl.Firecrawl") -> None:
    found_urls = [one.url for one in app.search("town river", limit=3).web]
    job = app.batch_scrape([*found_urls, LOST], formats=["markdown"], poll_interval=1)
    assert (job.status, job.total) == ("completed", 4)
    assert [page.metadata.source_url for page in job.data] == found_urls
    assert all(page.markdown for page in job.data)
    started = app.start_batch_scrape([*found_urls, LOST, "http://"], ignore_invalid_urls=True)
    assert started.invalid_urls == ["http://"]
    assert [error.url for error in app.get_batch_scrape_errors(started.id).errors] == [LOST]
    assert app.cancel_batch_scrape(started.id)


def test_batch_in_pages(app: "firecrawl.Firecrawl") -> None:
    links = [link.url for link in app.map(SITE, limit=70).links]
    job = app.batch_scrape(links, formats=["links"], poll_interval=1)
    assert job.total == 70
    assert len(job.data) > 50


def test_a_batch_that_is_none(app: "firecrawl.Firecrawl") -> None:
    for job in ("x", "eJwDAAAAAAE", "%00"):
        with pytest.raises(errors.FirecrawlError, match="not found"):
            app.get_batch_scrape_status(job)


def test_what_a_model_would_write_is_refused(app: "firecrawl.Firecrawl") -> None:
    with pytest.raises(errors.FirecrawlError, match="not enabled"):
        app.extract(urls=[LEXICON], prompt="the towns")
