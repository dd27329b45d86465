"""Support of a claim in other words: its figures, names and relation words stand in one passage, and most of the others.

`support.py` asks for every word. Here words that only describe may be absent, those that carry the claim may not: verbs,
what is counted, units, and who or what the claim is about. Synonyms count as the same word.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import Decimal

from webemu.rl.reports import vocabulary as vocab
from webemu.rl.reports.passages import PageText, Passage, is_verb
from webemu.rl.reports.verb_classes import share_class
from webemu.rl.reports.words import Token, content, is_unit, matches_figure, stem

MAX_CANDIDATES = 12
"""Passages that a claim is compared with, those with most of its words first."""
MIN_SHARE = 0.6
"""Share of the words of a claim that its passage must have."""
MAX_ABSENT = 4
"""Words of a claim that its passage may lack."""
_ROUNDING = frozenset("about around roughly nearly almost approximately some over under circa ca approx than".split())
_MAX_ROUNDING = Decimal("0.03")
_FULL_FORMS = {
    short: tuple(frozenset(map(stem, words.split())) for words in full.split("|"))
    for short, full in {
        "eu": "european union|europe",
        "us": "american|united states",
        "usa": "american|united states",
        "uk": "british|united kingdom",
        "un": "united nations",
        "phd": "doctoral|doctorate",
        "ceo": "chief executive",
        "american": "us|usa|united states",
        "british": "uk|united kingdom",
    }.items()
}
"""Full forms of abbreviations of names, by stems."""


def find_paraphrased(tokens: Sequence[Token], page: PageText) -> Iterator[Passage]:
    """Yield the passages of a page that may say a claim in other words, those with most of its words first."""
    keys = {token.key for token in content(tokens)}
    counts = Counter(number for key in keys for number in page.places.get(key, ()))
    for number, _ in sorted(counts.items(), key=lambda one: (-one[1], one[0]))[:MAX_CANDIDATES]:
        if _has_what_counts(tokens, page.windows[number], page):
            yield page.windows[number]


def _has_what_counts(tokens: Sequence[Token], window: Passage, page: PageText) -> bool:
    """True if a passage has all that carries a claim, and most of what describes."""
    absent, present, said = 0, 0, 0
    keys = window.keys
    for position, token in enumerate(tokens):
        if not token.has_content:
            continue
        is_present = _stands(tokens, position, window, page, keys)
        if not is_present and _is_required(tokens, position):
            return False
        absent, present = absent + (not is_present), present + is_present
        is_relation = not token.is_name and not token.is_figure and not is_unit(token) and token.key not in page.title
        said += is_relation and is_present and token.key not in window.context - keys
    return said > 0 and absent <= MAX_ABSENT and present >= MIN_SHARE * (absent + present)


def _stands(tokens: Sequence[Token], position: int, window: Passage, page: PageText, keys: frozenset[str]) -> bool:
    token = tokens[position]
    if token.is_figure:
        is_rounded = any(other.text in _ROUNDING for other in tokens[max(0, position - 3) : position])
        return any(
            matches_figure(token, other) or (is_rounded and _rounds_to(token, other))
            for other in window.tokens
            if other.is_figure
        ) or _is_of_setting(token, window, page)
    if token.key in keys or token.key in window.context or token.key in page.title:
        return True
    if token.is_name:
        return any(token.key == other.key for other in page.setting) or any(full <= keys | page.title for full in _FULL_FORMS.get(token.text, ()))
    return share_class(token.key, keys)


def _is_of_setting(token: Token, window: Passage, page: PageText) -> bool:
    """True if a figure is that of the page's title or dateline, or a date of the passage in the year of these."""
    figures = [other for other in page.setting if other.is_figure]
    if any(matches_figure(token, other) for other in figures):
        return True
    years = {other.key[:4] for other in figures if other.kind == "date" or len(other.key) == 4}
    days = {other.key[4:] for other in window.tokens if other.kind == "date" and other.key.startswith("????")}
    return token.kind == "date" and token.key[:4] in years and token.key[4:] in days


def _rounds_to(token: Token, other: Token) -> bool:
    """True if a number is near that of the page."""
    if token.kind != "number" or other.kind != "number":
        return False
    first, second = Decimal(token.key), Decimal(other.key)
    return second != 0 and abs(first - second) <= _MAX_ROUNDING * abs(second)


def _is_required(tokens: Sequence[Token], position: int) -> bool:
    """True if a claim says something else without this word: figures, names, verbs, units, what is counted."""
    token = tokens[position]
    if token.is_figure or token.is_name or is_unit(token) or token.is_negated:
        return True
    is_counted = position > 0 and tokens[position - 1].is_figure
    return is_counted or (is_verb(tokens, position) and token.text not in vocab.LIGHT_VERBS)
