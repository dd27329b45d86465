"""Grounding: whether a page *bears* an answer to a question, or only happens to contain its words.

A passage (a sentence with its neighbours, a table row or a list entry with what it stands under) bears an answer if it
contains it, speaks of the question's subject and of the relation asked for, and does not deny it. The page's title and
headings count for the subject. Pure; `webemu.rl.rewards` and `webemu.rl.tasks.audit` share this module.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from webemu.rl.gates import classify_form, contains_phrase
from webemu.rl.passages import Passage, normalise_cells, split_passages
from webemu.rl.tasks.phrases import STOP_WORDS, find_names
from webemu.rl.verify import normalise
from webemu.rl.wording import denies, is_outdated, name_words, relation_words

MIN_NAME_SHARE = 2 / 3
"""Share of the words of the question's names that a passage, its headings and the page's title must have."""
MIN_RELATION_SHARE = 1 / 2
"""Share of the question's relation words that a passage must have, if the question names its subject."""
MIN_WORD_SHARE = 0.5
"""Share of all content words that a passage must have, if the question names nothing."""
MIN_CHAIN_SHARE = 1 / 3
"""Share of the relation words that must stand with the answer of a question over several pages: a page has only the
last relation.
"""
MIN_NAMED_CHAIN_SHARE = 2 / 3
"""Share of the relation words that must stand with the answer if the passage names the question's subject instead of
the name that leads to the last page.
"""
MIN_QUOTE_SHARE = 1 / 2
"""Share of a quote's other words that must stand near its value."""
MIN_MIRROR_WORDS = 6
"""Words of a quote that is long enough to prove that another page has the same passage."""
MAX_PASSAGES_BEFORE = 40
"""Passages before an answer in which the full name of its subject is looked for."""
MAX_PLACES = 200
"""Passages of a page that contain the answer and are looked at."""
_FORM_WORDS = frozenset("year date day month time number many much old century".split())
"""Words of a question that say which form the answer has; passages have the answer instead."""
_KIND = re.compile(r"\b(?:which|what|whose)\s+(?:[\w'’-]+\s+of\s+)?([\w'’-]+)", re.IGNORECASE)
_SUPERLATIVE = re.compile(r"\b(?!(?:for|inter|harv|requ|gu|mod|prot|cont|near|ne)est\b)\w{2,}(?<!w)est\b")
_MONTHS = frozenset("january february march april may june july august september october november december".split())
_PRESENT = re.compile(r"(?:\w+ ){1,3}?(?:is|are)\b")
_PAST_WORD = re.compile(r"\b(?:was|were|former\w*|until|first|last|before|previous|old|did)\b")
_SHORT_IS = re.compile(r"\b(who|what|when|where|how)['’]s\b", re.IGNORECASE)
_TITLE_END = re.compile(r"\s(?:[-–—|·]\s|\().*$")
"""End of a title that names the site, or tells namesakes apart."""
_BYLINE = re.compile(r"\W*by\b", re.IGNORECASE)
"""Beginning of a line that names an author, such as `By: Ada Holm`."""
_DATE_TOKEN = re.compile(r"date(\d{4})\d*")
_FIGURE = re.compile(r"(?:date|minus)?\d+(?:point\d+)?")
_YEAR_LIKE = re.compile(r"date\d+|1\d{3}|20\d{2}")
_WORD_BEFORE, _WORD_AFTER = re.compile(r"(?:^|[\s\"“(])([^\W\d_][\w'’-]*) $"), re.compile(r" ([^\W\d_][\w'’-]*)")
_TITLE_NOUNS = frozenset(
    """river lake mount mountain city town village island king queen prince princess president mayor sir dr prof
    professor saint st lord lady pope emperor senator governor minister chancellor captain general director author the
    in at by of from and republic state county region province""".split()
)
"""Words that may stand before a name or behind it without making another name of it."""


@dataclass(frozen=True, slots=True)
class Claim:
    """Conditions that a passage must meet to bear an answer."""

    answers: tuple[str, ...]
    """Accepted answers, normalised."""
    names: tuple[frozenset[str], ...]
    """Stems of each name of the question; empty if it names nothing."""
    relation: frozenset[str]
    """Words of the question that are neither its names nor the form of the answer."""
    kinds: frozenset[str]
    """Relation words that only say what kind of thing is asked for, such as `town`."""
    bridge: frozenset[str] = frozenset()
    """Stems of the name that leads to the last page of a question over several pages; empty if it is not known."""
    is_chain: bool = False
    """True for a question over several pages."""
    is_present: bool = False
    """True if the question asks for what is so now."""
    superlatives: frozenset[str] = frozenset()
    """Relation words such as `largest`, without which a passage says something else."""


@lru_cache(4096)
def claim_of(question: str, answers: tuple[str, ...], bridge: str = "", is_chain: bool = False) -> Claim:
    """Return what a passage must say to bear one of the answers.

    claim_of("Who founded Lumura Group?", ("Tito Salardo",)).relation  # {"founded"}
    """
    normal_answers = tuple(dict.fromkeys(filter(None, map(normalise, answers))))
    # In a choice, a name of the question is the answer; it cannot be its own subject.
    choices = [name_words(answer) for answer in normal_answers]
    name_texts = _subject_names(question)
    names = tuple(words for words in map(_words_of_name, name_texts) if words and words not in choices)
    normal_question = normalise(question)
    all_words = [word for word in normal_question.split() if not word.isdigit()]
    in_names = {word for name in name_texts for word in normalise(name).split()}
    relation = relation_words(" ".join(word for word in all_words if word not in in_names | _FORM_WORDS))
    if not names:
        relation = relation_words(" ".join(word for word in all_words if word not in _FORM_WORDS))
    kind = _KIND.search(question)
    kinds = relation & relation_words(normalise(kind[1])) if kind else frozenset[str]()
    superlatives = relation & relation_words(" ".join(_SUPERLATIVE.findall(normal_question)))
    is_present = bool(_PRESENT.match(normal_question)) and not _PAST_WORD.search(normal_question)
    return Claim(normal_answers, names, relation, kinds, _words_of_name(bridge), is_chain, is_present, superlatives)


def bears(text: str, title: str, claim: Claim) -> bool:
    """True if a passage of the text bears an answer.

    claim = claim_of("What is the capital of Germany?", ("Berlin",))
    bears("Irving Berlin wrote songs.", "Irving Berlin", claim)  # False
    """
    passages = split_passages(text)
    words = (
        name_words(f"{normalise(title)} {' '.join(one.normal for one in passages)}") if _is_person_like(claim) else ()
    )
    page = _Page(passages, title, frozenset(words))
    return any(
        _bears_at(page, place, answer, claim) for answer in claim.answers for place in find_places(passages, answer)
    ) or any(_is_own_page(page, answer, claim) for answer in claim.answers)


def find_places(passages: Sequence[Passage], answer: str) -> list[int]:
    """Return the numbers of the passages that state a normalised answer, at most `MAX_PLACES`. An answer that is cut
    by the end of a passage counts for the first.
    """
    places: list[int] = []
    for number, passage in enumerate(passages):
        if passage.normal and (states(passage.normal, answer) or _is_cut(passages, number, answer)):
            places.append(number)
            if len(places) == MAX_PLACES:
                break
    return places


def states(normal_text: str, answer: str) -> bool:
    """True if a normalised text contains a normalised answer, which may be a possessive (`nasas`). A date states its
    year as well.
    """
    if contains_phrase(normal_text, answer) or (answer[-1:].isalpha() and contains_phrase(normal_text, f"{answer}s")):
        return True
    is_year = len(answer) == 4 and answer.isdigit()
    return is_year and any(date[1] == answer for date in _DATE_TOKEN.finditer(normal_text))


def quote_is_near(text: str, quote: str, value: str) -> bool:
    """True if the text has the quote itself, or the value among the quote's other words."""
    normal_value, words = normalise(value), relation_words(normalise_cells(quote))
    if contains_phrase(" ".join(passage.normal for passage in split_passages(text)), normalise_cells(quote)):
        return True
    words -= relation_words(normal_value)
    passages = split_passages(text)
    return any(
        len(words & relation_words(f"{passages[place].heading} {_window(passages, place)}"))
        >= MIN_QUOTE_SHARE * len(words)
        for place in find_places(passages, normal_value)
    )


def has_mirror(text: str, quote: str) -> bool:
    """True if the text has the whole quote, and the quote is too long to stand on a page about something else."""
    normal_quote = normalise_cells(quote)
    return len(normal_quote.split()) >= MIN_MIRROR_WORDS and contains_phrase(
        " ".join(passage.normal for passage in split_passages(text)), normal_quote
    )


@dataclass(frozen=True, slots=True)
class _Page:
    """A page in which a passage is looked at."""

    passages: Sequence[Passage]
    title: str
    name_words: frozenset[str]
    """Stems of all words; empty if they are not needed."""


def _is_own_page(page: _Page, answer: str, claim: Claim) -> bool:
    """True if the page is about the answer, and a passage states the relation to the question's subject: a page
    `Ada Holm` with the sentence "She founded Lumura Group."
    """
    names = (claim.bridge,) if claim.bridge else claim.names
    if normalise(_TITLE_END.sub("", page.title)) != answer or not names or not claim.relation:
        return False
    for passage in page.passages[:MAX_PLACES]:
        words = name_words(passage.normal)
        relation = claim.relation & relation_words(passage.normal)
        if (
            all(name <= words for name in names)
            and relation - claim.kinds
            and claim.superlatives <= relation
            and len(relation) >= _least_relation(claim) * len(claim.relation)
            and not denies(f"{answer} {passage.text}", answer, claim.relation)
            and not _names_agent(passage.normal, claim)
        ):
            return True
    return False


def _bears_at(page: _Page, place: int, answer: str, claim: Claim) -> bool:
    """True if the passage at a place bears the answer that it contains."""
    passages, passage = page.passages, page.passages[place]
    if _says_otherwise(passage, answer, claim):
        return False
    own_text, window = (_without(text, answer) for text in (passage.normal, _window(passages, place)))
    above = _without(f"{normalise(page.title)} {passage.heading}", answer)
    byline = "wrote" if _BYLINE.match(passage.text) else ""
    words_beside, words_near = (
        claim.relation & relation_words(f"{text} {above} {byline}") for text in (own_text, window)
    )
    if claim.relation and not (words_beside and claim.superlatives <= words_near):
        return False
    if len(words_near) < _least_relation(claim) * len(claim.relation):
        return False
    scope = f"{window} {above}"
    if claim.bridge:
        by_names = bool(claim.names) and len(words_near) >= MIN_NAMED_CHAIN_SHARE * len(claim.relation)
        return _has_names(scope, page, place, (claim.bridge,)) or (
            by_names and _has_names(scope, page, place, claim.names)
        )
    if claim.is_chain:
        return True
    # A kind of thing alone ("town") is little: then the sentence of the answer must name the subject itself.
    is_weak = bool(words_near) and words_near <= claim.kinds < claim.relation and passage.is_sentence
    return not claim.names or _has_names(own_text if is_weak else scope, page, place, claim.names)


def _says_otherwise(passage: Passage, answer: str, claim: Claim) -> bool:
    """True if the passage denies the answer, says that it was so formerly, or says it of something else."""
    return (
        _is_part_of_name(passage.text, answer, claim)
        or denies(passage.text, answer, claim.relation)
        or (claim.is_present and is_outdated(passage.text, claim.relation))
        or _is_by_another(passage.normal, answer, claim)
        or (passage.is_sentence and _is_nearer_to_another_figure(passage, answer, claim))
    )


def _least_relation(claim: Claim) -> float:
    """Return the share of the relation words that a passage must have."""
    if claim.is_chain:
        return MIN_CHAIN_SHARE
    return MIN_RELATION_SHARE if claim.names else MIN_WORD_SHARE


def _has_names(scope: str, page: _Page, place: int, names: Iterable[frozenset[str]]) -> bool:
    """True if enough words of the names stand in the scope of the passage at a place. The rest of a name may stand
    elsewhere on the page if its words begin there, as a surname does. What is said of a namesake does not count, unless
    the passage, its heading or the title has the whole name.
    """
    passage = page.passages[place]
    words, match_count, total = name_words(scope), 0, 0
    near_words = words & name_words(f"{passage.normal} {passage.heading} {normalise(page.title)}")
    for name in names:
        total += len(name)
        if name <= near_words or not name & words:
            match_count += len(name & words)
        elif not _is_namesake(name, page, place):
            match_count += len(name) if name <= words | page.name_words else len(name & words)
    return match_count >= MIN_NAME_SHARE * total


def _is_namesake(name: frozenset[str], page: _Page, place: int) -> bool:
    """True if the full name that a part of a name stands for here is another one: `Anna Holm` for `Erik Holm`.

    That is the nearest name before it, in the title at last, that has a word of the name.
    """
    texts = [passage.text for passage in page.passages[max(0, place - MAX_PASSAGES_BEFORE) : place + 1]]
    for text in (*reversed(texts), page.title):
        full_names = [one for one in _full_names(text) if one & name]
        if full_names:
            return not any(one <= name or name <= one for one in full_names)
    return False


@lru_cache(4096)
def _full_names(text: str) -> tuple[frozenset[str], ...]:
    """Return the stems of each name of several words in a text, without titles such as `Mayor`."""
    stems = (_words_of_name(" ".join(_without_titles(name))) for name in find_names(text))
    return tuple(words for words in stems if len(words) > 1)


def _without_titles(name: str) -> list[str]:
    return [word for word in name.split() if word.casefold().strip(".") not in _TITLE_NOUNS]


def _is_nearer_to_another_figure(passage: Passage, answer: str, claim: Claim) -> bool:
    """True if each relation word of the answer's passage stands nearer to another figure of the answer's form."""
    if classify_form(answer) not in ("number", "date"):
        return False
    tokens = passage.normal.split()
    hits = [n for n, token in enumerate(tokens) if states(token, answer)]
    rivals = [n for n, token in enumerate(tokens) if _is_rival(token, answer) and n not in hits]
    anchors = [n for n, token in enumerate(tokens) if claim.relation & relation_words(token)]
    if not hits or not rivals or not anchors:
        return False
    return all(min(abs(n - at) for n in rivals) < min(abs(n - at) for n in hits) for at in anchors)


def _is_rival(token: str, answer: str) -> bool:
    """True if a token is a figure that could be taken for the answer: a year for a year, a count for a count."""
    return bool(_FIGURE.fullmatch(token)) and bool(_YEAR_LIKE.fullmatch(token)) == bool(_YEAR_LIKE.fullmatch(answer))


def _is_by_another(normal_text: str, answer: str, claim: Claim) -> bool:
    """True if a passage says by whom the relation is ("directed by …"), and the answer stands behind another "by"."""
    words = normal_text.split()
    before_answer = f" {normal_text} ".partition(f" {answer} ")[0]
    starts = [position for position, word in enumerate(words) if word == "by" and position]
    of_relation = [at for at in starts if claim.relation & relation_words(words[at - 1])]
    last = max((at for at in starts if at < len(before_answer.split())), default=-1)
    return bool(of_relation) and last >= 0 and last not in of_relation


def _names_agent(normal_text: str, claim: Claim) -> bool:
    """True if a passage says by whom the relation is: "founded by"."""
    words = normal_text.split()
    return any(two == "by" and claim.relation & relation_words(one) for one, two in pairwise(words))


def _is_part_of_name(text: str, answer: str, claim: Claim) -> bool:
    """True if an answer of one word only stands in the text as a part of longer names: Berlin in "Irving Berlin"."""
    if " " in answer or not answer.isalpha():
        return False
    occurrences = list(re.finditer(rf"(?<!\w){re.escape(answer)}(?!\w)", text, re.IGNORECASE))
    return bool(occurrences) and all(_is_within_name(text, one, claim) for one in occurrences)


def _is_within_name(text: str, occurrence: re.Match[str], claim: Claim) -> bool:
    """True if a capitalised word that the question does not have stands beside an occurrence."""
    before = _WORD_BEFORE.search(text[max(0, occurrence.start() - 60) : occurrence.start()])
    after = _WORD_AFTER.match(text[occurrence.end() : occurrence.end() + 60])
    neighbours = [match[1] for match in (before, after) if match]
    question_words = claim.relation.union(*claim.names)
    return any(
        word[0].isupper()
        and word.casefold() not in _TITLE_NOUNS
        and not (relation_words(normalise(word)) | name_words(normalise(word))) & question_words
        for word in neighbours
    )


def _is_cut(passages: Sequence[Passage], number: int, answer: str) -> bool:
    """True if an answer of several words begins in a passage and ends in the next passage of the same paragraph."""
    if " " not in answer or number + 1 >= len(passages):
        return False
    passage, following = passages[number], passages[number + 1]
    if passage.block != following.block or states(following.normal, answer):
        return False
    reach = len(answer) + 2  # a letter more than a possessive, so that a longer word is not cut to the answer
    return states(f"{passage.normal[-reach:]} {following.normal[:reach]}", answer)


def _window(passages: Sequence[Passage], place: int) -> str:
    """Return the normalised text of a passage with its neighbours; a row or an entry stands alone."""
    if not passages[place].is_sentence:
        return passages[place].normal
    near = passages[max(0, place - 1) : place + 2]
    return " ".join(passage.normal for passage in near if passage.is_sentence)


def _without(normal_text: str, answer: str) -> str:
    """Return a normalised text without the answer, whose words must not stand for the subject or the relation."""
    return " ".join(f" {normal_text} ".replace(f" {answer} ", "  ").split())


def _subject_names(question: str) -> list[str]:
    """Return the names in a question, without bare figures and dates and without a capital at its beginning."""
    question = _SHORT_IS.sub(r"\1 is", question)
    names = [name for name in find_names(question) if not _is_time(name)]
    is_first_word = bool(names) and question.startswith(f"{names[0]} ") and " " not in names[0]
    return names[1:] if is_first_word else names


def _is_time(name: str) -> bool:
    words = (word for word in normalise(name).split() if word not in STOP_WORDS)
    return all(word.isdigit() or word in _MONTHS or _DATE_TOKEN.fullmatch(word) for word in words)


def _words_of_name(name: str) -> frozenset[str]:
    return name_words(normalise(name))


def _is_person_like(claim: Claim) -> bool:
    """True if a name has several words, so that a passage may have only the last of them."""
    return any(len(name) > 1 for name in (*claim.names, claim.bridge))
