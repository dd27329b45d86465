"""Answers that are no good: boilerplate, menus, roles in place of names, file names, leftovers of markup.

`values` decides what can be an answer at all; this module refuses what a person would call a silly answer.
"""

from __future__ import annotations

import re

from webemu.rl.tasks.recipes import values

_ROLE_WORDS = frozenset(
    "contributor contributors staff admin administrator editor editors author authors reporter reporters writer "
    "writers team desk newsroom guest user users member anonymous webmaster unknown various press services service "
    "bureau correspondent correspondents agency agencies wire blog blogger news online web site website page".split()
)
"""Words that make a name a role of a publisher instead of a person: "CH Contributor", "Staff Writer"."""
_MENU = re.compile(
    r"\b(?:home|menu|login|log in|sign (?:in|up)|subscribe|share|tweet|print|email|e-mail|search|next|previous|back to"
    r"|read more|click|view all|see all|skip to|contact us|about us|follow|copyright|all rights|cookies?|advertis\w+"
    r"|download|show|hide|undocumented|no summary|todo|fixme|lorem|placeholder|untitled|edit|comments?|posted|tags?)\b",
    re.IGNORECASE,
)
_LEFTOVER = re.compile(
    r"&\w+;|&#|%\w\w|\\[a-z]|[<>{}\[\]|¶§•]|^\W|\b\w+\.(?:html?|php|aspx?|jsp|js|css|png|jpe?g|gif|svg|pdf|xml|json)\b"
    r"|https?:|www\.|^\w$",
    re.IGNORECASE,
)
_WEEKDAYS_AND_MONTHS = re.compile(
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|june|july|august|september|october"
    r"|november|december",
    re.IGNORECASE,
)
_TITLES = re.compile(r"^(?:Mr|Mrs|Ms|Dr|Sir|By)\b\.?", re.IGNORECASE)


def rejection_reason(answer: str) -> str:
    """Return why an answer is silly; empty if it is not."""
    words = re.findall(r"[^\W\d_]+", answer.lower())
    if _LEFTOVER.search(answer) and not re.fullmatch(values.NUMBER, answer):
        return "markup or file name"
    if _MENU.search(answer):
        return "words of a menu"
    if words and words[-1] in _ROLE_WORDS:
        return "role instead of a name"
    if len(words) == 1 and _WEEKDAYS_AND_MONTHS.fullmatch(answer):
        return "day or month alone"
    return "" if words or re.search(r"\d", answer) else "no word and no number"


def is_good_name(text: str) -> bool:
    """True if the text is a name that a person would give as an answer."""
    return values.is_name(text) and not rejection_reason(text) and not _TITLES.match(text)
