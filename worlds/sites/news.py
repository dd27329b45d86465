"""Newspapers: a front page, sections and topics over several pages, and stories with bylines and dates, some
syndicated.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from html import escape

from webemu.worlds.names import invent_family_name, slugify
from webemu.worlds.places import syllable_set_of
from webemu.worlds.prose import format_long_date
from webemu.worlds.reports import render_story
from webemu.worlds.seeded_random import seeded_rng
from webemu.worlds.site_directory import SiteDirectory, render_link
from webemu.worlds.sites.common import list_common_pages, list_paged
from webemu.worlds.stories import SECTIONS, Story
from webemu.worlds.templates import render_list, render_page
from webemu.worlds.web import Site, SitePage

ACCENTS = ("#7b1e1e", "#1d3b5c", "#2f4f3a", "#5b3a6b", "#8a5a00", "#333333")


def build_newspapers(directory: SiteDirectory) -> list[Site]:
    """Return the sites of all newspapers."""
    return [_build_newspaper(directory, n) for n in range(len(directory.papers))]


def _build_newspaper(directory: SiteDirectory, n: int) -> Site:
    paper = directory.papers[n]
    story_positions = [k for k, story in enumerate(directory.stories) if n in (story.paper, story.syndicated)]
    nav = (("/", "Home"), *((f"/section/{name}", name.capitalize()) for name in SECTIONS))
    first = next((directory.stories[k] for k in story_positions if directory.stories[k].paper == n), None)
    redirects = (
        ((f"/archive/{1000 + n}.html", first.path, 301), ("/latest", "/", 302)) if first else (("/latest", "/", 302),)
    )
    return Site(
        paper.host, paper.name, "news", f"News from {directory.graph.countries[paper.country].name} since {1861 + 13 * n % 90}",
        partial(_list_pages, directory, n, story_positions), nav, ACCENTS[n % 6], ("nginx", "Apache/2.4.57", "cloudflare")[n % 3], "/feed.xml",
        not_found_paths=("/2018/11/30/archive-removed/",), gone_paths=("/section/classifieds",), failing_paths=(("/live", 503),), redirects=redirects, disallowed_prefixes=("/print/", "/search"),
    )  # fmt: skip


def _story_path(story: Story, paper: int) -> str:
    """Return a story's path at a newspaper. A syndicated copy has a path below `/agency/`, the same at every
    newspaper.
    """
    return story.path if story.paper == paper else f"/agency/{slugify(story.headline)[:60].rstrip('-')}-{story.day}"


def _list_pages(directory: SiteDirectory, n: int, story_positions: list[int], site: Site) -> Iterator[SitePage]:
    stories = [directory.stories[k] for k in reversed(story_positions)]
    yield SitePage("/", partial(_render_front_page, directory, n, stories, site), "2024-12-01")
    topics: dict[str, list[Story]] = {}
    for position, story in enumerate(stories):
        yield SitePage(
            _story_path(story, n), partial(_render_story_page, directory, n, stories, position, site), story.day
        )
        for key in story.entity_keys:
            if key.startswith("town/"):
                topics.setdefault(key, []).append(story)
    for name in SECTIONS:
        items = [partial(_render_teaser, n, story) for story in stories if story.section == name]
        yield from list_paged(site, f"/section/{name}", name.capitalize(), items, 25)
    for key, town_stories in topics.items():
        if len(town_stories) > 2:
            town = directory.graph.towns[int(key.partition("/")[2])]
            items = [partial(_render_teaser, n, story) for story in town_stories]
            yield from list_paged(site, f"/topic/{slugify(town.title)}", f"News from {town.title}", items, 25)
    yield from list_common_pages(site)


def _render_teaser(n: int, story: Story) -> str:
    return f'{render_link(_story_path(story, n), story.headline)} <time datetime="{story.day}">{format_long_date(story.day)}</time>'


def _render_front_page(directory: SiteDirectory, n: int, stories: list[Story], site: Site) -> str:
    content = "".join(
        f'<div class="teaser"><h2>{render_link(_story_path(story, n), story.headline)}</h2><p>{_opening_line(directory, story)}</p></div>\n'
        for story in stories[:8]
    )
    aside = "<h4>More news</h4>" + render_list(_render_teaser(n, story) for story in stories[8:24])
    aside += f"<p>{render_link('/live', 'Live ticker')} · {render_link('/section/classifieds', 'Classifieds')} · {render_link('/2018/11/30/archive-removed/', 'Archive 2018')}</p>"
    return render_page(site, f"{site.name} - {site.tagline}", f"<h1>Today's news</h1>\n{content}", aside=aside)


def _opening_line(directory: SiteDirectory, story: Story) -> str:
    """Return the first paragraph of a story as HTML, without its `<p>`."""
    return render_story(directory, story).partition("</p>")[0].removeprefix("<p>")


def draw_author(directory: SiteDirectory, story: Story) -> str:
    """Return the name of a story's author: one of seven people per newspaper."""
    paper = directory.papers[story.paper]
    rng = seeded_rng(paper.host, "writer", seeded_rng(story.path).randrange(7))
    syllables = syllable_set_of(paper.country)
    return f"{rng.choice(syllables.female_names + syllables.male_names)} {invent_family_name(rng, syllables)}"


def _render_story_page(directory: SiteDirectory, n: int, stories: list[Story], position: int, site: Site) -> str:
    story = stories[position]
    author, hour = draw_author(directory, story), seeded_rng(story.path, "hour").randint(6, 21)
    timestamp = f"{story.day}T{hour:02d}:{seeded_rng(story.path, 'minute').randrange(60):02d}:00+01:00"
    head = (
        f'<meta property="og:type" content="article">\n<meta property="article:published_time" content="{timestamp}">\n<meta name="author" content="{escape(author)}">\n'
        f'<link rel="canonical" href="{escape(directory.story_url(story))}">\n'
    )  # fmt: skip
    origin = (
        ""
        if story.paper == n
        else f"<p><i>This report first appeared in {escape(directory.papers[story.paper].name)}.</i></p>\n"
    )
    content = (
        f'<article><h1 class="headline">{escape(story.headline)}</h1>\n<p class="byline">By {escape(author)} · <time datetime="{timestamp}">{format_long_date(story.day)}</time> · '
        f"{render_link(f'/section/{story.section}', story.section.capitalize())}</p>\n{render_story(directory, story)}{origin}</article>\n"
    )  # fmt: skip
    # The stories around this one, without itself.
    nearby_stories = [
        story for k, story in enumerate(stories[max(0, position - 3) : position + 4]) if k != min(position, 3)
    ]
    aside = "<h4>Read also</h4>" + render_list(_render_teaser(n, story) for story in nearby_stories)
    return render_page(site, f"{story.headline} | {site.name}", content, aside=aside, head=head)
