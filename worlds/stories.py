"""Decide what the newspapers report: events of the graph (2019-2024) and the small news of towns.

Only dates, headlines and URLs are decided here; `reports.py` writes the text of a story when its page is rendered.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date, timedelta
from random import Random

from webemu.worlds.graph import PRIZE_YEARS, Entity, Graph
from webemu.worlds.names import slug
from webemu.worlds.prose import expand
from webemu.worlds.seeded_random import dice
from webemu.worlds.works_and_products import YEARS_OF_FESTIVALS

SECTIONS = ("politics", "business", "culture", "region", "sport", "science")
"""Sections that every newspaper has."""
FIRST_DAY, DAYS = date(2019, 1, 3), 2145
"""First day of the news and the number of days, to 17 November 2024; elections of that November are on the 25th."""


@dataclass(frozen=True, slots=True)
class Paper:
    """A newspaper of one country."""

    host: str
    name: str
    country: int
    """Position of the country."""
    style: int
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
    about: tuple[str, ...]
    """Keys of entities, the main one first."""
    subject: tuple[int, ...]
    """Positions and figures that the text is written from; their meaning depends on `kind`."""
    syndicated: int = -1
    """Position of another newspaper that printed it word for word, or -1."""


def papers_of(graph: Graph) -> tuple[Paper, ...]:
    """Return the newspapers, for each country in turn."""
    count = max(3, round(3 * (graph.pages / 2000) ** 0.5))
    papers: list[Paper] = []
    for n in range(count):
        country = n % len(graph.countries)
        mine = sorted(
            (town for town in graph.towns if town.country == country and "(" not in town.title),
            key=lambda town: -town.population[3],
        )
        town = mine[n // len(graph.countries) % len(mine)].name
        label, style, end = (
            ("Gazette", "{}-gazette", "com"),
            ("Courier", "{}courier", "net"),
            ("Wire", "the{}wire", "com"),
        )[n % 3]
        host = f"www.{style.format(slug(town))}.{end}"
        papers.append(Paper(host, f"The {town} {label}", country, n % 3))
    return tuple(papers)


@dataclass(frozen=True, slots=True)
class _Draft:
    """A story before it has a newspaper, a headline and a path."""

    kind: str
    day: str
    country: int
    about: tuple[str, ...]
    subject: tuple[int, ...]
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
SECTION_OF = {
    "launch": "business", "results": "business", "plant": "business", "award": "culture", "festival": "culture",
    "exhibition": "culture", "election": "politics", "council": "politics", "research": "science", "match": "sport",
}  # fmt: skip
"""Section by kind of event; every other kind is in `region`."""
PLANS = (
    "a car-free market square", "the new primary school", "higher parking fees", "a second footbridge", "the swimming pool repairs",
    "a wind farm on the ridge", "night buses", "the sale of the old dairy", "free library cards", "a cycle lane along the quay",
    "new rules for market stalls", "the library's longer opening hours", "LED street lamps", "the renaming of Station Road",
)  # fmt: skip
"""Matters that councils argue over; a story refers to them by position."""
TOPICS = (
    "the slow retreat of river ice", "why swifts return to the same chimneys", "a forgotten dialect of raftsmen",
    "the chemistry of old bell metal", "moss as a gauge of clean air", "medieval salt roads", "eels and small dams",
    "clay that mends its own cracks", "the night sky above villages", "how orchards survive late frost",
    "microplastics in mountain lakes", "letters from a nineteenth-century pharmacy", "sleep in shift workers",
)  # fmt: skip
"""Topics of research; a story refers to them by position."""


def chronicle(graph: Graph, papers: tuple[Paper, ...], count: int) -> list[Story]:
    """Return `count` stories in order of publication.

    All elections of the crawl's own weeks are among them; a little more than half are events, the others small news.
    """
    events = _events(graph)
    dice(graph.seed, "events").shuffle(events)
    events.sort(key=lambda draft: not (draft.kind == "election" and draft.day >= "2024-11"))
    drafts = events[: max(count * 11 // 20, 3)]
    drafts += [_small(graph, n) for n in range(max(0, count - len(drafts)))]
    drafts.sort(key=lambda draft: (draft.day, draft.kind, draft.subject))
    return [_publish(graph, papers, n, draft) for n, draft in enumerate(drafts)]


def _publish(graph: Graph, papers: tuple[Paper, ...], n: int, draft: _Draft) -> Story:
    """Give a draft its newspaper, headline and path. Every 29th story is syndicated too."""
    rng = dice(graph.seed, "story", n)
    paper = rng.choice([k for k, paper in enumerate(papers) if paper.country == draft.country % len(papers)])
    headline = expand(rng, rng.choice(HEADLINES[draft.kind]), draft.slots)
    headline = headline[0].upper() + headline[1:]
    day, words = draft.day, slug(headline)[:70].rstrip("-")
    section = SECTION_OF.get(draft.kind, "region")
    path = (
        f"/{day[:4]}/{day[5:7]}/{day[8:]}/{words}-{n}/",
        f"/{section}/{words}-a{10000 + n}.html",
        f"/story/{day.replace('-', '')}/{n:05d}/{words}",
    )[papers[paper].style]
    story = Story(draft.kind, paper, day, headline, path, section, draft.about, draft.subject)
    return replace(story, syndicated=(paper + 1) % len(papers)) if n % 29 == 11 else story


def _day(rng: Random, year: int = 0) -> str:
    """Draw an ISO date in the year, or among all days of the news if it is 0."""
    if year:
        return f"{year}-{rng.randint(1, 10 if year == 2024 else 12):02d}-{rng.randint(1, 28):02d}"
    return (FIRST_DAY + timedelta(days=rng.randrange(DAYS))).isoformat()


def _keys(*entities: Entity) -> tuple[str, ...]:
    return tuple(dict.fromkeys(entity.key for entity in entities))


def _events(graph: Graph) -> list[_Draft]:
    return [*_launches(graph), *_awards(graph), *_openings(graph), *_elections(graph), *_festivals(graph)]


def _launches(graph: Graph) -> list[_Draft]:
    drafts = []
    for n, product in enumerate(graph.products):
        if product.introduced >= 2019:
            rng, company = dice(graph.seed, "launch", n), graph.companies[product.company]
            slots = {"company": company.name, "what": product.what, "product": product.name}
            country = graph.towns[company.town].country
            day = _day(rng, product.introduced)
            drafts.append(_Draft("launch", day, country, _keys(product, company), (n,), slots))
    return drafts


def _awards(graph: Graph) -> list[_Draft]:
    drafts = []
    for n, prize in enumerate(graph.prizes):
        for k, year in enumerate(PRIZE_YEARS):
            if year >= 2019:
                rng = dice(graph.seed, "award", n, year)
                work = (graph.novels if prize.field == "novel" else graph.films)[prize.winners[k]]
                maker, town = graph.people[work.maker], graph.towns[prize.town]
                slots = {"prize": prize.name, "year": str(year), "work": work.name, "maker": maker.name}
                day = f"{year}-{rng.randint(9, 10):02d}-{rng.randint(1, 28):02d}"
                drafts.append(_Draft("award", day, town.country, _keys(work, prize, maker), (n, k), slots))
    return drafts


def _openings(graph: Graph) -> list[_Draft]:
    drafts = []
    for n, mark in enumerate(graph.landmarks):
        if mark.opened >= "2019":
            town = graph.towns[mark.town]
            slots = {"mark": mark.name, "town": town.name}
            drafts.append(_Draft("opening", mark.opened, town.country, _keys(mark, town), (n,), slots))
    return drafts


def _elections(graph: Graph) -> list[_Draft]:
    drafts = []
    for n, town in enumerate(graph.towns):
        if town.mayor_since >= 2019:
            rng, mayor = dice(graph.seed, "election", n), graph.people[town.mayor]
            day = "2024-11-25" if town.former_mayor >= 0 else _day(rng, town.mayor_since)
            slots = {"mayor": mayor.name, "town": town.name}
            drafts.append(_Draft("election", day, town.country, _keys(town, mayor), (n,), slots))
    return drafts


def _festivals(graph: Graph) -> list[_Draft]:
    drafts = []
    for n, festival in enumerate(graph.festivals):
        for k, year in enumerate(YEARS_OF_FESTIVALS):
            if year >= 2019 and dice(graph.seed, "covered", n, year).random() < 0.5:
                town = graph.towns[festival.town]
                visitors = f"{festival.visitors[k]:,}"
                slots = {"festival": festival.name, "year": str(year), "visitors": visitors, "town": town.name}
                day = f"{year}-{festival.month:02d}-{dice(graph.seed, 'last day', n, year).randint(5, 28):02d}"
                drafts.append(_Draft("festival", day, town.country, _keys(festival, town), (n, k), slots))
    return drafts


def _small(graph: Graph, n: int) -> _Draft:
    rng = dice(graph.seed, "small news", n)
    return rng.choice(_SMALL)(graph, rng)


def _council(graph: Graph, rng: Random) -> _Draft:
    n, plan = rng.randrange(len(graph.towns)), rng.randrange(len(PLANS))
    town, text = graph.towns[n], PLANS[plan]
    slots = {"town": town.name, "plan": text, "plan_cap": text[0].upper() + text[1:]}
    return _Draft("council", _day(rng), town.country, _keys(town), (n, plan), slots)


def _results(graph: Graph, rng: Random) -> _Draft:
    n, percent, up = rng.randrange(len(graph.companies)), rng.randint(2, 19), rng.randrange(2)
    company, day = graph.companies[n], _day(rng)
    quarter = ("fourth", "first", "second", "third")[(int(day[5:7]) - 1) // 3]
    slots = {"company": company.name, "quarter": quarter, "direction": ("down", "up")[up], "percent": str(percent)}
    country = graph.towns[company.town].country
    return _Draft("results", day, country, _keys(company), (n, percent, up), slots)


def _flood(graph: Graph, rng: Random) -> _Draft:
    n = rng.choice(graph.wet)
    town = graph.towns[n]
    river = graph.rivers[town.river]
    slots = {"river": river.title, "town": town.name}
    return _Draft("flood", _day(rng), town.country, _keys(town, river), (n,), slots)


def _research(graph: Graph, rng: Random) -> _Draft:
    n, topic = rng.choice(graph.scholars), rng.randrange(len(TOPICS))
    person = graph.people[n]
    school = graph.employer(person)
    slots = {"person": person.name, "school": school.name, "topic": TOPICS[topic]}
    return _Draft("research", _day(rng), graph.towns[school.town].country, _keys(person, school), (n, topic), slots)


def _match(graph: Graph, rng: Random) -> _Draft:
    n, other = _neighbours(graph, rng)
    win = rng.randint(1, 5)
    lose = rng.randrange(win)
    slots = {"town": graph.towns[n].name, "other": graph.towns[other].name, "goals": f"{win}–{lose}"}
    about = _keys(graph.towns[n], graph.towns[other])
    return _Draft("match", _day(rng), graph.towns[n].country, about, (n, other, win, lose), slots)


def _road(graph: Graph, rng: Random) -> _Draft:
    n, other = _neighbours(graph, rng)
    slots = {"town": graph.towns[n].name, "other": graph.towns[other].name}
    about = _keys(graph.towns[n], graph.towns[other])
    return _Draft("road", _day(rng), graph.towns[n].country, about, (n, other), slots)


def _neighbours(graph: Graph, rng: Random) -> tuple[int, int]:
    """Return the positions of two towns of one region with different names."""
    n, step = rng.randrange(len(graph.towns)), len(graph.regions)
    near = [k for k in range(n % step, len(graph.towns), step) if graph.towns[k].name != graph.towns[n].name]
    return n, rng.choice(near)


def _weather(graph: Graph, rng: Random) -> _Draft:
    n = rng.randrange(len(graph.regions))
    region = graph.regions[n]
    return _Draft("weather", _day(rng), region.country, _keys(region), (n,), {"region": region.name})


def _plant(graph: Graph, rng: Random) -> _Draft:
    n, t, jobs = rng.randrange(len(graph.companies)), rng.randrange(len(graph.towns)), rng.randrange(30, 600, 10)
    company, town = graph.companies[n], graph.towns[t]
    slots = {"company": company.name, "town": town.name, "jobs": str(jobs)}
    return _Draft("plant", _day(rng), town.country, _keys(company, town), (n, t, jobs), slots)


def _census(graph: Graph, rng: Random) -> _Draft:
    n = rng.randrange(len(graph.towns))
    town = graph.towns[n]
    slots = {"town": town.name, "population": f"{town.population[3]:,}"}
    return _Draft("census", _day(rng, 2022), town.country, _keys(town), (n,), slots)


def _exhibition(graph: Graph, rng: Random) -> _Draft:
    n = rng.choice(graph.artists)
    t = rng.randrange(len(graph.towns))
    person, town = graph.people[n], graph.towns[t]
    slots = {"person": person.name, "town": town.name}
    return _Draft("exhibition", _day(rng), town.country, _keys(person, town), (n, t), slots)


_SMALL: tuple[Callable[[Graph, Random], _Draft], ...] = (
    _council, _council, _results, _flood, _research, _match, _road, _weather, _plant, _census, _exhibition,
)  # fmt: skip
