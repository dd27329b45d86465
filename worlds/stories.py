"""Decide what the newspapers report: events of the graph (2019-2024) and the small news of towns.

Only dates, headlines and URLs are decided here; `reports.py` writes the text of a story when its page is rendered.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date, timedelta
from random import Random

from webemu.worlds.graph import PRIZE_YEARS, Entity, Graph
from webemu.worlds.names import slugify
from webemu.worlds.prose import expand_template
from webemu.worlds.seeded_random import seeded_rng
from webemu.worlds.works_and_products import FESTIVAL_YEARS

SECTIONS = ("politics", "business", "culture", "region", "sport", "science")
"""Sections that every newspaper has."""
FIRST_NEWS_DAY, NEWS_DAYS = date(2019, 1, 3), 2145
"""First day of the news and the number of days, to 17 November 2024; elections of that November are on the 25th."""


@dataclass(frozen=True, slots=True)
class Newspaper:
    """A newspaper of one country."""

    host: str
    name: str
    country: int
    """Position of the country."""
    scheme: int
    """Number of its URL scheme and look, 0 to 2."""


@dataclass(frozen=True, slots=True)
class Story:
    """One news story, without its text."""

    kind: str
    """Kind of event: a key of `HEADLINES`."""
    paper: int
    """Position of the newspaper that published it first."""
    day: str
    """ISO date of publication."""
    headline: str
    path: str
    section: str
    entity_keys: tuple[str, ...]
    """Keys of entities, the main one first."""
    details: tuple[int, ...]
    """Positions and figures that the text is written from; their meaning depends on `kind`."""
    syndicated: int = -1
    """Position of another newspaper that printed it word for word, or -1."""


def list_papers(graph: Graph) -> tuple[Newspaper, ...]:
    """Return the newspapers, for each country in turn."""
    count = max(3, round(3 * (graph.pages / 2000) ** 0.5))
    papers: list[Newspaper] = []
    for n in range(count):
        country = n % len(graph.countries)
        country_towns = sorted(
            (town for town in graph.towns if town.country == country and "(" not in town.title),
            key=lambda town: -town.population[3],
        )
        town = country_towns[n // len(graph.countries) % len(country_towns)].name
        label, host_template, top_level_domain = (
            ("Gazette", "{}-gazette", "com"),
            ("Courier", "{}courier", "net"),
            ("Wire", "the{}wire", "com"),
        )[n % 3]
        host = f"www.{host_template.format(slugify(town))}.{top_level_domain}"
        papers.append(Newspaper(host, f"The {town} {label}", country, n % 3))
    return tuple(papers)


@dataclass(frozen=True, slots=True)
class _StoryDraft:
    """A story before it has a newspaper, a headline and a path."""

    kind: str
    day: str
    country: int
    entity_keys: tuple[str, ...]
    details: tuple[int, ...]
    slots: dict[str, str]
    """Values for the slots of the headline."""


HEADLINES: dict[str, tuple[str, ...]] = {
    "launch": ("{company} [unveils|presents|brings out] new {what} {product}", "New from {company}: the {product} {what}",
               "{product}: {company} hopes to win back customers with a new {what}"),
    "award": ("{prize} {year} goes to “{work}”", "“{work}” wins the {year} {prize}",
              "{maker} takes {prize} for “{work}”", "Jury honours “{work}” with the {prize}"),
    "opening": ("{mark} opens [to the public|after long delays|with a day of celebrations]", "Crowds at the opening of the {mark}",
                "{town} celebrates: {mark} open at last"),
    "election": ("{mayor} [elected|chosen as] mayor of {town}", "{town} votes: {mayor} wins town hall",
                 "Clear win for {mayor} in {town} mayoral vote", "{mayor} to lead {town} after close mayoral race"),
    "festival": ("{festival} [draws|attracts] {visitors} visitors", "{visitors} come to this year's {festival}",
                 "{festival} {year} ends with [fireworks|a parade|a record choir]"),
    "council": ("{town} council [approves|postpones|argues over] {plan}", "Residents of {town} divided over {plan}",
                "{plan_cap}: {town} looks for a compromise", "Green light for {plan} in {town}"),
    "results": ("{company} reports [solid|mixed|better than expected] {quarter} quarter", "{company}: sales {direction} by {percent} per cent",
                "Orders {direction} at {company}, outlook [unchanged|cautious|raised]"),
    "flood": ("{river} [bursts its banks|floods cellars] near {town}", "High water on the {river}: {town} closes quay",
              "After the flood: {town} counts the damage"),
    "research": ("{school} researchers [puzzle over|explain|map] {topic}", "{person} on {topic}: “We were surprised”",
                 "New study from {school} looks at {topic}"),
    "match": ("{town} beat {other} {goals} in [regional league|cup tie]", "Late goal sinks {other}: {town} win {goals}",
              "{goals}: {town} too strong for {other}"),
    "road": ("Road between {town} and {other} closed for [six weeks|the summer|repairs]", "New bus line links {town} with {other}",
             "Commuters between {town} and {other} face longer trips"),
    "weather": ("[Storm|Heavy snow|Hail] causes disruption across {region}", "{region} braces for [frost|heat|gales]",
                "Power restored in {region} after [night of storms|ice on the lines]"),
    "plant": ("{company} to build [plant|warehouse|test centre] in {town}", "{jobs} jobs: {company} picks {town} for new site",
              "{company} expands: ground broken in {town}"),
    "census": ("Census: {town} now has {population} inhabitants", "{town} by numbers: what the 2021 census says",
               "{population} people live in {town}, census shows"),
    "exhibition": ("{person} returns to {town} with new work", "Full house in {town} for {person}",
                   "An evening with {person} in {town}"),
}  # fmt: skip
"""Templates of headlines by kind of event."""
SECTION_BY_KIND = {
    "launch": "business", "results": "business", "plant": "business", "award": "culture", "festival": "culture",
    "exhibition": "culture", "election": "politics", "council": "politics", "research": "science", "match": "sport",
}  # fmt: skip
"""Section by kind of event; every other kind is in `region`."""
COUNCIL_PLANS = (
    "a car-free market square", "the new primary school", "higher parking fees", "a second footbridge", "the swimming pool repairs",
    "a wind farm on the ridge", "night buses", "the sale of the old dairy", "free library cards", "a cycle lane along the quay",
    "new rules for market stalls", "the library's longer opening hours", "LED street lamps", "the renaming of Station Road",
)  # fmt: skip
"""Matters that councils argue over; a story refers to them by position."""
RESEARCH_TOPICS = (
    "the slow retreat of river ice", "why swifts return to the same chimneys", "a forgotten dialect of raftsmen",
    "the chemistry of old bell metal", "moss as a gauge of clean air", "medieval salt roads", "eels and small dams",
    "clay that mends its own cracks", "the night sky above villages", "how orchards survive late frost",
    "microplastics in mountain lakes", "letters from a nineteenth-century pharmacy", "sleep in shift workers",
)  # fmt: skip
"""Topics of research; a story refers to them by position."""


def list_stories(graph: Graph, papers: tuple[Newspaper, ...], count: int) -> list[Story]:
    """Return `count` stories in order of publication.

    All elections of the crawl's own weeks are among them; a little more than half are events, the others small news.
    """
    events = _list_events(graph)
    seeded_rng(graph.seed, "events").shuffle(events)
    events.sort(key=lambda draft: not (draft.kind == "election" and draft.day >= "2024-11"))
    drafts = events[: max(count * 11 // 20, 3)]
    drafts += [_draft_small_news(graph, n) for n in range(max(0, count - len(drafts)))]
    drafts.sort(key=lambda draft: (draft.day, draft.kind, draft.details))
    return [_publish(graph, papers, n, draft) for n, draft in enumerate(drafts)]


def _publish(graph: Graph, papers: tuple[Newspaper, ...], n: int, draft: _StoryDraft) -> Story:
    """Give a draft its newspaper, headline and path. Every 29th story is syndicated too."""
    rng = seeded_rng(graph.seed, "story", n)
    paper = rng.choice([k for k, paper in enumerate(papers) if paper.country == draft.country % len(papers)])
    headline = expand_template(rng, rng.choice(HEADLINES[draft.kind]), draft.slots)
    headline = headline[0].upper() + headline[1:]
    day, headline_slug = draft.day, slugify(headline)[:70].rstrip("-")
    section = SECTION_BY_KIND.get(draft.kind, "region")
    path = (
        f"/{day[:4]}/{day[5:7]}/{day[8:]}/{headline_slug}-{n}/",
        f"/{section}/{headline_slug}-a{10000 + n}.html",
        f"/story/{day.replace('-', '')}/{n:05d}/{headline_slug}",
    )[papers[paper].scheme]
    story = Story(draft.kind, paper, day, headline, path, section, draft.entity_keys, draft.details)
    return replace(story, syndicated=(paper + 1) % len(papers)) if n % 29 == 11 else story


def _draw_day(rng: Random, year: int = 0) -> str:
    """Draw an ISO date in the year, or among all days of the news if it is 0."""
    if year:
        return f"{year}-{rng.randint(1, 10 if year == 2024 else 12):02d}-{rng.randint(1, 28):02d}"
    return (FIRST_NEWS_DAY + timedelta(days=rng.randrange(NEWS_DAYS))).isoformat()


def _entity_keys(*entities: Entity) -> tuple[str, ...]:
    return tuple(dict.fromkeys(entity.key for entity in entities))


def _list_events(graph: Graph) -> list[_StoryDraft]:
    return [
        *_draft_launches(graph),
        *_draft_awards(graph),
        *_draft_openings(graph),
        *_draft_elections(graph),
        *_draft_festivals(graph),
    ]


def _draft_launches(graph: Graph) -> list[_StoryDraft]:
    drafts = []
    for n, product in enumerate(graph.products):
        if product.introduction_year >= 2019:
            rng, company = seeded_rng(graph.seed, "launch", n), graph.companies[product.company]
            slots = {"company": company.name, "what": product.product_type, "product": product.name}
            country = graph.towns[company.town].country
            day = _draw_day(rng, product.introduction_year)
            drafts.append(_StoryDraft("launch", day, country, _entity_keys(product, company), (n,), slots))
    return drafts


def _draft_awards(graph: Graph) -> list[_StoryDraft]:
    drafts = []
    for n, prize in enumerate(graph.prizes):
        for k, year in enumerate(PRIZE_YEARS):
            if year >= 2019:
                rng = seeded_rng(graph.seed, "award", n, year)
                work = (graph.novels if prize.field == "novel" else graph.films)[prize.winners[k]]
                maker, town = graph.people[work.creator], graph.towns[prize.town]
                slots = {"prize": prize.name, "year": str(year), "work": work.name, "maker": maker.name}
                day = f"{year}-{rng.randint(9, 10):02d}-{rng.randint(1, 28):02d}"
                drafts.append(_StoryDraft("award", day, town.country, _entity_keys(work, prize, maker), (n, k), slots))
    return drafts


def _draft_openings(graph: Graph) -> list[_StoryDraft]:
    drafts = []
    for n, landmark in enumerate(graph.landmarks):
        if landmark.opening_date >= "2019":
            town = graph.towns[landmark.town]
            slots = {"mark": landmark.name, "town": town.name}
            drafts.append(
                _StoryDraft("opening", landmark.opening_date, town.country, _entity_keys(landmark, town), (n,), slots)
            )
    return drafts


def _draft_elections(graph: Graph) -> list[_StoryDraft]:
    drafts = []
    for n, town in enumerate(graph.towns):
        if town.mayor_since >= 2019:
            rng, mayor = seeded_rng(graph.seed, "election", n), graph.people[town.mayor]
            day = "2024-11-25" if town.former_mayor >= 0 else _draw_day(rng, town.mayor_since)
            slots = {"mayor": mayor.name, "town": town.name}
            drafts.append(_StoryDraft("election", day, town.country, _entity_keys(town, mayor), (n,), slots))
    return drafts


def _draft_festivals(graph: Graph) -> list[_StoryDraft]:
    drafts = []
    for n, festival in enumerate(graph.festivals):
        for k, year in enumerate(FESTIVAL_YEARS):
            if year >= 2019 and seeded_rng(graph.seed, "covered", n, year).random() < 0.5:
                town = graph.towns[festival.town]
                visitors = f"{festival.visitors[k]:,}"
                slots = {"festival": festival.name, "year": str(year), "visitors": visitors, "town": town.name}
                day = f"{year}-{festival.month:02d}-{seeded_rng(graph.seed, 'last day', n, year).randint(5, 28):02d}"
                drafts.append(_StoryDraft("festival", day, town.country, _entity_keys(festival, town), (n, k), slots))
    return drafts


def _draft_small_news(graph: Graph, n: int) -> _StoryDraft:
    rng = seeded_rng(graph.seed, "small news", n)
    return rng.choice(_SMALL_NEWS)(graph, rng)


def _draft_council(graph: Graph, rng: Random) -> _StoryDraft:
    n, plan = rng.randrange(len(graph.towns)), rng.randrange(len(COUNCIL_PLANS))
    town, text = graph.towns[n], COUNCIL_PLANS[plan]
    slots = {"town": town.name, "plan": text, "plan_cap": text[0].upper() + text[1:]}
    return _StoryDraft("council", _draw_day(rng), town.country, _entity_keys(town), (n, plan), slots)


def _draft_results(graph: Graph, rng: Random) -> _StoryDraft:
    n, percent, is_up = rng.randrange(len(graph.companies)), rng.randint(2, 19), rng.randrange(2)
    company, day = graph.companies[n], _draw_day(rng)
    quarter = ("fourth", "first", "second", "third")[(int(day[5:7]) - 1) // 3]
    slots = {"company": company.name, "quarter": quarter, "direction": ("down", "up")[is_up], "percent": str(percent)}
    country = graph.towns[company.town].country
    return _StoryDraft("results", day, country, _entity_keys(company), (n, percent, is_up), slots)


def _draft_flood(graph: Graph, rng: Random) -> _StoryDraft:
    n = rng.choice(graph.towns_on_rivers)
    town = graph.towns[n]
    river = graph.rivers[town.river]
    slots = {"river": river.title, "town": town.name}
    return _StoryDraft("flood", _draw_day(rng), town.country, _entity_keys(town, river), (n,), slots)


def _draft_research(graph: Graph, rng: Random) -> _StoryDraft:
    n, topic = rng.choice(graph.scholars), rng.randrange(len(RESEARCH_TOPICS))
    person = graph.people[n]
    employer = graph.find_employer(person)
    slots = {"person": person.name, "school": employer.name, "topic": RESEARCH_TOPICS[topic]}
    return _StoryDraft(
        "research",
        _draw_day(rng),
        graph.towns[employer.town].country,
        _entity_keys(person, employer),
        (n, topic),
        slots,
    )


def _draft_match(graph: Graph, rng: Random) -> _StoryDraft:
    n, other = _draw_neighbours(graph, rng)
    goals_for = rng.randint(1, 5)
    goals_against = rng.randrange(goals_for)
    slots = {"town": graph.towns[n].name, "other": graph.towns[other].name, "goals": f"{goals_for}–{goals_against}"}
    about = _entity_keys(graph.towns[n], graph.towns[other])
    return _StoryDraft(
        "match", _draw_day(rng), graph.towns[n].country, about, (n, other, goals_for, goals_against), slots
    )


def _draft_road(graph: Graph, rng: Random) -> _StoryDraft:
    n, other = _draw_neighbours(graph, rng)
    slots = {"town": graph.towns[n].name, "other": graph.towns[other].name}
    about = _entity_keys(graph.towns[n], graph.towns[other])
    return _StoryDraft("road", _draw_day(rng), graph.towns[n].country, about, (n, other), slots)


def _draw_neighbours(graph: Graph, rng: Random) -> tuple[int, int]:
    """Return the positions of two towns of one region with different names."""
    n, step = rng.randrange(len(graph.towns)), len(graph.regions)
    near = [k for k in range(n % step, len(graph.towns), step) if graph.towns[k].name != graph.towns[n].name]
    return n, rng.choice(near)


def _draft_weather(graph: Graph, rng: Random) -> _StoryDraft:
    n = rng.randrange(len(graph.regions))
    region = graph.regions[n]
    return _StoryDraft("weather", _draw_day(rng), region.country, _entity_keys(region), (n,), {"region": region.name})


def _draft_plant(graph: Graph, rng: Random) -> _StoryDraft:
    n, town_position, jobs = (
        rng.randrange(len(graph.companies)),
        rng.randrange(len(graph.towns)),
        rng.randrange(30, 600, 10),
    )
    company, town = graph.companies[n], graph.towns[town_position]
    slots = {"company": company.name, "town": town.name, "jobs": str(jobs)}
    return _StoryDraft(
        "plant", _draw_day(rng), town.country, _entity_keys(company, town), (n, town_position, jobs), slots
    )


def _draft_census(graph: Graph, rng: Random) -> _StoryDraft:
    n = rng.randrange(len(graph.towns))
    town = graph.towns[n]
    slots = {"town": town.name, "population": f"{town.population[3]:,}"}
    return _StoryDraft("census", _draw_day(rng, 2022), town.country, _entity_keys(town), (n,), slots)


def _draft_exhibition(graph: Graph, rng: Random) -> _StoryDraft:
    n = rng.choice(graph.artists)
    town_position = rng.randrange(len(graph.towns))
    person, town = graph.people[n], graph.towns[town_position]
    slots = {"person": person.name, "town": town.name}
    return _StoryDraft(
        "exhibition", _draw_day(rng), town.country, _entity_keys(person, town), (n, town_position), slots
    )


_SMALL_NEWS: tuple[Callable[[Graph, Random], _StoryDraft], ...] = (
    _draft_council, _draft_council, _draft_results, _draft_flood, _draft_research, _draft_match, _draft_road, _draft_weather, _draft_plant, _draft_census, _draft_exhibition,
)  # fmt: skip
