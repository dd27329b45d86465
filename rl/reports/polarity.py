"""Polarity of a claim and of a passage: what one denies the other denies, and what is planned or rumoured stays so."""

from __future__ import annotations

from collections.abc import Sequence

from webemu.rl.reports import vocabulary as vocab
from webemu.rl.reports.passages import Passage, is_verb, subject_of
from webemu.rl.reports.verb_classes import share_class
from webemu.rl.reports.words import Token, content, matches_figure, stem

MIN_AGREEING = 5
"""Words of a claim for each of its words that is denied on one side alone."""
_END = Token("stop", ".", ".")
_PAIRS = (("open", "closed"), ("allow", "forbid"), ("safe", "dangerous"), ("alive", "dead"), ("possible", "impossible"))
_OPPOSITES = {stem(a): stem(b) for pair in _PAIRS for a, b in (pair, pair[::-1])}
"""Words whose negation says the other one: what is closed is not open."""


def has_same_polarity_of_verbs(tokens: Sequence[Token], window: Passage) -> bool:
    """True if no verb and at most a few other words are denied on one side alone."""
    differ = total = 0
    passage = _nearest_sentences(tokens, window)
    for position, token in enumerate(tokens):
        matches = [other for other in passage if _is_same(token, other)] if token.has_content else []
        if not matches and is_verb(tokens, position):
            matches = [other for other in passage if share_class(token.key, (other.key,))]
        if not matches:
            continue
        is_different = all(other.is_negated != token.is_negated for other in matches)
        if is_different and is_verb(tokens, position):
            return False
        differ, total = differ + is_different, total + 1
    return MIN_AGREEING * differ <= total


def has_same_polarity(tokens: Sequence[Token], window: Passage) -> bool:
    """True if what the claim denies is denied in the passage, and the reverse. Words of the subject are left out."""
    subject, passage = subject_of(tokens), _nearest_sentences(tokens, window)
    # "Not open to the public" is affirmed by "closed to the public".
    is_turned = any(has_opposite(token, window) for token in tokens)
    for position, token in enumerate(tokens):
        # "Carried" and the like have no content, but may be denied.
        if not token.has_content and (token.text in vocab.AUXILIARIES or not is_verb(tokens, position)):
            continue
        matches = [other for other in passage if _is_same(token, other)]
        is_negated = token.is_negated and not is_turned
        is_compared = bool(matches) and (is_negated or token.key not in subject)
        if is_compared and all(other.is_negated != is_negated for other in matches):
            return False
    return True


def _nearest_sentences(tokens: Sequence[Token], window: Passage) -> Sequence[Token]:
    """Return the tokens of the sentence of a pair that has more words of the claim; of both if they have as many."""
    end = next((n for n, token in enumerate(window.tokens) if token.key == "."), None)
    if end is None:
        return window.tokens
    keys = {token.key for token in content(tokens)}
    first, second = window.tokens[:end], window.tokens[end + 1 :]
    counts = [len(keys & {token.key for token in half}) for half in (first, second)]
    if counts[0] == counts[1]:
        return window.tokens
    return first if counts[0] > counts[1] else second


def _is_same(token: Token, other: Token) -> bool:
    return matches_figure(token, other) if token.is_figure and other.is_figure else token.key == other.key


def has_opposite(token: Token, window: Passage) -> bool:
    """True if a negated word has its opposite in a passage."""
    opposite = _OPPOSITES.get(token.key) if token.is_negated else None
    return any(other.key == opposite and not other.is_negated for other in window.tokens)


def keeps_reserve(tokens: Sequence[Token], window: Passage) -> bool:
    """True if a claim keeps the reserve of its passage: what was planned or is rumoured is not stated as done."""
    keys, cues, clause = {token.key for token in content(tokens)}, set[str](), list[Token]()
    for token in (*window.tokens, _END):
        if token.kind != "stop":
            clause.append(token)
            continue
        # A clause without a word of the claim, such as ", proposed since 1970,", does not bear on it.
        if keys & {one.key for one in content(clause)}:
            cues |= {one.key for one in clause if one.text in vocab.UNREAL_CUES and not one.is_negated}
        clause.clear()
    words = {token.text for token in tokens}
    return not cues or bool(cues & {token.key for token in tokens}) or bool(words & (vocab.HEDGES | vocab.UNREAL_CUES))
