"""Invent the countries, regions, rivers and towns, with look-alike names on purpose."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from random import Random

from webemu.worlds.graph import Country, Graph, Region, River, Town
from webemu.worlds.names import SYLLABLE_SETS, NameRegistry, SyllableSet, invent_place_name
from webemu.worlds.seeded_random import seeded_rng

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


def invent_places(
    graph: Graph, town_count: int, river_count: int, region_count: int, country_count: int, registry: NameRegistry
) -> None:
    """Fill the rivers, towns, regions and countries of `graph`.

    Offices refer to people that are invented later, by position: person n is the mayor of town n.
    """
    names = _invent_town_names(graph.seed, town_count, region_count, country_count, registry)
    name_counts = Counter(names)
    region_names = [_invent_region_name(graph.seed, n, n % country_count, registry) for n in range(region_count)]
    graph.rivers = [_invent_river(graph.seed, n, n % country_count, registry) for n in range(river_count)]
    for n, name in enumerate(names):
        region = n % region_count
        title = f"{name} ({region_names[region]})" if name_counts[name] > 1 else name
        country = region % country_count
        graph.towns.append(
            _invent_town(graph, n, name, title, region, country, range(country, river_count, country_count))
        )
    _attach_rivers(graph)
    for n, name in enumerate(region_names):
        graph.regions.append(_invent_region(graph, n, name, n % country_count))
    for n in range(country_count):
        graph.countries.append(_invent_country(graph, n, registry))


def syllable_set_of(country: int) -> SyllableSet:
    """Return the syllables of a country, given its position."""
    return SYLLABLE_SETS[country % 3]


def _invent_town_names(
    seed: int, town_count: int, region_count: int, country_count: int, registry: NameRegistry
) -> list[str]:
    """Return the names of all towns; every 23rd repeats one, and some are variants such as `Upper X` of an earlier
    town.
    """
    names: list[str] = []
    for n in range(town_count):
        rng = seeded_rng(seed, "town name", n)
        syllables = syllable_set_of(n % region_count % country_count)
        # Towns take their regions in turn, so the town `regions` positions earlier is in the same region.
        neighbour = n - region_count if n >= region_count else -1
        if n % 23 == 22:
            # A namesake of a town in another region: only the region tells the two apart.
            names.append(names[n - (4 if region_count == 5 else 5)])
        elif neighbour >= 0 and n % 7 == 3 and " " not in names[neighbour]:
            names.append(registry.draw_unique(partial(_invent_sibling_name, rng, names[neighbour]), _numbered_variant))
        else:
            names.append(registry.draw_unique(partial(invent_place_name, rng, syllables), _numbered_variant))
    return names


def _invent_sibling_name(rng: Random, name: str) -> str:
    """Return a variant of a town name that is easily confused with it."""
    return rng.choice(("Upper {}", "Nether {}", "New {}", "{} Regis", "Little {}", "{} Marsh", "Old {}")).format(name)


def _numbered_variant(name: str, n: int) -> str:
    """Return the nth variant of a name that is in use. Variants of different n differ."""
    prefixes = ("Upper", "Nether", "East", "West", "North", "South", "Great", "Little", "High", "Long", "Old", "New")
    if n >= 60:  # the 60 variants below are in use
        name, n = _numbered_variant(name, n // 60), n % 60
    return f"{prefixes[n % 12]} {name}" + ("" if n < 12 else f" {('Cross', 'Green', 'Marsh', 'Quay')[n // 12 % 4]}")


def _invent_region_name(seed: int, n: int, country: int, registry: NameRegistry) -> str:
    rng, syllables = seeded_rng(seed, "region name", n), syllable_set_of(country)

    def draw_name() -> str:
        return rng.choice(syllables.place_stems).rstrip("aeo") + rng.choice(REGION_ENDINGS[country % 3])

    return registry.draw_unique(draw_name, _numbered_variant)


def _invent_river(seed: int, n: int, country: int, registry: NameRegistry) -> River:
    rng, syllables = seeded_rng(seed, "river", n), syllable_set_of(country)

    def draw_name() -> str:
        name = rng.choice(syllables.family_stems) + rng.choice(("a", "ea", "ra", "na", "va", "sa", "ine"))
        return name if rng.random() < 0.4 else rng.choice(syllables.river_names)

    name = registry.draw_unique(draw_name, _numbered_variant)
    source = rng.choice(("the {} Fells", "Lake {}", "the {} Plateau", "the {} Springs", "the {} Glacier"))
    mouth = rng.choice(("the Bay of {}", "the {} Sound", "the {} Lagoon", "Lake {}"))
    return River(
        f"river/{n}", name, f"River {name}", country, rng.randint(38, 640),
        source.format(invent_place_name(rng, syllables)), mouth.format(invent_place_name(rng, syllables)), (),
    )  # fmt: skip


def _invent_town(graph: Graph, n: int, name: str, title: str, region: int, country: int, rivers: Sequence[int]) -> Town:
    rng = seeded_rng(graph.seed, "town", n)
    base_population = int(10 ** rng.uniform(3.3, 5.2) * (2.2 if n < 12 else 1))
    growth = rng.uniform(-0.08, 0.16)
    population = [round(base_population * (1 + growth) ** k * rng.uniform(0.985, 1.015)) for k in range(4)]
    river = rng.choice(rivers) if rivers and rng.random() < 0.8 else -1
    has_new_mayor = n % 40 == 17  # the mayor changes between the two passes of the crawl
    return Town(
        f"town/{n}", name, title, region, country, river, tuple(population), round(rng.uniform(8, 190), 1),
        rng.randint(870, 1640), n, 2024 if has_new_mayor else rng.randint(2011, 2023), n if has_new_mayor else -1,
        rng.choice(TRADES), rng.choice(SIGHTS),
    )  # fmt: skip


def _attach_rivers(graph: Graph) -> None:
    """Give each river the list of its towns, which were drawn after it."""
    towns_by_river: dict[int, list[int]] = {}
    for n, town in enumerate(graph.towns):
        towns_by_river.setdefault(town.river, []).append(n)
    for n, river in enumerate(graph.rivers):
        graph.rivers[n] = River(
            river.key, river.name, river.title, river.country, river.length, river.source, river.mouth,
            tuple(towns_by_river.get(n, ())),
        )  # fmt: skip


def _invent_region(graph: Graph, n: int, name: str, country: int) -> Region:
    rng = seeded_rng(graph.seed, "region", n)
    town_positions = [k for k, town in enumerate(graph.towns) if town.region == n]
    capital = max(town_positions, key=lambda k: graph.towns[k].population[3])
    town_population = sum(graph.towns[k].population[3] for k in town_positions)
    area, population = rng.randint(1800, 21000), round(town_population * rng.uniform(1.3, 1.9))
    return Region(f"region/{n}", name, name, country, capital, area, population, rng.choice(TRAITS))


def _invent_country(graph: Graph, n: int, registry: NameRegistry) -> Country:
    rng = seeded_rng(graph.seed, "country", n)
    names = COUNTRY_NAMES[n % 3]
    name = registry.draw_unique(
        lambda: rng.choice(names), lambda name, number: f"{('East', 'West', 'North', 'New')[number % 4]} {name}"
    )
    town_positions = [number for number, town in enumerate(graph.towns) if town.country == n]
    capital = max(town_positions, key=lambda number: graph.towns[number].population[3])
    population = sum(region.population for region in graph.regions if region.country == n)
    return Country(
        f"country/{n}", name, name, name + "n", capital, -1, rng.choice(CURRENCIES), population, rng.randint(1806, 1921)
    )
