"""Statements from keys and values, rows of tables and declared properties, asked of a thing instead of a page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from decimal import Decimal

from webemu.rl.tasks.phrases import content_words
from webemu.rl.tasks.recipes import english, gold, grid, rows, structured, values
from webemu.rl.tasks.recipes.parsed_page import ParsedPage
from webemu.rl.tasks.recipes.statements import SUBJECT, Statement, Subject
from webemu.rl.tasks.task import AnswerType

_TEMPLATES: dict[str, tuple[str, ...]] = {
    "author": (f"Who wrote {SUBJECT}?", f"Who is the author of {SUBJECT}?"),
    "creator": (f"Who created {SUBJECT}?", f"Who is the creator of {SUBJECT}?"),
    "director": (f"Who directed {SUBJECT}?", f"Who was the director of {SUBJECT}?"),
    "producer": (f"Who produced {SUBJECT}?", f"Who was the producer of {SUBJECT}?"),
    "publisher": (f"Who published {SUBJECT}?", f"Which publisher brought out {SUBJECT}?"),
    "developer": (f"Who developed {SUBJECT}?", f"Which developer is behind {SUBJECT}?"),
    "designer": (f"Who designed {SUBJECT}?", f"Who was the designer of {SUBJECT}?"),
    "manager": (f"Who manages {SUBJECT}?", f"Which organisation is the manager of {SUBJECT}?"),
    "operator": (f"Who operates {SUBJECT}?", f"Which organisation is the operator of {SUBJECT}?"),
    "founder": (f"Who founded {SUBJECT}?", f"Who was the founder of {SUBJECT}?"),
    "maintainer": (f"Who maintains {SUBJECT}?", f"Who is the maintainer of {SUBJECT}?"),
    "published": (f"When was {SUBJECT} published?", f"When did {SUBJECT} come out?"),
    "release date": (f"When was {SUBJECT} released?", f"When did {SUBJECT} come out?"),
    "date": (f"What is the date of {SUBJECT}?",),
    "language": (f"In which language is {SUBJECT}?", f"What is the language of {SUBJECT}?"),
    "license": (f"Under which licence is {SUBJECT}?", f"What is the licence of {SUBJECT}?"),
    "venue": (f"At which venue did {SUBJECT} take place?", f"Where did {SUBJECT} take place?"),
    "location": (f"Where is {SUBJECT}?", f"Where is {SUBJECT} located?"),
    "taped by": (f"Who taped {SUBJECT}?",),
    "transferred by": (f"Who transferred {SUBJECT}?",),
    "digitizing sponsor": (f"Who sponsored the digitization of {SUBJECT}?",),
    "book contributor": (f"Which library contributed {SUBJECT}?",),
    "area covered": (f"Which area does {SUBJECT} cover?", f"Which area is covered by {SUBJECT}?"),
}
"""Phrasings by key, where a better one exists than "what is the ... of"."""
_FURTHER_KEYS = frozenset(
    "genre capital population area height elevation length weight birthplace occupation nationality headquarters "
    "industry employees currency architect capacity mayor president editor country year owner purpose tld"
    " region".split()
)
"""Keys that read well in "what is the ... of"."""
_PERSON_KEYS = frozenset("author creator director producer founder maintainer designer architect".split())
"""Keys whose values are people or organisations."""
_PAIR_LINE = re.compile(r"(?P<key>[A-Z][A-Za-z ]{2,28}):\s+(?P<value>\S.{0,120})")
_SURNAME_FIRST = re.compile(
    r"(?P<last>[A-Z][\w'’-]+), (?P<first>[A-Z][\w.'’-]*(?: [A-Z][\w.'’-]*)*?)(?:,? (?:\(|b\. |\d).*)?"
)
MIN_BOX_ROWS = 2
"""Smallest number of rows of two cells with a known key that make an infobox."""
_MAX_TITLE_WORDS = 14
MAX_BYLINE_CHARACTERS = 80
"""Largest number of characters of a line that names the author of an article."""
MIN_SHARED_WORDS = 1
"""Smallest number of content words that a description shares with the headline."""


_LEANING = re.compile(
    r"\b(?:however|even|also|too|though|therefore|thus|still|already|instead|meanwhile|moreover|as well|other|another"
    r"|such|again|here|there|now|today|tonight|yesterday|recent(?:ly)?|the day|this|these|those|it|they|he|she|we|you"
    r"|your|our|my|his|her|their|its|him|them)\b|[–—;:?!()]| - ",
    re.IGNORECASE,
)
"""Words of sentences that make sense only with the sentence before, or on the day of writing."""
_LEANING_START = re.compile(
    r"(?:[A-Z]\w+ly|In|On|At|By|For|From|With|If|When|While|After|Before|Since|As|But|And|Or|So|Yet|Both|All|Some|Many"
    r"|Most|Several|Shortly|Again|One|Two|Three|Any|Each|Every|No|Not|To|Of|Another|Instead|Here|There|What|Who|How|Why)\b"
)
"""First words of sentences that are no subject, or a subject that the sentence before explains."""
_EARLY_WORDS = 5
"""Number of words at the beginning of a sentence among which a name or a year must be."""


def find_label_statements(parsed: ParsedPage) -> Iterator[Statement]:
    """Yield statements about the thing that the page is named after, about the rows of its tables, and about the
    article that it is.
    """
    if parsed.short_title:
        yield from _read_pairs(parsed)
        yield from _read_article(parsed)
    if " | " in parsed.page.text:
        yield from _read_tables(parsed)


def name_thing(parsed: ParsedPage) -> Subject | None:
    """Return the thing that the page is named after; None if the title names none.

    A title counts as a name if a line of the page repeats it, with or without a year behind it.
    """
    title = parsed.short_title
    candidates = [title, *(title.split(": ", 1)[1:]), *(title.split(" - ", 1)[:1])]
    lines = {re.sub(r"\s*\(c?\d{4}\)$", "", line).lower() for line in parsed.lines if len(line) < 150}
    for name in candidates:
        if (
            name.lower() in lines
            and "._" not in name
            and len(name.split()) <= _MAX_TITLE_WORDS
            and not re.search(r"[?!|\"]", name)
        ):
            quoted = name if len(name.split()) == 1 or (len(name.split()) == 2 and name.istitle()) else f'"{name}"'
            return Subject(quoted, (name,))
    return None


def _read_pairs(parsed: ParsedPage) -> Iterator[Statement]:
    """Yield the values of keys that read well, from lines such as `Author: Ann Ode` and from infoboxes."""
    subject = name_thing(parsed)
    if subject is None:
        return
    pairs = [(match["key"], match["value"], line) for line in parsed.lines if (match := _PAIR_LINE.fullmatch(line))]
    cells = [line.split(" | ") for line in parsed.lines if line.count(" | ") == 1 and len(line) < 160]
    # One such row may be of any table; several are a box about the thing.
    if sum(_is_askable(key.strip(": ")) for key, _ in cells) < MIN_BOX_ROWS:
        cells = []
    pairs += [(key.strip(": "), value, f"{key} | {value}") for key, value in cells]
    keys = [key.lower() for key, _, _ in pairs]
    for key, value, line in pairs:
        is_clear = keys.count(key.lower()) == 1 and _is_askable(key)
        if is_clear and (statement := _label_statement(parsed, subject, key, value, line)):
            yield statement


def _label_statement(parsed: ParsedPage, subject: Subject, key: str, value: str, quote: str) -> Statement | None:
    """Return the statement that a thing has a value under a key; None if the value is no good answer."""
    typed = _classify(value)
    if typed is None or gold.rejection_reason(value) or rows.label_rejection_reason(key):
        return None
    kind, answers, amount = typed
    relation = key.lower()
    # The account of somebody is no name.
    if relation in _PERSON_KEYS and not value[:1].isupper():
        return None
    # A bare year under "Date" is that of publication.
    if relation == "date" and re.fullmatch(r"1[5-9]\d\d|20\d\d", value):
        relation = "published"
    templates = _TEMPLATES.get(relation, (f"What is the {_words(key)} of {SUBJECT}?",))
    phrase = f"the {_words(key)} of {SUBJECT}" if kind == "name" else ""
    if relation == "published" and re.fullmatch(r"\d{4}", value):
        phrase, answers = f"the year in which {SUBJECT} was published", (value,)
    page = parsed.page
    return Statement(
        *(page.url, page.digest, page.host, relation, templates, answers, kind, quote, values.clean(value)),
        *(subject, phrase, amount),
    )


def _is_askable(key: str) -> bool:
    """True if a question for the key reads well."""
    return key.lower() in _TEMPLATES or key.lower() in _FURTHER_KEYS


def _words(key: str) -> str:
    """Return a key as words inside a sentence; acronyms keep their capitals."""
    return " ".join(word if word.isupper() else word.lower() for word in key.split())


def _classify(value: str) -> tuple[AnswerType, tuple[str, ...], Decimal | date | None] | None:
    """Return the answer type, the spellings and the amount of a value; None if it is no answer."""
    value = values.clean(value)
    if match := _SURNAME_FIRST.fullmatch(value):
        return "name", (f"{match['first']} {match['last']}", f"{match['last']}, {match['first']}"), None
    typed = values.classify_answer(value)
    if typed is None:
        return None
    amount = values.parse_day(value) if typed[0] == "date" else None
    if typed[0] == "number" and re.fullmatch(values.NUMBER, value):
        return typed[0], typed[1], values.parse_decimal(value)
    return typed[0], typed[1], amount


def _read_tables(parsed: ParsedPage) -> Iterator[Statement]:
    """Yield the cells of tables, asked by the name of their row."""
    tables = [one for one in grid.read_tables(parsed.tree, lambda reason: None) if isinstance(one, grid.DataTable)]
    for table in tables:
        for index, column in enumerate(table.columns[1:], 1):
            cells = [values.clean(row[index]) for row in table.rows]
            if not _is_askable(column) or rows.label_rejection_reason(column):
                continue
            for row in table.rows:
                if cells.count(values.clean(row[index])) != 1:
                    continue
                if statement := _row_statement(parsed, row, index, column):
                    yield statement


def _row_statement(parsed: ParsedPage, row: tuple[str, ...], index: int, column: str) -> Statement | None:
    """Return the statement of one cell; None unless the first cell is a name that few pages have."""
    name = values.clean(row[0])
    if not re.search(r"[A-Za-z]{2}", name) or rows.label_rejection_reason(name) or (name.islower() and "." not in name):
        return None
    if not 0 < parsed.crawl.page_frequency(name) <= 8 or not (quote := parsed.find_row(row[0], row[index])):
        return None
    return _label_statement(parsed, Subject(name, (name,)), column, row[index], quote)


def describe_article(parsed: ParsedPage) -> tuple[str, str] | None:
    """Return words behind "the article" that describe it, and the sentence that they are taken from; None if no
    sentence near its beginning is good.
    """
    title = {word for word in content_words(parsed.short_title) if len(word) > 3}
    candidates = [one for one in parsed.sentences[:25] if _describes_article(one)]
    shared = [len(title & set(content_words(one))) for one in candidates]
    # A sentence that shares words with the headline says what the article is about.
    if not shared or max(shared) < MIN_SHARED_WORDS:
        return None
    sentence = candidates[shared.index(max(shared))]
    first = sentence.split()[0]
    # A word that the page has in lower case, and never with a capital inside a sentence, is no name.
    is_common = re.search(rf"\b{re.escape(first.lower())}\b", parsed.text) is not None
    is_common = is_common and re.search(rf"[a-z,] {re.escape(first)}\b", parsed.text) is None
    words = english.lower_first(sentence) if is_common or first in ("The", "A", "An") else sentence
    return f"which says that {words.removesuffix('.')}", sentence


def _read_article(parsed: ParsedPage) -> Iterator[Statement]:
    """Yield author and day of publication of an article, which its first good sentence describes."""
    described = describe_article(parsed)
    title = _without_site(parsed.short_title, parsed.page.host)
    subject = Subject(f'"{title}"', tuple(dict.fromkeys([title, parsed.short_title])), "article", *(described or ()))
    for fact in structured.find_declared(parsed):
        value = fact.answers[0]
        is_date = fact.answer_type == "date"
        if not (is_date and "published" in fact.question_template) and not (
            "author" in fact.question_template or "creator" in fact.question_template
        ):
            continue
        # A byline is short; a long line tells of the author somewhere below, where few readers get.
        is_byline = len(fact.quote) <= MAX_BYLINE_CHARACTERS
        is_person = gold.is_good_name(value) and _squeeze(value) not in _squeeze(parsed.page.host)
        if not is_date and not (is_byline and is_person):
            continue
        relation = "published" if is_date else "author"
        page = parsed.page
        templates = (
            ("When was {0} published?", "On which date did {0} appear?")
            if is_date
            else ("Who wrote {0}?", "Who is the author of {0}?")
        )
        yield Statement(
            *(page.url, page.digest, page.host, relation, tuple(one.format(SUBJECT) for one in templates)),
            *(fact.answers, fact.answer_type, fact.quote, fact.value, subject),
            *("" if is_date else f"the author of {SUBJECT}", values.parse_day(value) if is_date else None),
        )


def _without_site(title: str, host: str) -> str:
    """Return a title without the parts at its end that name a section or the site: `... · Best of`, `... by Site`."""
    title = re.sub(r" [·|»] [^·|»]+$", "", title)
    head, _, ending = title.rpartition(" by ")
    return head if head and _squeeze(ending) in _squeeze(host) else title


def _describes_article(sentence: str) -> bool:
    """True if a sentence is short, stands alone, and names something besides its first word."""
    if _LEANING.search(sentence) or _LEANING_START.match(sentence) or not _names_early(sentence):
        return False
    if re.search(
        r"^(?:That|Mostly|Also|Then|Maybe|Perhaps|View|Read|Get|Find|Use|Make|Look|Keep|Add|Set|Let)\b"
        r"|’s just| I | me ",
        sentence,
    ):
        return False
    return (
        9 <= len(sentence.split()) <= 26 and bool(re.search(r" [A-Z][a-z]{2}| \d", sentence)) and sentence[:3] != "By "
    )


def _names_early(sentence: str) -> bool:
    """True if the subject of a sentence has a name or a figure: "The slain teen" could be anybody."""
    first, *following = sentence.split()[:_EARLY_WORDS]
    words = following if first in ("The", "A", "An") or first.endswith("s") else [first, *following]
    return any(re.match(r"[A-Z][a-z]{2}|[A-Z]{2}|\d", word) for word in words)


def _squeeze(name: str) -> str:
    """Return the letters and digits of a name, in lower case."""
    return re.sub(r"[\W_]", "", name.lower())
