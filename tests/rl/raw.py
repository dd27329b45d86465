"""The graph of a generated web as its lines are, and tasks made of it, for tests that work the answers out again."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import date, datetime
from itertools import islice
from pathlib import Path
from typing import Any

from webemu.rl.tasks import Task
from webemu.rl.tasks.crawl import Crawl
from webemu.rl.tasks.graph import Graph
from webemu.rl.tasks.recipe import Sources
from webemu.rl.tasks.world import WORLD

EACH = 40
Tasks = dict[str, list[Task]]


@dataclass(frozen=True)
class Raw:
    """The lines of the file, and nothing of the code under test."""

    entities: dict[str, dict[str, Any]]
    triples: list[dict[str, Any]]

    def now(self, key: str, relation: str) -> dict[str, Any] | None:
        rows = [row for row in self.triples if row["subject"] == key and row["relation"] == relation]
        return next((row for row in rows if "as_of" not in row), None)

    def value_text(self, key: str, relation: str) -> str:
        """Empty where nothing is."""
        row = self.now(key, relation)
        return str(row["object"]["text"]) if row else ""

    def text(self, key: str, relation: str) -> str:
        text = self.value_text(key, relation)
        assert text, (key, relation)
        return text

    def number(self, key: str, relation: str) -> float:
        return float(self.text(key, relation).split()[0].replace(",", ""))

    def day(self, key: str, relation: str) -> date:
        return datetime.strptime(self.text(key, relation), "%d %B %Y").date()

    def subjects(self, relation: str, text: str) -> list[str]:
        return [row["subject"] for row in self.triples if (row["relation"], row["object"]["text"]) == (relation, text)]

    def key(self, words: str) -> str:
        """Return the key of the entity that words in a question name."""
        words = re.sub(r'^(?:the )?(?:novel|film) (?=")|^the (?=River|University|[A-Z])', "", words).strip('"')
        words = words.removesuffix(" festival")
        named = [key for key, row in self.entities.items() if words in (row["name"], row["title"], _spoken(row))]
        assert len(named) == 1, (words, named)
        return named[0]


def _spoken(row: dict[str, Any]) -> str:
    bracket = row["title"].removeprefix(row["name"]).strip(" ()")
    return f"{row['name']} in {bracket}" if row["kind"] == "town" else f"the {bracket} {row['name']}"


def raw_of(path: Path) -> Raw:
    rows = [json.loads(text) for text in path.read_text(encoding="utf-8").splitlines()]
    entities = {row["entity"]: row for row in rows if "entity" in row}
    return Raw(entities, [row for row in rows if "subject" in row])


def make(root: Path, seed: int, each: int = EACH, only: str = "") -> Tasks:
    with Crawl(root / "default") as crawl:
        sources = Sources(crawl, Graph.read(root / "web" / "graph.jsonl"))
        return {recipe.name: list(islice(recipe.make(sources, seed), each)) for recipe in WORLD
                if recipe.name == only or not only}  # fmt: skip
