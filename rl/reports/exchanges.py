"""Exchanges that keep the words of a passage and change what it says: columns, units, sides of a comparison, owners.

`relations.py` compares subjects, objects and the words that figures belong to. This module finds what it cannot see.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from webemu.rl.reports import vocabulary as vocab
from webemu.rl.reports.passages import Passage, has_verb, is_verb
from webemu.rl.reports.relations import subject_before, words_behind
from webemu.rl.reports.verb_classes import is_classified
from webemu.rl.reports.words import Token, content, is_unit, matches_figure

_TOTALS = frozenset("all every each entire whole always any no none never complete completely only both".split())
MAX_SIGN = 3
"""Letters of the sign of a unit, such as "ppm", which a page may write in words."""
_FAMILIES = frozenset("family party group foundation trust library university council office estate".split())


def exchanges(claim: Sequence[Token], window: Passage) -> bool:
    """True if a claim uses the words of a passage for something else than the passage does."""
    passage = window.tokens
    return (
        _swaps_recipient(claim, passage)
        or _swaps_comparison(claim, passage)
        or _changes_unit(claim, passage)
        or _generalises(claim, passage)
        or _replaces_modifier(claim, passage)
        or _joins_clauses(claim, passage)
        or _borrows_name(claim, window)
        or _takes_antecedent(claim, passage)
        or ("|" in window.text and _moves_column(claim, passage))
    )


def _swaps_recipient(claim: Sequence[Token], passage: Sequence[Token]) -> bool:
    """True if who acts in the claim is the one to or from whom it is done: "Bo sold it to Ada", "Ada sold it"."""
    for position, token in enumerate(claim):
        is_adjective = position > 0 and claim[position - 1].text in vocab.BE_FORMS
        if not token.has_content or not (is_verb(claim, position) or is_adjective):
            continue
        if words_behind(claim, position, "by"):
            continue
        agents = subject_before(claim, position)
        places = [n for n, other in enumerate(passage) if other.key == token.key and other.text == token.text]
        if agents and places and all(_is_recipient(agents, passage, n) for n in places):
            return True
    return False


def _is_recipient(agents: frozenset[str], passage: Sequence[Token], position: int) -> bool:
    """True if all words of an agent that are not in the subject stand behind "to" or "from"."""
    new = agents - subject_before(passage, position)
    return bool(new) and new <= words_behind(passage, position, "to", "from")


def _swaps_comparison(claim: Sequence[Token], passage: Sequence[Token]) -> bool:
    """True if the sides of "than" are exchanged."""
    sides, page_sides = _split_at_than(claim), _split_at_than(passage)
    if not sides or not page_sides:
        return False
    (before, after), (page_before, page_after) = sides, page_sides
    return bool(before & page_after - page_before and after & page_before - page_after)


def _split_at_than(tokens: Sequence[Token]) -> tuple[frozenset[str], ...]:
    position = next((n for n, token in enumerate(tokens) if token.text == "than"), None)
    if position is None or not position:
        return ()
    halves = (tokens[max(0, position - 10) : position], tokens[position + 1 : position + 4])
    return tuple(frozenset(token.key for token in content(half) if not token.is_figure) for half in halves)


def _changes_unit(claim: Sequence[Token], passage: Sequence[Token]) -> bool:
    """True if a number counts another unit, or something else, in all places where the passage has it."""
    for number, unit in pairwise(claim):
        if number.kind != "number" or not is_unit(unit):
            continue
        followers = [behind for first, behind in pairwise(passage) if first.is_figure and matches_figure(number, first)]
        if followers and all(_is_other_count(unit, behind) for behind in followers):
            return True
    return False


def _is_other_count(unit: Token, behind: Token) -> bool:
    is_noun = behind.has_content and not behind.is_figure and not behind.is_name and behind.key != unit.key
    is_sign = len(unit.text) <= MAX_SIGN
    return is_noun and not is_sign and (is_unit(behind) or behind.text.endswith("s"))


def _generalises(claim: Sequence[Token], passage: Sequence[Token]) -> bool:
    """True if the claim says of all what the passage does not."""
    is_total = any(
        first.text in ("all", "every") and second.has_content and not second.is_figure
        for first, second in pairwise(claim)
    )
    return is_total and not any(token.text in _TOTALS for token in passage)


def _replaces_modifier(claim: Sequence[Token], passage: Sequence[Token]) -> bool:
    """True if the passage has another name before a noun: "the Linden family", "the Corvane family"."""
    keys = {token.key for token in passage}
    for name, noun in pairwise(claim):
        if not name.is_name or noun.text not in _FAMILIES or name.key in keys:
            continue
        befores = [first for first, second in pairwise(passage) if second.text == noun.text]
        if befores and all(first.is_name for first in befores):
            return True
    return False


def _joins_clauses(claim: Sequence[Token], passage: Sequence[Token]) -> bool:
    """True if the claim's only verb of the passage and its only figure stand on two sides of a semicolon."""
    halves = list(_clauses(passage))
    if len(halves) < 2 or len(claim) > 14 or any(token.is_break for token in claim):
        return False
    figures = [token for token in claim if token.is_figure]
    actions = {
        token.key for token in content(claim) if not token.is_figure and not token.is_name and not is_unit(token)
    }
    in_half = [
        any(token.is_figure and matches_figure(f, token) for token in half) for half in halves for f in figures[:1]
    ]
    if len(figures) != 1 or sum(in_half) != 1:
        return False
    half = halves[in_half.index(True)]
    other_clauses = {token.key for other in halves if other is not half for token in other}
    return bool(actions & other_clauses) and not actions & {token.key for token in half}


def _borrows_name(claim: Sequence[Token], window: Passage) -> bool:
    """True if the names that act in a claim stand in the other sentence of a pair than its verb, and not as subject."""
    end = next((n for n, token in enumerate(window.tokens) if token.key == "."), None)
    verb = next((n for n, token in enumerate(claim) if token.has_content and is_verb(claim, n)), None)
    if end is None or verb is None or words_behind(claim, verb, "by"):
        return False
    names = {token.key for token in claim[:verb] if token.is_name}
    if not names or not claim[verb - 1].is_name or names & window.subject or not names <= window.keys:
        return False
    halves = (window.tokens[:end], window.tokens[end + 1 :])
    with_verb = [half for half in halves if claim[verb].key in {token.key for token in half}]
    if not with_verb and is_classified(claim[verb].key):
        return False
    return not any(names & {token.key for token in half} for half in with_verb)


def _takes_antecedent(claim: Sequence[Token], passage: Sequence[Token]) -> bool:
    """True if a word of the passage acts in the claim where another one does: "Labs paid, as did Mei, who led it"."""
    for position, token in enumerate(claim):
        if not token.has_content or not is_verb(claim, position) or words_behind(claim, position, "by"):
            continue
        if {other.text for other in claim[max(0, position - 3) : position]} & vocab.BE_FORMS:
            continue
        agents = subject_before(claim, position)
        places = [n for n, other in enumerate(passage) if other.key == token.key and is_verb(passage, n)]
        antecedents = [_antecedent(passage, n) for n in places]
        is_present = agents <= {other.key for other in passage}
        if agents and is_present and antecedents and all(one and not one & agents for one in antecedents):
            return True
    return False


def _antecedent(tokens: Sequence[Token], position: int) -> frozenset[str]:
    """Return the words before the comma of ", who paid it"; empty if no relative pronoun stands before the verb."""
    if position < 3 or tokens[position - 1].text not in ("who", "which") or tokens[position - 2].key != ",":
        return frozenset()
    return frozenset(token.key for token in content(tokens[max(0, position - 7) : position - 2]))


def _clauses(tokens: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """Yield the parts between semicolons that have a verb."""
    start = 0
    for n in [*(n for n, token in enumerate(tokens) if token.key == ";"), len(tokens)]:
        if has_verb(tokens[start:n]):
            yield tokens[start:n]
        start = n + 1


def _moves_column(claim: Sequence[Token], passage: Sequence[Token]) -> bool:
    """True if a figure stands in another column of a table row than the one whose header the claim has."""
    cells = _split_cells(passage)
    keys = {token.key for token in claim}
    for figure in (token for token in claim if token.is_figure):
        places = [n for n, cell in enumerate(cells) if any(o.is_figure and matches_figure(figure, o) for o in cell)]
        headers = [_header_of(cell) for cell in cells]
        is_elsewhere = any(headers[n] & keys for n in range(1, len(cells)) if n not in places)
        if places and is_elsewhere and not any(n == 0 or headers[n] & keys for n in places):
            return True
    return False


def _split_cells(tokens: Sequence[Token]) -> list[list[Token]]:
    cells: list[list[Token]] = [[]]
    for token in tokens:
        if token.key == ";":
            cells.append([])
        else:
            cells[-1].append(token)
    return cells


def _header_of(cell: Sequence[Token]) -> frozenset[str]:
    """Return the keys of the words of a cell before its figure."""
    end = next((n for n, token in enumerate(cell) if token.is_figure), 0)
    return frozenset(token.key for token in content(cell[:end])) - vocab.UNIT_WORDS
