"""Newspapers: a front page, sections and topics over several pages, and stories with bylines and dates, some
syndicated.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from html import escape

from webemu.worlds.names import family, slug
from webemu.worlds.places import tongue_of
from webemu.worlds.prose import long_date
from webemu.worlds.reports import body
from webemu.worlds.seeded_random import dice
from webemu.worlds.site_directory import Atlas, anchor
from webemu.worlds.sites.common import common, paged
from webemu.worlds.stories import SECTIONS, Story
from webemu.worlds.templates import bullets, page
from webemu.worlds.web import Leaf, Site

ACCENTS = ("#7b1e1e", "#1d3b5c", "#2f4f3a", "#5b3a6b", "#8a5a00", "#333333")


def newspapers(atlas: Atlas) -> list[Site]:
    """Return the sites of all newspapers."""
    return [_newspaper(atlas, n) for n in range(len(atlas.papers))]


def _newspaper(atlas: Atlas, n: int) -> Site:
    paper = atlas.papers[n]
    mine = [k for k, story in enumerate(atlas.stories) if n in (story.paper, story.syndicated)]
    nav = (("/", "Home"), *((f"/section/{name}", name.capitalize()) for name in SECTIONS))
    first = next((atlas.stories[k] for k in mine if atlas.stories[k].paper == n), None)
    moved = (
        ((f"/archive/{1000 + n}.html", first.path, 301), ("/latest", "/", 302)) if first else (("/latest", "/", 302),)
    )
    return Site(
        paper.host, paper.name, "news", f"News from {atlas.graph.countries[paper.country].name} since {1861 + 13 * n % 90}",
        partial(_leaves, atlas, n, mine), nav, ACCENTS[n % 6], ("nginx", "Apache/2.4.57", "cloudflare")[n % 3], "/feed.xml",
        dead=("/2018/11/30/archive-removed/",), gone=("/section/classifieds",), broken=(("/live", 503),), moved=moved, disallow=("/print/", "/search"),
    )  # fmt: skip


def _path(story: Story, paper: int) -> str:
    """Return a story's path at a newspaper. A syndicated copy has a path below `/agency/`, the same at every
    newspaper.
    """
    return story.path if story.paper == paper else f"/agency/{slug(story.headline)[:60].rstrip('-')}-{story.day}"


def _leaves(atlas: Atlas, n: int, mine: list[int], site: Site) -> Iterator[Leaf]:
    stories = [atlas.stories[k] for k in reversed(mine)]
    yield Leaf("/", partial(_front, atlas, n, stories, site), "2024-12-01")
    topics: dict[str, list[Story]] = {}
    for place, story in enumerate(stories):
        yield Leaf(_path(story, n), partial(_story, atlas, n, stories, place, site), story.day)
        for key in story.about:
            if key.startswith("town/"):
                topics.setdefault(key, []).append(story)
    for name in SECTIONS:
        items = [partial(_teaser, atlas, n, story) for story in stories if story.section == name]
        yield from paged(site, f"/section/{name}", name.capitalize(), items, 25)
    for key, about in topics.items():
        if len(about) > 2:
            town = atlas.graph.towns[int(key.partition("/")[2])]
            items = [partial(_teaser, atlas, n, story) for story in about]
            yield from paged(site, f"/topic/{slug(town.title)}", f"News from {town.title}", items, 25)
    yield from common(site)


def _teaser(atlas: Atlas, n: int, story: Story) -> str:
    return f'{anchor(_path(story, n), story.headline)} <time datetime="{story.day}">{long_date(story.day)}</time>'


def _front(atlas: Atlas, n: int, stories: list[Story], site: Site) -> str:
    main = "".join(
        f'<div class="teaser"><h2>{anchor(_path(story, n), story.headline)}</h2><p>{_opening_line(atlas, story)}</p></div>\n'
        for story in stories[:8]
    )
    aside = "<h4>More news</h4>" + bullets(_teaser(atlas, n, story) for story in stories[8:24])
    aside += f"<p>{anchor('/live', 'Live ticker')} · {anchor('/section/classifieds', 'Classifieds')} · {anchor('/2018/11/30/archive-removed/', 'Archive 2018')}</p>"
    return page(site, f"{site.name} - {site.tagline}", f"<h1>Today's news</h1>\n{main}", aside=aside)


def _opening_line(atlas: Atlas, story: Story) -> str:
    """Return the first paragraph of a story as HTML, without its `<p>`."""
    return body(atlas, story).partition("</p>")[0].removeprefix("<p>")


def byline(atlas: Atlas, story: Story) -> str:
    """Return the name of a story's author: one of seven people per newspaper."""
    paper = atlas.papers[story.paper]
    who = dice(paper.host, "writer", dice(story.path).randrange(7))
    tongue = tongue_of(paper.country)
    return f"{who.choice(tongue.women + tongue.men)} {family(who, tongue)}"


def _story(atlas: Atlas, n: int, stories: list[Story], place: int, site: Site) -> str:
    story = stories[place]
    author, hour = byline(atlas, story), dice(story.path, "hour").randint(6, 21)
    stamp = f"{story.day}T{hour:02d}:{dice(story.path, 'minute').randrange(60):02d}:00+01:00"
    head = (
        f'<meta property="og:type" content="article">\n<meta property="article:published_time" content="{stamp}">\n<meta name="author" content="{escape(author)}">\n'
        f'<link rel="canonical" href="{escape(atlas.story_url(story))}">\n'
    )  # fmt: skip
    origin = (
        ""
        if story.paper == n
        else f"<p><i>This report first appeared in {escape(atlas.papers[story.paper].name)}.</i></p>\n"
    )
    main = (
        f'<article><h1 class="headline">{escape(story.headline)}</h1>\n<p class="byline">By {escape(author)} · <time datetime="{stamp}">{long_date(story.day)}</time> · '
        f"{anchor(f'/section/{story.section}', story.section.capitalize())}</p>\n{body(atlas, story)}{origin}</article>\n"
    )  # fmt: skip
    # The stories around this one, without itself.
    near = [story for k, story in enumerate(stories[max(0, place - 3) : place + 4]) if k != min(place, 3)]
    aside = "<h4>Read also</h4>" + bullets(_teaser(atlas, n, story) for story in near)
    return page(site, f"{story.headline} | {site.name}", main, aside=aside, head=head)
