"""Parts of a captured page: `action=parse` (https://www.mediawiki.org/wiki/API:Parsing_wikitext)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from webemu.api.wiki import extracts
from webemu.api.wiki.format_version import Tree
from webemu.api.wiki.links import inside, outside
from webemu.api.wiki.page import Found, find, number, proper, revisions
from webemu.api.wiki.params import ApiError, Ask
from webemu.api.wiki.site import titles
from webemu.api.wiki.titles import fault
from webemu.emulator.article import Section

_DEFAULT = "text|categories|links|images|externallinks|sections|revid|displaytitle"
"""Parts that are returned without `prop`."""


def parse(ask: Ask) -> Tree:
    """Answer `action=parse`. Raises ApiError if the page is missing or a parameter is bad."""
    title = _title(ask)
    found = find(ask, title)
    if found is None:
        raise ApiError("missingtitle", "The page you specified doesn't exist.")
    told: Tree = {"title": found.title, "pageid": number(ask, found.title)}
    told |= {"redirects": [{"from": title, "to": found.title}] if found.title != title else []}
    if not ask.has("redirects"):  # redirects are followed in any case, but reported only on request
        del told["redirects"]
    wanted = ask.values("prop", _DEFAULT)
    for name, tell in _PARTS.items():
        if name in wanted:
            told |= tell(ask, found)
    return {"parse": told}


def _title(ask: Ask) -> str:
    """Return the title of the requested page. Raises ApiError if it is invalid or its id is unknown.

    `titles` and `pageids` are accepted because the package `wikipedia` sends these names.
    """
    if asked := (ask.text("pageid") or ask.text("pageids")).strip():
        title = titles(ask.world, ask.host).numbers.get(int(asked) if asked.isdecimal() and len(asked) < 12 else 0)
        if title is None:
            raise ApiError("nosuchpageid", f"There is no page with ID {asked[:12]}.")
        return title
    title = proper(ask, ask.text("titles") or ask.required("page"))
    if fault(title):
        raise ApiError("invalidtitle", f'Bad title "{title[:100]}".')
    return title


def _sections(ask: Ask, found: Found) -> Sequence[Section]:
    """Return the requested section with its subsections, or all sections. Raises ApiError if it does not exist."""
    every = found.article.sections
    if not ask.has("section"):
        return every
    first = ask.number("section", -1, -1, len(every))
    if not 0 <= first < len(every):
        raise ApiError("nosuchsection", f"There is no section {ask.text('section')[:12]}.")
    # Section 0 is the lead, before the first heading.
    if first == 0:
        return every[:1]
    ends = (n for n in range(first + 1, len(every)) if every[n].level <= every[first].level)
    return every[first : next(ends, len(every))]


def _text(ask: Ask, found: Found) -> Tree:
    inner = "".join(section.html for section in _sections(ask, found))
    return {"text{}": f"{found.article.opening}{inner}</div>"}


def _wikitext(ask: Ask, found: Found) -> Tree:
    """Return the prose with headings in place of the wikitext, which was not captured."""
    if not ask.has("section"):
        return {"wikitext{}": extracts.text_of(found.article)}
    parts = _sections(ask, found)
    heads = (f"{'=' * part.level} {part.line} {'=' * part.level}\n" if part.level else "" for part in parts)
    return {"wikitext{}": "\n\n".join(f"{head}{part.text}" for head, part in zip(heads, parts, strict=True))}


def _revid(ask: Ask, found: Found) -> Tree:
    return {"revid": revisions(ask, found)[0].number}


def _displaytitle(ask: Ask, found: Found) -> Tree:
    return {"displaytitle": found.article.display}


def _links(ask: Ask, found: Found) -> Tree:
    article = found.article
    unwritten = {title for _, title in inside(ask.host, article, article.unwritten)}
    named = inside(ask.host, article, article.links)
    return {"links": [{"ns": space, "title*": title, "exists": title not in unwritten} for space, title in named]}


def _categories(ask: Ask, found: Found) -> Tree:
    article = found.article
    normal = [_category(title) for _, title in inside(ask.host, article, article.categories)]
    hidden = [_category(title) | {"hidden": True} for _, title in inside(ask.host, article, article.hidden_categories)]
    return {"categories": [*normal, *hidden]}


def _category(title: str) -> Tree:
    return {"sortkey": "", "category*": title.partition(":")[2].replace(" ", "_")}


def _images(ask: Ask, found: Found) -> Tree:
    named = inside(ask.host, found.article, found.article.images)
    return {"images": [title.partition(":")[2].replace(" ", "_") for _, title in named]}


def _externallinks(ask: Ask, found: Found) -> Tree:
    return {"externallinks": outside(ask.host, found.article)}


def _contents(ask: Ask, found: Found) -> Tree:
    return {"sections": list(_listed(found.article.sections[1:], found.title.replace(" ", "_")))}


def _listed(sections: Sequence[Section], title: str) -> Iterator[Tree]:
    """Yield the table of contents: `toclevel` counts the levels in use, `number` is what readers see (2.1)."""
    above: list[int] = []
    numbers: list[int] = []
    for index, section in enumerate(sections, 1):
        while above and above[-1] >= section.level:
            above.pop()
        above.append(section.level)
        depth = len(above)
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


_PARTS: dict[str, Callable[[Ask, Found], Tree]] = {
    "revid": _revid,
    "text": _text,
    "categories": _categories,
    "links": _links,
    "images": _images,
    "externallinks": _externallinks,
    "sections": _contents,
    "displaytitle": _displaytitle,
    "wikitext": _wikitext,
}
