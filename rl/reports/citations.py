"""Citations in the forms that language models write, brought to one form: marks that name pages.

A mark is a run of source ids between two private characters. An id is a number of the list of sources, or a URL. The
list is the report's own where it has one (footnotes, a list of sources with URLs), else the citations of `finish`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

MAX_PAGES_PER_CITATION = 3
"""Pages that may be cited at one place. Citing more is treated as citing everything, and counts as nothing."""
OPEN, CLOSE, BETWEEN = "\ue000", "\ue001", "\ue002"
"""Characters of a mark: around it, and between its ids."""
MARK = re.compile(f"{OPEN}([^{OPEN}{CLOSE}]*){CLOSE}")
_HTTP = "\ue003"
"""Character for `http` within a mark, so that no URL is marked twice."""
_PRIVATE = re.compile("[\ue000-\uf8ff]")
_URL = re.compile(r"https?://[^\s<>()\[\]{}|\"“”【】\ue000-\uf8ff]+(?:\([^\s<>()\[\]|]{0,80}\)[^\s<>()\[\]|\"“”]*)?")
_NUMBERS = r"\^?\d{1,3}(?:\s*(?:[,;–-]|and|&)\s*\^?\d{1,3})*"
_SOURCE_WORD = r"(?:sources?|refs?\.?|references?|citations?|cite|docs?|documents?|pages?|webpages?|results?|notes?)"
_BRACKETED = re.compile(
    rf"\\?\[\s*(?:{_SOURCE_WORD}\s*[:.#]?\s*)?({_NUMBERS})(?:†[^\[\]\n]{{0,60}})?\s*\\?\]", re.IGNORECASE
)
_WIDE = re.compile(rf"【\s*(?:{_SOURCE_WORD}\s*[:.#]?\s*)?({_NUMBERS})\s*(?:[†:][^【】\n]{{0,80}})?】", re.IGNORECASE)
_ROUND = re.compile(rf"(?<=[\w.,;:!?%\"”’)\]])[ ]?\(\s*(?:{_SOURCE_WORD}\s*[:.#]?\s*)?({_NUMBERS})\s*\)", re.IGNORECASE)
_FOOTNOTE = re.compile(r"\[\^([^\s\[\]]{1,30})\]")
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
_SUPERSCRIPT = re.compile(
    r"(?<=[\w.,;:!?\"”’)\]])(?<![kcm]m)(?<!\bm)(?<!\bft)([⁰¹²³⁴⁵⁶⁷⁸⁹]{1,2}(?:[,˒·]\s?[⁰¹²³⁴⁵⁶⁷⁸⁹]{1,2})*)"
)
_SUP_TAG = re.compile(rf"<sup>\s*\[?({_NUMBERS})\]?\s*</sup>", re.IGNORECASE)
_LINK = re.compile(
    r"(!?)\[((?:[^\[\]\n]|\\?\[[^\[\]\n]{0,40}\]){0,300})\]\(\s*<?(https?://[^\s<>()]{1,2000}(?:\([^\s()]{0,80}\)[^\s<>()]{0,200})?)>?"
    r"(?:\s+[\"'][^\"'\n]{0,200}[\"'])?\s*\)"
)
_IMAGE = re.compile(r"!\[([^\[\]\n]{0,300})\]\([^()\n]{0,2000}\)")
_REFERENCE_LINK = re.compile(r"\[([^\[\]\n]{2,300})\]\[\^?(\d{1,3})\]")
_LIST_HEADING = re.compile(
    r"[\s#*_>]*(?:sources?|references|bibliography|works cited|citations|footnotes|links|notes)(?: cited| used)?"
    r"[\s:*_]*",
    re.IGNORECASE,
)
_DEFINITION = re.compile(
    r"\s{0,8}(?:[-*+]\s+)?(?:\\?\[\^?([^\[\]\s]{1,30}?)(?:†[^\]]{0,40})?\\?\]|【(\d{1,3})[^】]{0,40}】)\s*:?\s*(\S.*)"
)
_NUMBERED = re.compile(r"\s{0,8}(?:[-*+]\s+)?[(]?(\d{1,3})[.):]\s+(\S.*)")
_BULLET = re.compile(r"\s{0,8}(?:[-*+•]\s+)?(\S.*)")
_LABEL_WORDS = re.compile(
    r"(?:the\s+)?(?:source|sources|link|here|ref|reference|page|website|site|web|article|see|url|full text|read more"
    r"|more|original|archive|wikipedia"
    r"|biography|report|gazette|documentation|docs|blog|press release|news|profile|study|entry|museum"
    r"|official website|official site)",
    re.IGNORECASE,
)
_ONLY_MARKS = re.compile(
    rf"[(\[]\s*(?:{_SOURCE_WORD}|see|via|from|according to)?\s*:?\s*"
    rf"({OPEN}[^{OPEN}{CLOSE}]*{CLOSE}(?:[\s,;]*(?:and\s)?{OPEN}[^{OPEN}{CLOSE}]*{CLOSE})*)\s*[)\]]",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class SourceEntry:
    """Entry of a report's list of sources: what it says of the page, and its URL."""

    text: str
    url: str


@dataclass(frozen=True, slots=True)
class MarkedReport:
    """Text of a report in which every citation is a mark."""

    text: str
    sources: Mapping[str, str] = field(default_factory=dict)
    """URL by label of the report's own list of sources."""
    entries: tuple[SourceEntry, ...] = ()
    """Entries of that list."""


def mark_citations(text: str, citation_count: int) -> MarkedReport:
    """Return a report with a mark for each citation, without its list of sources.

    mark_citations("It closed in 1952 [1].", 1).text  # "It closed in 1952 <mark 1>."
    """
    body, sources, entries = _take_sources(_PRIVATE.sub(" ", text))
    count = max([citation_count, *(int(label) for label in sources if label.isdigit())])
    body = _IMAGE.sub(r"\n\n\1\n\n", body)
    body = _LINK.sub(_mark_link, body)
    body = _REFERENCE_LINK.sub(lambda match: _mark_reference(match, sources), body)
    body = _URL.sub(lambda match: _mark_url(match[0]), body)
    body = re.sub(rf"<({OPEN}[^<>]*{CLOSE})>", r"\1", body)
    for pattern in (_SUP_TAG, _WIDE, _BRACKETED):
        body = pattern.sub(lambda match: _mark(_expand(match[1])), body)
    body = _FOOTNOTE.sub(lambda match: _mark([match[1]]) if match[1] in sources else match[0], body)
    body = _SUPERSCRIPT.sub(lambda match: _mark(_expand(match[1].translate(_SUPERSCRIPTS))), body)
    body = _ROUND.sub(lambda match: _mark_round(match, count), body)
    return MarkedReport(_ONLY_MARKS.sub(r"\1", body), sources, entries)


def ids_of(text: str) -> list[str]:
    """Return the source ids of the marks in a text, each once."""
    return list(
        dict.fromkeys(
            one for match in MARK.finditer(text) for one in match[1].replace(_HTTP, "http").split(BETWEEN) if one
        )
    )


def strip_marks(text: str) -> str:
    """Return a text without its marks."""
    return MARK.sub("", text)


def _mark(ids: list[str]) -> str:
    return f"{OPEN}{BETWEEN.join(ids).replace('http', _HTTP, 1)}{CLOSE}"


def _mark_url(url: str) -> str:
    stripped = url.rstrip(".,;:!?*_'’")
    return _mark([stripped]) + url[len(stripped) :]


def _expand(numbers: str) -> list[str]:
    """Return the numbers of a citation in full: "1-3" is 1, 2, 3."""
    ids: list[str] = []
    for part in re.split(r"[,;&·˒]|and", numbers.replace("^", "")):
        ends = [int(one) for one in re.findall(r"\d+", part)]
        if len(ends) == 2 and 0 <= ends[1] - ends[0] <= 2 * MAX_PAGES_PER_CITATION:
            ids += map(str, range(ends[0], ends[1] + 1))
        else:
            ids += map(str, ends)
    return ids


def _mark_round(match: re.Match[str], count: int) -> str:
    """Return a mark for a number in round brackets that can be a citation; else the text as it stands."""
    ids = _expand(match[1])
    return _mark(ids) if all(1 <= int(one) <= count for one in ids) else match[0]


def _mark_link(match: re.Match[str]) -> str:
    """Return the text of a link with its mark. A text that only names the source is left out."""
    image, label, url = match[1], match[2].strip(), match[3]
    if image:
        return f"\n\n{label}\n\n"
    before = match.string[max(0, match.start() - 24) : match.start()]
    names_source = bool(
        re.fullmatch(rf"[\[\]\\^†\s]*(?:{_NUMBERS})?[\[\]\\†\s]*|{_LABEL_WORDS.pattern}", label, re.IGNORECASE)
    )
    is_aside = bool(
        re.search(r"(?:[(\[]|[.!?]|\b(?:source|sources|see|via|from|according to)\b:?)\s*$", before, re.IGNORECASE)
    )
    if names_source or (is_aside and _is_in_url(label, url)):
        return _mark([url])
    return f"{label}{_mark([url])}"


def _is_in_url(label: str, url: str) -> bool:
    """True if all words of a label stand in the URL: it names the page and says nothing else."""
    words = re.findall(r"[^\W_]+", label.casefold())
    parts = set(re.findall(r"[^\W_]+", url.casefold()))
    return bool(words) and all(word in parts or word in ("the", "on", "at", "of", "s") for word in words)


def _mark_reference(match: re.Match[str], sources: Mapping[str, str]) -> str:
    label, number = match[1], match[2]
    if re.fullmatch(rf"\^?{_NUMBERS}", label.strip()):
        return match[0]
    return f"{label}{_mark([number])}" if number in sources else match[0]


def _take_sources(text: str) -> tuple[str, dict[str, str], tuple[SourceEntry, ...]]:
    """Return the text without its list of sources, the URLs of that list by label, and its entries."""
    lines, sources, entries, in_list = list[str](), dict[str, str](), list[SourceEntry](), False
    for line in text.split("\n"):
        if _LIST_HEADING.fullmatch(line):
            in_list = True
            continue
        label, remainder = _parse_definition(line, in_list)
        url = _URL.search(remainder)
        in_list = in_list and (not line.strip() or bool(url))
        if not url or not (label or in_list):
            lines.append(line)
            continue
        address = url[0].rstrip(".,;:!?*_'’>)")
        if label:
            sources.setdefault(label, address)
        entries.append(SourceEntry(_entry_text(remainder), address))
    return "\n".join(lines), sources, tuple(entries)


def _entry_text(remainder: str) -> str:
    linked = _LINK.sub(lambda match: match[2], remainder)
    return re.sub(r"\s+", " ", _URL.sub(" ", linked)).strip(" .,:;-–—<>()[]*_")


def _parse_definition(line: str, in_list: bool) -> tuple[str, str]:
    """Return label and rest of a line that may define a source; the label is empty if there is none."""
    match = _DEFINITION.fullmatch(line)
    if match and (in_list or re.match(r"\s{0,8}(?:[-*+]\s+)?\\?\[\^?[^\]]{1,40}\\?\]\s*(?::|<?https?://)", line)):
        return (match[1] or match[2]).split("†")[0], match[3]
    if in_list and (match := _NUMBERED.fullmatch(line)):
        return match[1], match[2]
    return "", line if in_list else ""
