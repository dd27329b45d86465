"""Who is told about where: hosts and addresses of the invented web, worked out from the graph alone."""

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
    """The graph with the addresses of everything in it."""

    graph: Graph
    papers: tuple[Paper, ...] = ()
    stories: list[Story] = field(default_factory=list)
    about: dict[str, list[int]] = field(default_factory=dict)
    """Entity key to the positions of stories that are about it, newest first."""
    council_towns: Mapping[int, None] = field(default_factory=dict)
    """Positions, in order."""
    site_companies: Sequence[int] = ()
    schools: Sequence[int] = ()
    """Universities with a site of their own."""

    natives: dict[str, list[int]] = field(default_factory=dict)
    """Town key to the people born there."""
    founded: dict[str, list[int]] = field(default_factory=dict)
    """Person key to companies."""
    designed: dict[str, list[int]] = field(default_factory=dict)
    """Person key to landmarks."""
    made: dict[str, list[Work]] = field(default_factory=dict)
    """Person key to novels or films."""
    products: dict[str, list[int]] = field(default_factory=dict)
    """Company key to products."""
    towns_in: dict[str, list[int]] = field(default_factory=dict)
    """Region key to towns."""
    firms_in: dict[str, list[int]] = field(default_factory=dict)
    """Town key to companies."""
    sights: dict[str, list[int]] = field(default_factory=dict)
    """Town key to landmarks."""
    staff: dict[str, list[int]] = field(default_factory=dict)
    """Employer's key to people."""

    @property
    def scale(self) -> float:
        return self.graph.pages / 2000

    def wiki(self, entity: Entity) -> str:
        return f"https://{LEXICON}{wiki_path(entity.title)}"

    def council(self, town: Town) -> str:
        """Base URL of the town's own site, or empty."""
        position = int(town.key.partition("/")[2])
        if position not in self.council_towns:
            return ""
        style = ("www.{}-council.org", "www.comune-{}.net", "www.mesto-{}.info")[town.country % 3]
        return "https://" + style.format(slug(town.title))

    def firm(self, company: Company) -> str:
        """Base URL of the company's own site, or empty."""
        position = int(company.key.partition("/")[2])
        return f"https://www.{slug(company.name)}.com" if position in self.site_companies else ""

    def school(self, school: University) -> str:
        return f"https://www.uni-{slug(self.graph.towns[school.town].title)}.org"

    def catalogue(self, work: Work) -> str:
        """The work's page in the book or film database."""
        host, shelf = (NOVEL_HOST, "book") if work.kind == "novel" else (FILM_HOST, "title")
        return f"https://{host}/{shelf}/{work.key.partition('/')[2]}-{slug(work.name)}"

    def story_url(self, story: Story) -> str:
        return f"https://{self.papers[story.paper].host}{story.path}"


def wiki_path(title: str) -> str:
    return "/wiki/" + quote(title.replace(" ", "_"), safe="()_,.-:")


def anchor(href: str, text: str, rel: str = "") -> str:
    """`<a>` with both parts escaped."""
    mark = f' rel="{rel}"' if rel else ""
    return f'<a href="{escape(href)}"{mark}>{escape(text)}</a>'


def draw_atlas(graph: Graph, stories: int) -> Atlas:
    """The atlas of a graph, with that many news stories."""
    atlas = Atlas(graph, papers_of(graph))
    changed = [n for n, town in enumerate(graph.towns) if town.former_mayor >= 0]
    others = [n for n in range(len(graph.towns)) if n % 13 == 1 and graph.towns[n].former_mayor < 0]
    atlas.council_towns = dict.fromkeys(changed + others[: max(2, len(graph.towns) // 24)])
    atlas.site_companies = range(0, len(graph.companies), 9)
    atlas.schools = range(0, len(graph.universities), 4)
    atlas.stories = chronicle(graph, atlas.papers, stories)
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
    """That many of the towns for every 2,000 pages, drawn for one purpose, in their order."""
    towns = atlas.graph.towns
    picked = dice(atlas.graph.seed, what).sample(
        range(len(towns)), min(len(towns), max(6, round(per_2000 * atlas.scale)))
    )
    return [towns[n] for n in sorted(picked)]
