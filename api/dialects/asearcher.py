"""ASearcher's local server: `/retrieve` as Search-R1 defines it, and `/access` for whole pages."""

from __future__ import annotations

from typing import Any

from webemu.api.dialects.dialect import Dialect, Route, fields, reply
from webemu.api.dialects.retrieval import missing, refuse
from webemu.api.dialects.search_r1 import retrieve
from webemu.api.http.request import Request
from webemu.api.services.origin import Reply
from webemu.emulator.errors import BadRequest, NotCaptured, NoView
from webemu.emulator.types import PageRequest
from webemu.emulator.world import World

MOST_URLS = 1000
"""Most URLs in one request to `/access`."""


def access(world: World, request: Request) -> Reply:
    """Answer `/access` with `{"urls": [...]}`: one page per URL in order, null for a page that is not captured."""
    urls = fields(request).get("urls")
    if urls is None:
        raise missing("urls")
    if isinstance(urls, str):
        urls = [urls]
    if not isinstance(urls, list) or not all(isinstance(one, str) for one in urls) or len(urls) > MOST_URLS:
        raise BadRequest(f"Input should be a list of strings, {MOST_URLS} at most", reason="bad-urls")
    of = {url: _page(world, request, url) for url in dict.fromkeys(urls)}
    return reply({"result": [of[url] for url in urls]})


def _page(world: World, request: Request, url: str) -> dict[str, Any] | None:
    """Return a page, None if it is not captured or has no text.

    ASearcher's client writes Wikipedia addresses as `index.php/TITLE`, so that `index.php?title=TITLE` is tried too.
    """
    asked = url.replace("index.php/", "index.php?title=")
    for form in dict.fromkeys((url, asked)):
        try:
            page = world.fetch(PageRequest(form, "text", request.session.at))
        except (NotCaptured, NoView):
            continue
        return {"url": url, "title": page.title, "contents": page.content}
    return None


DIALECT = Dialect(
    "asearcher",
    "ASearcher",
    (),
    (Route(("POST",), "/retrieve", retrieve, True), Route(("POST",), "/access", access)),
    None,
    refuse,
    "a file `Host127.0.0.1_IP8800.txt` that says `127.0.0.1:8800`, in the folder its client takes addresses from",
    at_root=lambda request: request.path == "/access",
)
