"""Renders a captured page for a reader: as markdown, or as text with numbered links. Computed from its HTML on
request.

Pure functions that raise nothing and take less than a second of CPU: hostile markup is cut by `webemu.index.markup`,
long documents here, and a last line says so. `webemu.index.content` decides what the content is, and makes the plain
text view at ingest; `webemu.index.pruning` locates that text in the markup.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import ada_url
from html_to_markdown import ConversionOptions, PreprocessingOptions, convert
from html_to_markdown.exceptions import ConversionError
from resiliparse.extract.html2text import extract_plain_text
from selectolax.lexbor import LexborHTMLParser, LexborNode

from webemu.index.content import extract_text, find_content_root, link_size
from webemu.index.markup import MAX_CHARACTERS, MAX_TAGS, flatten_nesting, limit_for_display, limit_tags
from webemu.index.pruning import measure_recall, prune, unglue

MAX_LINKS = 2000
"""Links of a page that are numbered; the rest is plain text."""
MAX_REFERENCE, _MAX_BASE = 4096, 2000
"""Longest reference and longest base URL, in characters; longer ones lead nowhere."""
MIN_RECALL = 0.8
"""Share of the text view's words that a rendering must have."""
_CUT_NOTE = "\n\n[The rest of this page is left out: its markup is too large.]"
_LARGE_TAGS = MAX_TAGS // 4
"""Tags of a document from which only one rendering is tried; if it falls short, the text view is shown."""
_MAX_COLUMNS = "9"
"""Columns that a wider table cell is rendered with: the others would be empty."""
_MAX_OUTPUT = 2 * MAX_CHARACTERS
_MAX_MARK_STEPS = 50
"""Nodes searched for the first words of a link."""
_INVISIBLE_TAGS = "script, style, template, iframe, noembed, noframes, svg"
_Choice = Callable[[LexborNode], LexborNode]
"""Chooses the element of a body that is rendered. It may change the document."""
_OPTIONS = partial(
    ConversionOptions,
    extract_metadata=False,
    max_depth=200,
    compact_tables=True,
    preprocessing=PreprocessingOptions(enabled=False, remove_navigation=False, remove_forms=False),
)


def render_markdown(html: str, url: str, text: str = "", *, pictures: bool = False, full_document: bool = False) -> str:
    """Return the content of a page as markdown (GitHub flavour), with absolute links.

    `text` is the page's text view, computed here if it is empty. The markdown has at least MIN_RECALL of its words; if
    no rendering has them, the text itself is returned. With `full_document` everything is rendered, menus included.

        render_markdown("<h1>Velmora</h1><p>A town on the Tash.", "https://velmora.org/")
    """
    html, is_cut = limit_for_display(html)
    note = _CUT_NOTE if is_cut else ""
    if full_document:
        return (_render(html, _choose_body, url, pictures, hidden="drop")[0] or text or _text_view(html)) + note
    text_view = text or _text_view(html)
    # From the narrowest choice to the widest; the first rendering that has the text's words is taken.
    narrow_choices: list[_Choice] = [
        partial(choose, text=text_view) for choose in (_choose_content, _choose_unglued, _choose_pruned)
    ]
    for choose in [*narrow_choices, _choose_body] if text_view else [_choose_body]:
        rendered, is_large = _render(html, choose, url, pictures)
        if measure_recall(rendered, text_view) >= MIN_RECALL:
            return rendered + note
        if is_large:
            break
    return text or text_view + note


def render_links(html: str, url: str, text: str = "") -> str:
    """Return the page as text with each link as `[n]words`, and the numbered targets at the end (as `lynx -dump`).

    `text` is the page's text view, which is returned without numbers if the rendering lacks its words.
    """
    html, is_cut = limit_for_display(html)
    note = _CUT_NOTE if is_cut else ""
    tree = LexborHTMLParser(html)
    _remove_all(tree, _INVISIBLE_TAGS)
    targets: dict[str, int] = {}
    for anchor, target in iter_links(tree, url):
        if target in targets or len(targets) < MAX_LINKS:
            _number_link(anchor, targets.setdefault(target, len(targets) + 1))
    if tree.body is None:
        return _list_frames(tree, find_base(tree, url))
    page_text = (
        str(extract_plain_text(flatten_nesting(tree.html or ""), main_content=False, alt_texts=False)).strip() + note
    )
    if measure_recall(page_text, text) < MIN_RECALL:
        page_text = text
    if not targets:
        return page_text
    return page_text + "\n\nLinks:\n" + "\n".join(f"[{number}] {target}" for target, number in targets.items())


def _number_link(anchor: LexborNode, number: int) -> None:
    """Put the number of a link before its first words. Its text is left in place: a link may hold half a page."""
    node = anchor.first_child
    for _ in range(_MAX_MARK_STEPS):
        if node is None:
            break
        if words := (node.text_content or "").lstrip():
            node.replace_with(f" [{number}]{words}")
            return
        node = node.first_child or node.next
    anchor.insert_before(f" [{number}]")


def iter_links(tree: LexborHTMLParser, url: str) -> Iterator[tuple[LexborNode, str]]:
    """Yield (element, absolute URL) of links that lead to http or https."""
    base = find_base(tree, url)
    for anchor in tree.css("a[href]"):
        target = resolve_url(base, anchor.attributes.get("href") or "")
        if target.startswith(("http://", "https://")):
            yield anchor, target


def find_base(tree: LexborHTMLParser, url: str) -> str:
    """Return the URL that references of a page are relative to; empty if it is too long."""
    node = tree.css_first("base[href]")
    base = resolve_url(url, (node.attributes.get("href") or "") if node else "") or url
    if len(base) <= _MAX_BASE:
        return base
    # Relative references ignore the query. If the path alone is too long, so would be every link.
    base = base.partition("?")[0].partition("#")[0]
    return base if len(base) <= _MAX_BASE else ""


def resolve_url(base: str, reference: str) -> str:
    """Return the absolute URL of a reference; empty if it is malformed, too long, or a fragment of the same page."""
    if reference.startswith("#") or len(reference) > MAX_REFERENCE:
        return ""
    try:
        return str(ada_url.join_url(base or "about:blank", reference.strip()))
    except ValueError:
        return ""


def _text_view(html: str) -> str:
    """Return the text view as ingest makes it, for a document that was not ingested in this form."""
    tree = LexborHTMLParser(html)
    return extract_text(tree, link_size(tree, "a[href],area[href]"))[0][:MAX_CHARACTERS]


def _choose_content(body: LexborNode, text: str) -> LexborNode:
    """Return the content element, pruned to the text."""
    root = find_content_root(body)
    prune(root, text)
    return root


def _choose_unglued(body: LexborNode, text: str) -> LexborNode:
    """Return the content element, pruned, without marks inside words."""
    root = _choose_content(body, text)
    unglue(root)
    return root


def _choose_pruned(body: LexborNode, text: str) -> LexborNode:
    """Return the entire body, pruned to the text."""
    prune(body, text)
    return body


def _choose_body(body: LexborNode) -> LexborNode:
    """Return the body unchanged."""
    return body


def _render(html: str, choose: _Choice, url: str, pictures: bool, hidden: str = "all") -> tuple[str, bool]:
    """Return a part of a document as markdown, and True if the part is large; empty if it cannot be converted.

    Content that pages hide until a click is rendered too: if it is still there, the text view has it.
    """
    tree = LexborHTMLParser(html)
    base = find_base(tree, url)
    body = tree.body
    if body is None:
        return _list_frames(tree, base), False
    _remove_all(body, _INVISIBLE_TAGS)
    for cell in body.css("[colspan]"):
        if len(cell.attributes["colspan"] or "") > 1:
            cell.attrs["colspan"] = _MAX_COLUMNS
    # Parsing may have added tags: a formatting tag that is left open is reopened in every paragraph.
    part_html = limit_tags(flatten_nesting(choose(body).html or ""))[0]
    options = _OPTIONS(base_url=base, skip_images=not pictures, hidden_content=hidden)
    try:
        rendered = str(convert(part_html, options).content or "").strip()
    except ConversionError:
        rendered = ""
    return rendered if len(rendered) <= _MAX_OUTPUT else "", part_html.count("<") > _LARGE_TAGS


def _list_frames(tree: LexborHTMLParser, base: str) -> str:
    """Return the frames of a frameset as links: it has no other content."""
    frames = [(node.attributes, resolve_url(base, node.attributes.get("src") or "")) for node in tree.css("frame[src]")]
    return "\n".join(
        f"- [{names.get('title') or names.get('name') or source}]({source})" for names, source in frames if source
    )


def _remove_all(root: LexborNode | LexborHTMLParser, selectors: str) -> None:
    for node in reversed(root.css(selectors)):
        node.decompose()
