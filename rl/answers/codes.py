"""Codes such as "3–1", "12B", "3.10", "978-3-16-148410-0", and URLs: signs count, and nothing is a number."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from webemu.rl.answers.mention import Reading, Span

_CHUNK = re.compile(r"[^\s,;()\"]+")
_DASHES = str.maketrans("–—−‐‑", "-----")
_URL = re.compile(
    r"(?:https?://)?(?:[a-z0-9-]{1,63}\.){1,8}[a-z]{2,24}(?::\d{1,5})?(?:/[^\s<>()\[\]\"'*]*)?", re.IGNORECASE
)
_PHONE = re.compile(r"\+?\(?\d[\d ()/.–-]{5,30}\d")
_RANGE_TEXT = (
    r"(?:\b(?:from|between)\s)?[$€£]?(\d[\d,]*(?:\.\d+)?)\s?(?:[-–—:]|\bto\b|\band\b"
    r"|\bbis\b)\s?[$€£]?(\d[\d,]*(?:\.\d+)?)(?![\d:–-])"
)
_RANGE = re.compile(_RANGE_TEXT + r"(\s[^\W\d_]+)?", re.IGNORECASE)
_RANGE_OR_NUMBER = re.compile(
    _RANGE_TEXT + r"(\s(?:years?|months?|weeks?|days?|hours?|minutes?|seconds?|km|m"
    r"|cm|mm|kg|g|percent|miles?|metres?|meters?|people))?|\d[\d.,]*",
    re.IGNORECASE,
)
MIN_LONG_CODE = 8
"""Digits from which on hyphens in a code may be left out."""


def has_code_form(gold: str) -> bool:
    """True if an accepted answer is made of letters, digits and signs without spaces, or its last word is."""
    if is_phone(gold):
        return True
    return bool(re.fullmatch(r"(?:[A-Z][a-z]+ )?(?=\S*[\d@])\S+", gold)) and not re.fullmatch(r"[^\W\d_]+-?\d*", gold)


def is_phone(gold: str) -> bool:
    """True if an accepted answer is a telephone number or another long code of digits in groups."""
    return bool(_PHONE.fullmatch(gold)) and sum(c.isdigit() for c in gold) >= MIN_LONG_CODE and " " in gold


def _find_phone(text: str, gold: str) -> Reading:
    digits = re.sub(r"\D", "", gold)
    spans = [(Span(match.start(), match.end()), re.sub(r"\D", "", match[0])) for match in _PHONE.finditer(text)]
    return Reading(
        tuple(span for span, number in spans if number == digits),
        tuple(span for span, number in spans if number != digits),
    )


def find_code(text: str, gold: str) -> Reading:
    """Return where a text has a code, and the other codes of its form."""
    if is_phone(gold):
        return _find_phone(text, gold)
    gold_code = _plain(gold.split()[-1])
    shape = _shape(gold_code)
    hits, rivals = [], []
    for match in _CHUNK.finditer(text):
        end = match.end() - (len(match[0]) - len(match[0].rstrip(".:!'")))
        chunk = _plain(text[match.start() : end])
        if chunk == gold_code or (re.fullmatch(r"v\.?", chunk[: -len(gold_code)] or "x") and chunk.endswith(gold_code)):
            hits.append(Span(match.start(), end))
        elif any(c.isdigit() or c == "@" for c in chunk) and (_shape(chunk)[:1] == shape[:1] or len(chunk) > 1):
            rivals.append(Span(match.start(), end))
    return Reading(tuple(hits), tuple(rivals))


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
    return match[1].replace(",", ""), match[2].replace(",", ""), (match[3] or "").strip()[:3].casefold()


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
