"""Facts in sentences: when something happened and how much it is (`quantity`), rare names (`cloze`)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from webemu.rl.tasks.recipes import values
from webemu.rl.tasks.recipes.parsed_page import PAGE, Fact, Reading
from webemu.rl.tasks.task import AnswerType

GAP = "____"
SHORTEST = 5
RARE = 3
"""Pages that may hold the rarest word of a name."""
_MONTH_YEAR = rf"(?:{'|'.join(values.MONTHS)}),? (?:1[5-9]|20)\d\d"
_DONE = r"(?:\w+ly )?\w{2,}(?:ed|en|own|ought|uilt|ound|eld|ade|un|ut|et)"
_WHEN = re.compile(
    rf"(?P<who>(?:The )?[A-Z][^,;()]{{1,60}}?) (?P<be>was|were) (?P<done>{_DONE})(?P<mid>(?: [^,;()]{{1,60}}?)??)"
    rf" (?:in|on) (?P<date>{values.DATE.pattern}|{_MONTH_YEAR}|(?:1[1-9]|20)\d\d)"
    r"(?P<rest>(?: (?:by|at|in|for|from|to|as|with|near) [^,;()]{2,80})?)\."
)
_FINITE = re.compile(r"\b(?:is|are|was|were|has|have|had|which|that|who|and|but|will|can)\b")
_AMOUNT = re.compile(
    rf"(?<![\w.,/$€£#+-])({values.NUMBER})(?=(?:\s?(?:{values.UNIT})(?![\w-])| (?:million |billion )?[a-z]{{3,}}s\b))"
)
_NUMBERED = frozenset(
    "version release level step type number port phase rule bug issue no. area day model page".split()
)
"""Words whose number is a name, not an amount; as it is after a name."""
_FIRST = frozenset("About Over Some Nearly Around Almost Within Only All At The Up More Every Another".split())
"""Words before an amount at the beginning of a sentence."""
_DATE = re.compile(values.DATE.pattern)
_NAME = re.compile(
    r"[A-Z][\w'’-]*[a-z][\w'’-]*(?:(?: (?:of|the|de|del|von|van|der|la|and))? [A-Z][\w'’-]+)*(?<!['’]s)(?<!['’-])(?!\w)"
)
_ARTICLE = re.compile(r"^(?:The|An?|No|Each|Every|Any|All|Some|Both|Most|One|Two) ")


def quantities(reading: Reading) -> Iterator[Fact]:
    """Dates and numbers with what they count."""
    for sentence in reading.sentences:
        if when := _WHEN.fullmatch(sentence):
            yield from _when(reading, sentence, when)
        elif len(found := _DATE.findall(sentence)) == 1:
            yield from _gap(reading, sentence, found[0], "date")
        elif len(found := _amounts(sentence)) == 1:
            yield from _gap(reading, sentence, found[0], "number")
        else:
            reading.drop("several numbers" if found else "no date or quantity")


def _amounts(sentence: str) -> list[str]:
    return [one[0] for one in _AMOUNT.finditer(sentence) if _counts(one[0], sentence[: one.start()])]


def _counts(number: str, before: str) -> bool:
    """Whether a number is an amount, by what stands before it; no year is."""
    if re.fullmatch(r"(?:19|20)\d\d", number):
        return False
    *first, last = before.split() or [""]
    return last.lower() not in _NUMBERED and (last.lower() == last or (not first and last in _FIRST))


def _when(reading: Reading, sentence: str, found: re.Match[str]) -> Iterator[Fact]:
    """`X was founded in 1998` asked as it would be."""
    day = found["date"]
    if _FINITE.search(" ".join([found["who"], found["mid"], found["rest"]])):
        reading.drop("more than one clause")
        return
    full = _DATE.fullmatch(day)
    asks = "on which date" if full else "in which month of which year" if " " in day else "in which year"
    who = found["who"].removeprefix("The ")
    who = f"the {who}" if who != found["who"] else who
    ask = f"According to {PAGE}, {asks} {found['be']} {who} {found['done']}{found['mid']}{found['rest']}?"
    yield Fact(ask, values.dates(day) if full else (day,), "number" if day.isdigit() else "date", sentence, day)


def names(reading: Reading) -> Iterator[Fact]:
    """Names that few pages have."""
    for sentence in reading.sentences:
        found = [_ARTICLE.sub("", one[0]) for one in _NAME.finditer(sentence) if one.start()]
        rare = [name for name in found if _is_rare(name, reading) and sentence.count(name) == 1]
        if not rare:
            reading.drop("no rare name")
        for name in rare[:1]:
            yield from _gap(reading, sentence, name, "name")


def _is_rare(name: str, reading: Reading) -> bool:
    if (
        name.lower() in reading.head.lower()
        or not values.is_name(name)
        or len(name) < SHORTEST
        or re.search("-[a-z]", name)
    ):
        return False
    return 0 < reading.crawl.frequency(name) <= RARE


def _gap(reading: Reading, sentence: str, value: str, kind: AnswerType) -> Iterator[Fact]:
    masked = re.sub(rf"(?<![\w.,-]){re.escape(value)}(?!\w)", GAP, sentence)
    if masked.count(GAP) != 1 or len(value) < 2 or "100%" in sentence:  # the latter are too easily guessed
        reading.drop("gap unclear or easily guessed")
        return
    alike = r".{1,80}?".join(map(re.escape, masked.split(GAP)))
    if len(re.findall(alike, reading.text)) != 1:
        reading.drop("sentence like another")
        return
    answers = values.dates(value) if kind == "date" else values.numbers(value) if kind == "number" else (value,)
    said = masked.replace('"', "'")
    yield Fact(f'Which {kind} belongs in the gap in this sentence of {PAGE}: "{said}"', answers, kind, sentence, value)
