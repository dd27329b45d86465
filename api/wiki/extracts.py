"""Extracts of an article: its prose or the beginning of it, as text or HTML (like the TextExtracts extension)."""

from __future__ import annotations

import re
from html import escape

from webemu.emulator.article import Article, Section

_SENTENCE = re.compile(r"""(?<![.!?…])[.!?…]++["'”’»)\]]*+(?=\s++["'“‘«(\[]*+[^\sa-z]|\s*+\Z)|[。！？]""")
"""End of a sentence: punctuation that no lower-case letter follows, or an ideographic full stop."""
_PARAGRAPH = re.compile(r"<p\b[^>]*>(.*?)</p>", re.DOTALL)
_TAG = re.compile(r"<[^>]*>")


def extract_text(article: Article, intro_only: bool = False, heading_style: str = "wiki") -> str:
    """Return the article's prose as text.

    `heading_style` is the style of headings: `wiki` (`== x ==`), `plain`, or `raw` between control characters.
    `intro_only` keeps the lead section only.
    """
    pieces = [article.sections[0].text]
    for section in article.sections[1:] if not intro_only else ():
        pieces.append(f"\n\n\n{_format_heading(section, heading_style)}\n{section.text}")
    return "".join(pieces).strip()


def _format_heading(section: Section, heading_style: str) -> str:
    if heading_style == "plain":
        return section.line
    if heading_style == "raw":
        return f"\x01\x02{section.level}\x02\x01{section.line}"
    bar = "=" * section.level
    return f"{bar} {section.line} {bar}"


def extract_html(article: Article, intro_only: bool = False) -> str:
    """Return the article's prose as simplified HTML; `intro_only` keeps the lead section only."""
    pieces = [article.sections[0].extract]
    for section in article.sections[1:] if not intro_only else ():
        tag = f"h{section.level}"
        anchor = escape(section.anchor)
        pieces.append(f'<{tag} data-mw-anchor="{anchor}">{escape(section.line)}</{tag}>\n{section.extract}')
    return "\n".join(pieces).strip()


def first_sentences(text: str, count: int) -> str:
    """Return the first `count` sentences; the whole text if it has fewer."""
    ends = [match.end() for match in _SENTENCE.finditer(text)]
    return text[: ends[count - 1]] if len(ends) >= count else text


def first_characters(text: str, count: int) -> str:
    """Return about `count` characters, to the end of the word, with `...` if anything was cut off."""
    if len(text) <= count:
        return text
    end = re.compile(r"\s|\Z").search(text, count)
    beginning = text[: end.start() if end else count].rstrip()
    return beginning if len(beginning) == len(text.rstrip()) else f"{beginning}..."


def shorten_html(html: str, count: int, unit: str) -> str:
    """Return the beginning of an HTML extract, by `first_sentences` or `first_characters`: whole paragraphs, then the
    last one as text.
    """
    paragraphs: list[str] = []
    for match in _PARAGRAPH.finditer(html):
        words = _TAG.sub("", match[1]).strip()
        size = len(_SENTENCE.findall(words)) if unit == "sentences" else len(words)
        # This paragraph reaches the limit: it is cut as text, since cutting markup could break it.
        if size >= count:
            short = first_sentences(words, count) if unit == "sentences" else first_characters(words, count)
            return "\n".join([*paragraphs, match[0] if short == words else f"<p>{short}</p>"])
        paragraphs, count = [*paragraphs, match[0]], count - size
    return "\n".join(paragraphs)


def first_paragraph(article: Article) -> tuple[str, str]:
    """Return the first non-empty paragraph as (text, HTML); both empty if the lead section is."""
    lead = article.sections[0]
    for match in _PARAGRAPH.finditer(lead.extract):
        if _TAG.sub("", match[1]).strip():
            return lead.text.partition("\n")[0], f"<p>{match[1].strip()}</p>"
    first = lead.text.partition("\n")[0]
    return first, f"<p>{escape(first)}</p>" if first else ""
