"""Requests that a browser makes besides pages: how to search here, completions while the user types, an icon.

OpenSearch 1.1 (draft 6) and its suggestions extension, `application/x-suggestions+json`.
"""

from __future__ import annotations

import orjson

from webemu.api.http.request import Request
from webemu.api.http.response import Response
from webemu.api.pages import addresses
from webemu.api.pages.template import build_response, fill_template
from webemu.emulator.world import World

MAX_COMPLETIONS = 10
"""Most completions."""
MAX_TYPED_CHARS = 200
"""Most characters of the text to complete."""


def answer_opensearch(world: World, request: Request) -> Response:
    """Answer `/opensearch.xml`, the description that lets a browser add this search engine."""
    return build_response(
        fill_template("opensearch.xml", origin=request.origin), "application/opensearchdescription+xml", world.snapshot
    )


def answer_suggest(world: World, request: Request) -> Response:
    """Answer `/suggest?q=`: the typed text, completions, an empty description and a search address of each.

    Titles have no date, so that a session that sees the web of a past day gets none.
    """
    typed = next((value[:MAX_TYPED_CHARS] for name, value in request.parameters if name == "q"), "")
    titles = world.suggest(typed, MAX_COMPLETIONS) if request.session.at_time is None else []
    suggestions = [
        typed,
        titles,
        [""] * len(titles),
        [request.origin + addresses.search_url(title) for title in titles],
    ]
    return build_response(orjson.dumps(suggestions), "application/x-suggestions+json", world.snapshot)


def answer_icon(world: World, request: Request) -> Response:
    """Answer `/favicon.ico` with an SVG."""
    return build_response(fill_template("icon.svg"), "image/svg+xml", world.snapshot)
