"""Brave's LLM context (`/res/v1/llm/context`): the best passages of the pages found, within a budget of tokens.

Places and maps are empty. A token is counted as four characters.
"""

from __future__ import annotations

from datetime import date

from webemu.api.dialects.brave_params import get_bounded_number, read_query, read_search_params
from webemu.api.dialects.dialect import JsonObject, read_params
from webemu.api.dialects.display import display_title
from webemu.api.dialects.search import date_days_ago, search
from webemu.api.http.request import Request
from webemu.emulator import urls
from webemu.emulator.types import Hit
from webemu.emulator.world import World

MAX_RESULTS = 50
"""Most results that a search considers."""
CHARS_PER_TOKEN = 4
"""Characters that count as one token of a budget."""


def render_context(world: World, request: Request) -> JsonObject:
    """Return the response to a search: passages in `grounding`, and the pages that they are from in `sources`.

    Raises: BadRequest if a parameter is out of bounds.
    """
    params = read_params(request)
    hits, _ = search(
        world, read_query(params), read_search_params(world, request, params, MAX_RESULTS), request.session.at_time
    )
    max_urls = get_bounded_number(params, "maximum_number_of_urls", 20, 1, MAX_RESULTS)
    budget = get_bounded_number(params, "maximum_number_of_tokens", 8192, 1024, 32_768) * CHARS_PER_TOKEN
    page_budget = get_bounded_number(params, "maximum_number_of_tokens_per_url", 4096, 512, 8192) * CHARS_PER_TOKEN
    rows: list[JsonObject] = []
    sources: JsonObject = {}
    today = date_days_ago(world, 0, request.session.at_time)
    for hit in hits[:max_urls]:
        passage = world.passage_of(hit)[: min(budget, page_budget)]
        if not passage:
            break
        budget -= len(passage)
        rows.append({"url": hit.url, "title": display_title(hit), "snippets": [passage]})
        sources[hit.url] = _render_source(hit, today)
    return {"grounding": {"generic": rows, "map": []}, "sources": sources}


def _render_source(hit: Hit, today: date) -> JsonObject:
    """Return a page's title, host and age, which is its day in words, as a number, and counted back from today."""
    day = date.fromisoformat(hit.date)
    ages = [f"{day:%A, %B %d, %Y}", hit.date, f"{max((today - day).days, 0)} days ago"]
    return {"title": display_title(hit), "hostname": urls.host_of(hit.url), "age": ages}
