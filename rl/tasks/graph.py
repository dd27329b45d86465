"""The graph of a generated web (`webemu generate`): entities, facts about them, and the pages that state these."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NotRequired, TypedDict, TypeVar

from webemu.rl.tasks.task import TaskError

_ACTION = "name the graph.jsonl that `webemu generate` wrote next to its WARC files"
K = TypeVar("K")
V = TypeVar("V")


class _EntityRow(TypedDict):
    """Line of the file about an entity."""

    entity: str
    """Key of the entity."""
    kind: str
    name: str
    title: str
    urls: list[str]


class _ObjectRow(TypedDict):
    """Object of a fact."""

    text: str
    entity: NotRequired[str]
    """Key of the entity that is the object, if it has a page of its own."""


class _FactRow(TypedDict):
    """Line of the file about a fact."""

    subject: str
    """Key of the entity."""
    relation: str
    object: _ObjectRow
    label: str
    urls: list[str]
    as_of: NotRequired[str]


@dataclass(frozen=True, slots=True)
class Entity:
    """A person, place, company or other thing of the generated web."""

    key: str
    kind: str
    """Kind of thing, such as `town` or `person`."""
    name: str
    title: str
    """The name, with a disambiguator in parentheses if another entity has the same name."""
    url: str
    """The page about the entity."""

    @property
    def disambiguator(self) -> str:
        """The disambiguator, such as a town's region or a person's occupation; empty if the name is unique."""
        return self.title.removeprefix(self.name).strip(" ()")


@dataclass(frozen=True, slots=True)
class Fact:
    """A statement about an entity, and a page that makes it."""

    subject: Entity
    relation: str
    """Name of the relation, with `_` and the year if it is one of a series: `winner_2016`."""
    text: str
    """The object, as pages write it."""
    target: Entity | None
    """The entity that is the object, if it has a page of its own."""
    label: str
    """The key in front of the object in its row of a table."""
    url: str
    """The page that states the fact."""
    as_of: str = ""
    """The year or day for which an outdated page states it; empty if the fact is current."""

    @property
    def quote(self) -> str:
        """The row of the table as the text view shows it: label and object."""
        return f"{self.label} | {self.text}"

    @property
    def base_relation(self) -> str:
        """The relation without the year of a series: `winner` for `winner_2016`."""
        return self.relation.removesuffix(f"_{self.year}")

    @property
    def year(self) -> str:
        """The year of a series; empty if the fact belongs to none."""
        # Names of relations have underscores of their own, so only digits count as a year.
        last_part = self.relation.rpartition("_")[2]
        return last_part if last_part.isdigit() else ""

    @property
    def number(self) -> float:
        """The object as a number, from `14,516`, `549 km`, `155.8 km²` or a year. Raises ValueError if the text begins
        with none.
        """
        return float(self.text.split()[0].replace(",", ""))


@dataclass(frozen=True, slots=True)
class Graph:
    """Entities and facts with indexes by subject, object, relation and kind. Frozen; safe to share."""

    entities: Mapping[str, Entity]
    """Entities by key, in the order of the file."""
    _by_subject: Mapping[str, tuple[Fact, ...]] = field(repr=False)
    _by_target: Mapping[str, tuple[Fact, ...]] = field(repr=False)
    _by_relation: Mapping[tuple[str, bool], tuple[Fact, ...]] = field(repr=False)
    _by_kind: Mapping[str, tuple[Entity, ...]] = field(repr=False)
    _most_common_shares: Mapping[tuple[str, str], float] = field(repr=False)

    @classmethod
    def read(cls, path: Path) -> Graph:
        """Return the graph in a generated web's `graph.jsonl`.

            graph = Graph.read(Path("web/graph.jsonl"))
            towns = graph.entities_of_kind("town")

        Raises:
            TaskError: The file cannot be read, is no graph, or states no fact.
        """
        try:
            rows = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]
            entities = {row["entity"]: _parse_entity(row) for row in rows if "entity" in row}
            facts = tuple(_parse_fact(row, entities) for row in rows if "subject" in row)
        except OSError as error:
            raise TaskError(f"{path}: {error.strerror}", _ACTION) from error
        except (ValueError, KeyError, TypeError, IndexError) as error:
            raise TaskError(
                f"{path}: no graph of a generated web ({type(error).__name__}: {error})", _ACTION
            ) from error
        if not facts:
            raise TaskError(f"{path}: no graph of a generated web (it states no fact)", _ACTION)
        by_subject = _group_by_key((fact.subject.key, fact) for fact in facts)
        by_target = _group_by_key((fact.target.key, fact) for fact in facts if fact.target)
        by_relation = _group_by_key(((fact.base_relation, bool(fact.as_of)), fact) for fact in facts)
        by_kind = _group_by_key((entity.kind, entity) for entity in entities.values())
        return cls(entities, by_subject, by_target, by_relation, by_kind, _compute_most_common_shares(facts))

    def entities_of_kind(self, kind: str) -> tuple[Entity, ...]:
        """Return the entities of a kind, in the order of the file; empty if the kind is unknown."""
        return self._by_kind.get(kind, ())

    def facts_about(self, entity: Entity) -> tuple[Fact, ...]:
        """Return all facts about an entity: current ones, then series, then outdated ones."""
        return self._by_subject.get(entity.key, ())

    def facts_naming(self, entity: Entity) -> tuple[Fact, ...]:
        """Return the facts whose object is this entity."""
        return self._by_target.get(entity.key, ())

    def facts_of_relation(self, base: str, *, old: bool = False) -> tuple[Fact, ...]:
        """Return all facts of a relation, or of all years of a series. With `old`, only those that outdated pages
        state.
        """
        return self._by_relation.get((base, old), ())

    def find_fact(self, entity: Entity, relation: str) -> Fact | None:
        """Return the current fact of a relation about an entity, or the one of the newest page if there are several;
        None if there is none.
        """
        return next((fact for fact in self.facts_about(entity) if fact.relation == relation), None)

    def is_true_of(self, entity: Entity, fact: Fact) -> bool:
        """True if the statement that a fact makes about its subject is true of this entity too."""
        entity_fact = self.find_fact(entity, fact.relation)
        return entity_fact is not None and (entity_fact.text, entity_fact.target) == (fact.text, fact.target)

    def most_common_share(self, fact: Fact) -> float:
        """Return the share of the relation's facts that have its most common object: the accuracy of guessing that
        one.
        """
        return self._most_common_shares[fact.subject.kind, fact.base_relation]


def _parse_entity(row: _EntityRow) -> Entity:
    """Return the entity of a row of the file."""
    return Entity(row["entity"], row["kind"], row["name"], row["title"], row["urls"][0])


def _parse_fact(row: _FactRow, entities: Mapping[str, Entity]) -> Fact:
    """Return the fact of a row of the file."""
    stated = row["object"]
    target = entities[stated["entity"]] if "entity" in stated else None
    subject = entities[row["subject"]]
    return Fact(subject, row["relation"], stated["text"], target, row["label"], row["urls"][0], row.get("as_of", ""))


def _group_by_key(pairs: Iterator[tuple[K, V]]) -> dict[K, tuple[V, ...]]:
    """Return the values by key, both in the order in which they come."""
    groups: dict[K, list[V]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return {key: tuple(values) for key, values in groups.items()}


def _compute_most_common_shares(facts: tuple[Fact, ...]) -> dict[tuple[str, str], float]:
    """Return the share of the most common object, by kind of subject and relation."""
    texts = _group_by_key(((fact.subject.kind, fact.base_relation), fact.text) for fact in facts)
    return {key: Counter(objects).most_common(1)[0][1] / len(objects) for key, objects in texts.items()}
