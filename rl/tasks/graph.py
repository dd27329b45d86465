"""The graph of a generated web, as `webemu generate` writes it: who there is, what is so, and which page states it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from webemu.rl.tasks.task import TaskError

_ACTION = "`webemu generate` writes graph.jsonl beside its WARC files"
K = TypeVar("K")
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Entity:
    key: str
    kind: str
    name: str
    title: str
    """The name, with a bracket where another entity bears it too."""
    url: str

    @property
    def bracket(self) -> str:
        """What tells it from its namesakes: a town's region, a person's occupation; empty where the name is its own."""
        return self.title.removeprefix(self.name).strip(" ()")


@dataclass(frozen=True, slots=True)
class Fact:
    subject: Entity
    relation: str
    text: str
    """The object as pages have it."""
    target: Entity | None
    """The entity that the object is, if it has a page of its own."""
    label: str
    """What stands beside the object in its row of a table."""
    url: str
    as_of: str = ""
    """The year or day for which an old page states it; empty for what is so now."""

    @property
    def quote(self) -> str:
        return f"{self.label} | {self.text}"

    @property
    def base(self) -> str:
        """The relation without the year of a series: `winner` of `winner_2016`."""
        return self.relation.removesuffix(f"_{self.year}")

    @property
    def year(self) -> str:
        """The year of a series, or empty."""
        end = self.relation.rpartition("_")[2]
        return end if end.isdigit() else ""

    @property
    def number(self) -> float:
        """Of `14,516`, `549 km`, `155.8 km²` or a year. Raises ValueError where the text begins with no number."""
        return float(self.text.split()[0].replace(",", ""))


@dataclass(frozen=True, slots=True)
class Graph:
    entities: Mapping[str, Entity]
    """By key, in the order of the file."""
    facts: tuple[Fact, ...]
    _by_subject: Mapping[str, tuple[Fact, ...]] = field(repr=False)
    _by_target: Mapping[str, tuple[Fact, ...]] = field(repr=False)
    _by_base: Mapping[tuple[str, bool], tuple[Fact, ...]] = field(repr=False)
    _kinds: Mapping[str, tuple[Entity, ...]] = field(repr=False)
    _shared: Mapping[tuple[str, str], float] = field(repr=False)

    @classmethod
    def read(cls, path: Path) -> Graph:
        """From a generated web's `graph.jsonl`. Raises TaskError."""
        try:
            rows = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]
            entities = {row["entity"]: _entity(row) for row in rows if "entity" in row}
            facts = tuple(_fact(row, entities) for row in rows if "subject" in row)
        except OSError as error:
            raise TaskError(f"{path}: {error.strerror}", _ACTION) from error
        except (ValueError, KeyError, TypeError, IndexError) as error:
            raise TaskError(
                f"{path}: no graph of a generated web ({type(error).__name__}: {error})", _ACTION
            ) from error
        if not facts:
            raise TaskError(f"{path}: no graph of a generated web (it states no fact)", _ACTION)
        by_subject = _grouped((fact.subject.key, fact) for fact in facts)
        by_target = _grouped((fact.target.key, fact) for fact in facts if fact.target)
        by_base = _grouped(((fact.base, bool(fact.as_of)), fact) for fact in facts)
        kinds = _grouped((entity.kind, entity) for entity in entities.values())
        return cls(entities, facts, by_subject, by_target, by_base, kinds, _most_common(facts))

    def of(self, kind: str) -> tuple[Entity, ...]:
        return self._kinds.get(kind, ())

    def about(self, entity: Entity) -> tuple[Fact, ...]:
        """All that is stated of an entity: what is so now, then series, then what was so."""
        return self._by_subject.get(entity.key, ())

    def naming(self, entity: Entity) -> tuple[Fact, ...]:
        """The facts whose object an entity is."""
        return self._by_target.get(entity.key, ())

    def stating(self, base: str, *, old: bool = False) -> tuple[Fact, ...]:
        """All facts of a relation, or of a series' years; `old`: those that only an old page states."""
        return self._by_base.get((base, old), ())

    def fact(self, entity: Entity, relation: str) -> Fact | None:
        """What is so; the newest page's statement where there are several."""
        return next((fact for fact in self.about(entity) if fact.relation == relation), None)

    def holds(self, entity: Entity, fact: Fact) -> bool:
        """Whether what a fact says of its subject is so of an entity too."""
        found = self.fact(entity, fact.relation)
        return found is not None and (found.text, found.target) == (fact.text, fact.target)

    def commonest(self, fact: Fact) -> float:
        """Share of the facts of such a relation that have the same object: how far guessing goes."""
        return self._shared[fact.subject.kind, fact.base]


def _entity(row: Mapping[str, Any]) -> Entity:
    return Entity(row["entity"], row["kind"], row["name"], row["title"], row["urls"][0])


def _fact(row: Mapping[str, Any], entities: Mapping[str, Entity]) -> Fact:
    stated = row["object"]
    target = entities[stated["entity"]] if "entity" in stated else None
    subject = entities[row["subject"]]
    return Fact(subject, row["relation"], stated["text"], target, row["label"], row["urls"][0], row.get("as_of", ""))


def _grouped(pairs: Iterator[tuple[K, V]]) -> dict[K, tuple[V, ...]]:
    groups: dict[K, list[V]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return {key: tuple(values) for key, values in groups.items()}


def _most_common(facts: tuple[Fact, ...]) -> dict[tuple[str, str], float]:
    texts = _grouped(((fact.subject.kind, fact.base), fact.text) for fact in facts)
    return {key: Counter(found).most_common(1)[0][1] / len(found) for key, found in texts.items()}
