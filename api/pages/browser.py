"""Requests that a browser makes besides pages: how to search here, completions while the user types, an icon.

OpenSearch 1.1 (draft 6) and its suggestions extension, `application/x-suggestions+json`.
"""

from __future__ import annotations

import orjson

from webemu.api.http.request import Request
from webemu.api.pages import addresses
from webemu.api.pages.template import fill, reply
from webemu.api.services.origin import Reply
from webemu.emulator.world import World

LIMIT = 10
"""Most completions."""
MAX_BEGUN = 200
"""Most characters of the text to complete."""


def opensearch(world: World, request: Request) -> Reply:
    """Answer `/opensearch.xml`, the description that lets a browser add this search engine."""
    return reply(fill("opensearch.xml", origin=request.origin), "application/opensearchdescription+xml", world.snapshot)


def suggest(world: World, request: Request) -> Reply:
    """Answer `/suggest?q=`: the typed text, completions, an empty description and a search address of each.

    Titles have no date, so that a session that sees the web of a past day gets none.
    """
    begun = next((value[:MAX_BEGUN] for name, value in request.parameters if name == "q"), "")
    titles = world.suggest(begun, LIMIT) if request.session.at is None else []
    found = [begun, titles, [""] * len(titles), [request.origin + addresses.search(title) for title in titles]]
    return reply(orjson.dumps(found), "application/x-suggestions+json", world.snapshot)


def icon(world: World, request: Request) -> Reply:
    """Answer `/favicon.ico` with an SVG."""
    return reply(fill("icon.svg"), "image/svg+xml", world.snapshot)
