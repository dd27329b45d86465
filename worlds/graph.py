"""Entities of the invented world, as frozen values that refer to each other by position in `Graph`.

A field such as `Town.mayor` holds a position in `Graph.people`. `invent.py` fills the graph; `facts.py` says which
facts pages state of each entity.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

CENSUS_YEARS = (1991, 2001, 2011, 2021)
"""Census years."""
PRIZE_YEARS = range(2012, 2025)
"""Years in which every prize was awarded."""


@dataclass(frozen=True, slots=True)
class Entity:
    """Anything with an article in the encyclopedia."""

    key: str
    """`kind/number`, unique in the graph."""
    name: str
    title: str
    """The name, with a bracket where another entity bears it too; unique in the graph."""

    @property
    def kind(self) -> str:
        """Kind of the entity, such as `town`: the first part of its key."""
        return self.key.partition("/")[0]


@dataclass(frozen=True, slots=True)
class Country(Entity):
    """A country. `capital` is a position of a town, `president` of a person."""

    adjective: str
    capital: int
    president: int
    currency: str
    population: int
    founding_year: int
    """Year of independence."""


@dataclass(frozen=True, slots=True)
class Region(Entity):
    """A region of a country. `capital` is a position of a town."""

    country: int
    capital: int
    area: int
    """Square kilometres."""
    population: int
    trait: str
    """Noun phrase for what it is known for, such as `its slate quarries`."""


@dataclass(frozen=True, slots=True)
class River(Entity):
    """A river."""

    country: int
    length: int
    """Kilometres."""
    source: str
    mouth: str
    towns: tuple[int, ...]
    """Positions of the towns on its banks."""


@dataclass(frozen=True, slots=True)
class Town(Entity):
    """A town. `region`, `country`, `river`, `mayor` and `former_mayor` are positions."""

    region: int
    country: int
    river: int
    """Position of the river that flows through it, or -1."""
    population: tuple[int, ...]
    """Inhabitants in each of `CENSUS_YEARS`."""
    area: float
    """Square kilometres."""
    first_mention_year: int
    """Year in which it was first mentioned."""
    mayor: int
    mayor_since: int
    former_mayor: int
    """Mayor until the crawl's first capture, or -1 if the mayor did not change during the crawl."""
    trade: str
    """Trade on which the town grew rich, as a noun phrase."""
    sight: str
    """Sight that it is known for, as a noun phrase."""


@dataclass(frozen=True, slots=True)
class Person(Entity):
    """A person. `birthplace` and `university` are positions."""

    is_woman: bool
    occupation: str
    birth_date: str
    """ISO date of birth."""
    death_year: int
    """Year of death, or 0 while alive."""
    birthplace: int
    university: int
    employer: str
    """Key of a company or university; empty for none."""

    @property
    def surname(self) -> str:
        """Last word of the name."""
        return self.name.rpartition(" ")[2]

    @property
    def subject_pronoun(self) -> str:
        """Pronoun `he` or `she`."""
        return "she" if self.is_woman else "he"

    @property
    def possessive_pronoun(self) -> str:
        """Pronoun `his` or `her`."""
        return "her" if self.is_woman else "his"


@dataclass(frozen=True, slots=True)
class Company(Entity):
    """A company. `founder` is a position of a person, `town` of its headquarters."""

    founding_year: int
    """Year of foundation."""
    founder: int
    town: int
    industry: str
    employees: int


@dataclass(frozen=True, slots=True)
class Product(Entity):
    """A product of a company."""

    company: int
    introduction_year: int
    """Year."""
    product_type: str
    """Type of product in lower case, such as `fountain pen`."""
    price: int
    """Euros."""


@dataclass(frozen=True, slots=True)
class University(Entity):
    """A university. `rector` is a position of a person."""

    town: int
    founding_year: int
    """Year."""
    rector: int
    students: int
    strength: str
    """Subject that it is known for."""


@dataclass(frozen=True, slots=True)
class Work(Entity):
    """A novel or a film."""

    creator: int
    """Position of the author or director."""
    year: int
    """Year of publication or release."""
    publisher: str
    """Publisher or studio."""
    theme: str
    """Noun phrase for what it is about."""
    setting: int
    """Position of the town where it is set."""
    prize: int
    """Position of the prize it won, or -1."""
    prize_year: int
    """Year in which it won the prize, or 0."""


@dataclass(frozen=True, slots=True)
class Prize(Entity):
    """A prize for novels or films, awarded once a year in one town."""

    field: str
    """`novel` or `film`."""
    founding_year: int
    """Year."""
    town: int
    winners: tuple[int, ...]
    """Positions of the winning works, one for each of `PRIZE_YEARS`."""


@dataclass(frozen=True, slots=True)
class Landmark(Entity):
    """A building in a town. `architect` is a position of a person."""

    town: int
    building_type: str
    """Type of building in lower case, such as `concert hall`."""
    opening_date: str
    """ISO date."""
    architect: int


@dataclass(frozen=True, slots=True)
class Festival(Entity):
    """A yearly festival in a town."""

    town: int
    first_year: int
    """Year in which it was first held."""
    month: int
    """Month in which it is held, 1 to 12."""
    visitors: tuple[int, ...]
    """Visitors of each year from 2018 to 2024."""


@dataclass
class Graph:
    """The invented world. `invent.py` fills the lists; nothing changes them afterwards."""

    seed: int
    pages: int
    """Size that the counts of entities are proportional to, in pages."""
    countries: list[Country] = field(default_factory=list)
    regions: list[Region] = field(default_factory=list)
    rivers: list[River] = field(default_factory=list)
    towns: list[Town] = field(default_factory=list)
    people: list[Person] = field(default_factory=list)
    companies: list[Company] = field(default_factory=list)
    products: list[Product] = field(default_factory=list)
    universities: list[University] = field(default_factory=list)
    novels: list[Work] = field(default_factory=list)
    films: list[Work] = field(default_factory=list)
    prizes: list[Prize] = field(default_factory=list)
    landmarks: list[Landmark] = field(default_factory=list)
    festivals: list[Festival] = field(default_factory=list)

    @cached_property
    def towns_on_rivers(self) -> list[int]:
        """Positions of the towns on a river."""
        return [n for n, town in enumerate(self.towns) if town.river >= 0]

    @cached_property
    def people_names(self) -> set[str]:
        """Names of all people."""
        return {person.name for person in self.people}

    @cached_property
    def scholars(self) -> list[int]:
        """Positions of the people who work at a university."""
        return [n for n, person in enumerate(self.people) if person.employer.startswith("university")]

    @cached_property
    def artists(self) -> list[int]:
        """Positions of the living people with a trade whose work is shown or performed."""
        trades = ("novelist", "film director", "cellist", "painter", "singer", "poet", "photographer", "pianist")
        return [n for n, person in enumerate(self.people) if person.occupation in trades and not person.death_year]

    def group_by_kind(self) -> dict[str, list[Entity]]:
        """Return all entities by kind, in a fixed order of kinds."""
        return {
            "country": [*self.countries], "region": [*self.regions], "river": [*self.rivers], "town": [*self.towns],
            "person": [*self.people], "company": [*self.companies], "product": [*self.products],
            "university": [*self.universities], "novel": [*self.novels], "film": [*self.films],
            "prize": [*self.prizes], "landmark": [*self.landmarks], "festival": [*self.festivals],
        }  # fmt: skip

    def list_entities(self) -> list[Entity]:
        """Return every entity, in a fixed order."""
        return [entity for group in self.group_by_kind().values() for entity in group]

    def find_employer(self, person: Person) -> Company | University:
        """Return the company or university that a person works for; the person must have an employer."""
        kind, _, position = person.employer.partition("/")
        return self.companies[int(position)] if kind == "company" else self.universities[int(position)]
