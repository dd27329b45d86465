"""True if an answer asserts the mention that equals the accepted answer, and nothing else beside it.

An answer is taken apart into sentences. A sentence with the mention must put it where an answer stands: alone, behind
"is", "in", "by", "called" and the like, or first. Hedges, denials, a second value, and words to the judge are refused
anywhere. What a mention is, `names`, `measures` and `dates` say.
"""

from __future__ import annotations

import re

from webemu.rl.answers import wording
from webemu.rl.answers.brackets import is_in_bracket
from webemu.rl.answers.excuses import is_excused, is_region_behind
from webemu.rl.answers.expectation import MASK, Expectation
from webemu.rl.answers.folding import fold, split_words
from webemu.rl.answers.left_context import left_holds
from webemu.rl.answers.mention import Reading, Span
from webemu.rl.answers.regions import level_of
from webemu.rl.answers.right_context import right_holds
from webemu.rl.answers.sentences import split_sentences

MAX_ANSWER_CHARACTERS = 420
"""Longest answer without a label, apart from the mention."""
MIN_SENTENCE_WORDS = 4
"""A sentence with fewer words that does not hold the answer is an answer itself."""
_RENAMED = re.compile(
    r"(?<=\x01) \((?:formerly|then|now|previously|also known as|a\.?k\.?a\.?|born|née?|originally) [^()]{1,60}\)",
    re.IGNORECASE,
)
"""Other name of the same thing, in brackets behind the answer."""
_CONTRAST = re.compile(
    r"(?:,| \(|;)\s?(?:and )?not (?:in |by |on |at |the |to ){0,2}[A-Z\d][^,.;()\n\x01]{0,40}\)?(?=[.\s]*(?:\n|$))"
)
"""Denial of another answer at the end of a sentence: "Canberra, not Sydney"."""
_RATHER = re.compile(
    r"(?<=\x01),? (?:rather than|instead of|as opposed to|unlike) [^,.;()\n\x01]{1,60}(?=[.\s]*(?:\n|$))"
)
"""Denial of another answer behind the accepted one: "with the states rather than with Congress"."""
_REVERSED = re.compile(r"\b(?:after|later|second|last|latest|smaller|shorter|younger|newer|lower|less|fewer)\b")
_JOINT = re.compile(
    r"(?:\bto the (?:north|south|east|west)\w*|\([^()\x01]{1,40}\)|[\s,;&*•/]"
    r"|\b(?:and|und|et|y|e|as well as|both|an?|the)\b)*",
    re.IGNORECASE,
)
_TAKEN_BY = re.compile(
    r"\b(?:replac\w+|succeed\w+|beat(?:en|s)?|defeat\w+|lost|los(?:es|ing)|reject\w+|said|says|claim\w*"
    r"|renamed|preced\w+"
    r"|overt\w+|outsold|compet\w+|rival\w*|also|both|influenc\w+|inspir\w+|admir\w+|prais\w+|critici\w+|translat\w+"
    r"|includ(?:ed|es|ing)|dissent\w*|declin\w+|refus\w+|abstain\w*|oppos\w+|mentor\w*|imitat\w+|resembl\w+|compar\w+|follow(?:ed|s)"
    r"|mistak\w+)\b", re.IGNORECASE,
)  # fmt: skip
_RELATIVE = re.compile(
    r",(?: [^\x01,;]{1,40},)? (?:who|whose|where|when|which|by|in|at|on|from|with|for|\w+ed|\w{3,}ing|born|known"
    r"|written|sung|won|led|(?:an?|the|its|his|her) [a-z]+)\b[^\x01]*$"
)
"""Clause that says more of the last mention; its names are no other answers."""
_TAIL = re.compile(
    r"(?<=\x01),? (?:who|whose|where|when)\b(?! (?:is|was|were|are|did|does|has|had)(?: not|n't| never)\b)"
    r"[^\x01.?!;]*(?=[.!]?\s*$)"
)
_CONCESSION = re.compile(
    r"(?:, (?:though|although|while|whereas)|(?<=\w);(?= (?:\S+ ){2})) (?!or\b|and\b|others|some|it|that|this|not\b)"
    r"(?![^\x01]*\b(?:also|too|another|credit\w*|now|actually|answer|or|other)\b)[^\x01.?!;]*(?=[.!]?\s*$)"
)
"""Clause at the end that grants something else."""
_EVENT = re.compile(
    r"(?<=\x01),? and (?:(?:she|he|it|they|(?:the|his|her|its) \w+) )?(?:was |were )?"
    r"(\w+ed|died|left|won|lost|became|began)\b[^\x01.?!;]*(?=[.!]?\s*$)"
)
"""Second event in a sentence about a date."""
_NUMBERED = re.compile(
    r"\b(version|season|episode|chapter|volume|article|section|part|level|edition|apollo) (\d[\d.]*)"
)
_PASSIVE = re.compile(r"\b(?:is|was|are|were|been|be|by|do|does|did)\b", re.IGNORECASE)
_ENDED = re.compile(r"\b(?:was|were)\b[^.]*\b(?:until|till)\b(?! (?:his|her|their|its) )")
"""Statement that is no longer true."""
_REPLACED = re.compile(r"\b(?:replaced|succeeded|superseded) by\b")
_OTHER_EVENT = re.compile(
    r"\b(?:was|were)(?: \w+ly)? (re[a-z]{2,}ed|rebuilt|banned|cancelled|nominated|proposed|planned|announced|drafted"
    r"|translated|adapted|expanded|moved|damaged|sold|acquired)\b"
    r"(?<!released)(?<!recorded)(?<!registered) [^\x01]{0,12}\x01"
)
"""Event that a question asks for by its own name only."""
_KIN = re.compile(
    r"(?:his|her|their|its) (?:\w+ )?(brother|sister|father|mother|son|daughter|wife|husband|uncle|aunt|friend"
    r"|colleague|successor|predecessor|teacher|student|rival|twin|cousin)s? (?!\x01)[a-z]",
    re.IGNORECASE,
)
"""Subject that is somebody else than the one asked for."""
_SPOKEN = re.compile(r"said|says|claim|also|both", re.IGNORECASE)
_COMPARATIVE = re.compile(
    r"\b(?:is|was|are|were|be|has|have|had|lies|ist|est|es)\s(?:much\s|far\s|the\s|slightly\s)?(more|less"
    r"|fewer|most|least|worse|better|\w{3,}(?:er|est))\b"
)


def is_asserted(text: str, reading: Reading, expected: Expectation) -> bool:
    """True if a text asserts its hits, and neither takes them back nor names a rival."""
    if not reading.hits or len(text) - sum(hit.end - hit.start for hit in reading.hits) > MAX_ANSWER_CHARACTERS:
        return False
    masked = _mask(text, reading.hits)
    masked, reading = _drop_asides(masked, reading, expected)
    asserted = _RENAMED.sub("", masked)
    if not has_plain_words(asserted, expected.question, _TAIL.sub("", asserted)):
        return False
    groups = _group(masked, reading.hits)
    if any(not _is_complete(group, expected) for group in groups):
        return False
    for sentence in split_sentences(masked):
        own_groups = [
            Span(group[0].start, group[-1].end) for group in groups if sentence.start <= group[0].start < sentence.end
        ]
        rivals = [span for span in reading.rivals if sentence.start <= span.start < sentence.end]
        is_step = expected.is_chained and sentence.end <= groups[0][0].start
        if not own_groups and not _is_idle(text, masked, sentence, [] if is_step else rivals, expected):
            return False
        if own_groups and not _sentence_holds(text, masked, sentence, own_groups, rivals, expected):
            return False
    return True


def _drop_asides(masked: str, reading: Reading, expected: Expectation) -> tuple[str, Reading]:
    """Return a text and its reading without a denial of another answer, a concession, and a second event."""
    contrast = _CONTRAST.search(masked) or _RATHER.search(masked)
    if contrast and masked[: contrast.start()].count(MASK):
        masked = masked[: contrast.start()] + " " * len(contrast[0]) + masked[contrast.end() :]
        other_rivals = (span for span in reading.rivals if not contrast.start() <= span.start < contrast.end())
        reading = Reading(reading.hits, tuple(other_rivals))
    concession = _CONCESSION.search(masked)
    if concession and not _is_concession(masked[: concession.start()], concession[0], expected):
        concession = None
    event = _EVENT.search(masked) if expected.flavour == "date" else None
    if event and expected.asks_verb(fold(event[1])):
        event = None
    for aside in (event, concession):
        if aside:
            masked = masked[: aside.start()] + " " * len(aside[0]) + masked[aside.end() :]
            reading = Reading(reading.hits, tuple(span for span in reading.rivals if span.start < aside.start()))
    return masked, reading


def _is_concession(ahead: str, clause: str, expected: Expectation) -> bool:
    """True if a clause at the end tells of something that was not asked. What is told before a semicolon must be."""
    words = [word.plain for word in split_words(clause)[1:]]
    if any(expected.asks(word) for word in words if len(word) > 2 and word not in wording.FUNCTION_WORDS):
        return False
    behind = ahead[ahead.rfind(MASK) + 1 :]
    return not clause.startswith(";") or any(expected.asks_verb(word.plain) for word in split_words(behind)[:1])


def has_plain_words(masked: str, question: str, core: str = "") -> bool:
    """True if a text neither hedges nor denies, and does not speak to its judge. Words of the question may return. A
    clause that says more of the answer, and is not in the core of the text, may deny something else.
    """
    question_text = {word.plain for word in split_words(question)}
    plain = wording.POLITE.sub(" ", masked)
    core = wording.POLITE.sub(" ", core or masked)
    if "?" in plain:
        return False
    return not any(
        fold(match[0]).strip() not in question_text and (match[0].isalpha() or fold(match[0]) not in fold(question))
        for text, patterns in (
            (plain, (wording.HEDGE, wording.INJECTION)),
            (core, (wording.DENIAL, wording.CORRECTION, wording.RANK)),
        )
        for pattern in patterns
        for match in pattern.finditer(text)
    )


def is_excuse(sentence: str) -> bool:
    """True if a sentence is a courtesy, such as "Sure!" or "Let me check."."""
    return bool(wording.ANNOUNCEMENT.match(sentence)) or all(
        word.plain in wording.EXCUSES for word in split_words(sentence)
    )


def _mask(text: str, hits: tuple[Span, ...]) -> str:
    """Return the text with every hit replaced by as many signs."""
    for hit in hits:
        text = text[: hit.start] + MASK * (hit.end - hit.start) + text[hit.end :]
    return text


def _group(masked: str, hits: tuple[Span, ...]) -> list[list[Span]]:
    """Return the hits in groups that only separators of a list part."""
    groups: list[list[Span]] = []
    for hit in sorted(hits, key=lambda span: span.start):
        if groups and _JOINT.fullmatch(masked, groups[-1][-1].end, hit.start):
            groups[-1].append(hit)
        else:
            groups.append([hit])
    return groups


def _is_complete(group: list[Span], expected: Expectation) -> bool:
    """True if a group has every part of the accepted answer once; a number may stand beside its conversions."""
    if expected.flavour == "number" and expected.parts == 1:
        return True
    return sorted(hit.part for hit in group) == list(range(expected.parts))


def _is_idle(text: str, masked: str, sentence: Span, rivals: list[Span], expected: Expectation) -> bool:
    """True if a sentence without the answer gives no other one."""
    words = split_words(masked[sentence.start : sentence.end])
    if is_excuse(masked[sentence.start : sentence.end]):
        return True
    is_lead = masked[sentence.start : sentence.end].endswith(":")
    if wording.ANSWER_FORM.search(masked, sentence.start, sentence.end) and not is_lead:
        return False
    return (is_lead or len(words) >= MIN_SENTENCE_WORDS) and all(
        is_excused(masked, span, None, sentence, expected) for span in rivals
    )


def _sentence_holds(
    text: str, masked: str, sentence: Span, groups: list[Span], rivals: list[Span], expected: Expectation
) -> bool:
    """True if a sentence asserts each of its groups."""
    aside = _RELATIVE.search(masked, groups[-1].end, sentence.end)
    end = aside.start() if aside and expected.flavour == "name" else sentence.end
    if _is_of_other_relation(masked[sentence.start : end], bool(rivals), expected):
        return False
    behind = masked[groups[-1].end : sentence.end]
    if _is_turned_or_past(masked[sentence.start : sentence.end], behind, expected):
        return False
    outside = [span for span in rivals if span.start < end and not is_in_bracket(masked, span, expected)]
    return all(_group_holds(text, masked, sentence, group, outside, expected) for group in groups)


def _is_of_other_relation(sentence: str, has_rivals: bool, expected: Expectation) -> bool:
    """True if a sentence says something else of the answer than was asked, such as whom it succeeded."""
    relation = _TAKEN_BY.search(sentence)
    if not relation or expected.parts != 1 or expected.flavour != "name":
        return False
    return not expected.asks_verb(fold(relation[0])) and (has_rivals or not _SPOKEN.match(relation[0]))


def _is_turned_or_past(sentence: str, behind: str, expected: Expectation) -> bool:
    """True if a sentence turns the question's relation, tells of another event or person, or of what has ended.

    `behind` is its part behind the last mention.
    """
    question = expected.question
    if expected.is_choice and not _compares_as_asked(sentence, question):
        return True
    passive = re.match(r" (?:is|was|are|were|has been) (\w+) by\b", behind)
    if passive and expected.asks_verb(passive[1]) and not _PASSIVE.search(question):
        return True
    if _ENDED.search(sentence) and re.search(r"\b(?:is|are)\b", question):
        return True
    event = _OTHER_EVENT.search(sentence) if expected.flavour == "date" else None
    kin = _KIN.match(sentence)
    if (event and not expected.asks(event[1])) or (kin and not expected.asks(kin[1])):
        return True
    if _REPLACED.search(behind) and re.search(r"\b(?:is|current\w*|now)\b", question):
        return True
    return _numbers_differ(sentence, question) or _says_contrary(sentence, question)


def _group_holds(
    text: str, masked: str, sentence: Span, group: Span, outside: list[Span], expected: Expectation
) -> bool:
    """True if the words around a group lead up to an answer, and each of the rivals is excused."""
    ahead, behind = masked[sentence.start : group.start], masked[group.end : sentence.end]
    if not left_holds(ahead, expected) or not right_holds(behind, expected):
        return False
    excused_end = -1
    for span in outside:
        # "with Bo Lund and Ann Ode": what holds for one holds for the next.
        is_next = excused_end > group.end and masked[excused_end : span.start] in (", ", " and ", ", and ")
        is_next = is_next or is_region_behind(text, span, group, expected)
        if not is_next and not is_excused(masked, span, group, sentence, expected):
            return False
        is_region = level_of(masked[span.start : span.end])
        excused_end = -1 if is_region else span.end
    return True


def _numbers_differ(sentence: str, question: str) -> bool:
    """True if a sentence tells of another one than the question: "version 1.9" for "version 2.0"."""
    question_numbers, own_numbers = (
        {match[1][:4]: match[2].rstrip(".") for match in _NUMBERED.finditer(fold(text))}
        for text in (question, sentence)
    )
    return any(own_numbers.get(noun, number) != number for noun, number in question_numbers.items())


def _says_contrary(sentence: str, question: str) -> bool:
    """True if a sentence tells of the contrary of what was asked, such as a death for a birth."""
    asked_text, plain = fold(question), fold(sentence)
    return any(
        re.search(rf"\b(?:{first})", asked_text)
        and not re.search(rf"\b(?:{second})", asked_text)
        and re.search(rf"\b(?:{second})", plain)
        and not re.search(rf"\b(?:{first})", plain)
        for pair in wording.CONTRARIES
        for first, second in (pair, pair[::-1])
    )


def _compares_as_asked(sentence: str, question: str) -> bool:
    """True if all comparatives of a sentence are those of the question."""
    question_text = fold(question)
    if any(match[0] not in question_text for match in _REVERSED.finditer(fold(sentence))):
        return False
    return all(match[1] in question_text for match in _COMPARATIVE.finditer(fold(sentence)))
