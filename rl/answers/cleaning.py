"""Plain text of an answer: Markdown, HTML, LaTeX, citation marks and typographic characters taken off.

Characters whose loss would change the meaning stay: signs of comparison, exponents, struck-out text (as a sign that no
frame accepts). It judges nothing; `webemu.rl.answers.assertion` does.
"""

from __future__ import annotations

import json
import re
import unicodedata

MAX_CHARACTERS = 2000
"""Answers are cut to this length."""
STRIKE_SIGN = "\x1a"
"""Sign that stands in place of markup that negates its content."""
_QUOTES = str.maketrans(
    dict.fromkeys('“”„«»‹›"`', " ") | dict.fromkeys("’‘ʼ´", "'") | {"−": "-", "‐": "-", "‑": "-", "…": "."}
)
_CITATION = re.compile(
    r"【[^】]{0,80}】|\[(?:\d{1,3}(?:[,–-] ?\d{1,3})*|\^\d{1,3}|citation needed)\](?!\()|\^\[\d{1,3}\]"
)
_LINK = re.compile(r"!?\[([^\[\]]{1,300})\]\([^()\s]{1,500}\)")
_SOURCE = re.compile(
    r"(?im)^[ \t>*_-]{0,6}(?:sources?|references?|citations?|cited|url|see|quelle|fuente)[*_]{0,2}\s?:.{0,600}$"
    r"|\(\s?(?:sources?|see|via|from|quelle)\b:?[^()]{0,300}\)|\(\s?https?://[^()\s]{1,400}\s?\)|\[\s?(?:sources?|see|via|ref)\b:?[^\[\]]{0,200}\](?!\()"
)
_ANSWER_FIELDS = frozenset(("answer", "final_answer", "final answer", "short_answer", "result", "response"))
_REMARK_FIELDS = frozenset(
    "confidence source sources url urls citation citations reference references evidence explanation reasoning quote"
    " question type unit".split()
)
_TAG = re.compile(r"</?(?:b|i|em|strong|u|p|span|code|sup|sub|mark|br|h[1-6])\s?/?>", re.IGNORECASE)
_SUBSCRIPT = re.compile(r"<sub>(\d{1,3})</sub>|(?<=[A-Za-z)])_(?:\{(\d{1,3})\}|(\d{1,3}))")
_MAIL = re.compile(r"(?:<|\bmailto:)([^<>\s@:]{1,80}@[^<>\s]{1,80})>?")
_SIGNS = re.compile(r" ?\(\s?`[^`\w\n]{1,6}`\s?\)")
"""Bracket that only has signs of code."""
_STRIKE = re.compile(r"~~|</?(?:s|del|strike)>", re.IGNORECASE)
_BOX = re.compile(r"\\(?:boxed|text|textbf|mathrm|mathbf|textit)\s?\{([^{}]{0,300})\}")
_MATH = re.compile(r"\$\$?([^$\s](?:[^$]{0,80}[^$\s])?)\$\$?(?!\d)")
_LATEX = re.compile(r"\\[()\[\],;! ]|\\(?=[$%&#_])")
_CODE_SPAN = re.compile(r"`[^`\n]{1,100}`")
_BULLET = re.compile(r"(?m)^[ \t]{0,8}[-*•·–→]\s+")
_COUNTED = re.compile(r"(?m)^[ \t]{0,8}\d{1,2}[.)]\s+")
_EMPHASIS = re.compile(
    r"\*{1,3}(?=\S)|(?<=\S)\*{1,3}|(?<!\w)_{1,3}(?=\w)|(?<=[\w.!?)])_{1,3}(?!\w)|(?m:^#{1,6}\s+|^>\s+)"
)
_FOOTNOTE = re.compile(r"(?<=[^\W\d_]{4})[⁰¹²³⁴⁵⁶⁷⁸⁹]+(?!\w)")
_PERIODS = re.compile(r"\b([ap])\. ?m\.?(?=\W|$)", re.IGNORECASE)


_HOURS = "one two three four five six seven eight nine ten eleven twelve".split()
_CLOCK = re.compile(rf"\b(half past|(?:a )?quarter past|(?:a )?quarter to) ({'|'.join(_HOURS)})\b", re.IGNORECASE)
_TWICE = re.compile(rf"\b({'|'.join(_HOURS)}) \((\d{{1,2}})\)(?= [a-z])", re.IGNORECASE)
_FEET = re.compile(r"(\d{1,3})\s?(?:ft|feet|foot|['′’])\s?(\d{1,2}(?:\.\d+)?)\s?(?:in\b\.?|inch(?:es)?\b|[\"″”]|'')")


def clean(answer: str) -> str:
    """Return the answer as plain text; its lines stay lines.

    clean("The answer is **Paris** [1].")  # "The answer is Paris ."
    """
    text = _unwrap_json(answer[:MAX_CHARACTERS].strip())
    if re.fullmatch(r"\([^()]+\)\.?", text):
        text = text.rstrip(".")[1:-1]
    text = _MAIL.sub(
        r"\1", re.sub(r"\b([A-G])(?:♯|#)(?= ?m)", r"\1 sharp", text.replace("♭", " flat").replace("♯", " sharp"))
    )
    text = _SIGNS.sub("", _SUBSCRIPT.sub(r"\1\2\3", text))
    text = _TAG.sub(" ", _STRIKE.sub(STRIKE_SIGN, _plain_characters(text)))
    text = _LINK.sub(r"\1", _CITATION.sub(" ", text))
    text = _BOX.sub(r"\1", _BOX.sub(r"\1", text))
    text = _BULLET.sub("", _LATEX.sub(" ", _MATH.sub(r"\1", _SOURCE.sub("", text))))
    # One line that begins with a number is no list.
    text = _COUNTED.sub("", text) if len(_COUNTED.findall(text)) > 1 else text
    # Underscores of code are no emphasis.
    text = _CODE_SPAN.sub(lambda match: match[0].replace("_", "\u203f"), text)
    text = _FOOTNOTE.sub("", _EMPHASIS.sub("", text)).replace("\u203f", "_")
    text = _TWICE.sub(_say_once, text)
    text = _CLOCK.sub(_to_digits, text)
    text = _FEET.sub(r"\1 ft \2 inches", text)
    text = re.sub(r"(?<![\w.])\.(?=\d)", "0.", text)
    text = _PERIODS.sub(r"\1m", text.translate(_QUOTES))
    return "\n".join(line for line in (" ".join(one.split()) for one in text.splitlines()) if line)


def _say_once(match: re.Match[str]) -> str:
    """Return a number in words without the same one in brackets: "eight (8) years"."""
    return match[1] if _HOURS.index(match[1].casefold()) + 1 == int(match[2]) else match[0]


def _to_digits(match: re.Match[str]) -> str:
    """Return a time in words as digits: "half past ten" is "10:30"."""
    hour, part = _HOURS.index(match[2].casefold()) + 1, match[1].casefold()
    if part.endswith("to"):
        return f"{(hour - 2) % 12 + 1}:45"
    return f"{hour}:{'30' if part.startswith('half') else '15'}"


def has_hidden_characters(text: str) -> bool:
    """True if the text has characters that a reader does not see, or marks that strike letters out."""
    return any(
        (unicodedata.category(c) in ("Cf", "Cc", "Cs", "Co") and c not in "\n\r\t\u00ad")
        or unicodedata.category(c) in ("Mn", "Me")
        for c in unicodedata.normalize("NFC", text[:MAX_CHARACTERS])
        if not c.isascii() or c < " "
    )


def _unwrap_json(text: str) -> str:
    """Return the answer of a JSON object that has no other field than remarks on it; any other text as it is."""
    if not text.startswith("{"):
        return text
    try:
        row = json.loads(text)
    except (ValueError, RecursionError):
        return text
    fields = {key.casefold(): value for key, value in row.items()} if isinstance(row, dict) else {}
    answers = [value for key, value in fields.items() if key not in _REMARK_FIELDS]
    if len(answers) == 1 and fields.keys() - _REMARK_FIELDS <= _ANSWER_FIELDS:
        return str(answers[0]) if isinstance(answers[0], str | int | float) else text
    return text


def _plain_characters(text: str) -> str:
    """Return the text with one form of spaces, digits, full-width letters and ligatures, and without pictures."""
    if text.isascii():
        return text
    return "".join(map(_plain_character, unicodedata.normalize("NFC", text)))


def _plain_character(c: str) -> str:
    if c.isascii():
        return c
    category, code = unicodedata.category(c), ord(c)
    if category == "Zs":
        return " "
    if category == "Nd":
        return str(unicodedata.decimal(c))
    if 0xFF00 <= code <= 0xFFEF or 0xFB00 <= code <= 0xFB06 or 0x2080 <= code <= 0x2089 or 0x2460 <= code <= 0x2473:
        return unicodedata.normalize("NFKC", c)
    # Pictures such as a tick say nothing; arrows are category Sm and stay.
    return " " if (category == "So" and c not in "°℃℉") or c in "\ufe0f\u00ad" else c
