"""NeMo Gym's resources servers for the web: `google_search` (`/search`, `/browse`) and `tavily_search` (the others).

What goes wrong on the web is said in the text that the model reads, with status 200, as theirs do; what goes wrong here
is not. Nothing is kept between calls.
"""

from __future__ import annotations

import re
from itertools import accumulate
from typing import Any

import orjson

from webemu.api.dialects.dialect import Dialect, Route, fields, members, number, reply, text
from webemu.api.dialects.retrieval import asked_of, refuse
from webemu.api.dialects.search import Wanted, search
from webemu.api.http.request import Request
from webemu.api.services.origin import Reply
from webemu.emulator import urls
from webemu.emulator.errors import NotCaptured, NoView
from webemu.emulator.types import Hit, Page, PageRequest
from webemu.emulator.world import World

RESULTS = 10
LONGEST_QUERY = 400
RESULT_CHARS = 2000
MOST_WORDS, KEPT = 10_000, 5000
"""A page of more words is cut to so many characters from either end."""
CHUNK, CHUNKS = 500, 3
READ = 1 << 18
"""Characters of a page that are looked through."""
_INVISIBLE = str.maketrans({"\u200b": "", "\u200c": "", "\u200d": "", "\ufeff": "", "\u3010": "[", "\u3011": "]"})
_SENTENCE = re.compile(r"\S.*?(?:[.!?。！？]+(?=\s)|\n|\Z)\s*", re.DOTALL)


def find(world: World, request: Request) -> Reply:
    """`/search`: Google's results as JSON in a text."""
    query = asked_of(request, "query")["query"]
    hits = search(world, query, Wanted(count=RESULTS), request.session.at)[0]
    found: dict[str, Any] = {"kind": "customsearch#search"}
    if hits:
        found["items"] = [_item(hit) for hit in hits]
    return reply({"search_results": orjson.dumps(found).decode()})


def _item(hit: Hit) -> dict[str, str]:
    told = {"kind": "customsearch#result", "title": hit.title or hit.url, "link": hit.url}
    return {**told, "displayLink": urls.host(hit.url), "snippet": hit.snippet}


def browse(world: World, request: Request) -> Reply:
    """`/browse`: the text of a page."""
    page = _page(world, request, asked_of(request, "url")["url"])
    if page is None:
        return reply({"page_content": "No HTML found"})
    content = page.content
    if len(content.split()) > MOST_WORDS:
        content = f"{content[:KEPT]}...{content[-KEPT:]}"
    return reply({"page_content": content or "No text found"})


def _page(world: World, request: Request, url: str) -> Page | None:
    try:
        return world.fetch(PageRequest(url, "text", request.session.at))
    except (NotCaptured, NoView):
        return None


def web_search(world: World, request: Request) -> Reply:
    """`/web_search`: results as a text."""
    query = fields(request).get("query")
    if query is None:
        return _said("Query is none")
    if len(query := str(query)) > LONGEST_QUERY:
        return _said("Query is too long")
    hits = search(world, query, Wanted(count=RESULTS), request.session.at)[0]
    found = [_result(world, place, hit) for place, hit in enumerate(hits, 1)]
    return _said("Search Results\n==============\n" + "".join(found))


def _result(world: World, place: int, hit: Hit) -> str:
    summary = _cut(_clean(world.passage(hit)))[0]
    return f"[{place}] {hit.title} ({urls.host(hit.url)})\n    URL: {hit.url}\n    Summary: {summary}\n\n"


def find_in_page(world: World, request: Request) -> Reply:
    """`/find_in_page`: the parts of a page that answer a query best, in their order."""
    asked = fields(request)
    for name, said in (("url", "URL is none"), ("query", "Query is none")):
        if asked.get(name) is None:
            return _said(said)
    url, query = text(asked, "url"), text(asked, "query")
    page = _page(world, request, url)
    if page is None or not page.content:
        return _said("No content found.")
    shown, is_cut = _cut(_clean(_best(world, page.content, query)))
    head = f'Content from: {urls.host(url) or url}\nURL: {url}\nQuery: "{query}"\n{_RULE}'
    return _said(head + _numbered(shown) + ("\n[...truncated, use scroll_page for full content]" if is_cut else ""))


def _best(world: World, content: str, query: str) -> str:
    """The best parts of a text, as Tavily joins them."""
    parts = _parts(content[:READ])
    scores = world.relevance(query, parts)
    best = sorted(range(len(parts)), key=lambda place: (-scores[place], place))[:CHUNKS]
    return " [...] ".join(parts[place].strip() for place in sorted(best))


def _parts(content: str) -> list[str]:
    """A text in parts of about `CHUNK` characters that end with sentences."""
    sentences = [found[0] for found in _SENTENCE.finditer(content)]
    parts: dict[int, str] = {}
    for sentence, end in zip(sentences, accumulate(map(len, sentences)), strict=True):
        parts[end // CHUNK] = parts.get(end // CHUNK, "") + sentence
    return list(parts.values())


def scroll_page(world: World, request: Request) -> Reply:
    """`/scroll_page`: words of a page from one on."""
    asked = fields(request)
    if asked.get("url") is None:
        return _said("URL is none", total_words=0)
    url, start, count = (
        text(asked, "url"),
        number(asked, "start_index", 0, 0, 10**9),
        number(asked, "n", 2000, 0, 10**9),
    )
    page = _page(world, request, url)
    words = page.content.split() if page else []
    span = f"[{start}-{min(start + count, len(words))}]"
    head = f"Page content from: {urls.host(url) or url}\nURL: {url}\nShowing words {span} of {len(words)}\n{_RULE}"
    return _said(head + _numbered(_clean(" ".join(words[start : start + count]))), total_words=len(words))


_RULE = "========================================\n"


def _said(words: str, **more: int) -> Reply:
    return reply({"results_string": words, **more})


def _clean(content: str) -> str:
    """As their server does: no edit marks, nothing invisible, no space at ends, one empty line at a time."""
    content = content.replace("[edit]", "").translate(_INVISIBLE)
    content = re.sub(r"[ \t]+$", "", content, flags=re.MULTILINE)
    return re.sub(r"\n{3,}", "\n\n", content).strip()


def _cut(content: str) -> tuple[str, bool]:
    """The lines that fit, and whether that is not all."""
    if len(content) <= RESULT_CHARS:
        return content, False
    end = content.rfind("\n", 0, RESULT_CHARS)
    return content[: RESULT_CHARS if end == -1 else end], True


def _numbered(content: str) -> str:
    return "\n".join(f"L{number}: {line}" for number, line in enumerate(content.split("\n")))


_PATHS = ("/browse", "/web_search", "/find_in_page", "/scroll_page")


def _is_meant(request: Request) -> bool:
    """`{"query"}` alone at `/search`: everybody else's requests say more."""
    return request.path in _PATHS or (request.path == "/search" and members(request) == {"query"})


DIALECT = Dialect(
    "nemo-gym",
    "NeMo Gym",
    (),
    (
        Route(("POST",), "/search", find),
        Route(("POST",), "/browse", browse),
        Route(("POST",), "/web_search", web_search),
        Route(("POST",), "/find_in_page", find_in_page),
        Route(("POST",), "/scroll_page", scroll_page),
    ),
    None,
    refuse,
    "the resources server's address: `127.0.0.1:8800`",
    at_root=_is_meant,
)
