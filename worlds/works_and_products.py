"""Invent what people made: companies, products, universities, novels, films, prizes, landmarks and festivals."""

from __future__ import annotations

from functools import partial
from random import Random

from webemu.worlds.graph import PRIZE_YEARS, Company, Festival, Graph, Landmark, Prize, Product, University, Work
from webemu.worlds.names import NameRegistry, invent_family_name
from webemu.worlds.places import syllable_set_of
from webemu.worlds.seeded_random import seeded_rng

INDUSTRIES: dict[str, tuple[str, ...]] = {
    "household appliances": ("kettle", "toaster", "hand mixer", "vacuum cleaner", "steam iron"),
    "bicycles": ("touring bicycle", "folding bicycle", "cargo bicycle", "city bicycle"),
    "audio equipment": ("bookshelf loudspeaker", "turntable", "headphone amplifier", "table radio"),
    "outdoor equipment": ("two-person tent", "rucksack", "camping stove", "sleeping bag"),
    "optical instruments": ("field microscope", "spotting scope", "pocket telescope"),
    "furniture": ("standing desk", "reading chair", "modular bookcase"),
    "marine electronics": ("echo sounder", "handheld marine radio", "chart plotter"),
    "power tools": ("cordless drill", "belt sander", "bench saw"),
    "stationery": ("fountain pen", "dotted notebook", "desk stapler"),
    "coffee machines": ("espresso machine", "coffee grinder", "filter coffee maker"),
    "sewing machines": ("sewing machine", "overlocker", "embroidery machine"),
    "garden machinery": ("hedge trimmer", "robotic mower", "garden shredder"),
    "measuring instruments": ("digital calliper", "weather station", "soil meter"),
    "musical instruments": ("stage piano", "concertina", "electric violin"),
}
"""Types of product by industry."""
COMPANY_STEMS = (
    "Bran Lum Vex Tor Nov Ald Hyd Ros Zen Kor Mar Fen Sol Tri Vid Quor Pol Ner Arc Cob Dal Eph Gal Hel Ist Jun Kal Lyr Mon Nim"
).split()
COMPANY_STEM_ENDINGS = "tek ora is ant ium elle exo ara ovo ent yx ona el ax ikon igo ura ado eva on".split()
COMPANY_SUFFIXES = (
    "Works Systems Group Industries Instruments Brothers Manufacturing Labs & Co. Technik Holdings Workshop".split()
)
MODEL_NAMES = "Solo Aria Nomad Piccolo Vento Atlas Luma Terra Corva Delta Mika Otto Pilot Ranger Serra Tempo Ultra Vega Bora Lark".split()
TITLE_ADJECTIVES = (
    "Salt Silent Borrowed Second Winter Crooked Drowned Paper Hollow Last Northern Glass Patient Unlit Copper Burning Quiet Lost"
    " Stolen Amber Distant Blind Thirteenth Slow Wooden Bitter Faithful Low Hidden Narrow Velvet Broken Late Common Red Idle"
).split()
TITLE_NOUNS = (
    "Ledger Ferry Orchard Lantern Harbour Winter Cartographer Sister Bridge Letters Clock Garden Tide Inheritance Archive Witness"
    " Train Beekeeper Summer House Translator River Piano Island Apprentice Border Mirror Season Kitchen Alphabet Surveyor Choir"
    " Testament Lighthouse Weather Pilgrim Wedding Staircase Atlas Fever"
).split()
THEMES = (
    "two sisters who inherit a ferry and a debt", "a surveyor sent to map a valley that is to be flooded",
    "a translator who changes one word in a treaty", "three generations of a family of bell founders",
    "a schoolteacher who finds letters in a wall", "a winter in which the trains stop running",
    "a retired customs officer and the smuggler he never caught", "the last season of a travelling orchestra",
    "a lighthouse keeper's daughter who studies medicine", "a disputed will and the orchard it concerns",
    "a census taker who begins to invent people", "the strike at a paper mill and its long aftermath",
    "a friendship between a pianist and her tuner", "a village that agrees to keep a secret",
    "an archivist who is asked to lose a file", "a marriage told through the meals it was made of",
)  # fmt: skip
"""Values of `Work.theme`."""
PUBLISHERS = (
    "Lanternhouse",
    "Grey Heron Press",
    "Alder & Quill",
    "Meridian Books",
    "Saltmarsh Editions",
    "Corvid House",
)
STUDIOS = ("Tramline Pictures", "Northlight Film", "Casa Obscura", "Bolshoy Ruchey Film", "Ferrous Films")
PRIZE_NAMES = (
    "Silver Heron", "Golden Sickle", "Blue Lantern", "Iron Quill", "White Alder", "Amber Key", "Copper Fox", "Red Kite",
    "Crystal Oar", "Green Meridian", "Black Swan Feather", "Ivory Compass",
)  # fmt: skip
BUILDINGS = (
    "Bridge",
    "Concert Hall",
    "Museum",
    "Observatory",
    "Library",
    "Stadium",
    "Tram Depot",
    "Market Hall",
    "Lido",
)
FESTIVAL_NAMES = ("Lantern Fair", "Herring Festival", "Jazz Days", "Book Week", "Kite Festival", "Harvest Market", "Film Nights",
           "Puppet Festival", "Cider Fair", "Regatta")  # fmt: skip
STRENGTHS = ("hydrology", "materials science", "law", "veterinary medicine", "linguistics", "forestry", "astronomy")
FESTIVAL_YEARS = range(2018, 2025)
"""Years for which numbers of visitors are known."""


def _numbered_variant(name: str, n: int) -> str:
    """Return the nth variant of a name that is in use: the name with a Roman numeral, or from 6 on a number."""
    return f"{name} {('', '', 'II', 'III', 'IV', 'V')[n] if n < 6 else n}"


def invent_universities(graph: Graph, count: int, first_scholar: int, scholar_count: int) -> None:
    """Fill `graph.universities`: one in each of the largest towns, with scholars in turn as rectors."""
    largest_towns = sorted(range(len(graph.towns)), key=lambda k: -graph.towns[k].population[3])[: count * 2]
    for n in range(count):
        rng, town = seeded_rng(graph.seed, "university", n), largest_towns[n]
        name = f"University of {graph.towns[town].title}"
        graph.universities.append(
            University(
                f"university/{n}", name, name, town, rng.randint(1588, 1974), first_scholar + n % scholar_count,
                rng.randint(3200, 41000), rng.choice(STRENGTHS),
            )
        )  # fmt: skip


def invent_companies(graph: Graph, count: int, first_founder: int, founder_count: int, registry: NameRegistry) -> None:
    """Fill `graph.companies`. Founders take turns; a founder's later company is younger than the earlier one.

    Every eleventh company shares the first word of its name with another, as a trap for readers.
    """
    for n in range(count):
        rng, town = seeded_rng(graph.seed, "company", n), seeded_rng(graph.seed, "seat", n).randrange(len(graph.towns))
        country = graph.towns[town].country
        founding_year = (
            graph.companies[n - founder_count].founding_year + rng.randint(4, 15)
            if n >= founder_count
            else rng.randint(1951, 2012)
        )
        # A look-alike of an earlier company.
        stem = graph.companies[n - 4].name.split()[0] if n % 11 == 10 else ""
        name = registry.draw_unique(partial(_invent_company_name, rng, country, stem), _numbered_variant)
        graph.companies.append(
            Company(
                f"company/{n}", name, name, min(founding_year, 2021), first_founder + n % founder_count, town,
                rng.choice(list(INDUSTRIES)), int(10 ** rng.uniform(1.5, 4)),
            )
        )  # fmt: skip


def _invent_company_name(rng: Random, country: int, stem: str) -> str:
    """Return a company name, built on `stem` if there is one and on a family name or an invented word otherwise."""
    if not stem and rng.random() < 0.3:
        return f"{invent_family_name(rng, syllable_set_of(country))} {rng.choice(('& Sons', '& Daughters', 'Works', 'Brothers'))}"
    word = stem or rng.choice(COMPANY_STEMS) + rng.choice(COMPANY_STEM_ENDINGS)
    return word if not stem and rng.random() < 0.4 else f"{word} {rng.choice(COMPANY_SUFFIXES[:8])}"


def invent_products(graph: Graph, count: int, registry: NameRegistry) -> None:
    """Fill `graph.products`: each is named after its company and introduced after the company was founded."""
    for n in range(count):
        rng, company = (
            seeded_rng(graph.seed, "product", n),
            seeded_rng(graph.seed, "maker", n).randrange(len(graph.companies)),
        )
        maker = graph.companies[company]

        def draw_name(rng: Random = rng, stem: str = maker.name.split()[0]) -> str:
            number = f" {rng.choice((2, 3, 4, 5, 7, 20, 100, 200, 300, 500, 700))}" if rng.random() < 0.6 else ""
            return f"{stem} {rng.choice(MODEL_NAMES)}{number}"

        name = registry.draw_unique(draw_name, _numbered_variant)
        product_type = rng.choice(INDUSTRIES[maker.industry])
        year = rng.randint(max(maker.founding_year + 2, 1990), 2024)
        graph.products.append(Product(f"product/{n}", name, name, company, year, product_type, rng.randint(12, 890)))


def invent_works(
    graph: Graph, field: str, count: int, prizes: range, makers: range, registry: NameRegistry
) -> list[Work]:
    """Return the works of one field, `novel` or `film`. The first `13 x len(prizes)` win, one per prize and year.

    `prizes` and `makers` are ranges of positions of prizes and of people.
    """
    works: list[Work] = []
    for n in range(count):
        rng = seeded_rng(graph.seed, field, n)
        is_winner = n < len(prizes) * len(PRIZE_YEARS)
        prize_year = PRIZE_YEARS[n % len(PRIZE_YEARS)] if is_winner else 0
        name = registry.draw_unique(partial(_invent_work_title, rng, graph), _numbered_variant)
        works.append(
            Work(
                f"{field}/{n}", name, name, makers[n % len(makers)] if n < len(makers) else rng.choice(makers),
                prize_year - rng.randint(0, 1) if is_winner else rng.randint(1983, 2023),
                rng.choice(PUBLISHERS if field == "novel" else STUDIOS), rng.choice(THEMES), rng.randrange(len(graph.towns)),
                prizes[n // len(PRIZE_YEARS)] if is_winner else -1, prize_year,
            )
        )  # fmt: skip
    return works


def _invent_work_title(rng: Random, graph: Graph) -> str:
    adjective, (noun, other) = rng.choice(TITLE_ADJECTIVES), rng.sample(TITLE_NOUNS, 2)
    town = rng.choice(graph.towns).name
    forms = (
        f"The {adjective} {noun}", f"The {adjective} {noun}", f"The {noun} and the {other}", f"A {noun} in {town}",
        f"The {noun} of {town}", f"{adjective} {noun}",
    )  # fmt: skip
    title = rng.choice(forms)  # the first form is listed twice: it is drawn twice as often
    return title.replace("A A", "An A").replace("A I", "An I").replace("A O", "An O")


def invent_prizes(graph: Graph, fields: list[str], registry: NameRegistry) -> None:
    """Fill `graph.prizes`, one for each entry of `fields`, with the works that name it as their prize."""
    for n, field in enumerate(fields):
        rng = seeded_rng(graph.seed, "prize", n)
        end = " Prize" if field == "novel" else " Award"
        name = registry.draw_unique(partial(_draw_prize_name, rng, end), partial(_local_prize_name, graph, end))
        works = graph.novels if field == "novel" else graph.films
        winners = tuple(k for k, work in enumerate(works) if work.prize == n)
        graph.prizes.append(
            Prize(f"prize/{n}", name, name, field, rng.randint(1931, 2008), rng.randrange(len(graph.towns)), winners)
        )


def _draw_prize_name(rng: Random, end: str) -> str:
    return rng.choice(PRIZE_NAMES) + end


def _local_prize_name(graph: Graph, end: str, _: str, n: int) -> str:
    town = graph.towns[(n * 7) % len(graph.towns)].name
    return f"{town} {('Heron', 'Quill', 'Lantern', 'Laurel')[n % 4]}{end}"


def _draw_festival_name(rng: Random, town: str) -> str:
    return f"{town} {rng.choice(FESTIVAL_NAMES)}"


def invent_landmarks(graph: Graph, count: int, architects: range, registry: NameRegistry) -> None:
    """Fill `graph.landmarks`. `architects` is a range of positions of people."""
    for n in range(count):
        rng, town = seeded_rng(graph.seed, "landmark", n), seeded_rng(graph.seed, "site", n).randrange(len(graph.towns))
        building_type = rng.choice(BUILDINGS)
        country = graph.towns[town].country

        def draw_name(
            rng: Random = rng, town: int = town, building_type: str = building_type, country: int = country
        ) -> str:
            owner = graph.towns[town].title if rng.random() < 0.5 else invent_family_name(rng, syllable_set_of(country))
            return f"{owner} {building_type}"

        name = registry.draw_unique(draw_name, _numbered_variant)
        opening_date = f"{rng.randint(1993, 2024)}-{rng.randint(1, 10):02d}-{rng.randint(1, 28):02d}"
        graph.landmarks.append(
            Landmark(f"landmark/{n}", name, name, town, building_type.lower(), opening_date, rng.choice(architects))
        )


def invent_festivals(graph: Graph, count: int, registry: NameRegistry) -> None:
    """Fill `graph.festivals`, with their visitors since 2018."""
    for n in range(count):
        rng = seeded_rng(graph.seed, "festival", n)
        town = rng.randrange(len(graph.towns))
        rng.choice(FESTIVAL_NAMES)  # not used, but everything below depends on the generator's state
        name = registry.draw_unique(partial(_draw_festival_name, rng, graph.towns[town].title), _numbered_variant)
        typical_visitors = 10 ** rng.uniform(3.2, 4.8)
        visitors = tuple(round(typical_visitors * rng.uniform(0.75, 1.25)) for _ in FESTIVAL_YEARS)
        graph.festivals.append(
            Festival(f"festival/{n}", name, name, town, rng.randint(1954, 2014), rng.randint(3, 10), visitors)
        )
