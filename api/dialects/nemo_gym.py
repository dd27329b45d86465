"""NeMo Gym's resource servers for the web: `google_search` (`/search`, `/browse`) and `tavily_search` (the others).

As in the originals, a problem of the web is told in the text that the model reads, with status 200. A failure of this
server is an error. Nothing is remembered between calls.
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
"""Results of a search."""
LONGEST_QUERY = 400
"""Characters of the longest query of `/web_search`."""
RESULT_CHARS = 2000
"""Characters of a result's summary or a page's excerpt, at most."""
MOST_WORDS, KEPT = 10_000, 5000
"""A page of more words is cut to this many characters from either end."""
CHUNK, CHUNKS = 500, 3
"""Characters of a part of a page, and parts in one answer."""
READ = 1 << 18
"""Characters of a page that `/find_in_page` looks through."""
_INVISIBLE = str.maketrans({"\u200b": "", "\u200c": "", "\u200d": "", "\ufeff": "", "\u3010": "[", "\u3011": "]"})
"""Characters that the original removes, and brackets that it replaces."""
_SENTENCE = re.compile(r"\S.*?(?:[.!?。！？]+(?=\s)|\n|\Z)\s*", re.DOTALL)


def find(world: World, request: Request) -> Reply:
    """Answer `/search` with Google's results as JSON inside a text."""
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
    """Answer `/browse` with the text of a page, the middle of a long one left out."""
    page = _page(world, request, asked_of(request, "url")["url"])
    if page is None:
        return reply({"page_content": "No HTML found"})
    content = page.content
    if len(content.split()) > MOST_WORDS:
        content = f"{content[:KEPT]}...{content[-KEPT:]}"
    return reply({"page_content": content or "No text found"})


def _page(world: World, request: Request, url: str) -> Page | None:
    """Return a page, None if it is not captured or has no text."""
    try:
        return world.fetch(PageRequest(url, "text", request.session.at))
    except (NotCaptured, NoView):
        return None


def web_search(world: World, request: Request) -> Reply:
    """Answer `/web_search` with results as a text."""
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
    """Answer `/find_in_page` with the parts of a page that match a query best, in their order."""
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
    """Return the best parts of a text, joined as Tavily joins them."""
    parts = _parts(content[:READ])
    scores = world.relevance(query, parts)
    best = sorted(range(len(parts)), key=lambda place: (-scores[place], place))[:CHUNKS]
    return " [...] ".join(parts[place].strip() for place in sorted(best))


def _parts(content: str) -> list[str]:
    """Split a text into parts of about `PART_CHARS` characters that end with sentences."""
    sentences = [found[0] for found in _SENTENCE.finditer(content)]
    parts: dict[int, str] = {}
    for sentence, end in zip(sentences, accumulate(map(len, sentences)), strict=True):
        parts[end // CHUNK] = parts.get(end // CHUNK, "") + sentence
    return list(parts.values())


def scroll_page(world: World, request: Request) -> Reply:
    """Answer `/scroll_page` with `n` words of a page from `start_index` on."""
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
    """Return a response of the `tavily_search` server: a text for the model, and further numbers."""
    return reply({"results_string": words, **more})


def _clean(content: str) -> str:
    """Clean a text as the original does: edit marks, invisible characters, trailing spaces and repeated empty lines
    go.
    """
    content = content.replace("[edit]", "").translate(_INVISIBLE)
    content = re.sub(r"[ \t]+$", "", content, flags=re.MULTILINE)
    return re.sub(r"\n{3,}", "\n\n", content).strip()


def _cut(content: str) -> tuple[str, bool]:
    """Return the lines that fit into `MAX_RESULT_CHARS`, and True if some do not."""
    if len(content) <= RESULT_CHARS:
        return content, False
    end = content.rfind("\n", 0, RESULT_CHARS)
    return content[: RESULT_CHARS if end == -1 else end], True


def _numbered(content: str) -> str:
    """Prefix each line with its number, from `L0`."""
    return "\n".join(f"L{number}: {line}" for number, line in enumerate(content.split("\n")))


_PATHS = ("/browse", "/web_search", "/find_in_page", "/scroll_page")


def _is_meant(request: Request) -> bool:
    """True for the paths that no other service has, and for `{"query"}` alone at `/search`: others send more."""
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
