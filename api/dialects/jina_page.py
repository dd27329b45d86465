"""A page as Jina's Reader returns it: options, parts and text.

The shape is that of jina-ai/reader (`snapshot-formatter.ts`). The markdown is webemu's own, and tokens are counted as
a quarter of the characters.
"""

from __future__ import annotations

import html as markup
import re
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from webemu.api.dialects.metas import language, metas
from webemu.emulator.errors import NoView, Refused
from webemu.emulator.world import World

FORMATS = ("content", "markdown", "html", "text", "readerlm-v2", "vlm")
"""Formats that a client may accept as plain text."""
PICTURES = ("screenshot", "pageshot")
"""Formats that need a browser."""
_TITLE = re.compile(r"<title[^<>]{0,200}>([^<]{0,2000})", re.IGNORECASE)
_PICTURE = re.compile(r"!\[([^\[\]]*)\]\(([^()\s]*(?:\([^()\s]*\)[^()\s]*)*)\)")
"""Image in markdown: words, URL."""
_LINK = re.compile(r"(?<!!)\[((?:[^\[\]]++|!\[[^\[\]]*+\]\([^()]*+\))*+)\]\(([^()\s]*(?:\([^()\s]*\)[^()\s]*)*)\)")
"""Link in markdown: words, which may contain images, and URL."""


@dataclass(frozen=True, slots=True)
class Wishes:
    """Options of a request to the Reader."""

    format: str = "content"
    """Format of the page; several may be joined in one text."""
    target: tuple[str, ...] = ()
    """CSS selectors of elements to keep; empty for all."""
    remove: tuple[str, ...] = ()
    """CSS selectors of elements to remove."""
    links: str = ""
    """Summary of links: `true` for each target once, `all` for every link, empty for none."""
    images: bool = False
    """True for a summary of images."""
    retain_images: str = "all"
    """Images in the content: `none`, `alt` or `alt_p` for their words, any other value for all."""
    retain_links: str = "all"
    """Links in the content: `none`, `text` for their words, any other value for all."""
    most: int = 0
    """Tokens to which the content is cut; 0 for no limit."""
    budget: int = 0
    """Tokens above which the request is refused; 0 for no limit."""


@dataclass(frozen=True, slots=True)
class Source:
    """Document that was found at a URL, or that the client sent along."""

    url: str
    """URL of the request."""
    base: str
    """URL of the capture that answers, against which links are resolved."""
    title: str
    text: str
    """Text of the document, without markup."""
    html: str | None
    """HTML of the document; None if it is of another kind."""
    status: int = 200
    """Status that the target answered."""
    reason: str = ""
    """Reason phrase that the target answered."""


def tokens(text: str) -> int:
    """Return the number of tokens that a text counts as."""
    return (len(text) + 3) // 4


def page(world: World, source: Source, wishes: Wishes) -> dict[str, Any]:
    """Return the members of `data`.

    Raises: ViewUnavailable if there is nothing to read, ServiceRefusal if the page exceeds the token budget.
    """
    html = _narrowed(world, source, wishes)
    declared = _declared(source.html or "")
    found: dict[str, Any] = {
        "title": source.title,
        "description": declared.get("description") or declared.get("og:description", ""),
        "url": source.url,
        **_contents(world, source, html, wishes),
    }
    if published := declared.get("article:published_time"):
        found["publishedTime"] = published
    if wishes.links and html is not None:
        found["links"] = _links(world.targets(html, source.base), wishes.links)
    found |= {"metadata": declared, "external": {}}
    if not 200 <= source.status < 400:
        reason = source.reason or _phrase(source.status)
        found["warning"] = f"Target URL returned error {source.status}" + (f": {reason}" if reason else "")
    used = sum(tokens(found.get(name, "")) for name in ("content", "html", "text"))
    if 0 < wishes.budget < used:
        told = f"Token budget ({wishes.budget}) exceeded, intended charge amount {used}"
        raise Refused(told, reason="over-budget", status=409)
    return {**found, "usage": {"tokens": used}}


def _narrowed(world: World, source: Source, wishes: Wishes) -> str | None:
    """Return the HTML reduced by the CSS selectors, None if the document has none.

    Raises: ViewUnavailable if the selectors match nothing.
    """
    if source.html is None or not (wishes.target or wishes.remove):
        return source.html
    html = world.narrowed(source.html, wishes.target, wishes.remove)
    if html is None:
        raise NoView(f"No content available for URL {source.url} with target selector {', '.join(wishes.target)}")
    return html


def _contents(world: World, source: Source, html: str | None, wishes: Wishes) -> dict[str, Any]:
    """Return the members that hold the page in the formats asked for, and the summary of images."""
    found: dict[str, Any] = {}
    if "html" in wishes.format:
        found["html"] = _cut(html or source.text, wishes)
    if "text" in wishes.format:
        # The stored text is that of the whole document; selected elements have to be rendered again.
        plain = source.text if html == source.html or html is None else _markdown(world, source, html, wishes)
        found["text"] = _cut(plain, wishes)
    if found and not ("markdown" in wishes.format or "content" in wishes.format):
        shown = world.pictures(html, source.base) if wishes.images and html else []
        return found | ({"images": _numbered(shown)} if wishes.images else {})
    content = _markdown(world, source, html, wishes, wishes.retain_images != "none") if html else ""
    content, shown = _retained(content or source.text, wishes)
    if not content and not source.title:
        raise NoView(f"No content available for URL {source.url}")
    return {"content": _cut(content, wishes), **found} | ({"images": _numbered(shown)} if wishes.images else {})


def _markdown(world: World, source: Source, html: str, wishes: Wishes, pictures: bool = False) -> str:
    """Return the content as markdown; of elements selected by CSS, all of their content."""
    text = source.text if html == source.html else ""
    return world.markdown_of(html, source.base, text, pictures=pictures, whole=bool(wishes.target))


def _cut(text: str, wishes: Wishes) -> str:
    """Cut a text to the tokens asked for."""
    return text[: 4 * wishes.most] if wishes.most else text


def _retained(content: str, wishes: Wishes) -> tuple[str, list[tuple[str, str]]]:
    """Return the markdown with its images numbered, reduced to the images and links to retain; and its images."""
    shown: list[tuple[str, str]] = []

    def told(found: re.Match[str]) -> str:
        words, source = found[1], found[2]
        if not source:
            return ""
        shown.append((words, source))
        name = f"Image {len(shown)}" + (f": {words}" if words else "")
        if wishes.retain_images in ("alt", "alt_p"):
            return f"({name})" if words else ""
        return f"![{name}]({source})"

    content = _PICTURE.sub(told, content)
    if wishes.retain_links in ("none", "text"):
        content = _LINK.sub(r"\1" if wishes.retain_links == "text" else "", content)
    return content.strip(), shown


def _numbered(shown: list[tuple[str, str]]) -> dict[str, str]:
    """Return the summary of images: an object from numbered words to URL."""
    return {f"Image {place}" + (f": {words}" if words else ""): url for place, (words, url) in enumerate(shown, 1)}


def _links(found: list[tuple[str, str]], kind: str) -> Any:
    """Return the summary of links: pairs for `all`, else an object from words to URL with each target once."""
    if kind == "all":
        return [list(pair) for pair in found]
    # Reversed twice: the first words for a target win, and the order of the document stays.
    each = {target: words for words, target in reversed(found)}
    return {words: target for target, words in reversed(each.items())}


def _declared(html: str) -> dict[str, str]:
    """Return what a document declares: its language as `lang`, and its `meta` elements by name."""
    said = {"lang": tag} if (tag := language(html)) else {}
    for name, content in metas(html):
        said.setdefault(name, content)
    return said


def titled(html: str) -> str:
    """Return the title of a document; empty if it has none."""
    found = _TITLE.search(html)
    return " ".join(markup.unescape(found[1]).split()) if found else ""


def _phrase(status: int) -> str:
    """Return the reason phrase of a status; empty if it has none."""
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""


def said(found: dict[str, Any]) -> str:
    """Return a page as text: markdown below a head and above its summaries, other formats as they are."""
    if "content" not in found:
        return str(found.get("html") or found.get("text") or "")
    before = [f"Published Time: {found['publishedTime']}"] if "publishedTime" in found else []
    before += [f"Warning: {found['warning']}"] if "warning" in found else []
    after = [_summary("Images:", "!", found["images"], "images")] if "images" in found else []
    after += [_summary("Links/Buttons:", "", found["links"], "buttons/links")] if "links" in found else []
    middle = "\n" + "\n\n".join(before) + "\n" if before else ""
    end = "\n" + "\n\n".join(after) + "\n" if after else ""
    head = f"Title: {found['title']}\n\nURL Source: {found['url']}\n{middle}\nMarkdown Content:\n"
    return f"{head}{found['content']}\n{end}"


def _summary(head: str, mark: str, pairs: Any, named: str) -> str:
    """Return a summary as a list in markdown; `kind_name` is used to say that there are none."""
    found = pairs.items() if isinstance(pairs, dict) else pairs
    lines = [f"- {mark}[{words}]({url})" for words, url in found]
    return "\n".join([head, *(lines or [f"This page does not seem to contain any {named}."])])
