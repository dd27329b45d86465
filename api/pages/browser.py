"""What a browser asks beside pages: how to search here, completions while one types, an icon.

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
MAX_BEGUN = 200


def opensearch(world: World, request: Request) -> Reply:
    """`/opensearch.xml`."""
    return reply(fill("opensearch.xml", origin=request.origin), "application/opensearchdescription+xml", world.snapshot)


def suggest(world: World, request: Request) -> Reply:
    """`/suggest?q=`: what was typed, completions, nothing said of them, where each is searched for.

    Titles have no date: to a session that sees the web of a day, none are told.
    """
    begun = next((value[:MAX_BEGUN] for name, value in request.parameters if name == "q"), "")
    titles = world.suggest(begun, LIMIT) if request.session.at is None else []
    found = [begun, titles, [""] * len(titles), [request.origin + addresses.search(title) for title in titles]]
    return reply(orjson.dumps(found), "application/x-suggestions+json", world.snapshot)


def icon(world: World, request: Request) -> Reply:
    """`/favicon.ico`, which is SVG."""
    return reply(fill("icon.svg"), "image/svg+xml", world.snapshot)
