"""Hosts and URLs of the invented web, worked out from the graph alone.

`assign_addresses` decides which site describes which entity, so that any page can link to any other before either is
rendered. It also indexes the graph by relation. The pages themselves are rendered in `sites/`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from urllib.parse import quote

from webemu.worlds.graph import Company, Entity, Graph, Town, University, Work
from webemu.worlds.names import slug
from webemu.worlds.seeded_random import dice
from webemu.worlds.stories import Paper, Story, chronicle, papers_of

LEXICON = "en.openlexicon.org"
"""Host of the encyclopedia. The constants below are the hosts of the other sites that every web has."""
NOVEL_HOST, FILM_HOST = "www.shelfmark-index.org", "www.reelcatalogue.net"
STATISTICS = "data.jointstatistics.org"
SHOP = "www.hearth-and-spoke.shop"
TRAVEL = "www.slowroads.travel"
JOBS = "www.workbench-jobs.com"
DIRECTORY = "www.thelocalpages.net"
RECIPES = "www.kettlebook.com"
HOMEPAGES = "home.brightpost.net"
GAZETTEER = "www.pocket-gazetteer.net"
FORUMS = ("forum.anglers-ring.net", "board.fixit-circle.org")


@dataclass(slots=True)
class Atlas:
    """The graph, the URL of everything in it, and indexes over its relations.

    Lists of integers hold positions in the graph's lists.
    """

    graph: Graph
    papers: tuple[Paper, ...] = ()
    """Newspapers, in the order of their positions in `Story.paper`."""
    stories: list[Story] = field(default_factory=list)
    """All news stories in order of publication."""
    about: dict[str, list[int]] = field(default_factory=dict)
    """Positions of the stories about an entity, newest first, by entity key."""
    council_towns: Mapping[int, None] = field(default_factory=dict)
    """Positions of the towns with a council site, as an ordered set (the values are None)."""
    site_companies: Sequence[int] = ()
    """Positions of the companies with a site of their own."""
    schools: Sequence[int] = ()
    """Positions of the universities with a site of their own."""

    natives: dict[str, list[int]] = field(default_factory=dict)
    """People born in a town, by town key."""
    founded: dict[str, list[int]] = field(default_factory=dict)
    """Companies that a person founded, by person key."""
    designed: dict[str, list[int]] = field(default_factory=dict)
    """Landmarks that a person designed, by person key."""
    made: dict[str, list[Work]] = field(default_factory=dict)
    """Novels or films by a person, by person key."""
    products: dict[str, list[int]] = field(default_factory=dict)
    """Products that a company makes, by company key."""
    towns_in: dict[str, list[int]] = field(default_factory=dict)
    """Towns in a region, by region key."""
    firms_in: dict[str, list[int]] = field(default_factory=dict)
    """Companies with headquarters in a town, by town key."""
    sights: dict[str, list[int]] = field(default_factory=dict)
    """Landmarks in a town, by town key."""
    staff: dict[str, list[int]] = field(default_factory=dict)
    """People who work for an employer, by the key of a company or university; the empty key holds those without one."""

    @property
    def scale(self) -> float:
        """Size of the web relative to 2,000 pages, the size for which all counts of pages are stated."""
        return self.graph.pages / 2000

    def wiki(self, entity: Entity) -> str:
        """Return the URL of an entity's encyclopedia article."""
        return f"https://{LEXICON}{wiki_path(entity.title)}"

    def council(self, town: Town) -> str:
        """Return the base URL of the town's own site, or an empty string if it has none."""
        position = int(town.key.partition("/")[2])
        if position not in self.council_towns:
            return ""
        style = ("www.{}-council.org", "www.comune-{}.net", "www.mesto-{}.info")[town.country % 3]
        return "https://" + style.format(slug(town.title))

    def firm(self, company: Company) -> str:
        """Return the base URL of the company's own site, or an empty string if it has none."""
        position = int(company.key.partition("/")[2])
        return f"https://www.{slug(company.name)}.com" if position in self.site_companies else ""

    def school(self, school: University) -> str:
        """Return the base URL that a university's site has or would have; `universities_with_site` says which have one."""
        return f"https://www.uni-{slug(self.graph.towns[school.town].title)}.org"

    def catalogue(self, work: Work) -> str:
        """Return the URL of the work's page in the book or film database."""
        host, shelf = (NOVEL_HOST, "book") if work.kind == "novel" else (FILM_HOST, "title")
        return f"https://{host}/{shelf}/{work.key.partition('/')[2]}-{slug(work.name)}"

    def story_url(self, story: Story) -> str:
        """Return the URL of a story at the newspaper that published it first."""
        return f"https://{self.papers[story.paper].host}{story.path}"


def wiki_path(title: str) -> str:
    """Return the encyclopedia path of an article title, with underscores for spaces as MediaWiki has it."""
    return "/wiki/" + quote(title.replace(" ", "_"), safe="()_,.-:")


def anchor(href: str, text: str, rel: str = "") -> str:
    """Return an `<a>` element as HTML; the target and the text are escaped here."""
    mark = f' rel="{rel}"' if rel else ""
    return f'<a href="{escape(href)}"{mark}>{escape(text)}</a>'


def draw_atlas(graph: Graph, stories: int) -> Atlas:
    """Return the directory of a graph's addresses, with that many news stories."""
    atlas = Atlas(graph, papers_of(graph))
    # All towns whose mayor changed have a site, so that the change can be seen in two captures.
    changed = [n for n, town in enumerate(graph.towns) if town.former_mayor >= 0]
    others = [n for n in range(len(graph.towns)) if n % 13 == 1 and graph.towns[n].former_mayor < 0]
    atlas.council_towns = dict.fromkeys(changed + others[: max(2, len(graph.towns) // 24)])
    atlas.site_companies = range(0, len(graph.companies), 9)
    atlas.schools = range(0, len(graph.universities), 4)
    atlas.stories = chronicle(graph, atlas.papers, stories)
    # Backwards, so that each list has the newest story first.
    for position in range(len(atlas.stories) - 1, -1, -1):
        for key in atlas.stories[position].about:
            atlas.about.setdefault(key, []).append(position)
    _index(atlas)
    return atlas


def _index(atlas: Atlas) -> None:
    graph = atlas.graph
    for n, person in enumerate(graph.people):
        atlas.natives.setdefault(graph.towns[person.birthplace].key, []).append(n)
        atlas.staff.setdefault(person.employer, []).append(n)
    for n, company in enumerate(graph.companies):
        atlas.founded.setdefault(graph.people[company.founder].key, []).append(n)
        atlas.firms_in.setdefault(graph.towns[company.town].key, []).append(n)
    for n, mark in enumerate(graph.landmarks):
        atlas.designed.setdefault(graph.people[mark.architect].key, []).append(n)
        atlas.sights.setdefault(graph.towns[mark.town].key, []).append(n)
    for work in (*graph.novels, *graph.films):
        atlas.made.setdefault(graph.people[work.maker].key, []).append(work)
    for n, product in enumerate(graph.products):
        atlas.products.setdefault(graph.companies[product.company].key, []).append(n)
    for n, town in enumerate(graph.towns):
        atlas.towns_in.setdefault(graph.regions[town.region].key, []).append(n)


def some_towns(atlas: Atlas, what: str, per_2000: int) -> list[Town]:
    """Return `per_2000` towns for every 2,000 pages (at least 6), drawn for one purpose, in their order in the graph.

    The same purpose always draws the same towns.
    """
    towns = atlas.graph.towns
    picked = dice(atlas.graph.seed, what).sample(
        range(len(towns)), min(len(towns), max(6, round(per_2000 * atlas.scale)))
    )
    return [towns[n] for n in sorted(picked)]
