"""A web of which some pages are blocked, each in another way; and requests that would show them, one way or another."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx

from tests.crawls import CaptureSpec, html, ingest, write
from webemu.api.app import App, create_app
from webemu.api.audit.routes import expand_route, list_bodies
from webemu.emulator.config import Config
from webemu.emulator.ngrams import hash_ngrams
from webemu.index.open import open_world

TOKEN = "quillmarble"
"""Stands in the address, the title and the text of everything that is blocked, and of nothing else."""
SECRET_SENTENCE = "The tide bell of Aldmere rang thirteen times before the flood took the lower quay."
RUN = "in the year of the great fog nine keepers of the northern light went down to the sea and were not seen again"
TOLD_STORY = "Old people of the coast say that a bell was cast for the tower from the guns of a ship, and rang once"
RETOLD_STORY = TOLD_STORY.replace("Old people", "Fishermen").replace("guns", "anchors")
OPEN = "https://open.example"
WIKI = "https://wiki.example"
MARKS = '<meta name="generator" content="MediaWiki 1.43.0">'
ARTICLE = (
    '<body class="mediawiki ns-0"><h1 id="firstHeading">{0}</h1>'
    '<div id="mw-content-text"><div class="mw-parser-output"><p>{1}'
)


def article(title: str, text: str) -> str:
    """A page of a wiki, which has the marks of MediaWiki."""
    return f"<!doctype html><html><head><title>{title}</title>{MARKS}</head>" + ARTICLE.format(title, text)


def page(*more: str) -> str:
    return html(f"Harbour {TOKEN}", f"The harbour bell, {TOKEN}, is told of here.", *more)


def paper(**values: str) -> str:
    """A page that declares a paper."""
    head = "".join(f'<meta name="citation_{name}" content="{value}">' for name, value in values.items())
    text = f"The harbour bell, {TOKEN}, is told of here."
    title = f"<meta name='citation_title' content='Harbour bell {TOKEN}'>"
    return html(f"Harbour {TOKEN}", text, SECRET_SENTENCE, head=title + head)


BLOCKED = [
    CaptureSpec(f"https://blocked.example/{TOKEN}", page(), 2),
    CaptureSpec(f"https://deep.blocked.example/{TOKEN}?a=1", page("Another."), 2),
    CaptureSpec(f"{OPEN}/url/{TOKEN}", page("A URL."), 2),
    CaptureSpec(f"{OPEN}/answers/{TOKEN}/7.html", page("A pattern."), 2),
    CaptureSpec(f"{OPEN}/text/{TOKEN}", page(SECRET_SENTENCE), 2),
    CaptureSpec(f"{OPEN}/plain/{TOKEN}.txt", f"{TOKEN} harbour bell. {SECRET_SENTENCE}", 2, mime="text/plain"),
    CaptureSpec(f"{OPEN}/ngram/{TOKEN}", page(f"Some say {RUN}, others not."), 2),
    CaptureSpec(f"{OPEN}/similar/{TOKEN}", page(RETOLD_STORY), 2),
    CaptureSpec(f"https://archive.example/web/2024/http://blocked.example/{TOKEN}", page("A mirror."), 2),
    CaptureSpec(f"{OPEN}/late/{TOKEN}", page("Late."), 28),
    CaptureSpec("https://arxiv.org/abs/2401.00001", paper(arxiv_id="2401.00001", doi="10.48550/2401.00001"), 2),
    CaptureSpec("https://pubmed.ncbi.nlm.nih.gov/24010001/", paper(pmid="24010001", journal_title="Bells"), 2),
    CaptureSpec(f"{OPEN}/lost", page("Not found."), 2, "404 Not Found"),
    CaptureSpec(f"{WIKI}/wiki/{TOKEN.title()}", article(TOKEN.title(), f"{TOKEN} is a harbour bell."), 2),
]
CLEAN = [
    CaptureSpec(f"{OPEN}/", html("Harbour news", "The harbour bell of the town."), 1),
    CaptureSpec(f"{OPEN}/moved", "", 2, "301 Moved", headers=(("Location", "https://blocked.example/x"),)),
    CaptureSpec("https://other.example/harbour", html("Harbour", "Another harbour bell."), 2),
    CaptureSpec(f"{WIKI}/wiki/Harbour", article("Harbour", "A harbour is a place for bells and ships."), 2),
]
SOURCE = CaptureSpec(f"{OPEN}/source", html("Foghorn", "A foghorn.") + f"<script>say('{SECRET_SENTENCE}')</script>", 2)
"""Says what is blocked where only those who read its source find it."""
POLICY: dict[str, Any] = {
    "as_of": "2024-01-20",
    "blocked": {
        "domains": ["blocked.example"],
        "urls": [f"http://www.open.example/url/{TOKEN}/", f"{OPEN}/lost", f"{WIKI}/wiki/{TOKEN.title()}"],
        "patterns": ["open.example/answers/*"],
        "texts": ["  the TIDE bell of aldmere rang\nthirteen times "],
        "similar": [TOLD_STORY],
        "ngrams": list(hash_ngrams(RUN)),
    },
}


def leaking(root: Path) -> App:
    write(root / "clean.warc.gz", CLEAN)
    write(root / "blocked.warc.gz", [*BLOCKED, SOURCE])
    ingest(root / "c", root / "clean.warc.gz", root / "blocked.warc.gz")
    return create_app(Config(root=root, collection="c"), open_world(root / "c"))


class Probe(NamedTuple):
    """A request, and who is asked."""

    who: str
    method: str
    url: str
    body: Any = None
    headers: tuple[tuple[str, str], ...] = ()
    sign: str = ""
    """The text that betrays a page that the request itself names, besides what the page says."""

    @property
    def names(self) -> bool:
        """True if the request names what is blocked, which an answer may then repeat."""
        return TOKEN in self.url.lower() or TOKEN in json.dumps(self.body).lower()


DAY = "20240102"
QUERY = "harbour bell"
OPEN_TEXT = f"{OPEN}/text/{TOKEN}"


def paths(pattern: str) -> Iterator[str]:
    """Paths that a route takes."""
    return expand_route(pattern, QUERY, OPEN_TEXT)


def bodies() -> Iterator[dict[str, Any]]:
    """Objects that ask for words or for the page, under all names that services have for either."""
    yield from (body for body in list_bodies(QUERY, OPEN_TEXT, OPEN))
    yield {"id_list": "2401.00001", "id": "24010001", "db": "pubmed"}
    yield {"ids": ["ARXIV:2401.00001", "PMID:24010001"]}


def of_route(who: str, base: str, methods: tuple[str, ...], path: str) -> Iterator[Probe]:
    for body in bodies():
        texts = {name: value[0] if isinstance(value, list) else str(value) for name, value in body.items()}
        if "GET" in methods:
            yield Probe(who, "GET", str(httpx.URL(base + path, params={**texts, "format": "json", "cx": "any"})))
        if "POST" in methods:
            yield Probe(who, "POST", base + path, body)
    if "GET" in methods:
        yield Probe(who, "GET", base + path)


def native_probes() -> Iterator[Probe]:
    """Yield probes of what this server and the web have besides the dialects."""
    here = "http://webemu"
    for path in (
        "/v1/search?q=harbour+bell",
        "/search?q=harbour+bell",
        "/suggest?q=harbour",
        "/v1/search?q=inurl:text",
    ):
        yield Probe(path, "GET", here + path)
    yield Probe("/v1/search batch", "POST", f"{here}/v1/search", {"queries": [QUERY, "site:open.example harbour"]})
    yield Probe("/v1/fetch batch", "POST", f"{here}/v1/fetch", {"urls": [OPEN_TEXT, OPEN]})
    for path in ("/v1/fetch?url={}", "/v1/fetch?format=html&url={}", "/v1/fetch?format=raw&url={}", "/view?url={}"):
        yield Probe(path, "GET", here + path.format(OPEN_TEXT))
    yield Probe("/v1/find", "GET", f"{here}/v1/find?pattern=told&url={OPEN_TEXT}")
    yield Probe("correction", "GET", f"{here}/search?q={TOKEN[:-1]}q")


def archives() -> Iterator[Probe]:
    index = ("index.commoncrawl.org", "/CC-MAIN-2024-01-index"), ("index.commoncrawl.org", "/CC-MAIN-2024-04-index")
    for host, crawl in (("web.archive.org", "/cdx/search/cdx"), *index):
        for scope in ("url=open.example/*", "url=open.example&matchType=domain", "url=open.example&matchType=host"):
            yield Probe(f"cdx {host} {scope}", "GET", f"https://{host}{crawl}?{scope}&output=json")
    yield Probe("cdx of it", "GET", f"https://web.archive.org/cdx/search/cdx?url={OPEN_TEXT}&output=json", sign=DAY)
    yield Probe("replay", "GET", f"https://web.archive.org/web/2024/{OPEN_TEXT}", sign=DAY)
    yield Probe("replay id_", "GET", f"https://web.archive.org/web/20240102120000id_/{OPEN_TEXT}", sign=DAY)
    yield Probe("calendar", "GET", f"https://web.archive.org/web/*/{OPEN_TEXT}", sign=DAY)
    yield Probe("timemap", "GET", f"https://web.archive.org/web/timemap/link/{OPEN_TEXT}", sign=DAY)
    yield Probe("sitemap", "GET", f"{OPEN}/sitemap.xml")
    yield Probe("missing", "GET", f"{OPEN}/nowhere")


def wiki() -> Iterator[Probe]:
    title = TOKEN.title()
    texts = (
        "action=query&list=search&srsearch=harbour+bell", "action=query&list=prefixsearch&pssearch=Q",
        "action=opensearch&search=Q", "action=query&list=random&rnlimit=9", "action=query&generator=random&grnlimit=9",
    )  # fmt: skip
    for text in texts:
        yield Probe(f"wiki {text}", "GET", f"{WIKI}/w/api.php?{text}&format=json")
    for text in (f"action=query&prop=extracts&titles={title}", f"action=parse&page={title}"):
        yield Probe(f"wiki {text}", "GET", f"{WIKI}/w/api.php?{text}&format=json")
    for path in (f"/wiki/{title}", f"/api/rest_v1/page/html/{title}", f"/api/rest_v1/page/summary/{title}"):
        yield Probe(f"wiki {path}", "GET", WIKI + path)


def shows(probe: Probe, reply: httpx.Response) -> bool:
    """Return True if an answer tells more of what is blocked than the request told it."""
    text = reply.text.lower() + json.dumps(dict(reply.headers)).lower()
    if not probe.names:
        return TOKEN in text
    signs = ("told of here", f"harbour {TOKEN}", "is a harbour bell", "thirteen times", probe.sign)
    return any(sign in text for sign in signs if sign)
