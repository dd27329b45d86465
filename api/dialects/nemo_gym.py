"""NeMo Gym's resource servers for the web: `google_search` (`/search`, `/browse`) and `tavily_search` (the others).

As in the originals, a problem of the web is told in the text that the model reads, with status 200. A failure of this
server is an error. Nothing is remembered between calls.
"""

from __future__ import annotations

import re
from itertools import accumulate

import orjson

from webemu.api.dialects.dialect import Dialect, Route, body_fields, build_response, get_number, get_text, read_params
from webemu.api.dialects.retrieval import render_error, require_text
from webemu.api.dialects.search import SearchParams, search
from webemu.api.http.request import Request
from webemu.api.http.response import Response
from webemu.emulator import urls
from webemu.emulator.errors import NotCaptured, ViewUnavailable
from webemu.emulator.types import Hit, Page, PageRequest
from webemu.emulator.world import World

RESULTS = 10
"""Results of a search."""
MAX_QUERY_CHARS = 400
"""Characters of the longest query of `/web_search`."""
MAX_RESULT_CHARS = 2000
"""Characters of a result's summary or a page's excerpt, at most."""
MAX_PAGE_WORDS, KEPT_CHARS = 10_000, 5000
"""A page of more words is cut to this many characters from either end."""
PART_CHARS, MAX_PARTS = 500, 3
"""Characters of a part of a page, and parts in one answer."""
MAX_SEARCHED_CHARS = 1 << 18
"""Characters of a page that `/find_in_page` looks through."""
_INVISIBLE = str.maketrans({"\u200b": "", "\u200c": "", "\u200d": "", "\ufeff": "", "\u3010": "[", "\u3011": "]"})
"""Characters that the original removes, and brackets that it replaces."""
_SENTENCE = re.compile(r"\S.*?(?:[.!?。！？]+(?=\s)|\n|\Z)\s*", re.DOTALL)


def answer_search(world: World, request: Request) -> Response:
    """Answer `/search` with Google's results as JSON inside a text."""
    query = require_text(read_params(request), "query")
    hits = search(world, query, SearchParams(count=RESULTS), request.session.at_time)[0]
    payload: dict[str, object] = {"kind": "customsearch#search"}
    if hits:
        payload["items"] = [_render_result(hit) for hit in hits]
    return build_response({"search_results": orjson.dumps(payload).decode()})


def _render_result(hit: Hit) -> dict[str, str]:
    row = {"kind": "customsearch#result", "title": hit.title or hit.url, "link": hit.url}
    return {**row, "displayLink": urls.host_of(hit.url), "snippet": hit.snippet}


def answer_browse(world: World, request: Request) -> Response:
    """Answer `/browse` with the text of a page, the middle of a long one left out."""
    page = _read_page(world, request, require_text(read_params(request), "url"))
    if page is None:
        return build_response({"page_content": "No HTML found"})
    content = page.content
    if len(content.split()) > MAX_PAGE_WORDS:
        content = f"{content[:KEPT_CHARS]}...{content[-KEPT_CHARS:]}"
    return build_response({"page_content": content or "No text found"})


def _read_page(world: World, request: Request, url: str) -> Page | None:
    """Return a page, None if it is not captured or has no text."""
    try:
        return world.fetch(PageRequest(url, "text", request.session.at_time))
    except (NotCaptured, ViewUnavailable):
        return None


def answer_web_search(world: World, request: Request) -> Response:
    """Answer `/web_search` with results as a text."""
    query = read_params(request).get("query")
    if query is None:
        return _build_text_response("Query is none")
    if len(query := str(query)) > MAX_QUERY_CHARS:
        return _build_text_response("Query is too long")
    hits = search(world, query, SearchParams(count=RESULTS), request.session.at_time)[0]
    blocks = [_format_result_text(world, rank, hit) for rank, hit in enumerate(hits, 1)]
    return _build_text_response("Search Results\n==============\n" + "".join(blocks))


def _format_result_text(world: World, rank: int, hit: Hit) -> str:
    summary = _cut_lines(_clean_text(world.passage_of(hit)))[0]
    return f"[{rank}] {hit.title} ({urls.host_of(hit.url)})\n    URL: {hit.url}\n    Summary: {summary}\n\n"


def answer_find_in_page(world: World, request: Request) -> Response:
    """Answer `/find_in_page` with the parts of a page that match a query best, in their order."""
    params = read_params(request)
    for name, message in (("url", "URL is none"), ("query", "Query is none")):
        if params.get(name) is None:
            return _build_text_response(message)
    url, query = get_text(params, "url"), get_text(params, "query")
    page = _read_page(world, request, url)
    if page is None or not page.content:
        return _build_text_response("No content found.")
    excerpt, is_cut = _cut_lines(_clean_text(_select_best_parts(world, page.content, query)))
    head = f'Content from: {urls.host_of(url) or url}\nURL: {url}\nQuery: "{query}"\n{_RULE}'
    return _build_text_response(
        head + _number_lines(excerpt) + ("\n[...truncated, use scroll_page for full content]" if is_cut else "")
    )


def _select_best_parts(world: World, content: str, query: str) -> str:
    """Return the best parts of a text, joined as Tavily joins them."""
    parts = _split_into_parts(content[:MAX_SEARCHED_CHARS])
    scores = world.score_texts(query, parts)
    best = sorted(range(len(parts)), key=lambda index: (-scores[index], index))[:MAX_PARTS]
    return " [...] ".join(parts[index].strip() for index in sorted(best))


def _split_into_parts(content: str) -> list[str]:
    """Split a text into parts of about `PART_CHARS` characters that end with sentences."""
    sentences = [match[0] for match in _SENTENCE.finditer(content)]
    parts: dict[int, str] = {}
    for sentence, end in zip(sentences, accumulate(map(len, sentences)), strict=True):
        parts[end // PART_CHARS] = parts.get(end // PART_CHARS, "") + sentence
    return list(parts.values())


def answer_scroll_page(world: World, request: Request) -> Response:
    """Answer `/scroll_page` with `n` words of a page from `start_index` on."""
    params = read_params(request)
    if params.get("url") is None:
        return _build_text_response("URL is none", total_words=0)
    url, start, count = (
        get_text(params, "url"),
        get_number(params, "start_index", 0, 0, 10**9),
        get_number(params, "n", 2000, 0, 10**9),
    )
    page = _read_page(world, request, url)
    words = page.content.split() if page else []
    span = f"[{start}-{min(start + count, len(words))}]"
    head = f"Page content from: {urls.host_of(url) or url}\nURL: {url}\nShowing words {span} of {len(words)}\n{_RULE}"
    return _build_text_response(
        head + _number_lines(_clean_text(" ".join(words[start : start + count]))), total_words=len(words)
    )


_RULE = "========================================\n"


def _build_text_response(message: str, **extra_members: int) -> Response:
    """Return a response of the `tavily_search` server: a text for the model, and further numbers."""
    return build_response({"results_string": message, **extra_members})


def _clean_text(content: str) -> str:
    """Clean a text as the original does: edit marks, invisible characters, trailing spaces and repeated empty lines
    go.
    """
    content = content.replace("[edit]", "").translate(_INVISIBLE)
    content = re.sub(r"[ \t]+$", "", content, flags=re.MULTILINE)
    return re.sub(r"\n{3,}", "\n\n", content).strip()


def _cut_lines(content: str) -> tuple[str, bool]:
    """Return the lines that fit into `MAX_RESULT_CHARS`, and True if some do not."""
    if len(content) <= MAX_RESULT_CHARS:
        return content, False
    end = content.rfind("\n", 0, MAX_RESULT_CHARS)
    return content[: MAX_RESULT_CHARS if end == -1 else end], True


def _number_lines(content: str) -> str:
    """Prefix each line with its number, from `L0`."""
    return "\n".join(f"L{number}: {line}" for number, line in enumerate(content.split("\n")))


_PATHS = ("/browse", "/web_search", "/find_in_page", "/scroll_page")


def _is_meant_at_root(request: Request) -> bool:
    """True for the paths that no other service has, and for `{"query"}` alone at `/search`: others send more."""
    return request.path in _PATHS or (request.path == "/search" and body_fields(request) == {"query"})


DIALECT = Dialect(
    "nemo-gym",
    "NeMo Gym",
    (),
    (
        Route(("POST",), "/search", answer_search),
        Route(("POST",), "/browse", answer_browse),
        Route(("POST",), "/web_search", answer_web_search),
        Route(("POST",), "/find_in_page", answer_find_in_page),
        Route(("POST",), "/scroll_page", answer_scroll_page),
    ),
    None,
    render_error,
    "the resources server's address: `127.0.0.1:8800`",
    is_meant_at_root=_is_meant_at_root,
)
