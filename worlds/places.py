"""Invent the countries, regions, rivers and towns, with look-alike names on purpose."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from random import Random

from webemu.worlds.graph import Country, Graph, Region, River, Town
from webemu.worlds.names import TONGUES, Register, Tongue, place
from webemu.worlds.seeded_random import dice

COUNTRY_NAMES = (
    ("Velmora", "Kaldria", "Ostvara", "Brennia", "Skelda", "Thulmara"),
    ("Sarrenza", "Valdoria", "Montessa", "Lucerna Alta", "Oriana", "Castavia"),
    ("Dravenia", "Kostravia", "Morvenia", "Zelmira", "Rusalka", "Tavoria"),
)
"""Names of countries for each set of syllables."""
CURRENCIES = ("krone-mark", "scudo", "talar", "florin", "dinero", "grosh")
REGION_ENDINGS = (
    ("mark", "land", "shire", "fold"),
    ("agna", "ese", "ovia", "etta"),
    ("schina", "omorye", "ovsko", "ina"),
)
"""Last parts of region names for each set of syllables."""
TRAITS = (
    "its orchards and cider presses", "its slate quarries", "a ragged coast of islands and inlets", "its peat moors",
    "broad wheat plains", "its terraced vineyards", "deep beech forests", "its lakes and reed beds", "its salt pans",
    "high summer pastures", "its glassworks and sand pits", "old silver mines", "its apple blossom in May",
)  # fmt: skip
"""Values of `Region.trait`."""
TRADES = (
    "boatbuilding", "paper milling", "glassmaking", "wool and weaving", "salt trading", "herring fishing", "brewing",
    "the timber trade", "clockmaking", "tanning", "brickmaking", "printing", "cheese making",
    "ropemaking", "pottery", "quarrying", "fruit growing", "flax spinning", "bell founding",
)  # fmt: skip
"""Values of `Town.trade`."""
SIGHTS = (
    "a leaning clock tower", "the arcaded market square", "a brick water tower", "the remains of a star-shaped fort",
    "a double-decked wooden bridge", "the old custom house", "a lighthouse that was moved twice", "a Baroque town hall",
    "the covered fish market", "a botanical garden", "the painted granary", "an iron funicular", "a ruined abbey",
    "the stepped riverside quay", "a windmill with six sails", "the plague column", "a row of dyers' houses",
)  # fmt: skip
"""Values of `Town.sight`."""


def invent_places(graph: Graph, towns: int, rivers: int, regions: int, countries: int, register: Register) -> None:
    """Fill the rivers, towns, regions and countries of `graph`.

    Offices refer to people that are invented later, by position: person n is the mayor of town n.
    """
    names = _town_names(graph.seed, towns, regions, countries, register)
    shared = Counter(names)
    region_names = [_region_name(graph.seed, n, n % countries, register) for n in range(regions)]
    graph.rivers = [_river(graph.seed, n, n % countries, register) for n in range(rivers)]
    for n, name in enumerate(names):
        region = n % regions
        title = f"{name} ({region_names[region]})" if shared[name] > 1 else name
        country = region % countries
        graph.towns.append(_town(graph, n, name, title, region, country, range(country, rivers, countries)))
    _attach_rivers(graph)
    for n, name in enumerate(region_names):
        graph.regions.append(_region(graph, n, name, n % countries))
    for n in range(countries):
        graph.countries.append(_country(graph, n, register))


def tongue_of(country: int) -> Tongue:
    """Return the syllables of a country, given its position."""
    return TONGUES[country % 3]


def _town_names(seed: int, towns: int, regions: int, countries: int, register: Register) -> list[str]:
    """Return the names of all towns; every 23rd repeats one, and some are variants such as `Upper X` of an earlier
    town.
    """
    names: list[str] = []
    for n in range(towns):
        rng = dice(seed, "town name", n)
        tongue = tongue_of(n % regions % countries)
        # Towns take their regions in turn, so the town `regions` positions earlier is in the same region.
        elder = n - regions if n >= regions else -1
        if n % 23 == 22:
            # A namesake of a town in another region: only the region tells the two apart.
            names.append(names[n - (4 if regions == 5 else 5)])
        elif elder >= 0 and n % 7 == 3 and " " not in names[elder]:
            names.append(register.take(partial(_sibling, rng, names[elder]), _numbered))
        else:
            names.append(register.take(partial(place, rng, tongue), _numbered))
    return names


def _sibling(rng: Random, name: str) -> str:
    """Return a variant of a town name that is easily confused with it."""
    return rng.choice(("Upper {}", "Nether {}", "New {}", "{} Regis", "Little {}", "{} Marsh", "Old {}")).format(name)


def _numbered(name: str, n: int) -> str:
    """Return the nth variant of a name that is in use. Variants of different n differ."""
    parts = ("Upper", "Nether", "East", "West", "North", "South", "Great", "Little", "High", "Long", "Old", "New")
    if n >= 60:  # the 60 variants below are in use
        name, n = _numbered(name, n // 60), n % 60
    return f"{parts[n % 12]} {name}" + ("" if n < 12 else f" {('Cross', 'Green', 'Marsh', 'Quay')[n // 12 % 4]}")


def _region_name(seed: int, n: int, country: int, register: Register) -> str:
    rng, tongue = dice(seed, "region name", n), tongue_of(country)

    def draw() -> str:
        return rng.choice(tongue.places).rstrip("aeo") + rng.choice(REGION_ENDINGS[country % 3])

    return register.take(draw, _numbered)


def _river(seed: int, n: int, country: int, register: Register) -> River:
    rng, tongue = dice(seed, "river", n), tongue_of(country)

    def draw() -> str:
        made = rng.choice(tongue.families) + rng.choice(("a", "ea", "ra", "na", "va", "sa", "ine"))
        return made if rng.random() < 0.4 else rng.choice(tongue.rivers)

    name = register.take(draw, _numbered)
    source = rng.choice(("the {} Fells", "Lake {}", "the {} Plateau", "the {} Springs", "the {} Glacier"))
    mouth = rng.choice(("the Bay of {}", "the {} Sound", "the {} Lagoon", "Lake {}"))
    return River(
        f"river/{n}", name, f"River {name}", country, rng.randint(38, 640),
        source.format(place(rng, tongue)), mouth.format(place(rng, tongue)), (),
    )  # fmt: skip


def _town(graph: Graph, n: int, name: str, title: str, region: int, country: int, rivers: Sequence[int]) -> Town:
    rng = dice(graph.seed, "town", n)
    size = int(10 ** rng.uniform(3.3, 5.2) * (2.2 if n < 12 else 1))
    growth = rng.uniform(-0.08, 0.16)
    population = [round(size * (1 + growth) ** k * rng.uniform(0.985, 1.015)) for k in range(4)]
    river = rng.choice(rivers) if rivers and rng.random() < 0.8 else -1
    changed = n % 40 == 17  # the mayor changes between the two passes of the crawl
    return Town(
        f"town/{n}", name, title, region, country, river, tuple(population), round(rng.uniform(8, 190), 1),
        rng.randint(870, 1640), n, 2024 if changed else rng.randint(2011, 2023), n if changed else -1,
        rng.choice(TRADES), rng.choice(SIGHTS),
    )  # fmt: skip


def _attach_rivers(graph: Graph) -> None:
    """Give each river the list of its towns, which were drawn after it."""
    along: dict[int, list[int]] = {}
    for n, town in enumerate(graph.towns):
        along.setdefault(town.river, []).append(n)
    for n, river in enumerate(graph.rivers):
        graph.rivers[n] = River(
            river.key, river.name, river.title, river.country, river.length, river.source, river.mouth,
            tuple(along.get(n, ())),
        )  # fmt: skip


def _region(graph: Graph, n: int, name: str, country: int) -> Region:
    rng = dice(graph.seed, "region", n)
    mine = [k for k, town in enumerate(graph.towns) if town.region == n]
    capital = max(mine, key=lambda k: graph.towns[k].population[3])
    people = sum(graph.towns[k].population[3] for k in mine)
    area, population = rng.randint(1800, 21000), round(people * rng.uniform(1.3, 1.9))
    return Region(f"region/{n}", name, name, country, capital, area, population, rng.choice(TRAITS))


def _country(graph: Graph, n: int, register: Register) -> Country:
    rng = dice(graph.seed, "country", n)
    stock = COUNTRY_NAMES[n % 3]
    name = register.take(lambda: rng.choice(stock), lambda name, k: f"{('East', 'West', 'North', 'New')[k % 4]} {name}")
    mine = [k for k, town in enumerate(graph.towns) if town.country == n]
    capital = max(mine, key=lambda k: graph.towns[k].population[3])
    people = sum(region.population for region in graph.regions if region.country == n)
    return Country(
        f"country/{n}", name, name, name + "n", capital, -1, rng.choice(CURRENCIES), people, rng.randint(1806, 1921)
    )
