"""Support of a claim by passages: its words, figures and names stand there, and in the same relation and polarity.

A claim is cut at commas, "and" and the like where no single passage bears it as a whole; each
piece must say something by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from webemu.rl.reports import vocabulary as vocab
from webemu.rl.reports.exchanges import exchanges
from webemu.rl.reports.paraphrase import find_paraphrased, is_opposite
from webemu.rl.reports.passages import PageText, Passage, has_verb, is_generic, is_verb, subject_of
from webemu.rl.reports.polarity import has_opposite, has_same_polarity, has_same_polarity_of_verbs, keeps_reserve
from webemu.rl.reports.relations import contradicts
from webemu.rl.reports.verb_classes import share_class
from webemu.rl.reports.words import Token, content, is_unit, matches_figure, tokenize

Verdict = Literal["borne", "refuted", "open"]
MAX_CLAUSES = 12
"""Pieces that a claim may be cut into."""
LEAD_PASSAGES = 3
"""Passages at the top of a page that say what all of it is about."""
_CUTS = frozenset(("with", "to", "for", "under", "after"))
"""Prepositions at which a claim may be cut."""
_TIES = frozenset("in on at by of with for from to as after before since until under".split())
MAX_WINDOWS = 40
"""Passages that are compared with a piece, those with most of its words first."""


@dataclass(frozen=True, slots=True)
class Claim:
    """Tokens of a claim with what it is about."""

    tokens: tuple[Token, ...]
    subject: frozenset[str] = frozenset()
    """Keys of its subject; empty if it has none or begins with a pronoun."""
    is_vague: bool = True
    """True if its subject is a pronoun, or a noun such as "the town"."""
    antecedents: frozenset[str] = frozenset()
    """Keys of what it may be about if it has no subject: words of the statements before and of the question."""
    section: frozenset[str] = frozenset()
    """Names in the heading above it, which its passage must be about."""
    pages: tuple[PageText, ...] = ()
    """Pages that it cites."""


def judge_claim(claim: Claim, pages: Sequence[PageText]) -> Verdict:
    """Return "borne" if the pages bear the claim, as a whole or piece by piece; "refuted" if passages have its words in
    another relation or polarity; else "open".
    """
    tokens, claim = claim.tokens, replace(claim, pages=tuple(pages))
    if any(_is_line_of(tokens, page) for page in pages):
        return "borne"
    if not content(tokens) or not any(is_predicate(tokens, n) for n in range(len(tokens))):
        return "open"
    if _supports_pieces(claim, pages):
        return "borne"
    if any(all(_supports_pieces(one, pages) for one in variants) for variants in _split_names(claim)):
        return "borne"
    return "refuted" if any(any(True for _ in _find_windows(claim, page)) for page in pages) else "open"


def _is_line_of(tokens: Sequence[Token], page: PageText) -> bool:
    """True if a claim without a predicate, such as "Mayor Bo Lund", is word for word a line of the page."""
    words = [(token.key, token.is_negated) for token in tokens if token.kind != "stop"]
    return len(words) > 1 and any(
        not passage.is_denied
        and words == [(token.key, token.is_negated) for token in passage.tokens if token.kind != "stop"]
        for passage in page.windows[: page.count]
    )


def is_predicate(tokens: Sequence[Token], position: int) -> bool:
    """True if a word says something of names and figures: no name, figure or unit itself."""
    token = tokens[position]
    if not token.has_content or token.is_figure or token.is_name:
        return False
    return not is_unit(token)


def _supports_pieces(claim: Claim, pages: Sequence[PageText]) -> bool:
    """True if the claim can be cut into pieces of clauses that are each borne by one passage."""
    bounds = _clause_bounds(claim.tokens)
    reachable = [True] + [False] * (len(bounds) - 1)
    for end in range(1, len(bounds)):
        for start in range(end):
            if not reachable[start]:
                continue
            piece = claim.tokens[bounds[start] : bounds[end]]
            says_something = any(is_predicate(piece, n) for n in range(len(piece))) and not _is_rest_of_list(piece)
            if all(token.text in vocab.FRAME_WORDS for token in content(piece)) or (
                says_something and _is_borne_somewhere(_piece_claim(claim, piece), pages)
            ):
                reachable[end] = True
                break
    return reachable[-1]


def _is_rest_of_list(piece: Sequence[Token]) -> bool:
    """True for "and nausea", whose verb stands in the piece before."""
    is_joined = bool(piece) and piece[0].text in ("and", "or")
    is_list = not any(token.is_figure or token.is_name or token.text in _TIES for token in piece)
    return is_joined and is_list and not has_verb(piece)


def _is_borne_somewhere(claim: Claim, pages: Sequence[PageText]) -> bool:
    """True if one passage bears the claim, or one bears it without its date and another without its place."""
    if any(_is_borne(claim, page) for page in pages):
        return True
    dates, places = _adjuncts(claim.tokens, is_figure=True), _adjuncts(claim.tokens, is_figure=False)
    if not dates or not places:
        return False
    variants = (_without(claim, dates), _without(claim, places))
    return all(any(_is_borne(one, page) for page in pages) for one in variants)


def _adjuncts(tokens: Sequence[Token], *, is_figure: bool) -> set[int]:
    """Return the positions of the first "on 2 May" or "in Wick" in a claim."""
    for position in range(1, len(tokens) - 1):
        following = tokens[position + 1]
        is_place = following.is_name and tokens[position].text in ("in", "at")
        is_time = (
            following.is_figure and tokens[position].text in ("in", "on") and not _is_counted(tokens, position + 1)
        )
        if is_time if is_figure else is_place:
            end = position + 2
            while not is_figure and end < len(tokens) and tokens[end].is_name:
                end += 1
            return set(range(position, end))
    return set()


def _is_counted(tokens: Sequence[Token], position: int) -> bool:
    return position + 1 < len(tokens) and tokens[position].kind == "number" and tokens[position + 1].has_content


def _without(claim: Claim, positions: set[int]) -> Claim:
    return replace(claim, tokens=tuple(token for n, token in enumerate(claim.tokens) if n not in positions))


def _piece_claim(claim: Claim, piece: tuple[Token, ...]) -> Claim:
    """Return the claim of a piece: about its own subject if it has one, else about that of the whole."""
    start = next((n for n, token in enumerate(piece) if not token.is_break), 0)
    if start < len(piece) and piece[start].text in _CUTS and not has_verb(piece):
        return replace(claim, tokens=piece, subject=frozenset(), is_vague=False)
    subject_keys = subject_of(piece[start:]) if has_verb(piece) else frozenset()
    return replace(
        claim,
        tokens=piece,
        subject=subject_keys or claim.subject,
        is_vague=is_generic(piece, subject_keys) if subject_keys else claim.is_vague,
    )


def _clause_bounds(tokens: Sequence[Token]) -> list[int]:
    """Return the positions at which a claim may be cut. A short label before a colon stays with what follows it."""
    bounds = [0]
    for position, token in enumerate(tokens):
        is_label = token.key == ":" and len(content(tokens[:position])) <= 4
        is_cut = token.is_break or token.text in _CUTS or _opens_participle(tokens, position)
        if position and is_cut and not is_label and len(bounds) < MAX_CLAUSES:
            bounds.append(position)
    return [*bounds, len(tokens)]


def _opens_participle(tokens: Sequence[Token], position: int) -> bool:
    """True for the participle of "a bridge designed by Ada Holm"."""
    following = tokens[position + 1].text if position + 1 < len(tokens) else ""
    before = {token.text for token in tokens[max(0, position - 2) : position]}
    if not has_verb(tokens[:position]):
        return False
    return following in ("by", "in", "of", "on") and is_verb(tokens, position) and not before & vocab.AUXILIARIES


def _split_names(claim: Claim) -> Iterator[tuple[Claim, Claim]]:
    """Yield the claim as two where it says the same of two names: "Ada and Bo are mayors"."""
    tokens = claim.tokens
    for position, token in enumerate(tokens):
        if token.text != "and" or not 0 < position < len(tokens) - 1:
            continue
        first, last = position, position
        while first > 0 and _is_name_part(tokens[first - 1]):
            first -= 1
        while last + 1 < len(tokens) and _is_name_part(tokens[last + 1]):
            last += 1
        if first < position < last:
            pair = (tokens[:position] + tokens[last + 1 :], tokens[:first] + tokens[position + 1 :])
            plain = replace(claim, subject=frozenset())
            yield replace(plain, tokens=pair[0]), replace(plain, tokens=pair[1])


def _is_name_part(token: Token) -> bool:
    return token.kind == "word" and (token.is_name or (token.has_content and token.text == token.key))


def _is_borne(claim: Claim, page: PageText) -> bool:
    """True if one passage of the page bears the claim."""
    complete = [window for window in _find_windows(claim, page) if not window.is_denied]
    shortest_first = sorted(complete, key=lambda window: len(window.tokens))
    if any(_agrees(claim, window, page) for window in shortest_first[:MAX_WINDOWS]):
        return True
    for window in (*shortest_first[:MAX_WINDOWS], *find_paraphrased(claim.tokens, page)):
        if not window.is_denied and _agrees_in_substance(claim, window, page):
            return True
        # The passages with most of the words come first: what they deny no other one bears out.
        if not has_same_polarity_of_verbs(claim.tokens, window):
            return False
    return False


def _find_windows(claim: Claim, page: PageText) -> Iterator[Passage]:
    """Yield the passages that have all words, figures and names of a claim."""
    numbers = None
    for position, token in enumerate(claim.tokens):
        if _must_stand(claim.tokens, position, page):
            places = page.places.get(token.key, frozenset())
            numbers = places if numbers is None else numbers & places
    for number in range(len(page.windows)) if numbers is None else sorted(numbers):
        if _has_all_words(claim, page.windows[number], page):
            yield page.windows[number]


def _must_stand(tokens: Sequence[Token], position: int, page: PageText) -> bool:
    """True if a passage without this very word cannot bear the claim. First names may be absent."""
    token = tokens[position]
    if not token.has_content or token.is_figure or token.is_negated or token.text in vocab.GENERIC_NOUNS:
        return False
    is_before_name = position + 1 < len(tokens) and (tokens[position + 1].is_name or token.is_name)
    return not is_before_name and token.key not in page.title | page.definition


def _has_all_words(claim: Claim, window: Passage, page: PageText) -> bool:
    """True if a passage has the words, figures and names of a claim."""
    return all(_finds(token, window, page, claim) for token in content(claim.tokens))


def _finds(token: Token, window: Passage, page: PageText, claim: Claim) -> bool:
    """True if a passage has a token of the claim, in itself or in what its page says of its subject."""
    if token.is_figure:
        return any(matches_figure(token, other) for other in window.tokens if other.is_figure)
    if any(token.key == other.key for other in window.tokens) or token.key in window.context:
        return True
    if has_opposite(token, window):
        return True
    position = claim.tokens.index(token)
    before = claim.tokens[position - 1].text if position else ""
    is_about = bool(window.subject & (page.title | {other.key for other in claim.tokens})) or not window.has_own_subject
    if (token.text in vocab.GENERIC_NOUNS and before in ("the", "this", "its")) or (
        token.key in page.definition and token.key in claim.subject
    ):
        return is_about
    if token.key in page.title and _follows_preposition(claim.tokens, position):
        return token.key not in claim.subject or bool((claim.subject - page.title) & window.subject)
    if _is_first_name(token, claim.tokens, position, window, page):
        return True
    return _is_apposition(claim.tokens, position, claim.pages)


def _follows_preposition(tokens: Sequence[Token], position: int) -> bool:
    return any(
        other.text in ("of", "in", "at", "during", "for", "from") for other in tokens[max(0, position - 4) : position]
    )


def _is_apposition(tokens: Sequence[Token], position: int, pages: Sequence[PageText]) -> bool:
    """True if a noun before a name is said of it elsewhere on the cited pages: "the engineer Nils Berg"."""
    end = position + 1
    while end < len(tokens) and tokens[end].is_name:
        end += 1
    if end == position + 1 or tokens[position].is_name or is_verb(tokens, position):
        return False
    keys = {tokens[position].key, tokens[end - 1].key}
    return any(keys <= passage.keys for page in pages for passage in page.windows[: page.count])


def _is_first_name(token: Token, tokens: Sequence[Token], position: int, window: Passage, page: PageText) -> bool:
    """True if the passage has the last name alone, and the page has the full name and no other bearer of it."""
    end = position
    while end + 1 < len(tokens) and (tokens[end].key, tokens[end + 1].key) in page.full_names:
        end += 1
    last = tokens[end].key
    if end == position:
        return False
    bearers = {first for first, second in page.full_names if second == last}
    in_window = [n for n, other in enumerate(window.tokens) if other.key == last]
    is_alone = all((window.tokens[n - 1].key, last) not in page.full_names for n in in_window if n)
    is_only = len(bearers) == 1 or bearers & page.title == {tokens[end - 1].key}
    return bool(in_window) and is_alone and is_only


def _agrees(claim: Claim, window: Passage, page: PageText) -> bool:
    """True if a passage with all words of a claim is about the same, in the same relation and polarity."""
    if not _is_about(claim, window, page):
        return False
    return (
        has_same_polarity(claim.tokens, window)
        and keeps_reserve(claim.tokens, window)
        and not contradicts(claim.tokens, window.tokens)
        and not exchanges(claim.tokens, window)
    )


def _agrees_in_substance(claim: Claim, window: Passage, page: PageText) -> bool:
    """True if a passage that says a claim in other words is not about another thing, and not in another relation,
    polarity or reserve.
    """
    about = window.keys | window.context | page.title
    lead = frozenset(key for passage in page.windows[:LEAD_PASSAGES] for key in passage.keys)
    if claim.section and not claim.section <= about | lead:
        return False
    unknown = claim.subject - about - page.kind - page.definition
    unknown = frozenset(key for key in unknown if not share_class(key, about))
    is_known = bool((claim.subject - page.title) & window.keys)
    is_other = bool(unknown & page.keys) and not is_known and not is_generic(claim.tokens, unknown)
    starts_with_person = any(token.text in ("he", "she") for token in claim.tokens[:3])
    if is_other or (starts_with_person and not _is_about(claim, window, page)):
        return False
    return (
        not is_opposite(claim.tokens, window)
        and has_same_polarity_of_verbs(claim.tokens, window)
        and keeps_reserve(claim.tokens, window)
        and not contradicts(claim.tokens, window.tokens)
        and not exchanges(claim.tokens, window)
    )


def _is_about(claim: Claim, window: Passage, page: PageText) -> bool:
    """True if a passage is about the subject of a claim, and about the heading above it."""
    words = frozenset(token.key for token in window.tokens)
    claim_keys = frozenset(token.key for token in claim.tokens)
    about = words | window.context
    if claim.section and not claim.section <= about | page.title:
        return False
    subject = claim.subject - page.kind
    if claim.is_vague or not subject:
        is_named = bool(claim.subject) and claim.subject <= words
        return (
            is_named
            or not claim.antecedents
            or not window.subject
            or bool(window.subject & (claim.antecedents | claim_keys))
        )
    unknown = subject - about - page.title - page.definition
    if unknown and (unknown & page.subjects or not subject & window.subject):
        return False
    return not subject & page.title or bool(subject & about) or bool(window.subject & claim_keys)


def claim_of(text: str, antecedents: frozenset[str], section: frozenset[str] = frozenset()) -> Claim:
    """Return the claim of a text. `antecedents` is what it may be about if its subject is vague."""
    tokens = tokenize(text)
    subject_keys = subject_of(tokens)
    return Claim(tokens, subject_keys, is_generic(tokens, subject_keys), antecedents, section)
