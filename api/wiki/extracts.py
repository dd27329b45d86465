"""Extracts of an article: its prose or the beginning of it, as text or HTML (like the TextExtracts extension)."""

from __future__ import annotations

import re
from html import escape

from webemu.emulator.article import Article, Section

_SENTENCE = re.compile(r"""(?<![.!?…])[.!?…]++["'”’»)\]]*+(?=\s++["'“‘«(\[]*+[^\sa-z]|\s*+\Z)|[。！？]""")
"""End of a sentence: punctuation that no lower-case letter follows, or an ideographic full stop."""
_PARAGRAPH = re.compile(r"<p\b[^>]*>(.*?)</p>", re.DOTALL)
_TAG = re.compile(r"<[^>]*>")


def text_of(article: Article, intro: bool = False, form: str = "wiki") -> str:
    """Return the article's prose as text.

    `form` is the style of headings: `wiki` (`== x ==`), `plain`, or `raw` between control characters. `intro` keeps
    the lead section only.
    """
    pieces = [article.sections[0].text]
    for section in article.sections[1:] if not intro else ():
        pieces.append(f"\n\n\n{_heading(section, form)}\n{section.text}")
    return "".join(pieces).strip()


def _heading(section: Section, form: str) -> str:
    if form == "plain":
        return section.line
    if form == "raw":
        return f"\x01\x02{section.level}\x02\x01{section.line}"
    bar = "=" * section.level
    return f"{bar} {section.line} {bar}"


def html_of(article: Article, intro: bool = False) -> str:
    """Return the article's prose as simplified HTML; `intro` keeps the lead section only."""
    pieces = [article.sections[0].extract]
    for section in article.sections[1:] if not intro else ():
        tag = f"h{section.level}"
        anchor = escape(section.anchor)
        pieces.append(f'<{tag} data-mw-anchor="{anchor}">{escape(section.line)}</{tag}>\n{section.extract}')
    return "\n".join(pieces).strip()


def sentences(text: str, count: int) -> str:
    """Return the first `count` sentences; the whole text if it has fewer."""
    ends = [found.end() for found in _SENTENCE.finditer(text)]
    return text[: ends[count - 1]] if len(ends) >= count else text


def characters(text: str, count: int) -> str:
    """Return about `count` characters, to the end of the word, with `...` if anything was cut off."""
    if len(text) <= count:
        return text
    end = re.compile(r"\s|\Z").search(text, count)
    kept = text[: end.start() if end else count].rstrip()
    return kept if len(kept) == len(text.rstrip()) else f"{kept}..."


def cut(html: str, count: int, by: str) -> str:
    """Return the beginning of an HTML extract, by `sentences` or `characters`: whole paragraphs, then the last one as
    text.
    """
    kept: list[str] = []
    for found in _PARAGRAPH.finditer(html):
        words = _TAG.sub("", found[1]).strip()
        size = len(_SENTENCE.findall(words)) if by == "sentences" else len(words)
        # This paragraph reaches the limit: it is cut as text, since cutting markup could break it.
        if size >= count:
            short = sentences(words, count) if by == "sentences" else characters(words, count)
            return "\n".join([*kept, found[0] if short == words else f"<p>{short}</p>"])
        kept, count = [*kept, found[0]], count - size
    return "\n".join(kept)


def first_paragraph(article: Article) -> tuple[str, str]:
    """Return the first non-empty paragraph as (text, HTML); both empty if the lead section is."""
    lead = article.sections[0]
    for found in _PARAGRAPH.finditer(lead.extract):
        if _TAG.sub("", found[1]).strip():
            return lead.text.partition("\n")[0], f"<p>{found[1].strip()}</p>"
    first = lead.text.partition("\n")[0]
    return first, f"<p>{escape(first)}</p>" if first else ""
