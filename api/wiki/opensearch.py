"""Title completion, `action=opensearch` (https://www.mediawiki.org/wiki/API:Opensearch)."""

from __future__ import annotations

from webemu.api.wiki.params import Ask
from webemu.api.wiki.site import completions
from webemu.api.wiki.titles import NAMESPACES, namespace, spelled


def opensearch(ask: Ask) -> list[object]:
    """Return `[typed text, titles, descriptions, URLs]`; descriptions are empty, as they are on Wikipedia."""
    typed = ask.required("search")
    prefix = spelled(typed)
    spaces = ask.namespaces("namespace") or frozenset(NAMESPACES)
    limit = ask.number("limit", 10, 1)
    titles = completions(ask.world, ask.host, prefix, spaces | {namespace(prefix)}, limit)
    return [typed, titles, ["" for _ in titles], [ask.address(title) for title in titles]]
