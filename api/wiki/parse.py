"""Parts of a captured page: `action=parse` (https://www.mediawiki.org/wiki/API:Parsing_wikitext)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from webemu.api.wiki import extracts
from webemu.api.wiki.format_version import Tree
from webemu.api.wiki.links import external_links, internal_pages
from webemu.api.wiki.page import WikiPage, canonical_title, find_page, list_revisions, page_id_of
from webemu.api.wiki.params import ApiError, WikiCall
from webemu.api.wiki.site import list_titles
from webemu.api.wiki.titles import title_error
from webemu.emulator.article import Section

_DEFAULT_PARTS = "text|categories|links|images|externallinks|sections|revid|displaytitle"
"""Parts that are returned without `prop`."""


def action_parse(call: WikiCall) -> Tree:
    """Answer `action=parse`. Raises ApiError if the page is missing or a parameter is bad."""
    title = _requested_title(call)
    page = find_page(call, title)
    if page is None:
        raise ApiError("missingtitle", "The page you specified doesn't exist.")
    parsed: Tree = {"title": page.title, "pageid": page_id_of(call, page.title)}
    parsed |= {"redirects": [{"from": title, "to": page.title}] if page.title != title else []}
    if not call.has("redirects"):  # redirects are followed in any case, but reported only on request
        del parsed["redirects"]
    part_names = call.values("prop", _DEFAULT_PARTS)
    for name, build_part in _PART_BUILDERS.items():
        if name in part_names:
            parsed |= build_part(call, page)
    return {"parse": parsed}


def _requested_title(call: WikiCall) -> str:
    """Return the title of the requested page. Raises ApiError if it is invalid or its id is unknown.

    `titles` and `pageids` are accepted because the package `wikipedia` sends these names.
    """
    if page_id := (call.text("pageid") or call.text("pageids")).strip():
        title = list_titles(call.world, call.host).title_by_id.get(
            int(page_id) if page_id.isdecimal() and len(page_id) < 12 else 0
        )
        if title is None:
            raise ApiError("nosuchpageid", f"There is no page with ID {page_id[:12]}.")
        return title
    title = canonical_title(call, call.text("titles") or call.require("page"))
    if title_error(title):
        raise ApiError("invalidtitle", f'Bad title "{title[:100]}".')
    return title


def _requested_sections(call: WikiCall, page: WikiPage) -> Sequence[Section]:
    """Return the requested section with its subsections, or all sections. Raises ApiError if it does not exist."""
    all_sections = page.article.sections
    if not call.has("section"):
        return all_sections
    first = call.number("section", -1, -1, len(all_sections))
    if not 0 <= first < len(all_sections):
        raise ApiError("nosuchsection", f"There is no section {call.text('section')[:12]}.")
    # Section 0 is the lead, before the first heading.
    if first == 0:
        return all_sections[:1]
    ends = (n for n in range(first + 1, len(all_sections)) if all_sections[n].level <= all_sections[first].level)
    return all_sections[first : next(ends, len(all_sections))]


def _text_part(call: WikiCall, page: WikiPage) -> Tree:
    inner = "".join(section.html for section in _requested_sections(call, page))
    return {"text{}": f"{page.article.start_tag}{inner}</div>"}


def _wikitext_part(call: WikiCall, page: WikiPage) -> Tree:
    """Return the prose with headings in place of the wikitext, which was not captured."""
    if not call.has("section"):
        return {"wikitext{}": extracts.extract_text(page.article)}
    sections = _requested_sections(call, page)
    heads = (f"{'=' * part.level} {part.line} {'=' * part.level}\n" if part.level else "" for part in sections)
    return {"wikitext{}": "\n\n".join(f"{head}{part.text}" for head, part in zip(heads, sections, strict=True))}


def _revid_part(call: WikiCall, page: WikiPage) -> Tree:
    return {"revid": list_revisions(call, page)[0].number}


def _displaytitle_part(call: WikiCall, page: WikiPage) -> Tree:
    return {"displaytitle": page.article.display_title}


def _links_part(call: WikiCall, page: WikiPage) -> Tree:
    article = page.article
    red_links = {title for _, title in internal_pages(call.host, article, article.red_links)}
    linked_pages = internal_pages(call.host, article, article.links)
    return {
        "links": [{"ns": space, "title*": title, "exists": title not in red_links} for space, title in linked_pages]
    }


def _categories_part(call: WikiCall, page: WikiPage) -> Tree:
    article = page.article
    visible = [_category_item(title) for _, title in internal_pages(call.host, article, article.categories)]
    hidden = [
        _category_item(title) | {"hidden": True}
        for _, title in internal_pages(call.host, article, article.hidden_categories)
    ]
    return {"categories": [*visible, *hidden]}


def _category_item(title: str) -> Tree:
    return {"sortkey": "", "category*": title.partition(":")[2].replace(" ", "_")}


def _images_part(call: WikiCall, page: WikiPage) -> Tree:
    image_pages = internal_pages(call.host, page.article, page.article.images)
    return {"images": [title.partition(":")[2].replace(" ", "_") for _, title in image_pages]}


def _externallinks_part(call: WikiCall, page: WikiPage) -> Tree:
    return {"externallinks": external_links(call.host, page.article)}


def _sections_part(call: WikiCall, page: WikiPage) -> Tree:
    return {"sections": list(_table_of_contents(page.article.sections[1:], page.title.replace(" ", "_")))}


def _table_of_contents(sections: Sequence[Section], title: str) -> Iterator[Tree]:
    """Yield the table of contents: `toclevel` counts the levels in use, `number` is what readers see (2.1)."""
    open_levels: list[int] = []
    numbers: list[int] = []
    for index, section in enumerate(sections, 1):
        while open_levels and open_levels[-1] >= section.level:
            open_levels.pop()
        open_levels.append(section.level)
        depth = len(open_levels)
        numbers = [*numbers[: depth - 1], (numbers[depth - 1] if len(numbers) >= depth else 0) + 1]
        yield {
            "toclevel": depth,
            "level": str(section.level),
            "line": section.line,
            "number": ".".join(map(str, numbers)),
            "index": str(index),
            "fromtitle": title,
            "anchor": section.anchor,
        }


_PART_BUILDERS: dict[str, Callable[[WikiCall, WikiPage], Tree]] = {
    "revid": _revid_part,
    "text": _text_part,
    "categories": _categories_part,
    "links": _links_part,
    "images": _images_part,
    "externallinks": _externallinks_part,
    "sections": _sections_part,
    "displaytitle": _displaytitle_part,
    "wikitext": _wikitext_part,
}
