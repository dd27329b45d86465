"""Three outcomes of the rules for a short answer: surely right, surely wrong, or open. Only open answers are judged.

Right is what `webemu.rl.answers` accepts. Wrong is what no wording can make right: nothing, a denial, a hedge, words to
the judge, "not found", another figure, another kind of thing, several answers, the question's own words. What remains
is another wording of a name, or the right figure in a sentence that the rules cannot read. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from webemu.rl import gates
from webemu.rl.answers import is_equivalent, wording
from webemu.rl.answers.assertion import MAX_ANSWER_CHARACTERS, has_plain_words
from webemu.rl.answers.cleaning import clean, has_hidden_characters
from webemu.rl.answers.dates import days_agree, find_days
from webemu.rl.answers.folding import split_words
from webemu.rl.answers.lists import split_list
from webemu.rl.answers.measures import agree, find_measures
from webemu.rl.answers.mention import Span
from webemu.rl.answers.names import find_name
from webemu.rl.answers.polarity import is_polar, polarity_of, says_not_found
from webemu.rl.answers.rivals import find_rival_names
from webemu.rl.sanitizing import has_template_tokens
from webemu.rl.verify import normalise

Decision = Literal["right", "wrong", "open"]
CLOSED_TYPES = ("none", "url", "choice", "report")
"""Answer types that the rules decide alone."""
MAX_OTHER_NAMES = 2
"""Names beside those of the accepted answer and the question; a longer list is a guess at random."""
_ALTERNATIVES = re.compile(r"\b(?:or|either|oder|ou|nor|versus|vs)\b|[/|\\;]", re.IGNORECASE)

_ROMAN = re.compile(r"(?<= )[IVX]{1,5}\b")
_JOINT = re.compile(r"[\s,;&+]*(?:(?:and|und|et|y|e|of)\b)?[\s,]*(?:the\s)?", re.IGNORECASE)
"""Text between two names that makes one longer name of them, or two answers."""


def decide(
    answer: str, golds: Sequence[str], answer_type: str = "", question: str = "", evidence: Sequence[str] = ()
) -> Decision:
    """Return what the rules say of an answer.

    decide("The Big Apple", ["New York City"], question="Which city?")  # "open"
    """
    if is_equivalent(answer, golds, answer_type, question, evidence):
        return "right"
    if answer_type in CLOSED_TYPES or not _is_readable(answer, golds):
        return "wrong"
    text = clean(answer)
    if not has_plain_words(text, f"{question} {' '.join(golds)}") or says_not_found(text, question):
        return "wrong"
    if not gates.is_not_from_question(text, question, golds) or not _has_content(text, golds):
        return "wrong"
    return "open" if any(_is_open(text, gold, question) for gold in golds if gold.strip()) else "wrong"


def _is_readable(answer: str, golds: Sequence[str]) -> bool:
    """True if an answer is not empty, not long, and without template tokens and hidden characters."""
    limit = MAX_ANSWER_CHARACTERS + max(map(len, golds), default=0)
    if len(answer) > limit or has_template_tokens(answer) or has_hidden_characters(answer):
        return False
    return bool(normalise(answer))


def _has_content(text: str, golds: Sequence[str]) -> bool:
    """True if an answer has a word that names something; "It" has none. A word of an accepted answer will do."""
    gold_words = {word.plain for gold in golds for word in split_words(gold)}
    return any(word.plain not in wording.FUNCTION_WORDS - gold_words for word in split_words(text))


def _is_open(text: str, gold: str, question: str) -> bool:
    """True if an answer could be another wording of an accepted one."""
    if is_polar(gold):
        return not polarity_of(text) and normalise(text) != normalise(gold)
    if polarity_of(text) or _offers_alternatives(text, f"{question} {gold}") or _is_cut_off(text, gold):
        return False
    if len(wording.LABEL.findall(text)) > 1 or _differs_in_rank(text, gold):
        return False
    if re.search(r"\d", gold) or gates.classify_form(gold) == "number":
        return _has_figures_of(text, gold, question)
    return gates.classify_form(text) not in ("number", "date") and _could_name(text, gold, question)


def _differs_in_rank(text: str, gold: str) -> bool:
    """True if both have Roman numbers, and other ones: "Louis XVI" is not "Louis XIV"."""
    ranks, gold_ranks = set(_ROMAN.findall(text)), set(_ROMAN.findall(gold))
    return bool(ranks and gold_ranks) and ranks != gold_ranks


def _is_cut_off(text: str, gold: str) -> bool:
    """True if an answer has only words of the accepted one, but not all of them: it is vaguer."""
    words, gold_words = set(normalise(text).split()), set(normalise(gold).split())
    return words < gold_words


def _could_name(text: str, gold: str, question: str) -> bool:
    """True if an answer could be another name of the accepted one: few other names, none of them joined to it as a part
    of a longer name or as a second answer, and no word before it that makes it another thing ("near").
    """
    parts = split_list(gold, question) or (gold,)
    hits = find_name(text, parts)
    other_names = find_rival_names(text, hits, f"{question} {gold}")
    if len(other_names) >= MAX_OTHER_NAMES + len(parts):
        return False
    return not any(_follows(text, hit, wording.PLACE_HAZARDS) for hit in hits) and not any(
        _JOINT.fullmatch(text[min(hit.end, name.end) : max(hit.start, name.start)])
        for hit in hits
        for name in other_names
    )


def _offers_alternatives(text: str, context: str) -> bool:
    """True if an answer has a word or sign between alternatives that neither question nor accepted answer has."""
    in_text, in_context = ({one.casefold() for one in _ALTERNATIVES.findall(part)} for part in (text, context))
    return bool(in_text - in_context)


def _has_figures_of(text: str, gold: str, question: str) -> bool:
    """True if an answer has every date and number of the accepted one, no other of the same form, and no word beside
    them that makes them others ("more than").
    """
    gold_days, days = find_days(gold), find_days(text)
    if not all(any(days_agree(day, gold_day) for day in days) for gold_day in gold_days):
        return False
    gold_measures = find_measures(gold, [Span(day.start, day.end) for day in gold_days])
    measures = find_measures(text, [Span(day.start, day.end) for day in days])
    hits = [one for one in measures if any(agree(one, expected, question) for expected in gold_measures)]
    years = {day.year for day in days}
    has_all = all(
        any(agree(one, expected, question) for one in hits) or (expected.has_year_form and expected.values[0] in years)
        for expected in gold_measures
    )
    forms = {(one.dimension, one.has_year_form) for one in gold_measures}
    has_rival = any((one.dimension, one.has_year_form) in forms for one in measures if one not in hits)
    figures = [*(Span(hit.start, hit.end) for hit in hits), *(Span(day.start, day.end) for day in days)]
    return has_all and not has_rival and not any(_is_bounded(text, figure) for figure in figures)


def _is_bounded(text: str, figure: Span) -> bool:
    """True if a word right before or behind a figure makes it another one."""
    behind = next(iter(split_words(text[figure.end : figure.end + 30])), None)
    is_bounded_behind = behind is not None and behind.plain in wording.NUMBER_FOLLOWER_HAZARDS | {"bc", "bce"}
    return is_bounded_behind or _follows(text, figure, wording.NUMBER_HAZARDS | wording.DATE_HAZARDS)


def _follows(text: str, mention: Span, words: frozenset[str]) -> bool:
    """True if one of these words stands right before a mention."""
    ahead = [
        word.plain for word in split_words(text[max(0, mention.start - 30) : mention.start]) if word.plain != "the"
    ]
    return bool(ahead) and ahead[-1] in words
