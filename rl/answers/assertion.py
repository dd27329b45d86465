"""True if an answer asserts the mention that equals the accepted answer, and nothing else beside it.

An answer is taken apart into sentences. A sentence with the mention must put it where an answer stands: alone, behind
"is", "in", "by", "called" and the like, or first. Hedges, denials, a second value, and words to the judge are refused
anywhere. What a mention is, `names`, `measures` and `dates` say.
"""

from __future__ import annotations

import re

from webemu.rl.answers import wording
from webemu.rl.answers.brackets import is_in_bracket
from webemu.rl.answers.contexts import left_holds, right_holds
from webemu.rl.answers.excuses import is_excused, is_region_behind
from webemu.rl.answers.expectation import MASK, Expectation
from webemu.rl.answers.folding import fold, split_words
from webemu.rl.answers.mention import Reading, Span
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
_REVERSED = re.compile(r"\b(?:after|later|second|last|latest|smaller|shorter|younger|newer|lower|less|fewer)\b")
_JOINT = re.compile(
    r"(?:\bto the (?:north|south|east|west)\w*|\([^()\x01]{1,40}\)|[\s,;&*•/]|\b(?:and|und|et|y|e|as well as|both)\b)*",
    re.IGNORECASE,
)
_TAKEN_BY = re.compile(
    r"\b(?:replac\w+|succeed\w+|beat(?:en|s)?|defeat\w+|lost|los(?:es|ing)|reject\w+|said|says|claim\w*"
    r"|renamed|preced\w+"
    r"|overt\w+|outsold|compet\w+|rival\w*|also|both|influenc\w+|inspir\w+|admir\w+|prais\w+|critici\w+|translat\w+"
    r"|oppos\w+|mentor\w*|imitat\w+|resembl\w+|compar\w+|follow(?:ed|s)|mistak\w+)\b", re.IGNORECASE,
)  # fmt: skip
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
    contrast = _CONTRAST.search(masked)
    if contrast and masked[: contrast.start()].count(MASK):
        masked = masked[: contrast.start()] + " " * len(contrast[0]) + masked[contrast.end() :]
        reading = Reading(
            reading.hits, tuple(span for span in reading.rivals if not contrast.start() <= span.start < contrast.end())
        )
    if not has_plain_words(_RENAMED.sub("", masked), expected.question):
        return False
    groups = _group(masked, reading.hits)
    if any(not _is_complete(group, expected.parts) for group in groups):
        return False
    for sentence in split_sentences(masked):
        own_groups = [
            Span(group[0].start, group[-1].end) for group in groups if sentence.start <= group[0].start < sentence.end
        ]
        rivals = [span for span in reading.rivals if sentence.start <= span.start < sentence.end]
        if not own_groups and not _is_idle(text, masked, sentence, rivals, expected):
            return False
        if own_groups and not _sentence_holds(text, masked, sentence, own_groups, rivals, expected):
            return False
    return True


def has_plain_words(masked: str, question: str) -> bool:
    """True if a text neither hedges nor denies, and does not speak to its judge. Words of the question may return."""
    question_text = {word.plain for word in split_words(question)}
    plain = wording.POLITE.sub(" ", masked)
    if "?" in plain:
        return False
    return not any(
        fold(match[0]).strip() not in question_text
        for pattern in (wording.HEDGE, wording.DENIAL, wording.CORRECTION, wording.INJECTION, wording.RANK)
        for match in pattern.finditer(plain)
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


def _is_complete(group: list[Span], parts: int) -> bool:
    """True if a group has every part of the accepted answer once."""
    return sorted(hit.part for hit in group) == list(range(parts))


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
    if expected.is_choice and not _compares_as_asked(masked[sentence.start : sentence.end], expected.question):
        return False
    outside = [span for span in rivals if not is_in_bracket(text, span, expected)]
    question_text = fold(expected.question)
    relation = _TAKEN_BY.search(masked, sentence.start, sentence.end)
    if (
        relation
        and expected.parts == 1
        and fold(relation[0])[:4] not in question_text
        and (rivals or not _SPOKEN.match(relation[0]))
    ):
        return False
    if _says_contrary(masked[sentence.start : sentence.end], expected.question):
        return False
    for group in groups:
        ahead, behind = masked[sentence.start : group.start], masked[group.end : sentence.end]
        if not left_holds(ahead, expected) or not right_holds(behind, expected):
            return False
        if not all(
            is_excused(masked, span, group, sentence, expected)
            for span in outside
            if not is_region_behind(text, span, group)
        ):
            return False
    return True


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
