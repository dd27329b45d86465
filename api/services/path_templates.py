"""Paths of routes as OpenAPI writes them, from the regular expressions that the services' routes are."""

from __future__ import annotations

import re
from itertools import product

_PARTS = re.compile(
    r"\((?P<choices>[^()]*)\)(?P<optional>\??)|\[(?P<characters>\w+)\]|(?P<slash>/\?)|(?P<open>(?:\[\^/\]|\.)[+*])"
)
"""Parts of a route's pattern that match more than one text."""
_ANY_PATH = "(?s:/.*)"
"""Pattern of services that take everything behind their address as one parameter."""


def list_path_templates(pattern: str) -> list[str]:
    """Return the OpenAPI path templates of a route's pattern: one for each alternative, with `{value}` for open ends.

    A slash that may be left out at the end of a path is left out.

        list_path_templates(r"/v[12]/crawl/[^/]+")    # ["/v1/crawl/{value}", "/v2/crawl/{value}"]
    """
    if pattern == _ANY_PATH:
        return ["/{value}"]
    end, choices = 0, []
    for match in _PARTS.finditer(pattern):
        choices += [[_unescape(pattern[end : match.start()])], _list_texts(match)]
        end = match.end()
    choices.append([_unescape(pattern[end:])])
    return list(dict.fromkeys("".join(texts) or "/" for texts in product(*choices)))


def _list_texts(match: re.Match[str]) -> list[str]:
    """Return the texts that one part of a pattern stands for."""
    if match["slash"]:
        return [""]
    if match["open"]:
        return ["{value}"]
    if match["characters"]:
        return list(match["characters"])
    texts = [_unescape(one) for one in match["choices"].split("|")]
    return [*texts, ""] if match["optional"] else texts


def _unescape(pattern: str) -> str:
    """Return the text that a pattern without choices matches."""
    return re.sub(r"\\(.)", r"\1", pattern)
