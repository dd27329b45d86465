"""ASearcher's local server: `/retrieve` as Search-R1 defines it, and `/access` for whole pages."""

from __future__ import annotations

from webemu.api.dialects.dialect import Dialect, Route, build_response, read_params
from webemu.api.dialects.retrieval import missing_error, render_error
from webemu.api.dialects.search_r1 import answer_retrieve
from webemu.api.http.request import Request
from webemu.api.http.response import Response
from webemu.emulator.errors import BadRequest, NotCaptured, ViewUnavailable
from webemu.emulator.types import PageRequest
from webemu.emulator.world import World

MAX_URLS = 1000
"""Most URLs in one request to `/access`."""


def answer_access(world: World, request: Request) -> Response:
    """Answer `/access` with `{"urls": [...]}`: one page per URL in order, null for a page that is not captured."""
    urls = read_params(request).get("urls")
    if urls is None:
        raise missing_error("urls")
    if isinstance(urls, str):
        urls = [urls]
    if not isinstance(urls, list) or not all(isinstance(one, str) for one in urls) or len(urls) > MAX_URLS:
        raise BadRequest(f"Input should be a list of strings, {MAX_URLS} at most", reason="bad-urls")
    pages_by_url = {url: _read_page(world, request, url) for url in dict.fromkeys(urls)}
    return build_response({"result": [pages_by_url[url] for url in urls]})


def _read_page(world: World, request: Request, url: str) -> dict[str, object] | None:
    """Return a page, None if it is not captured or has no text.

    ASearcher's client writes Wikipedia addresses as `index.php/TITLE`, so that `index.php?title=TITLE` is tried too.
    """
    rewritten_url = url.replace("index.php/", "index.php?title=")
    for spelling in dict.fromkeys((url, rewritten_url)):
        try:
            page = world.fetch(PageRequest(spelling, "text", request.session.at_time))
        except (NotCaptured, ViewUnavailable):
            continue
        return {"url": url, "title": page.title, "contents": page.content}
    return None


DIALECT = Dialect(
    "asearcher",
    "ASearcher",
    (),
    (Route(("POST",), "/retrieve", answer_retrieve, True), Route(("POST",), "/access", answer_access)),
    None,
    render_error,
    "a file `Host127.0.0.1_IP8800.txt` that says `127.0.0.1:8800`, in the folder its client takes addresses from",
    is_meant_at_root=lambda request: request.path == "/access",
)
