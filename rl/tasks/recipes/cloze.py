"""Facts in sentences: when something happened or how much it is (`quantity`), and rare names (`cloze`)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from webemu.rl.tasks.recipes import values
from webemu.rl.tasks.recipes.parsed_page import PAGE, PageFact, ParsedPage
from webemu.rl.tasks.task import AnswerType

GAP = "____"
"""Placeholder for the answer in a quoted sentence."""
MIN_NAME_LENGTH = 5
"""Smallest number of characters of a name."""
MAX_PAGES_WITH_NAME = 3
"""Largest number of pages that may contain the rarest word of a name."""
_MONTH_YEAR = rf"(?:{'|'.join(values.MONTHS)}),? (?:1[5-9]|20)\d\d"
_PARTICIPLE = r"(?:\w+ly )?\w{2,}(?:ed|en|own|ought|uilt|ound|eld|ade|un|ut|et)"
# A subject, a passive verb and a date: "The bridge was opened by the king in 1899."
_DATED_CLAUSE = re.compile(
    rf"(?P<who>(?:The )?[A-Z][^,;()]{{1,60}}?) (?P<be>was|were) (?P<done>{_PARTICIPLE})(?P<mid>(?: [^,;()]{{1,60}}?)??)"
    rf" (?:in|on) (?P<date>{values.DATE.pattern}|{_MONTH_YEAR}|(?:1[1-9]|20)\d\d)"
    r"(?P<rest>(?: (?:by|at|in|for|from|to|as|with|near) [^,;()]{2,80})?)\."
)
_SECOND_CLAUSE = re.compile(r"\b(?:is|are|was|were|has|have|had|which|that|who|and|but|will|can)\b")
_AMOUNT = re.compile(
    rf"(?<![\w.,/$€£#+-])({values.NUMBER})(?=(?:\s?(?:{values.UNIT})(?![\w-])| (?:million |billion )?[a-z]{{3,}}s\b))"
)
_NUMBERED_NOUNS = frozenset(
    "version release level step type number port phase rule bug issue no. area day model page".split()
)
"""Words after which a number is a name, not an amount ("version 3"). A number after a capitalised word is a name, too.
"""
_AMOUNT_OPENINGS = frozenset(
    "About Over Some Nearly Around Almost Within Only All At The Up More Every Another".split()
)
"""Words that may stand before an amount at the beginning of a sentence."""
_DATE = re.compile(values.DATE.pattern)
_NAME = re.compile(
    r"[A-Z][\w'’-]*[a-z][\w'’-]*(?:(?: (?:of|the|de|del|von|van|der|la|and))? [A-Z][\w'’-]+)*(?<!['’]s)(?<!['’-])(?!\w)"
)
_ARTICLE = re.compile(r"^(?:The|An?|No|Each|Every|Any|All|Some|Both|Most|One|Two) ")


def find_quantities(parsed: ParsedPage) -> Iterator[PageFact]:
    """Yield facts from sentences with one date or one amount."""
    for sentence in parsed.sentences:
        if match := _DATED_CLAUSE.fullmatch(sentence):
            yield from _ask_date(parsed, sentence, match)
        elif len(candidates := _DATE.findall(sentence)) == 1:
            yield from _make_gap(parsed, sentence, candidates[0], "date")
        elif len(candidates := _find_amounts(sentence)) == 1:
            yield from _make_gap(parsed, sentence, candidates[0], "number")
        else:
            parsed.skip("several numbers" if candidates else "no date or quantity")


def _find_amounts(sentence: str) -> list[str]:
    """Return the numbers in a sentence that are amounts."""
    return [match[0] for match in _AMOUNT.finditer(sentence) if _is_amount(match[0], sentence[: match.start()])]


def _is_amount(number: str, before: str) -> bool:
    """True if the words before a number make it an amount. A year never is one."""
    if re.fullmatch(r"(?:19|20)\d\d", number):
        return False
    *first, last = before.split() or [""]
    return last.lower() not in _NUMBERED_NOUNS and (last.lower() == last or (not first and last in _AMOUNT_OPENINGS))


def _ask_date(parsed: ParsedPage, sentence: str, match: re.Match[str]) -> Iterator[PageFact]:
    """Yield a direct question for the date, if the sentence has a single clause such as `X was founded in 1998.`"""
    date_text = match["date"]
    if _SECOND_CLAUSE.search(" ".join([match["who"], match["mid"], match["rest"]])):
        parsed.skip("more than one clause")
        return
    full_date = _DATE.fullmatch(date_text)
    # The question must not ask for more precision than the sentence has.
    question_words = (
        "on which date" if full_date else "in which month of which year" if " " in date_text else "in which year"
    )
    subject = match["who"].removeprefix("The ")
    subject = f"the {subject}" if subject != match["who"] else subject
    question = (
        f"According to {PAGE}, {question_words} {match['be']} {subject} {match['done']}{match['mid']}{match['rest']}?"
    )
    yield PageFact(
        question,
        values.date_spellings(date_text) if full_date else (date_text,),
        "number" if date_text.isdigit() else "date",
        sentence,
        date_text,
    )


def find_rare_names(parsed: ParsedPage) -> Iterator[PageFact]:
    """Yield a gap for the first rare name of each sentence."""
    for sentence in parsed.sentences:
        candidates = [_ARTICLE.sub("", match[0]) for match in _NAME.finditer(sentence) if match.start()]
        rare_names = [name for name in candidates if _is_rare(name, parsed) and sentence.count(name) == 1]
        if not rare_names:
            parsed.skip("no rare name")
        for name in rare_names[:1]:
            yield from _make_gap(parsed, sentence, name, "name")


def _is_rare(name: str, parsed: ParsedPage) -> bool:
    """True if few pages contain the name and the page's own title does not."""
    if (
        name.lower() in parsed.short_title.lower()
        or not values.is_name(name)
        or len(name) < MIN_NAME_LENGTH
        or re.search("-[a-z]", name)
    ):
        return False
    return 0 < parsed.crawl.page_frequency(name) <= MAX_PAGES_WITH_NAME


def _make_gap(parsed: ParsedPage, sentence: str, value: str, answer_type: AnswerType) -> Iterator[PageFact]:
    """Yield the sentence with a gap for the value, unless the value is easily guessed or another sentence fits the gap
    too.
    """
    masked = re.sub(rf"(?<![\w.,-]){re.escape(value)}(?!\w)", GAP, sentence)
    if masked.count(GAP) != 1 or len(value) < 2 or "100%" in sentence:  # "100%" is too easily guessed
        parsed.skip("gap unclear or easily guessed")
        return
    # Another sentence that fits the gap would make a second answer right.
    pattern = r".{1,80}?".join(map(re.escape, masked.split(GAP)))
    if len(re.findall(pattern, parsed.text)) != 1:
        parsed.skip("sentence like another")
        return
    answers = (
        values.date_spellings(value)
        if answer_type == "date"
        else values.number_spellings(value)
        if answer_type == "number"
        else (value,)
    )
    quoted_sentence = masked.replace('"', "'")
    yield PageFact(
        f'Which {answer_type} belongs in the gap in this sentence of {PAGE}: "{quoted_sentence}"',
        answers,
        answer_type,
        sentence,
        value,
    )
