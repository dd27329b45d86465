"""Relations between the words of a claim and of a passage that has them all: who does what to whom, and which figure
belongs to which word.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from webemu.rl.reports import vocabulary as vocab
from webemu.rl.reports.passages import is_verb
from webemu.rl.reports.words import Token, is_unit, matches_figure

BREAK_COST = 6
"""Words that a clause break counts for in a distance."""
MAX_REACH = 4
"""Words between a figure and the word that it belongs to."""
_OPPOSITE_PREPOSITIONS = (("from", "to"), ("before", "after"), ("until", "since"), ("by", "for"), ("over", "under"))
_OPPOSITE_BY_WORD = {a: b for pair in _OPPOSITE_PREPOSITIONS for a, b in (pair, pair[::-1])}
_PREPOSITIONS = frozenset(
    "in on at after before since from during until by between with for under near over above below to as about because"
    " through within without against among despite into".split()
)


@dataclass(frozen=True, slots=True)
class Sides:
    """Words on both sides of a relation."""

    agents: frozenset[str] = frozenset()
    patients: frozenset[str] = frozenset()
    is_verb: bool = False
    is_bare: bool = False
    """True for a verb without an object: "the bridge opened" may say the same as "the bridge was opened"."""


def contradicts(claim: Sequence[Token], passage: Sequence[Token]) -> bool:
    """True if the passage says the words of the claim in another relation: sides, figures or prepositions exchanged."""
    return (
        _swaps_sides(claim, passage) or _moves_anchor(claim, passage) or _swaps_prepositions(claim, passage)
        or _splits_names(claim, passage) or _joins_sentences(claim, passage)
    )  # fmt: skip


def _swaps_sides(claim: Sequence[Token], passage: Sequence[Token]) -> bool:
    places = {token.key: n for n, token in enumerate(passage) if token.kind == "word"}
    if _swaps_cause(claim, passage):
        return True
    for position, token in enumerate(claim):
        is_relation = token.has_content and not token.is_name and not token.is_figure
        if not is_relation or token.key not in places:
            continue
        sides = _sides(claim, position)
        candidates = [
            _sides(passage, n) for n, other in enumerate(passage) if other.key == token.key and other.kind == "word"
        ]
        if figure := _object_figure(claim, position):
            same = [n for n, other in enumerate(passage) if other.key == token.key]
            same = [n for n in same if (near := _object_figure(passage, n)) and matches_figure(figure, near)]
            candidates = [_sides(passage, n) for n in same] or candidates
        names = frozenset(one.key for one in (*claim, *passage) if one.is_name)
        if all(_conflict(sides, other, names) for other in candidates):
            return True
    return False


def _object_figure(tokens: Sequence[Token], position: int) -> Token | None:
    """Return the number right behind a verb: "Brandt lost 210"."""
    following = tokens[position + 1 : position + 3] if is_verb(tokens, position) else ()
    return next((token for token in following if token.kind == "number" and not _is_year(token)), None)


def _swaps_cause(claim: Sequence[Token], passage: Sequence[Token]) -> bool:
    """True if cause and effect are exchanged: "it fell because it was old", "it was old because it fell"."""
    sides = [_split_at_cause(tokens) for tokens in (claim, passage)]
    if not all(sides):
        return False
    (effect, cause), (page_effect, page_cause) = sides
    return bool(effect & page_cause and cause & page_effect) and not effect & page_effect


def _split_at_cause(tokens: Sequence[Token]) -> tuple[frozenset[str], ...]:
    """Return the words of the effect and of the cause; empty if no cause is given."""
    position = next((n for n, token in enumerate(tokens) if token.text in ("because", "due", "owing")), None)
    if position is None:
        return ()
    halves = (tokens[:position], tokens[position + 1 :])
    return tuple(frozenset(token.key for token in half if token.has_content) for half in halves)


def _conflict(claim: Sides, passage: Sides, names: frozenset[str]) -> bool:
    """True if the sides are exchanged, or if both have names and not the same ones: other nouns may be paraphrased."""
    if claim.is_bare or passage.is_bare:
        return claim.is_bare and passage.is_bare and _differ(claim.agents & names, passage.agents & names)
    # All words of a name must stand on the other side: brothers share theirs.
    agents_swapped = bool(claim.agents) and claim.agents <= passage.patients
    patients_swapped = bool(claim.patients) and claim.patients <= passage.agents
    agents_differ = _differ(claim.agents & names, passage.agents & names)
    patients_differ = _differ(claim.patients & names, passage.patients & names)
    if agents_swapped or patients_swapped:
        return True
    return claim.is_verb and passage.is_verb and (agents_differ or patients_differ)


def _differ(first: frozenset[str], second: frozenset[str]) -> bool:
    return bool(first and second) and not first & second


def _sides(tokens: Sequence[Token], position: int) -> Sides:
    """Return who does and who undergoes what the word at a position says, within its clause; empty sets if unclear."""
    sides = _verb_sides(tokens, position) if is_verb(tokens, position) else _noun_sides(tokens, position)
    # A word on both sides ("Lund founded Lund & Sons") tells nothing.
    return Sides(sides.agents - sides.patients, sides.patients - sides.agents, sides.is_verb, sides.is_bare)


def _verb_sides(tokens: Sequence[Token], position: int) -> Sides:
    before, after = subject_before(tokens, position), _after(tokens, position)
    if by := words_behind(tokens, position, "by"):
        return Sides(by, before, True)
    is_infinitive = position > 0 and tokens[position - 1].text == "to"
    if not is_infinitive and {token.text for token in tokens[max(0, position - 3) : position]} & vocab.BE_FORMS:
        return Sides(frozenset(), before, True)
    return Sides(before, after, True, not after)


def _noun_sides(tokens: Sequence[Token], position: int) -> Sides:
    possessive = frozenset(token.key for token in tokens[max(0, position - 3) : position] if token.is_possessive)
    complement = words_behind(tokens, position, "of", "than") | possessive
    if not complement:
        return Sides()
    copula = _after_be(tokens, position)
    is_predicate = bool({token.text for token in tokens[max(0, position - 4) : position]} & vocab.BE_FORMS)
    agents = subject_before(tokens, position) - possessive if is_predicate else frozenset()
    return Sides(agents | copula, complement - copula)


def subject_before(tokens: Sequence[Token], position: int) -> frozenset[str]:
    """Return the words of the subject before a position, up to a break; empty if it is a pronoun."""
    keys = list[str]()
    for n in range(position - 1, -1, -1):
        token = tokens[n]
        if token.text == "and" and not keys:
            return frozenset()
        if token.is_break and not (token.text == "and" and n and _is_noun(tokens, n - 1) and _is_noun(tokens, n + 1)):
            break
        if token.text in vocab.SUBJECT_PRONOUNS:
            return frozenset()
        if token.text in _PREPOSITIONS and tokens[n + 1].is_figure:
            continue  # "In 1920 Ada Holm sold it".
        if token.text in _PREPOSITIONS:
            keys.clear()
        if token.text in vocab.BE_FORMS and keys:
            break
        if _is_noun(tokens, n):
            keys.append(token.key)
    return frozenset(keys)


def _after(tokens: Sequence[Token], position: int) -> frozenset[str]:
    """Return the words of the object behind a position, up to a preposition or break."""
    keys = list[str]()
    for n in range(position + 1, len(tokens)):
        token = tokens[n]
        if token.is_break or token.text in _PREPOSITIONS or token.text in vocab.AUXILIARIES:
            break
        if _is_noun(tokens, n):
            keys.append(token.key)
    return frozenset(keys)


def _is_noun(tokens: Sequence[Token], position: int) -> bool:
    token = tokens[position]
    is_empty = is_unit(token) or token.text in vocab.GENERIC_NOUNS or token.text.endswith("ly")
    return token.has_content and not token.is_figure and not is_empty and not is_verb(tokens, position)


def words_behind(tokens: Sequence[Token], position: int, *words: str) -> frozenset[str]:
    """Return the words behind the given prepositions that follow a position in its clause."""
    keys = frozenset[str]()
    for n in range(position + 1, len(tokens)):
        if tokens[n].kind == "stop" or tokens[n].text in ("while", "but", "and", *vocab.AUXILIARIES):
            break
        if tokens[n].text in words:
            keys |= _after(tokens, n)
    return keys


def _after_be(tokens: Sequence[Token], position: int) -> frozenset[str]:
    for n in range(position + 1, min(len(tokens), position + 8)):
        if tokens[n].kind == "stop":
            return frozenset()
        if tokens[n].text in vocab.BE_FORMS:
            return _after(tokens, n)
    return frozenset()


def _moves_anchor(claim: Sequence[Token], passage: Sequence[Token]) -> bool:
    """True if a figure, or a name behind a preposition, belongs to another word in the passage."""
    for position, token in enumerate(claim):
        if not token.is_figure and not (token.is_name and _role(claim, position)):
            continue
        governor = _governor(claim, position)
        if governor is None or (position > 2 and _has_break(claim, governor, position)):
            continue
        # Figures of the same word, such as those of a range, are no rivals.
        fellows = [n for n, other in enumerate(claim) if other.is_figure and _governor(claim, n) == governor]
        candidates = [
            other for other in passage if not any(matches_figure(claim[n], other) for n in fellows if n != position)
        ]
        # "Share of vote 41.7%": the figure may belong to either word.
        governors = [governor, *([governor - 2] if governor > 1 and claim[governor - 1].text == "of" else [])]
        if all(_belongs_elsewhere(token, _role(claim, position), claim[n].key, candidates) for n in governors):
            return True
    return False


def _joins_sentences(claim: Sequence[Token], passage: Sequence[Token]) -> bool:
    """True if a figure or name stands in another sentence of the passage than the word that it belongs to."""
    for position, token in enumerate(claim):
        governor = _governor(claim, position) if token.is_figure or token.is_name else None
        if governor is None:
            continue
        anchors = [_sentence_number(passage, n) for n, other in enumerate(passage) if _same_anchor(token, other)]
        words = [_sentence_number(passage, n) for n, other in enumerate(passage) if other.key == claim[governor].key]
        if anchors and words and not set(anchors) & set(words):
            return True
    return False


def _sentence_number(tokens: Sequence[Token], position: int) -> int:
    return sum(token.key == "." for token in tokens[:position])


def _has_break(tokens: Sequence[Token], first: int, second: int) -> bool:
    return any(token.is_break and token.key != ":" for token in tokens[min(first, second) : max(first, second)])


def _belongs_elsewhere(token: Token, role: str, governor: str, passage: Sequence[Token]) -> bool:
    """True if the passage's figure belongs to another word, and another figure to the claim's word."""
    places_of_anchor = [n for n, other in enumerate(passage) if _same_anchor(token, other)]
    rivals = [n for n, other in enumerate(passage) if _is_rival(token, role, n, other, passage)]
    owners = [_governor(passage, n) for n in places_of_anchor]
    if any(
        owner is None or (passage[owner].key == governor and (token.is_figure or _role(passage, n) == role))
        for n, owner in zip(places_of_anchor, owners, strict=True)
    ):
        return False
    return any((owner := _governor(passage, n)) is not None and passage[owner].key == governor for n in rivals)


def _role(tokens: Sequence[Token], position: int) -> str:
    """Return the preposition before a name, "agent" directly before a verb; empty otherwise."""
    start = position
    while start > 0 and (tokens[start - 1].is_name or tokens[start - 1].text in ("the", "a")):
        start -= 1
    if start > 1 and _governs(tokens, start - 1) and tokens[start - 2].text in ("the", "a", "an"):
        start -= 2  # "By the novelist Ada Holm".
    before = tokens[start - 1].text if start else ""
    return before if before in _PREPOSITIONS else ""


def _governor(tokens: Sequence[Token], position: int) -> int | None:
    """Return the place of the word that a figure or name belongs to: the nearest one that is no name and no figure."""
    unit = position + 1
    is_counted = tokens[position].kind == "number" and unit < len(tokens) and _governs(tokens, unit)
    if is_counted and not is_unit(tokens[unit]):
        return unit
    distances = [
        (_distance(tokens, n, position), -n)
        for n in range(max(0, position - 8), min(len(tokens), position + 8))
        if n != position and _governs(tokens, n) and not is_unit(tokens[n])
    ]
    best = min(distances, default=None)
    return -best[1] if best is not None and best[0] <= MAX_REACH + BREAK_COST else None


def _governs(tokens: Sequence[Token], position: int) -> bool:
    token = tokens[position]
    return token.has_content and not token.is_figure and not token.is_name and token.text not in ("people", "persons")


def _distance(tokens: Sequence[Token], first: int, second: int) -> int:
    between = tokens[min(first, second) + 1 : max(first, second)]
    return 1 + len(between) + BREAK_COST * sum(token.is_break for token in between)


def _same_anchor(token: Token, other: Token) -> bool:
    return matches_figure(token, other) if token.is_figure and other.is_figure else token.key == other.key


def _is_rival(token: Token, role: str, place: int, other: Token, passage: Sequence[Token]) -> bool:
    if token.is_figure:
        return other.is_figure and not matches_figure(token, other) and _is_year(token) == _is_year(other)
    # The parts of one name are no rivals.
    if not other.is_name or _role(passage, place) != role:
        return False
    return not _in_same_name(token, place, passage)


def _in_same_name(token: Token, place: int, passage: Sequence[Token]) -> bool:
    start, end = place, place
    while (
        start > 0
        and passage[start - 1].kind == "word"
        and passage[start - 1].has_content
        and passage[start - 1].is_name
    ):
        start -= 1
    while end + 1 < len(passage) and passage[end + 1].is_name:
        end += 1
    return any(other.key == token.key for other in passage[max(0, start - 1) : end + 1])


def _is_year(token: Token) -> bool:
    return token.kind == "date" or (
        len(token.key) == 4 and token.key.isdigit() and "," not in token.text and token.key < "2100"
    )


def _swaps_prepositions(claim: Sequence[Token], passage: Sequence[Token]) -> bool:
    """True if a figure or name stands behind the opposite preposition: "from Lisk" and "to Lisk"."""
    for position, token in enumerate(claim):
        word = _preposition_of(claim, position)
        if word not in _OPPOSITE_BY_WORD or not (token.is_figure or token.has_content):
            continue
        befores = {_preposition_of(passage, n) for n, other in enumerate(passage) if _same_anchor(token, other)}
        if _OPPOSITE_BY_WORD[word] in befores and word not in befores:
            return True
    return False


def _preposition_of(tokens: Sequence[Token], position: int) -> str:
    """Return the word before a noun or figure, without the article and one adjective between them."""
    start = position - 1
    if start > 0 and tokens[start].has_content and tokens[start - 1].text in ("the", "a", "an"):
        start -= 1
    if start > 0 and tokens[start].text in ("the", "a", "an"):
        start -= 1
    return tokens[start].text if start >= 0 else ""


def _splits_names(claim: Sequence[Token], passage: Sequence[Token]) -> bool:
    """True if two words that the claim joins to a name only stand apart in the passage, each in another name."""
    for first, second in pairwise(claim):
        if not (first.is_name and second.is_name) or first.is_possessive:
            continue
        firsts = [n for n, other in enumerate(passage) if other.key == first.key]
        seconds = [n for n, other in enumerate(passage) if other.key == second.key]
        if firsts and seconds and all(abs(a - b) > 3 for a in firsts for b in seconds):
            return True
    return False
