"""Title completion, `action=opensearch` (https://www.mediawiki.org/wiki/API:Opensearch)."""

from __future__ import annotations

from webemu.api.wiki.params import WikiCall
from webemu.api.wiki.site import complete_titles
from webemu.api.wiki.titles import NAMESPACES, namespace_of, normalize_title


def action_opensearch(call: WikiCall) -> list[object]:
    """Return `[typed text, titles, descriptions, URLs]`; descriptions are empty, as they are on Wikipedia."""
    typed = call.require("search")
    prefix = normalize_title(typed)
    namespaces = call.namespaces("namespace") or frozenset(NAMESPACES)
    limit = call.number("limit", 10, 1)
    titles = complete_titles(call.world, call.host, prefix, namespaces | {namespace_of(prefix)}, limit)
    return [typed, titles, ["" for _ in titles], [call.page_url(title) for title in titles]]
