"""What there is in the invented world: entities as frozen values that refer to each other by position in `Graph`."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

YEARS = (1991, 2001, 2011, 2021)
"""Census years."""
PRIZE_YEARS = range(2012, 2025)


@dataclass(frozen=True, slots=True)
class Entity:
    """Anything with a page in the encyclopedia."""

    key: str
    """`kind/number`, unique in the graph."""
    name: str
    title: str
    """The name, with a bracket where another entity bears it too; unique in the graph."""

    @property
    def kind(self) -> str:
        return self.key.partition("/")[0]


@dataclass(frozen=True, slots=True)
class Country(Entity):
    adjective: str
    capital: int
    president: int
    currency: str
    population: int
    founded: int


@dataclass(frozen=True, slots=True)
class Region(Entity):
    country: int
    capital: int
    area: int
    population: int
    trait: str


@dataclass(frozen=True, slots=True)
class River(Entity):
    country: int
    length: int
    source: str
    mouth: str
    towns: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Town(Entity):
    region: int
    country: int
    river: int
    population: tuple[int, ...]
    """At the census years."""
    area: float
    mentioned: int
    mayor: int
    mayor_since: int
    former_mayor: int
    """Who was mayor until the crawl's first capture; -1 where nothing changed."""
    trade: str
    sight: str


@dataclass(frozen=True, slots=True)
class Person(Entity):
    woman: bool
    occupation: str
    born: str
    """ISO date."""
    died: int
    """Year, or 0 while alive."""
    birthplace: int
    university: int
    employer: str
    """Key of a company or university, or empty."""

    @property
    def surname(self) -> str:
        return self.name.rpartition(" ")[2]

    @property
    def he(self) -> str:
        return "she" if self.woman else "he"

    @property
    def his(self) -> str:
        return "her" if self.woman else "his"


@dataclass(frozen=True, slots=True)
class Company(Entity):
    founded: int
    founder: int
    town: int
    industry: str
    employees: int


@dataclass(frozen=True, slots=True)
class Product(Entity):
    company: int
    introduced: int
    what: str
    price: int


@dataclass(frozen=True, slots=True)
class University(Entity):
    town: int
    established: int
    rector: int
    students: int
    strength: str


@dataclass(frozen=True, slots=True)
class Work(Entity):
    """A novel or a film."""

    maker: int
    """Author or director."""
    year: int
    house: str
    """Publisher or studio."""
    theme: str
    setting: int
    prize: int
    """Position of the prize it won, or -1."""
    prize_year: int


@dataclass(frozen=True, slots=True)
class Prize(Entity):
    field: str
    """`novel` or `film`."""
    established: int
    town: int
    winners: tuple[int, ...]
    """Positions of the works that won in `PRIZE_YEARS`."""


@dataclass(frozen=True, slots=True)
class Landmark(Entity):
    town: int
    what: str
    opened: str
    """ISO date."""
    architect: int


@dataclass(frozen=True, slots=True)
class Festival(Entity):
    town: int
    since: int
    month: int
    what: str
    visitors: tuple[int, ...]
    """From 2018 to 2024."""


@dataclass
class Graph:
    """The world. Lists are filled by `webemu.worlds.invent` and not changed afterwards."""

    seed: int
    pages: int
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
    def wet(self) -> list[int]:
        """Towns at a river."""
        return [n for n, town in enumerate(self.towns) if town.river >= 0]

    @cached_property
    def people_names(self) -> set[str]:
        return {person.name for person in self.people}

    @cached_property
    def scholars(self) -> list[int]:
        return [n for n, person in enumerate(self.people) if person.employer.startswith("university")]

    @cached_property
    def artists(self) -> list[int]:
        """People who live and are known for what they show."""
        trades = ("novelist", "film director", "cellist", "painter", "singer", "poet", "photographer", "pianist")
        return [n for n, person in enumerate(self.people) if person.occupation in trades and not person.died]

    def groups(self) -> dict[str, list[Entity]]:
        """Entities by kind, in a fixed order of kinds."""
        return {
            "country": [*self.countries], "region": [*self.regions], "river": [*self.rivers], "town": [*self.towns],
            "person": [*self.people], "company": [*self.companies], "product": [*self.products],
            "university": [*self.universities], "novel": [*self.novels], "film": [*self.films],
            "prize": [*self.prizes], "landmark": [*self.landmarks], "festival": [*self.festivals],
        }  # fmt: skip

    def entities(self) -> list[Entity]:
        """Everything with an encyclopedia page, in a fixed order."""
        return [entity for group in self.groups().values() for entity in group]

    def employer(self, person: Person) -> Company | University:
        """Where a person with an employer works."""
        kind, _, position = person.employer.partition("/")
        return self.companies[int(position)] if kind == "company" else self.universities[int(position)]
