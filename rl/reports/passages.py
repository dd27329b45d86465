"""Passages of a page that an episode showed: its sentences and table rows, each with what it is about."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise

from webemu.rl.reports import vocabulary as vocab
from webemu.rl.reports.sentences import split_sentences
from webemu.rl.reports.words import Token, content, is_denial, tokenize

MAX_LINES = 4000
"""Lines of a page that are read."""
MAX_HEADING_WORDS = 9
MAX_SETTING_LINES = 4
_CELLS = re.compile(r"\s*[|\t]\s*")
_BULLET = re.compile(r"^[\s#>*•·–-]+(?=\S)")
_THAT_IS = re.compile(r"(?:all |none of )?(?:this|that|it|these|which|those)\b", re.IGNORECASE)
_PREPOSITIONS = frozenset(
    "in on at after before since from during until by between with for under near over above below to as of about"
    " because through within without against among despite following upon while when".split()
)


@dataclass(frozen=True, slots=True)
class Passage:
    """Sentence or table row of a page."""

    tokens: tuple[Token, ...]
    subject: frozenset[str]
    """Keys of what it is about; of the sentence before if it begins with a pronoun."""
    context: frozenset[str]
    """Keys that its page says of the subject: the title if it is about that, its heading, and the header of a table."""
    text: str
    is_denied: bool = False
    """True if the next sentence says that it is false."""
    has_own_subject: bool = True

    @property
    def keys(self) -> frozenset[str]:
        """Keys of its words."""
        return frozenset(token.key for token in self.tokens)


@dataclass(frozen=True, slots=True)
class PageText:
    """Passages of a page, with pairs of neighbours about the same subject."""

    windows: tuple[Passage, ...]
    title: frozenset[str]
    kind: frozenset[str]
    """Keys of what its subject is: "a beetle" in "The marsh lantern is a beetle"."""
    definition: frozenset[str]
    """Keys of that sentence."""
    subjects: frozenset[str]
    """Keys of all that its passages are about."""
    count: int
    """Number of windows that are single passages; they come first."""
    keys: frozenset[str]
    """Keys of all its words."""
    full_names: frozenset[tuple[str, str]]
    """Pairs of words that stand together as a name."""
    names: frozenset[str]
    """Keys of all its words that are names."""
    years: frozenset[int]
    """Years that it names."""
    setting: tuple[Token, ...]
    """Tokens of its title and of the lines without a verb above its text, such as a place and a date."""
    places: Mapping[str, frozenset[int]]
    """Numbers of the windows that have a word, themselves or in their context."""


@lru_cache(256)
def read_page(url: str, parts: tuple[str, ...]) -> PageText:
    """Return the passages of the texts that a page showed. Cached, since samples of a task see the same pages."""
    title = _title_of(url, parts)
    passages = [passage for part in parts for passage in _read_part(part, title)]
    passages = list(dict.fromkeys(passages))
    windows = (*passages, *_pair_neighbours(passages))
    keys = frozenset(token.key for passage in passages for token in passage.tokens) | title
    full_names = frozenset(
        (first.key, second.key)
        for passage in passages
        for first, second in zip(passage.tokens, passage.tokens[1:], strict=False)
        if second.is_name and first.kind == "word" and first.text not in vocab.FUNCTION_WORDS
    )
    kind, definition = _kind_of(passages, title)
    subjects = _all_subjects(passages)
    names = frozenset(token.key for passage in passages for token in passage.tokens if token.is_name)
    years = frozenset(int(year) for one in passages for token in one.tokens if (year := _year_of(token)))
    setting, places = _setting_of(passages), _index(windows)
    return PageText(
        windows, title, kind, definition, subjects, len(passages), keys, full_names, names, years, setting, places
    )


def _setting_of(passages: Sequence[Passage]) -> tuple[Token, ...]:
    """Return the tokens of the lines at the top of a page: those before the first sentence with a verb and a subject,
    the title included.
    """
    tokens = list[Token]()
    for number, passage in enumerate(passages[:MAX_SETTING_LINES]):
        if number and has_verb(passage.tokens):
            tokens += [token for token in passage.tokens if token.key in passage.subject]
            break
        tokens += passage.tokens
    dates = [token for passage in passages for token in passage.tokens if _year_of(token)]
    if len({_year_of(token) for token in dates}) == 1:
        tokens.append(Token("number", _year_of(dates[0]), _year_of(dates[0])))
    return tuple(tokens)


def _year_of(token: Token) -> str:
    """Return the year of a date, or a number that looks like one; empty if there is none."""
    if token.kind == "date":
        return token.key[:4].replace("????", "")
    is_year = (
        token.kind == "number"
        and len(token.key) == 4
        and token.text == token.key
        and token.key.isdigit()
        and "1000" <= token.key < "2100"
    )
    return token.key if is_year else ""


def _index(windows: Sequence[Passage]) -> dict[str, frozenset[int]]:
    numbers: dict[str, set[int]] = {}
    for number, window in enumerate(windows):
        for key in window.keys | window.context:
            numbers.setdefault(key, set()).add(number)
    return {key: frozenset(places) for key, places in numbers.items()}


def _all_subjects(passages: Sequence[Passage]) -> frozenset[str]:
    return frozenset(key for passage in passages if passage.has_own_subject for key in passage.subject)


def _kind_of(passages: Sequence[Passage], title: frozenset[str]) -> tuple[frozenset[str], frozenset[str]]:
    """Return the keys of the noun behind "is a" in the first sentence that says what the title is, and of all of it."""
    for passage in passages:
        words = [token.text for token in passage.tokens]
        for position in range(len(words) - 2):
            if words[position] in ("is", "was") and words[position + 1] in ("a", "an") and passage.subject & title:
                following = passage.tokens[position + 2 : position + 8]
                end = next((n for n, token in enumerate(following) if not token.has_content), len(following))
                keys = frozenset(token.key for token in following[:end])
                return keys, keys | frozenset(token.key for token in content(passage.tokens))
    return frozenset(), frozenset()


def subject_of(tokens: Sequence[Token]) -> frozenset[str]:
    """Return the keys of the words before the first verb; empty for a pronoun or a sentence without a subject."""
    keys = list[str]()
    for position in range(_skip_adverbial(tokens), len(tokens)):
        token = tokens[position]
        if token.kind == "stop" or is_verb(tokens, position) or token.text in vocab.CLAUSE_WORDS - {"and", "or"}:
            break
        if token.text in _PREPOSITIONS - {"of"} and keys:
            break
        if token.text in vocab.PRONOUNS and not keys and token.text in ("it", "he", "she", "they"):
            break
        is_adverb = token.text in ("first", "second", "last") or token.text.endswith("ly")
        if token.has_content and not token.is_figure and not is_adverb:
            keys.append(token.key)
        if len(keys) >= 6:
            break
    return frozenset(keys)


def is_generic(tokens: Sequence[Token], subject: frozenset[str]) -> bool:
    """True if a subject is only a noun such as "the town", which stands for the subject of the page."""
    return subject <= frozenset(token.key for token in tokens if token.text in vocab.GENERIC_NOUNS)


def clause_subjects(tokens: Sequence[Token]) -> frozenset[str]:
    """Return the subjects of all clauses of a sentence; empty if the first one is a pronoun."""
    keys = subject_of(tokens)
    for position, token in enumerate(tokens[:-1] if keys else ()):
        if token.text in ("and", "but", "while", "whereas", ";", ":") and has_verb(tokens[position + 1 : position + 9]):
            keys |= subject_of(tokens[position + 1 :])
    return keys


def has_verb(tokens: Sequence[Token]) -> bool:
    """True if a text has a finite verb or a participle."""
    return any(is_verb(tokens, position) for position in range(len(tokens)))


def is_verb(tokens: Sequence[Token], position: int) -> bool:
    """True if a word looks like a finite verb or a participle: there is no tagger, only forms and neighbours."""
    token = tokens[position]
    if token.text in vocab.AUXILIARIES:
        return True
    if token.kind != "word" or token.is_name or token.text in vocab.FUNCTION_WORDS:
        return False
    before = tokens[position - 1].text if position else ""
    if before in vocab.DETERMINERS:
        return False
    if (token.text.endswith("ed") and len(token.text) > 4) or token.text in _PAST_FORMS:
        return True
    following = tokens[position + 1] if position + 1 < len(tokens) else None
    ends_in_s = token.text.endswith("s") and not token.text.endswith(("ss", "us", "is"))
    return (
        ends_in_s
        and position > 0
        and tokens[position - 1].kind == "word"
        and (tokens[position - 1].has_content or before in vocab.PRONOUNS)
        and following is not None
        and following.kind != "stop"
        and following.text not in vocab.AUXILIARIES | {"of"}
    )


_PAST_FORMS = frozenset(
    word
    for word in vocab.IRREGULAR_FORMS
    if not word.endswith(("er", "ers", "or", "ion", "ions", "th", "ure", "ment", "ing", "s"))
    and word
    not in ("long", "high", "wide", "deep", "person", "people", "man", "men", "child", "children", "foot", "feet")
) - frozenset("use own open house cure women woman death dead loss sale birth growth close set read live lives".split())


def _skip_adverbial(tokens: Sequence[Token]) -> int:
    """Return where the subject may begin: behind "In 1931," and the like."""
    comma = next((n for n, token in enumerate(tokens[:14]) if token.key == ","), None)
    if comma and any(tokens[n].text not in vocab.AUXILIARIES and is_verb(tokens, n) for n in range(min(2, comma))):
        return comma + 1
    if not tokens or tokens[0].text not in _PREPOSITIONS:
        return 0
    if tokens[0].text in ("about", "over", "under", "between", "around") and tokens[1:2] and tokens[1].is_figure:
        return 0
    if comma is not None:
        return comma + 1
    figure = next((n for n, token in enumerate(tokens[:5]) if token.is_figure), None)
    return figure + 1 if figure is not None else 0


def _title_of(url: str, parts: Sequence[str]) -> frozenset[str]:
    """Return the keys of the page's title: its first line if it is short, and the end of its path."""
    first = next((line.strip() for part in parts for line in part.split("\n") if line.strip()), "")
    is_short = len(first.split()) <= MAX_HEADING_WORDS and not first.endswith((".", "!", "?")) and "|" not in first
    slug = re.sub(r"\.\w{2,5}$", "", url.split("?")[0].rstrip("/").rpartition("/")[2])
    words = (f"{_BULLET.sub('', first)} . " if is_short else "") + re.sub(r"[^\w]+|_", " ", slug)
    return frozenset(token.key for token in content(tokenize(words)) if not token.is_figure)


def _read_part(part: str, title: frozenset[str]) -> Iterator[Passage]:
    heading, is_denied_section, previous = frozenset[str](), False, title
    header: list[str] = []
    rows = 0
    for line in part.split("\n")[:MAX_LINES]:
        text = _BULLET.sub("", line).strip() if not line.lstrip().startswith("|") else line.strip().strip("|")
        cells = [cell for cell in _CELLS.split(text) if cell] if "|" in text or "\t" in text else []
        if len(cells) > 1:
            header, rows = (cells, 0) if not rows else (header, rows)
            rows += 1
            yield _row_passage(header if rows > 1 else [], cells, title, heading, text)
            continue
        rows = 0
        if not text:
            continue
        if _is_heading(text):
            heading_tokens = tokenize(text)
            heading, is_denied_section = (
                frozenset(token.key for token in content(heading_tokens)),
                any(map(is_denial, heading_tokens)),
            )
            previous = title
        for passage in _sentences(text, title, heading, previous):
            previous = _chain(passage, previous)
            yield replace(passage, is_denied=passage.is_denied or is_denied_section)


def _is_heading(text: str) -> bool:
    return len(text.split()) <= MAX_HEADING_WORDS and text[-1] not in ".!?,;"


def _sentences(
    text: str, title: frozenset[str], heading: frozenset[str], previous: frozenset[str]
) -> Iterator[Passage]:
    sentences = split_sentences(text)
    for position, sentence in enumerate(sentences):
        tokens = tokenize(sentence)
        subject_keys = clause_subjects(tokens)
        generic = bool(subject_keys) and is_generic(tokens, subject_keys)
        is_person = any(token.text in ("he", "she") for token in tokens)
        implied = previous | title if is_person else previous
        subject = subject_keys | title if generic else subject_keys or implied
        about_title = bool(subject & title) or generic
        following = sentences[position + 1] if position + 1 < len(sentences) else ""
        yield Passage(
            tokens, subject, (title if about_title else frozenset()) | heading | subject, sentence,
            denies_previous(following), bool(subject_keys) and not generic,
        )  # fmt: skip
        yield from _lifetime(tokens, subject, title)
        previous = subject | (previous if _has_object_pronoun(tokens) else frozenset())


def _lifetime(tokens: Sequence[Token], subject: frozenset[str], title: frozenset[str]) -> Iterator[Passage]:
    """Yield the birth and the death that "Ada Holm (2 May 1868 – 9 June 1933)" states."""
    opening = next((n for n, token in enumerate(tokens) if token.key == "("), len(tokens))
    closing = next((n for n, token in enumerate(tokens) if token.key == ")"), len(tokens))
    dash = next((n for n in range(opening, closing) if tokens[n].key in "–-—"), closing)
    birth, death = tokens[opening + 1 : dash], tokens[dash + 1 : closing]
    if not all(any(token.is_figure for token in half) for half in (birth, death)):
        return
    for words, half in (("was born", birth), ("died", death)):
        line = (*tokens[:opening], *tokenize(words), *half)
        yield Passage(line, subject, title | subject, " ".join(token.text for token in line))


def _chain(passage: Passage, previous: frozenset[str]) -> frozenset[str]:
    """Return what a pronoun in the next sentence may stand for."""
    return passage.subject | (previous if _has_object_pronoun(passage.tokens) else frozenset())


def _has_object_pronoun(tokens: Sequence[Token]) -> bool:
    is_possessive = bool(tokens) and tokens[0].text in ("its", "his", "her", "their")
    return is_possessive or any(
        token.text in ("it", "its", "him", "his", "her", "them", "their") for token in tokens[1:]
    )


def denies_previous(sentence: str) -> bool:
    """True if a sentence says that the one before it is false: "That is untrue.\""""
    if not _THAT_IS.match(sentence):
        return False
    tokens = tokenize(sentence)
    says_false = any(map(is_denial, tokens)) or any(
        token.is_negated and token.text in ("true", "correct", "accurate", "right", "case", "happened", "so")
        for token in tokens
    )
    return says_false and len(content(tokens)) <= 4


def _row_passage(
    header: Sequence[str], cells: Sequence[str], title: frozenset[str], heading: frozenset[str], text: str
) -> Passage:
    """Return the passage of a table row. Of three columns or more the first line is the header; of two, the first cell
    names what the second one is.
    """
    has_header = len(cells) >= 3 and len(header) == len(cells)
    joined = (
        " ; ".join(f"{head.lower()} {cell}" for head, cell in zip(header, cells, strict=True))
        if has_header
        else " ; ".join(cells)
        if len(cells) > 2
        else " ".join(cells)
    )
    tokens = tokenize(joined)
    if len(cells) == 2:
        return Passage(tokens, title, title | heading, text, has_own_subject=False)
    subject = frozenset(token.key for token in content(tokenize(cells[0])))
    return Passage(tokens, subject, subject | (title if subject & title else frozenset()) | heading, text)


def _pair_neighbours(passages: Sequence[Passage]) -> Iterator[Passage]:
    """Yield sentences with the next one as one passage where both are about the same."""
    for first, second in pairwise(passages):
        if first.is_denied or second.is_denied or not second.subject or "|" in first.text or "|" in second.text:
            continue
        is_resumed = (
            second.tokens[:1] and second.tokens[0].text in ("the", "this", "these") and second.subject <= first.keys
        )
        if not second.has_own_subject or second.subject == first.subject or is_resumed:
            yield Passage(
                (*first.tokens, Token("stop", ".", "."), *second.tokens), first.subject | second.subject,
                first.context | second.context, f"{first.text} {second.text}", has_own_subject=first.has_own_subject,
            )  # fmt: skip
