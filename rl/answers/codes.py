"""Codes such as "3–1", "12B", "3.10", "978-3-16-148410-0", and URLs: signs count, and nothing is a number."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from webemu.rl.answers.mention import Reading, Span

_CHUNK = re.compile(r"[^\s,;()\"]+")
_OPTION = re.compile(r"--?[a-zA-Z][\w-]*|[/~][\w.~-]*(?:/[\w.-]+)+/?")
"""Option of a command, or path of a file."""
_OPEN_WORDS = frozenset("version release v the in is it answer".split())
_DASHES = str.maketrans("–—−‐‑", "-----")
_URL = re.compile(
    r"(?:https?://)?(?:[a-z0-9-]{1,63}\.){1,8}[a-z]{2,24}(?::\d{1,5})?(?:/[^\s<>()\[\]\"'*]*)?", re.IGNORECASE
)
_PHONE = re.compile(r"\+?\(?\d[\d ()/.–-]{5,30}\d")
_RANGE_TEXT = (
    r"(?:\b(?:from|between)\s)?[$€£]?(\d[\d,]*(?:\.\d+)?)\s?(?:[-–—:]|\bto\b|\band\b|\buntil\b|\btill\b|\bthrough\b"
    r"|\bbis\b)\s?[$€£]?(\d[\d,]*(?:\.\d+)?)(?![\d:–-])"
)
_RANGE = re.compile(_RANGE_TEXT + r"(\s[^\W\d_]+)?", re.IGNORECASE)
_RANGE_OR_NUMBER = re.compile(
    _RANGE_TEXT + r"(\s(?:years?|months?|weeks?|days?|hours?|minutes?|seconds?|km|m"
    r"|cm|mm|kg|g|mins?|hrs?|h|secs?|s|percent|miles?|metres?|meters?|people)\b)?|\d[\d.,]*",
    re.IGNORECASE,
)
MIN_LONG_CODE = 8
"""Digits from which on hyphens in a code may be left out."""


def has_code_form(gold: str) -> bool:
    """True if an accepted answer is made of letters, digits and signs without spaces, or its last word is."""
    if is_phone(gold) or _OPTION.fullmatch(gold):
        return True
    return bool(re.fullmatch(r"(?:[A-Z][a-z]+ )?(?=\S*[\d@])\S+", gold)) and not re.fullmatch(r"[^\W\d_]+-?\d*", gold)


def is_phone(gold: str) -> bool:
    """True if an accepted answer is a telephone number or another long code of digits in groups."""
    return (
        bool(_PHONE.fullmatch(gold))
        and sum(c.isdigit() for c in gold) >= MIN_LONG_CODE
        and bool(re.search("[ -]", gold))
    )


def _find_phone(text: str, gold: str) -> Reading:
    digits = _phone_digits(gold)
    spans = [(Span(match.start(), match.end()), _phone_digits(match[0])) for match in _PHONE.finditer(text)]
    return Reading(
        tuple(span for span, number in spans if number == digits),
        tuple(span for span, number in spans if number != digits),
    )


def _phone_digits(text: str) -> str:
    """Return the digits of a telephone number; "00" is another way to write "+"."""
    return re.sub(r"\D", "", re.sub(r"^\D?00(?=[1-9])", "", text))


def find_code(text: str, gold: str) -> Reading:
    """Return where a text has a code, and the other codes of its form."""
    if is_phone(gold):
        return _find_phone(text, gold)
    gold_code = _plain(gold.split()[-1])
    word = gold.split()[0] if " " in gold else ""
    shape = _shape(gold_code)
    hits: list[Span] = []
    rivals: list[Span] = []
    for match in _CHUNK.finditer(text):
        end = match.end() - (len(match[0]) - len(match[0].rstrip(".:!'")))
        chunk = _plain(text[match.start() : end])
        before = re.search(r"([^\W\d_]+)\.? $", text[max(0, match.start() - 20) : match.start()])
        if word and before and before[1][0].isupper() and not _may_precede(before[1], word):
            rivals.append(Span(match.start(), end))
            continue
        # "Python 3.8 (PEP 572)" is one version.
        gap = text[hits[-1].end : match.start()] if hits else ""
        if gap.count("(") == 1 and ")" not in gap and _shape(chunk) != shape:
            continue
        if chunk == gold_code or (re.fullmatch(r"v\.?", chunk[: -len(gold_code)] or "x") and chunk.endswith(gold_code)):
            hits.append(Span(match.start(), end))
        elif (gold_code.startswith("--") and chunk.startswith("--")) or (
            any(c.isdigit() or c == "@" for c in chunk) and (_shape(chunk)[:1] == shape[:1] or len(chunk) > 1)
        ):
            rivals.append(Span(match.start(), end))
    return Reading(tuple(hits), tuple(rivals))


def _may_precede(before: str, word: str) -> bool:
    """True if a capitalised word before a code is the one of the accepted answer, or says nothing."""
    plain = before.casefold()
    return word.casefold().startswith(plain[:3]) or plain in _OPEN_WORDS


def is_range(gold: str) -> bool:
    """True if an accepted answer is a range or a score of two numbers, perhaps with a unit."""
    return bool(_RANGE.fullmatch(gold))


def find_range(text: str, gold: str) -> Reading:
    """Return where a text has a range, in signs or in words, and the other numbers."""
    expected = _range_key(_RANGE.fullmatch(gold))
    hits: list[Span] = []
    rivals: list[Span] = []
    for match in _RANGE_OR_NUMBER.finditer(text):
        span = Span(match.start(), match.end())
        found_range = _RANGE.fullmatch(match[0].strip())
        (hits if found_range and _range_key(found_range) == expected else rivals).append(span)
    return Reading(tuple(hits), tuple(rivals))


def _range_key(match: re.Match[str] | None) -> tuple[str, ...]:
    """Return the two numbers of a range without separators, and the beginning of its unit."""
    if match is None:
        return ()
    first, last = match[1].replace(",", ""), match[2].replace(",", "")
    # "1861–65" are years.
    last = first[:2] + last if len(first) == 4 and len(last) == 2 and last > first[2:] else last
    return first, last, (match[3] or "").strip()[:3].casefold()


def urls_agree(answer: str, gold: str) -> bool:
    """True if the only URL of a short answer is the accepted one, up to scheme, fragment and closing slash."""
    if len(answer) > 3 * len(gold) + 120 or re.search(r"\bnot\b|n't\b|\bor\b|\?\s*$", answer):
        return False
    url_keys = {_url_key(match[0].rstrip(".,;:!")) for match in _URL.finditer(answer)}
    return url_keys == {_url_key(gold.strip())}


def _url_key(url: str) -> str:
    parts = urlsplit(url if "://" in url else f"//{url}")
    host = parts.netloc.casefold().removeprefix("www.")
    query = f"?{parts.query}" if parts.query else ""
    return f"{host}{parts.path.rstrip('/')}{query}"


def _plain(chunk: str) -> str:
    plain = chunk.translate(_DASHES).casefold()
    if re.fullmatch(r"\d+:\d+", plain):
        plain = plain.replace(":", "-")
    long_form = re.fullmatch(r"\d[\d-]+[\dx]", plain) and sum(c.isdigit() for c in plain) >= MIN_LONG_CODE
    return plain.replace("-", "") if long_form else plain


def _shape(chunk: str) -> str:
    return re.sub(r"\d+", "0", re.sub(r"[a-z]+", "a", chunk))
