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
from webemu.worlds.names import slugify
from webemu.worlds.seeded_random import seeded_rng
from webemu.worlds.stories import Newspaper, Story, list_papers, list_stories

LEXICON_HOST = "en.openlexicon.org"
"""Host of the encyclopedia. The constants below are the hosts of the other sites that every web has."""
NOVEL_HOST, FILM_HOST = "www.shelfmark-index.org", "www.reelcatalogue.net"
STATISTICS_HOST = "data.jointstatistics.org"
SHOP_HOST = "www.hearth-and-spoke.shop"
TRAVEL_HOST = "www.slowroads.travel"
JOBS_HOST = "www.workbench-jobs.com"
LOCAL_PAGES_HOST = "www.thelocalpages.net"
RECIPES_HOST = "www.kettlebook.com"
HOMEPAGES_HOST = "home.brightpost.net"
GAZETTEER_HOST = "www.pocket-gazetteer.net"
FORUM_HOSTS = ("forum.anglers-ring.net", "board.fixit-circle.org")


@dataclass(slots=True)
class SiteDirectory:
    """The graph, the URL of everything in it, and indexes over its relations.

    Lists of integers hold positions in the graph's lists.
    """

    graph: Graph
    papers: tuple[Newspaper, ...] = ()
    """Newspapers, in the order of their positions in `Story.paper`."""
    stories: list[Story] = field(default_factory=list)
    """All news stories in order of publication."""
    stories_about: dict[str, list[int]] = field(default_factory=dict)
    """Positions of the stories about an entity, newest first, by entity key."""
    council_towns: Mapping[int, None] = field(default_factory=dict)
    """Positions of the towns with a council site, as an ordered set (the values are None)."""
    companies_with_site: Sequence[int] = ()
    """Positions of the companies with a site of their own."""
    universities_with_site: Sequence[int] = ()
    """Positions of the universities with a site of their own."""

    people_born_in: dict[str, list[int]] = field(default_factory=dict)
    """People born in a town, by town key."""
    companies_by_founder: dict[str, list[int]] = field(default_factory=dict)
    """Companies that a person founded, by person key."""
    landmarks_by_architect: dict[str, list[int]] = field(default_factory=dict)
    """Landmarks that a person designed, by person key."""
    works_by: dict[str, list[Work]] = field(default_factory=dict)
    """Novels or films by a person, by person key."""
    products_of: dict[str, list[int]] = field(default_factory=dict)
    """Products that a company makes, by company key."""
    towns_in: dict[str, list[int]] = field(default_factory=dict)
    """Towns in a region, by region key."""
    companies_in: dict[str, list[int]] = field(default_factory=dict)
    """Companies with headquarters in a town, by town key."""
    landmarks_in: dict[str, list[int]] = field(default_factory=dict)
    """Landmarks in a town, by town key."""
    people_employed_by: dict[str, list[int]] = field(default_factory=dict)
    """People who work for an employer, by the key of a company or university; the empty key holds those without one."""

    @property
    def scale(self) -> float:
        """Size of the web relative to 2,000 pages, the size for which all counts of pages are stated."""
        return self.graph.pages / 2000

    def wiki_url(self, entity: Entity) -> str:
        """Return the URL of an entity's encyclopedia article."""
        return f"https://{LEXICON_HOST}{wiki_path(entity.title)}"

    def council_url(self, town: Town) -> str:
        """Return the base URL of the town's own site, or an empty string if it has none."""
        position = int(town.key.partition("/")[2])
        if position not in self.council_towns:
            return ""
        host_template = ("www.{}-council.org", "www.comune-{}.net", "www.mesto-{}.info")[town.country % 3]
        return "https://" + host_template.format(slugify(town.title))

    def company_url(self, company: Company) -> str:
        """Return the base URL of the company's own site, or an empty string if it has none."""
        position = int(company.key.partition("/")[2])
        return f"https://www.{slugify(company.name)}.com" if position in self.companies_with_site else ""

    def university_url(self, university: University) -> str:
        """Return the base URL that a university's site has or would have; `universities_with_site` says which have one."""
        return f"https://www.uni-{slugify(self.graph.towns[university.town].title)}.org"

    def catalogue_url(self, work: Work) -> str:
        """Return the URL of the work's page in the book or film database."""
        host, folder = (NOVEL_HOST, "book") if work.kind == "novel" else (FILM_HOST, "title")
        return f"https://{host}/{folder}/{work.key.partition('/')[2]}-{slugify(work.name)}"

    def story_url(self, story: Story) -> str:
        """Return the URL of a story at the newspaper that published it first."""
        return f"https://{self.papers[story.paper].host}{story.path}"


def wiki_path(title: str) -> str:
    """Return the encyclopedia path of an article title, with underscores for spaces as MediaWiki has it."""
    return "/wiki/" + quote(title.replace(" ", "_"), safe="()_,.-:")


def render_link(href: str, text: str, rel: str = "") -> str:
    """Return an `<a>` element as HTML; the target and the text are escaped here."""
    rel_attribute = f' rel="{rel}"' if rel else ""
    return f'<a href="{escape(href)}"{rel_attribute}>{escape(text)}</a>'


def assign_addresses(graph: Graph, story_count: int) -> SiteDirectory:
    """Return the directory of a graph's addresses, with that many news stories."""
    directory = SiteDirectory(graph, list_papers(graph))
    # All towns whose mayor changed have a site, so that the change can be seen in two captures.
    changed = [n for n, town in enumerate(graph.towns) if town.former_mayor >= 0]
    unchanged = [n for n in range(len(graph.towns)) if n % 13 == 1 and graph.towns[n].former_mayor < 0]
    directory.council_towns = dict.fromkeys(changed + unchanged[: max(2, len(graph.towns) // 24)])
    directory.companies_with_site = range(0, len(graph.companies), 9)
    directory.universities_with_site = range(0, len(graph.universities), 4)
    directory.stories = list_stories(graph, directory.papers, story_count)
    # Backwards, so that each list has the newest story first.
    for position in range(len(directory.stories) - 1, -1, -1):
        for key in directory.stories[position].entity_keys:
            directory.stories_about.setdefault(key, []).append(position)
    _index_relations(directory)
    return directory


def _index_relations(directory: SiteDirectory) -> None:
    graph = directory.graph
    for n, person in enumerate(graph.people):
        directory.people_born_in.setdefault(graph.towns[person.birthplace].key, []).append(n)
        directory.people_employed_by.setdefault(person.employer, []).append(n)
    for n, company in enumerate(graph.companies):
        directory.companies_by_founder.setdefault(graph.people[company.founder].key, []).append(n)
        directory.companies_in.setdefault(graph.towns[company.town].key, []).append(n)
    for n, landmark in enumerate(graph.landmarks):
        directory.landmarks_by_architect.setdefault(graph.people[landmark.architect].key, []).append(n)
        directory.landmarks_in.setdefault(graph.towns[landmark.town].key, []).append(n)
    for work in (*graph.novels, *graph.films):
        directory.works_by.setdefault(graph.people[work.creator].key, []).append(work)
    for n, product in enumerate(graph.products):
        directory.products_of.setdefault(graph.companies[product.company].key, []).append(n)
    for n, town in enumerate(graph.towns):
        directory.towns_in.setdefault(graph.regions[town.region].key, []).append(n)


def draw_towns(directory: SiteDirectory, purpose: str, per_2000: int) -> list[Town]:
    """Return `per_2000` towns for every 2,000 pages (at least 6), drawn for one purpose, in their order in the graph.

    The same purpose always draws the same towns.
    """
    towns = directory.graph.towns
    picked = seeded_rng(directory.graph.seed, purpose).sample(
        range(len(towns)), min(len(towns), max(6, round(per_2000 * directory.scale)))
    )
    return [towns[n] for n in sorted(picked)]
