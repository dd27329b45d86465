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
    r"|\(\s?(?:sources?|see|via|from|quelle)\b:?[^()]{0,300}\)|\(\s?https?://[^()\s]{1,400}\s?\)"
)
_TAG = re.compile(r"</?(?:b|i|em|strong|u|p|span|code|sup|sub|mark|br|h[1-6])\s?/?>", re.IGNORECASE)
_STRIKE = re.compile(r"~~|</?(?:s|del|strike)>", re.IGNORECASE)
_BOX = re.compile(r"\\(?:boxed|text|textbf|mathrm|mathbf|textit)\s?\{([^{}]{0,300})\}")
_MATH = re.compile(r"\$\$?([^$\s](?:[^$]{0,80}[^$\s])?)\$\$?(?!\d)")
_LATEX = re.compile(r"\\[()\[\],;! ]|\\(?=[$%&#_])")
_BULLET = re.compile(r"(?m)^[ \t]{0,8}[-*•·–→]\s+")
_COUNTED = re.compile(r"(?m)^[ \t]{0,8}\d{1,2}[.)]\s+")
_EMPHASIS = re.compile(
    r"\*{1,3}(?=\S)|(?<=\S)\*{1,3}|(?<!\w)_{1,3}(?=\w)|(?<=[\w.!?)])_{1,3}(?!\w)|(?m:^#{1,6}\s+|^>\s+)"
)
_FOOTNOTE = re.compile(r"(?<=[^\W\d_]{4})[⁰¹²³⁴⁵⁶⁷⁸⁹]+(?!\w)")
_PERIODS = re.compile(r"\b([ap])\. ?m\.?(?=\W|$)", re.IGNORECASE)


_FEET = re.compile(r"(\d{1,3})\s?(?:ft|feet|foot|['′’])\s?(\d{1,2}(?:\.\d+)?)\s?(?:in\b\.?|inch(?:es)?\b|[\"″”]|'')")


def clean(answer: str) -> str:
    """Return the answer as plain text; its lines stay lines.

    clean("The answer is **Paris** [1].")  # "The answer is Paris ."
    """
    text = _unwrap_json(answer[:MAX_CHARACTERS].strip())
    if re.fullmatch(r"\([^()]+\)\.?", text):
        text = text.rstrip(".")[1:-1]
    text = _TAG.sub(" ", _STRIKE.sub(STRIKE_SIGN, _plain_characters(text)))
    text = _LINK.sub(r"\1", _CITATION.sub(" ", text))
    text = _BOX.sub(r"\1", _BOX.sub(r"\1", text))
    text = _BULLET.sub("", _LATEX.sub(" ", _MATH.sub(r"\1", _SOURCE.sub("", text))))
    # One line that begins with a number is no list.
    text = _COUNTED.sub("", text) if len(_COUNTED.findall(text)) > 1 else text
    text = _FOOTNOTE.sub("", _EMPHASIS.sub("", text))
    text = _FEET.sub(r"\1 ft \2 inches", text)
    text = re.sub(r"(?<![\w.])\.(?=\d)", "0.", text)
    text = _PERIODS.sub(r"\1m", text.translate(_QUOTES))
    return "\n".join(line for line in (" ".join(one.split()) for one in text.splitlines()) if line)


def has_hidden_characters(text: str) -> bool:
    """True if the text has characters that a reader does not see, or marks that strike letters out."""
    return any(
        (unicodedata.category(c) in ("Cf", "Cc", "Cs", "Co") and c not in "\n\r\t\u00ad")
        or unicodedata.category(c) in ("Mn", "Me")
        for c in unicodedata.normalize("NFC", text[:MAX_CHARACTERS])
        if not c.isascii() or c < " "
    )


def _unwrap_json(text: str) -> str:
    """Return the value of a JSON object whose only field is the answer; any other text as it is."""
    if not text.startswith("{"):
        return text
    try:
        row = json.loads(text)
    except (ValueError, RecursionError):
        return text
    values = list(row.items()) if isinstance(row, dict) else []
    if len(values) == 1 and values[0][0].casefold() in ("answer", "final_answer", "final answer"):
        return str(values[0][1]) if isinstance(values[0][1], str | int | float) else text
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
