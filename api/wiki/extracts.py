"""Extracts of an article: all of its prose or its beginning, as text or as HTML (extension TextExtracts)."""

from __future__ import annotations

import re
from html import escape

from webemu.emulator.article import Article, Section

_SENTENCE = re.compile(r"""(?<![.!?…])[.!?…]++["'”’»)\]]*+(?=\s++["'“‘«(\[]*+[^\sa-z]|\s*+\Z)|[。！？]""")
_PARAGRAPH = re.compile(r"<p\b[^>]*>(.*?)</p>", re.DOTALL)
_TAG = re.compile(r"<[^>]*>")


def text_of(article: Article, intro: bool = False, form: str = "wiki") -> str:
    """Its prose as text; headings as in wikitext, `plain`, or left `raw` between control characters."""
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
    """Its prose as plain HTML."""
    pieces = [article.sections[0].extract]
    for section in article.sections[1:] if not intro else ():
        tag = f"h{section.level}"
        anchor = escape(section.anchor)
        pieces.append(f'<{tag} data-mw-anchor="{anchor}">{escape(section.line)}</{tag}>\n{section.extract}')
    return "\n".join(pieces).strip()


def sentences(text: str, count: int) -> str:
    """The first so many sentences; all of it where there are not so many."""
    ends = [found.end() for found in _SENTENCE.finditer(text)]
    return text[: ends[count - 1]] if len(ends) >= count else text


def characters(text: str, count: int) -> str:
    """About so many characters: to the end of the word, with dots where something is left out."""
    if len(text) <= count:
        return text
    end = re.compile(r"\s|\Z").search(text, count)
    kept = text[: end.start() if end else count].rstrip()
    return kept if len(kept) == len(text.rstrip()) else f"{kept}..."


def cut(html: str, count: int, by: str) -> str:
    """The beginning of an extract as HTML, by sentences or characters: whole paragraphs, the last one as text."""
    kept: list[str] = []
    for found in _PARAGRAPH.finditer(html):
        words = _TAG.sub("", found[1]).strip()
        size = len(_SENTENCE.findall(words)) if by == "sentences" else len(words)
        if size >= count:
            short = sentences(words, count) if by == "sentences" else characters(words, count)
            return "\n".join([*kept, found[0] if short == words else f"<p>{short}</p>"])
        kept, count = [*kept, found[0]], count - size
    return "\n".join(kept)


def first_paragraph(article: Article) -> tuple[str, str]:
    """(text, HTML) of the first paragraph that says something."""
    lead = article.sections[0]
    for found in _PARAGRAPH.finditer(lead.extract):
        if _TAG.sub("", found[1]).strip():
            return lead.text.partition("\n")[0], f"<p>{found[1].strip()}</p>"
    first = lead.text.partition("\n")[0]
    return first, f"<p>{escape(first)}</p>" if first else ""
