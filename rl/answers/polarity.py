"""Yes and no, and "it cannot be found" in any wording."""

from __future__ import annotations

import re

from webemu.rl.answers import wording
from webemu.rl.answers.cleaning import clean
from webemu.rl.answers.folding import fold, split_words
from webemu.rl.answers.rivals import find_rival_names

_YES = frozenset("yes yeah yep yup indeed affirmative true correct oui ja si sí".split())
_NO = frozenset("no nope nay false incorrect non nein".split())
_NEGATION = re.compile(
    r"\b(?:not|never|neither|nor|cannot|none|nothing|nobody|without|nicht|kein\w?|pas|jamais|nunca)\b|n't\b",
    re.IGNORECASE,
)
_OPENING = re.compile(
    r"(?:(?:(?:the|my|final|short|correct)\s){0,3}answer\s?(?:is|:|-)|(?:according|based|judging|looking"
    r"|per)\b[^,]{0,80},|so,?|thus,?|therefore,?)\s*",
    re.IGNORECASE,
)
_SHORT = re.compile(
    r"(?:it|they|he|she|there|that)\s(?:is|was|are|were|does|did|do|has|have|can|could|will|would)(n't|\snot)?(?:\s(\w+))?(?=[.,;!]|$)",
    re.IGNORECASE,
)
"""Short answer such as "It isn't"."""
_NO_NOUNS = frozenset(
    "idea information one answer record data results clue evidence such source sources mention further number"
    " way doubt problem worries".split()
)
_ABSENCE = re.compile(
    r"\b(?:unable\sto|cannot|can't|can\snot|could\snot|couldn't|did\snot|didn't|does\snot|doesn't|do\snot"
    r"|don't|is\snot|isn't|was\snot|wasn't"
    r"|are\snot|aren't|were\snot|weren't|not|no|none|nothing|nowhere|never|nobody|without|failed\sto"
    r"|fails?\sto|lacks?|neither)\b"
    r"[^.!?]{0,80}?\b(?:f[io]u?nd\w*|stat(?:e|es|ed|ing)|sa(?:y|ys|id)|mention\w*|known?|determin\w+|available"
    r"|information|appears?|exists?"
    r"|records?|data|answer\w*|evidence|contains?|provid\w+|giv(?:e|es|en)|list(?:s|ed)?|specif\w+|disclos\w+"
    r"|document\w*|report\w*"
    r"|publish\w*|locat\w+|such|results?|tells?|told|indicat\w+|identif\w+|recorded|included?|includes|there"
    r"|verif(?:y|ied)|relevant|about\sit|about\sthis)\b"
    r"|\b(?:unknown|unanswerable|undetermined|unavailable|unspecified|undisclosed|unstated|n/a|not\sapplicable"
    r"|no\sanswer)\b"
    r"|\bnicht\s(?:gefunden|bekannt|angegeben|auffindbar)|\bkeine\s(?:angaben?|informationen)|\bnon\strouvé"
    r"|\bpas\s(?:trouvé|d'information)"
    r"|\bno\sse\s(?:encontró|encuentra|sabe)|\bno\shay\sinformación",
    re.IGNORECASE,
)
_CLAIM = re.compile(
    r"\b(?:but|however|probably|perhaps|maybe|likely|guess|estimate|i\sthink|i\sbelieve|might|suppose"
    r"|if\sforced|best\sguess|nevertheless"
    r"|not\s(?:unknown|hard|difficult|true|a\sproblem|the\scase|only)|did\s?n[o']t\s(?:search|look|try|bother"
    r"|check)|without\ssearching|it\swas\sfound|easily)\b",
    re.IGNORECASE,
)
_INJECTION = re.compile(
    r"\b(?:judge|grader|reward|full\smarks|instructions|ignore|award|verified)\b|[{}|\\<>]", re.IGNORECASE
)
MAX_CHARACTERS = 400
"""Longest answer that says that nothing was found, or yes or no."""


def polarity_of(text: str) -> str:
    """Return `yes`, `no` or an empty text for the first word of an answer."""
    plain = _OPENING.sub("", text.strip(), count=1) if _OPENING.match(text.strip()) else text.strip()
    words = split_words(plain)
    first = fold(words[0].plain) if words else ""
    if (
        first in _NO
        and len(words) > 1
        and plain[words[0].end : words[1].start] == " "
        and (words[1].plain in _NO_NOUNS or words[1].text[0].isdigit() or words[1].plain in ("longer", "es", "fue"))
    ):
        return ""
    if first in _NO and len(words) > 1 and words[1].text[0].isdigit():
        return ""
    return "yes" if first in _YES else "no" if first in _NO else ""


def is_polar(gold: str) -> bool:
    """True if an accepted answer is a yes or a no, perhaps with a reason."""
    words = split_words(gold)
    if not words or words[0].plain not in ("yes", "no"):
        return False
    return len(words) == 1 or gold[words[0].end : words[0].end + 1] in (",", ".", ";", ":")


def says_polarity(answer: str, gold: str, question: str) -> bool:
    """True if an answer says the accepted yes or no, and nothing against it."""
    text, expected = clean(answer), polarity_of(gold)
    if len(text) > MAX_CHARACTERS or "?" in text or _INJECTION.search(text) or _is_hedged(text):
        return False
    answer_polarity = polarity_of(text)
    plain = _OPENING.sub("", text, count=1) if _OPENING.match(text) else text
    remainder = plain[re.search(r"\w+", plain).end() :] if answer_polarity and re.search(r"\w+", plain) else plain  # type: ignore[union-attr]
    short = _SHORT.match(plain)
    if not answer_polarity and short and (not short[2] or fold(short[2]) in {w.plain for w in split_words(question)}):
        return ("no" if short[1] else "yes") == expected
    if not answer_polarity:
        return _restates(plain, question) == expected
    words = {word.plain for word in split_words(re.sub(r"\bnon-", "non", remainder))}
    if answer_polarity != expected or words & (_NO if answer_polarity == "yes" else _YES):
        return False
    if words & {"actually", "but", "however", "wait", "rather"}:
        return False
    if answer_polarity == "yes":
        return not _NEGATION.search(remainder)
    # "No, it is a dwarf planet" says something else than "it is a planet".
    asked_words = {word.plain[:4] for word in split_words(question)} | wording.FUNCTION_WORDS
    says_more = any(word[:4] not in asked_words and word not in asked_words for word in words)
    return says_more or _restates(remainder, question) != "yes"


def _is_hedged(text: str) -> bool:
    """True if a text leaves its yes or no open; "one of them" does not."""
    return any(
        fold(match[0]) not in ("one of", "among", "any of", "such as", "believed", "attributed")
        for match in wording.HEDGE.finditer(text)
    )


def _restates(text: str, question: str) -> str:
    """Return `yes` or `no` if a sentence says what was asked or denies it; empty if it says something else."""
    question_words = [word.plain for word in split_words(question) if word.plain not in wording.FUNCTION_WORDS]
    words = [word.plain[:4] for word in split_words(text)]
    shared = sum(word[:4] in words for word in question_words)
    # "The Atlantic is larger than the Pacific" turns the question around.
    places = [words.index(word[:4]) for word in question_words if word[:4] in words]
    is_turned = " by " in question and places == sorted(places, reverse=True)
    if not question_words or (places != sorted(places) and not is_turned) or shared < max(1, 0.6 * len(question_words)):
        return ""
    is_contrary = any(
        re.search(rf"\b(?:{first})", fold(question)) and re.search(rf"\b(?:{second})", fold(text))
        for pair in wording.CONTRARIES
        for first, second in (pair, pair[::-1])
    )
    return "no" if bool(_NEGATION.search(text)) != is_contrary else "yes"


def says_not_found(answer: str, question: str) -> bool:
    """True if an answer says that the answer cannot be found, and gives none."""
    text = clean(answer)
    if len(text) > MAX_CHARACTERS or "?" in text or _CLAIM.search(text) or _INJECTION.search(text):
        return False
    if not _ABSENCE.search(text) and fold(text).strip(" .!") not in ("none", "nothing", "unknown"):
        return False
    question_numbers = set(re.findall(r"\w+", question))
    if any(number not in question_numbers for number in re.findall(r"\d+", text)):
        return False
    return not [
        rival for rival in find_rival_names(text, (), question) if not _is_source(text[rival.start : rival.end])
    ]


def _is_source(name: str) -> bool:
    return name.casefold() in (
        "n",
        "a",
        "n a",
        "wikipedia",
        "none",
        "nothing",
        "unknown",
        "sorry",
        "not",
        "unfortunately",
        "unable",
        "neither",
        "there",
        "google",
        "web",
        "internet",
        "i",
        "however",
        "despite",
    )
