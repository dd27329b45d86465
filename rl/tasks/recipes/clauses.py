"""Statements from sentences: who did something, when, and how many; who holds an office; what something is.

Each rule reads one shape of sentence and is deliberately narrow. A sentence must name its subject, because a question
about "the company" could be asked of any page.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from webemu.rl.tasks.recipes import english, prose, values
from webemu.rl.tasks.recipes.gold import is_good_name
from webemu.rl.tasks.recipes.parsed_page import ParsedPage
from webemu.rl.tasks.recipes.statements import Statement
from webemu.rl.tasks.recipes.years import find_years
from webemu.rl.tasks.task import AnswerType

_MONTH_YEAR = rf"(?:{'|'.join(values.MONTHS)}),? (?:1[5-9]|20)\d\d"
_DATE = rf"(?P<date>{values.DATE.pattern}|{_MONTH_YEAR}|(?:1[5-9]|20)\d\d)"
_SUBJECT = r"(?P<subject>(?:The |An? )?[^,;:()]{3,80}?)"
_ENDING = r"(?P<ending>(?: [^,;:()]{2,90})?)"
_NAME = r"[A-Z][\w.’'-]*[a-z](?: (?:[A-Z]\.|(?:de|van|von|der|la|bin|al) )?[A-Z][\w’'-]*[a-z]){1,3}"
_ROLE_NOUN = (
    r"(?:president|director|minister|secretary|manager|founder|co-founder"
    r"|CEO|chief executive(?: officer)?|mayor|governor|coach|captain|commissioner|chair(?:man|woman)?"
    r"|head|leader|owner|curator|chief|dean|ambassador|conductor|creator"
    r"|maintainer|lead developer|librarian|archivist|sheriff|prosecutor|superintendent|treasurer|inventor)"
)
"""Roles that one person has at a time, or nearly so: a university has many professors."""
_NUMBER_WORDS = "three four five six seven eight nine eleven twelve".split()
_COUNT = re.compile(
    rf"{_SUBJECT} (?P<verb>{english.FINITE}) (?P<about>(?:about|around|nearly|some|approximately|exactly|a total of"
    rf"|only|almost|roughly) )?(?P<number>{values.NUMBER}|{'|'.join(_NUMBER_WORDS)})"
    rf" (?P<noun>(?:[a-z][a-z-]+ ){{0,2}}[a-z][a-z-]+s){_ENDING}\."
)
_DATED = re.compile(
    rf"{_SUBJECT} (?P<verb>{'|'.join(english.BASE_OF_PAST)})(?P<object>(?: [^,;:()]{{2,80}}?)?) (?:in|on) {_DATE}"
    rf"{_ENDING}\."
)
_PASSIVE = re.compile(
    rf"{_SUBJECT} (?P<be>was|were|is|are) (?P<done>(?:\w+ly )?(?:\w{{3,}}ed|written|built|made|led|run|held|sold|bought"
    rf"|won|drawn|sung|shot))(?P<object>(?: (?!by)[^,;:()]{{2,60}}?)?) by (?P<agent>{_NAME}){_ENDING}\."
)
_WAS_DONE = re.compile(
    rf"{_SUBJECT} (?P<be>was|were) (?P<done>(?:\w+ly )?"
    rf"(?:\w{{3,}}ed|written|built|made|held|sold|bought|born|drawn|shot))"
    rf"(?P<object>(?: [^,;:()]{{2,60}}?)?) (?:in|on) {_DATE}{_ENDING}\."
)
_OFFICE = re.compile(
    rf"(?P<name>{_NAME}), (?:the )?"
    rf"(?P<role>(?:[A-Z]?[\w’'&-]+ ){{0,6}}{_ROLE_NOUN}(?: (?:of|at|for|to|in) [^,;:()]{{3,70}})?)"
    r"(?=, |\.$)"
)
_DEFINED = re.compile(rf"(?:The )?(?P<name>{_NAME}|[A-Z][\w-]{{3,}}) (?:is|was) an? (?P<what>[^;:()]{{25,160}})\.")
_SECOND_CLAUSE = re.compile(
    r"\b(?:is|are|was|were|has|have|had|which|that|who|whose|but|will|can|could|would|should|when|while|because|if|said"
    r"|says|and \w+(?:ed|ing)|according|after|before|as|it|they|he|she|his|her|their|its|not|n't)\b"
)
_VAGUE_SUBJECT = re.compile(
    r"\b(?:this|these|those|that|it|they|he|she|we|you|many|most|some|all|several|both|each|every|no|another|other|more|few|who"
    r"|which|and then|one|two|three|there|someone|everyone|people|example|following|above|former|latter|similar|same"
    r"|such)\b",
    re.IGNORECASE,
)
_LEADING_DATE = re.compile(
    rf"(?P<prep>In|On) {_DATE}, {_SUBJECT} (?P<verb>{'|'.join(english.BASE_OF_PAST)})(?P<ending> [^,;:()]{{8,110}})\."
)
_MONEY = re.compile(
    rf"{_SUBJECT} (?P<verb>{english.FINITE}) (?P<about>(?:about|around|nearly|some|approximately|almost|roughly) )?"
    rf"(?P<number>[$£€]{values.NUMBER}(?: (?:thousand|million|billion|trillion))?){_ENDING}\."
)
_SHARE = re.compile(
    rf"(?:About |Around |Some |Nearly |Almost |Roughly |Only |Just )?"
    rf"(?P<number>{values.NUMBER})(?:%| percent| per cent) of "
    rf"(?P<ending>[^,;:()]{{15,130}})\."
)
_AGE = re.compile(
    rf"(?P<name>{_NAME}), (?P<number>[1-9]\d), (?=(?:who|of|was|said|is|a|an|the|from|has|told|had|died|were)\b)"
)
_BASED = re.compile(
    rf"(?P<name>{_NAME})(?:,| is) (?:which is )?(?:based|headquartered) in (?P<place>{_NAME}|[A-Z][a-z]{{3,}})\b"
)
_ABSTRACT = re.compile(r"[A-Z][a-z]+(?:ment|tion|sion|ing|ness|ity|ance|ence)s? of ")
_CODE = re.compile(r"[{}<>=|\\^~`]|::|->|\(\)|https?:|www\.|\w_\w|[\ue000-\uf8ff¶]")
_SECOND_PART = re.compile(
    r", (?:which|who|where|when|while|but|and|with|although|though|after|before|making|including|followed|followed by"
    r"|according|because|since|as|so|featuring|becoming|leading|citing|saying|whose)\b|;| \u2014 | \u2013 "
)
"""Beginning of what can be cut off a sentence without changing the ending."""
_FOOTNOTE = re.compile(r"\s?\[(?:\d{1,3}|[a-z]|citation needed)\]")
_TIME_WORDS = re.compile(
    r"\b(?:Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday|today|yesterday|tomorrow|ago|now"
    r"|current|currently|so far|recently|last|next|this|to date|earlier|later)\b"
)
_OPENING = re.compile(
    r"(?:On|In|At|By|For|From|With|Whether|When|While|If|But|And|Although|After|Before|As|An|A|Since|Because|Also|Each"
    r"|Here|There|That|This|It|He|She|They|What|How|So|Then|Thus|Like|Unlike|One|Another|Note|Yes|No)\b"
)
"""First words of sentences that are no part of a name."""
_CAPITAL = re.compile(r"\b[A-Z][\w’'-]*[a-z]\w*|\b[A-Z]{2,}\b")
_QUANTITY_NOUNS_TO_SKIP = frozenset("times years months weeks days hours minutes seconds others things ways".split())
"""Nouns after a number that make "how many" ask for a duration or for nothing. They are asked with other words."""


@dataclass(frozen=True, slots=True)
class _Question:
    """The parts of a statement that a rule reads from a sentence."""

    relation: str
    templates: tuple[str, ...]
    answers: tuple[str, ...]
    answer_type: AnswerType
    value: str
    phrase: str = ""


def find_clause_statements(parsed: ParsedPage) -> Iterator[Statement]:
    """Yield the statements of the sentences that make sense alone, at most one per sentence and rule."""
    for raw_sentence in _find_sentences(parsed):
        relations: set[str] = set()
        for clause in _main_clauses(_FOOTNOTE.sub("", raw_sentence)):
            for question in _read_sentence(clause, parsed):
                is_new = question.relation not in relations and question.value in raw_sentence
                if not is_new or len(question.templates[0]) > 230 or not prose.is_balanced(question.templates[0]):
                    continue
                relations.add(question.relation)
                yield _make_statement(parsed, question, raw_sentence)


def _main_clauses(sentence: str) -> Iterator[str]:
    """Yield the sentence, and what stands before a comma that opens a second clause."""
    yield sentence
    if match := _SECOND_PART.search(sentence, 20):
        yield f"{sentence[: match.start()]}."


def _find_sentences(parsed: ParsedPage) -> Iterator[str]:
    """Yield the complete sentences of the page's paragraphs."""
    for line in parsed.lines:
        for sentence in prose.split_sentences(line) if len(line) >= 30 and "|" not in line else ():
            if len(sentence) <= 300 and not _CODE.search(sentence) and prose.is_english(sentence, 0.12):
                yield sentence


def _make_statement(parsed: ParsedPage, question: _Question, sentence: str) -> Statement:
    """Return the statement of a sentence, with the sentence as its quote."""
    page = parsed.page
    return Statement(
        *(page.url, page.digest, page.host, question.relation, question.templates, question.answers),
        *(question.answer_type, sentence, question.value),
        answer_phrase=question.phrase,
        amount=Decimal(question.value) if question.phrase.startswith("the year in which") else None,
    )


def _read_sentence(sentence: str, parsed: ParsedPage) -> Iterator[_Question]:
    """Yield what the rules read from one sentence."""
    if match := _COUNT.fullmatch(sentence):
        yield from _ask_count(match, parsed)
    # A passive comes first: "was built in 1899" is no active "built".
    if match := _WAS_DONE.fullmatch(sentence):
        yield from _ask_passive_date(match, parsed)
    elif match := _DATED.fullmatch(sentence):
        yield from _ask_date(match, parsed)
    if match := _PASSIVE.fullmatch(sentence):
        yield from _ask_agent(match, parsed)
    if match := _DEFINED.fullmatch(sentence):
        yield from _ask_definition(match, parsed)
    if match := _LEADING_DATE.fullmatch(sentence):
        yield from _ask_date(match, parsed)
    if match := _MONEY.fullmatch(sentence):
        yield from _ask_money(match, parsed)
    if match := _SHARE.fullmatch(sentence):
        yield from _ask_share(match)
    for thing in find_years(sentence):
        templates = (f"In which year {thing.asks}?", f"In what year {thing.asks}?")
        phrase = f"the year in which {thing.tells}"
        yield _Question("date of a thing", templates, (thing.year,), "number", thing.year, phrase)
    for match in _OFFICE.finditer(sentence):
        yield from _ask_office(match)
    for match in (*_AGE.finditer(sentence), *_BASED.finditer(sentence)):
        yield from _ask_person(match)


def names_subject(subject: str, parsed: ParsedPage) -> bool:
    """True if the words contain a proper name and do not depend on the text around them."""
    if _VAGUE_SUBJECT.search(subject) or len(subject.split()) > 12 or _TIME_WORDS.search(subject):
        return False
    # A single word may be the surname of somebody whom only the page introduces.
    if " " not in subject and not subject.isupper():
        return False
    words = _CAPITAL.findall(subject)
    # The first word of a sentence has a capital anyway: it is a name only if the page never has it in lower case.
    if subject.split()[0] in words and not subject.startswith(("The ", "A ", "An ")):
        first = words[0]
        is_name = not re.search(rf"\b{re.escape(first.lower())}\b", parsed.text) and first.lower() != first
        words = words if is_name else words[1:]
    return any(word not in ("The", "A", "An", "In", "On") for word in words)


def _is_simple(*parts: str) -> bool:
    """True if the parts of a sentence hold no second clause and no time that depends on the day of writing."""
    return not any(_SECOND_CLAUSE.search(part) or _TIME_WORDS.search(part) for part in parts)


def _in_sentence(subject: str) -> str:
    """Return the subject of a sentence as it stands inside a question."""
    article, _, ending = subject.partition(" ")
    if _ABSTRACT.match(subject):
        return english.lower_first(subject)
    return f"{article.lower()} {ending}" if article in ("The", "A", "An") else subject


def _ask_count(match: re.Match[str], parsed: ParsedPage) -> Iterator[_Question]:
    """Yield the question how many things a named subject has, made or needs."""
    subject, noun, ending = match["subject"], match["noun"], match["ending"]
    if (
        not names_subject(subject, parsed)
        or not _is_simple(ending, subject)
        or noun.split()[-1] in _QUANTITY_NOUNS_TO_SKIP
    ):
        return
    if (
        re.fullmatch(r"(?:1[5-9]|20)\d\d", match["number"])
        or noun.endswith("ss")
        or noun.startswith(("or ", "and ", "to "))
    ):
        return
    auxiliary, base = english.split_verb(match["verb"])
    number = match["number"]
    answers = values.number_spellings(number) if number[0].isdigit() else (number,)
    yield _Question(
        f"number of {noun.split()[-1]}",
        (f"How many {noun} {auxiliary} {_in_sentence(subject)} {base}{ending}?",),
        answers, "number", number,
    )  # fmt: skip


def _date_answers(date_text: str) -> tuple[str, AnswerType, tuple[str, ...]]:
    """Return the question words, the answer type and the spellings of a date, month or year."""
    if date_text.isdigit():
        return "In which year", "number", (date_text,)
    if values.DATE.fullmatch(date_text):
        return "On which date", "date", values.date_spellings(date_text)
    return "In which month and year", "date", (date_text,)


def _ask_date(match: re.Match[str], parsed: ParsedPage) -> Iterator[_Question]:
    """Yield the question when a named subject did something."""
    subject, ending = match["subject"], f"{match.groupdict().get('object') or ''}{match['ending']}"
    if not names_subject(subject, parsed) or not _is_simple(ending, subject):
        return
    words, answer_type, answers = _date_answers(match["date"])
    _, base = english.split_verb(match["verb"])
    asks = f"{_in_sentence(subject)} {base}{ending}?"
    plain = ("When did",) if answer_type == "date" and words == "On which date" else ("In what year did",)
    starts = (f"{words} did", *(plain if answer_type != "date" or words == "On which date" else ()))
    phrase = f"the year in which {_in_sentence(subject)} {match['verb']}{ending}" if match["date"].isdigit() else ""
    templates = tuple(f"{start} {asks}" for start in starts)
    yield _Question(f"date {base}", templates, answers, answer_type, match["date"], phrase)


def _ask_passive_date(match: re.Match[str], parsed: ParsedPage) -> Iterator[_Question]:
    """Yield the question when something was done to a named subject."""
    subject, ending = match["subject"], f"{match['object']}{match['ending']}"
    if not names_subject(subject, parsed) or not _is_simple(ending, subject):
        return
    words, answer_type, answers = _date_answers(match["date"])
    asks = f"{match['be']} {_in_sentence(subject)} {match['done']}{ending}?"
    phrase = f"the year in which {_in_sentence(subject)} {match['be']} {match['done']}{ending}"
    phrase = phrase if match["date"].isdigit() else ""
    yield _Question(f"date {match['done']}", (f"{words} {asks}",), answers, answer_type, match["date"], phrase)


def _ask_agent(match: re.Match[str], parsed: ParsedPage) -> Iterator[_Question]:
    """Yield the question by whom something was done."""
    subject, agent, ending = match["subject"], match["agent"], f"{match['object']}{match['ending']}"
    if not names_subject(subject, parsed) or not _is_simple(ending, subject) or not is_good_name(agent):
        return
    core = f"{match['be']} {_in_sentence(subject)} {match['done']}{ending}"
    templates = (
        f"By whom {core}?",
        f"Who is it that {_in_sentence(subject)} {match['be']} {match['done']}{ending} by?",
    )
    phrase = f"the person or organisation by whom {_in_sentence(subject)} {match['be']} {match['done']}{ending}"
    yield _Question(f"agent {match['done']}", templates[:1], (agent,), "name", agent, phrase)


def _ask_office(match: re.Match[str]) -> Iterator[_Question]:
    """Yield the question who holds a named office."""
    name, role = match["name"], match["role"]
    if (
        not is_good_name(name)
        or _OPENING.match(name)
        or not _CAPITAL.search(role)
        or _VAGUE_SUBJECT.search(role)
        or not _is_simple(role)
    ):
        return
    if re.search(r"^(?:a|an|former|his|her|and|or|in|with|from|to|of|for)\b", role) or len(role.split()) < 3:
        return
    role = re.sub(r"^The ", "", role)
    yield _Question(
        "office", (f"Who is the {role}?", f"What is the name of the {role}?"), (name,), "name", name, f"the {role}"
    )


def _ask_money(match: re.Match[str], parsed: ParsedPage) -> Iterator[_Question]:
    """Yield the question how much money a named subject paid, raised or lost."""
    subject, ending, number = match["subject"], match["ending"], match["number"]
    if (
        not names_subject(subject, parsed)
        or not _is_simple(ending, subject)
        or re.match(r" (?:a|per|an|in|worth)\b", ending)
    ):
        return
    auxiliary, base = english.split_verb(match["verb"])
    words = "How much money" if base != "cost" else "How much"
    yield _Question(
        f"money {base}", (f"{words} {auxiliary} {_in_sentence(subject)} {base}{ending}?",), (number,), "number", number
    )


def _ask_share(match: re.Match[str]) -> Iterator[_Question]:
    """Yield the question which percentage of a group does something."""
    ending, number = match["ending"], match["number"]
    if not _CAPITAL.search(ending) or _TIME_WORDS.search(ending) or _VAGUE_SUBJECT.search(ending.split()[0]):
        return
    if re.search(
        r"\b(?:it|its|they|their|he|she|his|her|the (?:total|company|site|time|population|respondents))\b", ending
    ):
        return
    yield _Question(
        "percentage", (f"What percentage of {ending}?",),
        tuple(dict.fromkeys([f"{number}%", f"{number} percent", f"{number} per cent", number])), "number", number,
    )  # fmt: skip


def _ask_person(match: re.Match[str]) -> Iterator[_Question]:
    """Yield the question how old a person is, or where an organisation is based."""
    name, parts = match["name"], match.groupdict()
    if not is_good_name(name) or _OPENING.match(name):
        return
    if age := parts.get("number"):
        yield _Question("age", (f"How old is {name} reported to be?",), (age,), "number", age)
    elif is_good_name(place := parts["place"] or ""):
        yield _Question(
            "base",
            (f"Where is {name} based?", f"In which place is {name} based?"),
            (place,),
            "name",
            place,
            f"the place where {name} is based",
        )


def _ask_definition(match: re.Match[str], parsed: ParsedPage) -> Iterator[_Question]:
    """Yield the question for the name of what a sentence defines."""
    name, what = match["name"], match["what"].rstrip(". ")
    if (
        ". " in what
        or not is_good_name(name)
        or _OPENING.match(name)
        or name.lower() in what.lower()
        or not _CAPITAL.search(what)
        or "," in what[:30]
        # A type of a program in place of a noun: "the StablePtr to a value".
        or re.match(r"\w*[a-z][A-Z]|I[A-Z][a-z]", what)
    ):
        return
    if (
        (" " not in name and re.search(rf"\b{re.escape(name.lower())}\b", parsed.text) is not None)
        or _TIME_WORDS.search(what)
        or re.search(r"\b(?:similar|same|such|another|other|professor|writer|editor|developer|correspondent)\b", what)
        or re.search(r"\b(?:it|its|their|his|her|he|she)\b", what)
    ):
        return
    yield _Question(
        "definition",
        (f"What is the name of the {what}?",),
        (name,),
        "name",
        name,
        f"the {what}" if "," not in what else "",
    )
