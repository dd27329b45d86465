"""A page as Jina's Reader returns it: options, parts and text.

The shape is that of jina-ai/reader (`snapshot-formatter.ts`). The markdown is webemu's own, and tokens are counted as
a quarter of the characters.
"""

from __future__ import annotations

import html as markup
import re
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import TypedDict

from webemu.api.dialects.metas import read_language, read_metas
from webemu.emulator.errors import ServiceRefusal, ViewUnavailable
from webemu.emulator.world import World

FORMATS = ("content", "markdown", "html", "text", "readerlm-v2", "vlm")
"""Formats that a client may accept as plain text."""
SCREENSHOT_FORMATS = ("screenshot", "pageshot")
"""Formats that need a browser."""
_TITLE = re.compile(r"<title[^<>]{0,200}>([^<]{0,2000})", re.IGNORECASE)
_IMAGE = re.compile(r"!\[([^\[\]]*)\]\(([^()\s]*(?:\([^()\s]*\)[^()\s]*)*)\)")
"""Image in markdown: words, URL."""
_LINK = re.compile(r"(?<!!)\[((?:[^\[\]]++|!\[[^\[\]]*+\]\([^()]*+\))*+)\]\(([^()\s]*(?:\([^()\s]*\)[^()\s]*)*)\)")
"""Link in markdown: words, which may contain images, and URL."""


@dataclass(frozen=True, slots=True)
class ReaderOptions:
    """Options of a request to the Reader."""

    format: str = "content"
    """Format of the page; several may be joined in one text."""
    keep_selectors: tuple[str, ...] = ()
    """CSS selectors of elements to keep; empty for all."""
    remove_selectors: tuple[str, ...] = ()
    """CSS selectors of elements to remove."""
    link_summary: str = ""
    """Summary of links: `true` for each target once, `all` for every link, empty for none."""
    has_image_summary: bool = False
    """True for a summary of images."""
    retain_images: str = "all"
    """Images in the content: `none`, `alt` or `alt_p` for their words, any other value for all."""
    retain_links: str = "all"
    """Links in the content: `none`, `text` for their words, any other value for all."""
    max_tokens: int = 0
    """Tokens to which the content is cut; 0 for no limit."""
    token_budget: int = 0
    """Tokens above which the request is refused; 0 for no limit."""


@dataclass(frozen=True, slots=True)
class Source:
    """Document that was found at a URL, or that the client sent along."""

    url: str
    """URL of the request."""
    capture_url: str
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


class Usage(TypedDict):
    """Tokens that a response counts as."""

    tokens: int


class PageData(TypedDict, total=False):
    """Members of `data` in a response of the Reader; absent if the page has none or the client asked for none."""

    title: str
    description: str
    url: str
    content: str
    html: str
    text: str
    images: dict[str, str]
    publishedTime: str
    links: dict[str, str] | list[list[str]]
    metadata: dict[str, str]
    external: dict[str, str]
    warning: str
    usage: Usage


def count_tokens(members: Mapping[str, object]) -> int:
    """Return the number of tokens that the members of a page or a result count as."""
    contents = (members.get(name) for name in ("content", "html", "text"))
    return sum((len(text) + 3) // 4 for text in contents if isinstance(text, str))


def build_page_data(world: World, source: Source, options: ReaderOptions) -> PageData:
    """Return the members of `data`.

    Raises: ViewUnavailable if there is nothing to read, ServiceRefusal if the page exceeds the token budget.
    """
    html = _select_elements(world, source, options)
    declarations = _read_declarations(source.html or "")
    page_data: PageData = {
        "title": source.title,
        "description": declarations.get("description") or declarations.get("og:description", ""),
        "url": source.url,
    }
    page_data |= _render_contents(world, source, html, options)
    if published := declarations.get("article:published_time"):
        page_data["publishedTime"] = published
    if options.link_summary and html is not None:
        page_data["links"] = _summarize_links(world.link_targets(html, source.capture_url), options.link_summary)
    page_data |= {"metadata": declarations, "external": {}}
    if not 200 <= source.status < 400:
        reason = source.reason or _reason_phrase(source.status)
        page_data["warning"] = f"Target URL returned error {source.status}" + (f": {reason}" if reason else "")
    token_count = count_tokens(page_data)
    if 0 < options.token_budget < token_count:
        message = f"Token budget ({options.token_budget}) exceeded, intended charge amount {token_count}"
        raise ServiceRefusal(message, reason="over-budget", status=409)
    page_data["usage"] = {"tokens": token_count}
    return page_data


def _select_elements(world: World, source: Source, options: ReaderOptions) -> str | None:
    """Return the HTML reduced by the CSS selectors, None if the document has none.

    Raises: ViewUnavailable if the selectors match nothing.
    """
    if source.html is None or not (options.keep_selectors or options.remove_selectors):
        return source.html
    html = world.select_elements(source.html, options.keep_selectors, options.remove_selectors)
    if html is None:
        raise ViewUnavailable(
            f"No content available for URL {source.url} with target selector {', '.join(options.keep_selectors)}"
        )
    return html


def _render_contents(world: World, source: Source, html: str | None, options: ReaderOptions) -> PageData:
    """Return the members that hold the page in the formats asked for, and the summary of images."""
    contents: PageData = {}
    if "html" in options.format:
        contents["html"] = _limit_text(html or source.text, options)
    if "text" in options.format:
        # The stored text is that of the whole document; selected elements have to be rendered again.
        plain_text = (
            source.text if html == source.html or html is None else _render_markdown(world, source, html, options)
        )
        contents["text"] = _limit_text(plain_text, options)
    if contents and not ("markdown" in options.format or "content" in options.format):
        images = world.images(html, source.capture_url) if options.has_image_summary and html else []
        return contents | ({"images": _summarize_images(images)} if options.has_image_summary else {})
    content = _render_markdown(world, source, html, options, options.retain_images != "none") if html else ""
    content, images = _reduce_markdown(content or source.text, options)
    if not content and not source.title:
        raise ViewUnavailable(f"No content available for URL {source.url}")
    contents = {"content": _limit_text(content, options), **contents}
    if options.has_image_summary:
        contents["images"] = _summarize_images(images)
    return contents


def _render_markdown(world: World, source: Source, html: str, options: ReaderOptions, with_images: bool = False) -> str:
    """Return the content as markdown; of elements selected by CSS, all of their content."""
    text = source.text if html == source.html else ""
    return world.markdown_of(
        html, source.capture_url, text, pictures=with_images, full_document=bool(options.keep_selectors)
    )


def _limit_text(text: str, options: ReaderOptions) -> str:
    """Cut a text to the tokens asked for."""
    return text[: 4 * options.max_tokens] if options.max_tokens else text


def _reduce_markdown(content: str, options: ReaderOptions) -> tuple[str, list[tuple[str, str]]]:
    """Return the markdown with its images numbered, reduced to the images and links to retain; and its images."""
    images: list[tuple[str, str]] = []

    def number_image(match: re.Match[str]) -> str:
        words, source = match[1], match[2]
        if not source:
            return ""
        images.append((words, source))
        name = f"Image {len(images)}" + (f": {words}" if words else "")
        if options.retain_images in ("alt", "alt_p"):
            return f"({name})" if words else ""
        return f"![{name}]({source})"

    content = _IMAGE.sub(number_image, content)
    if options.retain_links in ("none", "text"):
        content = _LINK.sub(r"\1" if options.retain_links == "text" else "", content)
    return content.strip(), images


def _summarize_images(images: list[tuple[str, str]]) -> dict[str, str]:
    """Return the summary of images: an object from numbered words to URL."""
    return {f"Image {number}" + (f": {words}" if words else ""): url for number, (words, url) in enumerate(images, 1)}


def _summarize_links(link_targets: list[tuple[str, str]], kind: str) -> dict[str, str] | list[list[str]]:
    """Return the summary of links: pairs for `all`, else an object from words to URL with each target once."""
    if kind == "all":
        return [list(pair) for pair in link_targets]
    # Reversed twice: the first words for a target win, and the order of the document stays.
    words_by_target = {target: words for words, target in reversed(link_targets)}
    return {words: target for target, words in reversed(words_by_target.items())}


def _read_declarations(html: str) -> dict[str, str]:
    """Return what a document declares: its language as `lang`, and its `meta` elements by name."""
    declarations = {"lang": tag} if (tag := read_language(html)) else {}
    for name, content in read_metas(html):
        declarations.setdefault(name, content)
    return declarations


def read_title(html: str) -> str:
    """Return the title of a document; empty if it has none."""
    match = _TITLE.search(html)
    return " ".join(markup.unescape(match[1]).split()) if match else ""


def _reason_phrase(status: int) -> str:
    """Return the reason phrase of a status; empty if it has none."""
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""


def format_page_text(page_data: PageData) -> str:
    """Return a page as text: markdown below a head and above its summaries, other formats as they are."""
    if "content" not in page_data:
        return str(page_data.get("html") or page_data.get("text") or "")
    before = [f"Published Time: {page_data['publishedTime']}"] if "publishedTime" in page_data else []
    before += [f"Warning: {page_data['warning']}"] if "warning" in page_data else []
    after = [_format_summary("Images:", "!", page_data["images"], "images")] if "images" in page_data else []
    after += (
        [_format_summary("Links/Buttons:", "", page_data["links"], "buttons/links")] if "links" in page_data else []
    )
    middle = "\n" + "\n\n".join(before) + "\n" if before else ""
    end = "\n" + "\n\n".join(after) + "\n" if after else ""
    head = f"Title: {page_data['title']}\n\nURL Source: {page_data['url']}\n{middle}\nMarkdown Content:\n"
    return f"{head}{page_data['content']}\n{end}"


def _format_summary(head: str, mark: str, pairs: dict[str, str] | list[list[str]], kind_name: str) -> str:
    """Return a summary as a list in markdown; `kind_name` is used to say that there are none."""
    entries = pairs.items() if isinstance(pairs, dict) else pairs
    lines = [f"- {mark}[{words}]({url})" for words, url in entries]
    return "\n".join([head, *(lines or [f"This page does not seem to contain any {kind_name}."])])
