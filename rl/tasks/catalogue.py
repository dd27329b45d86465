"""All recipes there are, and choosing among them by name."""

from __future__ import annotations

from collections.abc import Sequence

from webemu.emulator.errors import BadRequest
from webemu.rl.tasks.model import MODEL
from webemu.rl.tasks.recipe import Needs, Recipe
from webemu.rl.tasks.recipes import CRAWL
from webemu.rl.tasks.reports import REPORTS
from webemu.rl.tasks.world import WORLD

RECIPES: tuple[Recipe, ...] = (*WORLD, *CRAWL, *REPORTS, *MODEL)
FAMILIES: dict[str, tuple[Recipe, ...]] = {
    "world": WORLD, "crawl": CRAWL, "reports": REPORTS, "model": MODEL, "all": RECIPES,
}  # fmt: skip
WANTING: dict[Needs, str] = {
    "graph": "--graph FILE, the graph.jsonl that `webemu generate` wrote",
    "model": "--base-url URL and --model NAME, an OpenAI-compatible endpoint",
}


def chosen(words: str, has: frozenset[Needs]) -> tuple[Recipe, ...]:
    """Recipes by their names or families, with commas between, each once. Of a family, those that have what they
    need; a recipe that is named must have it. Raises BadRequest."""
    by_name = {recipe.name: recipe for recipe in RECIPES}
    found: dict[str, Recipe] = {}
    for word in filter(None, (word.strip() for word in words.split(","))):
        if word not in FAMILIES and word not in by_name:
            raise BadRequest(
                f"no recipe is called {word!r}",
                action=f"families: {', '.join(FAMILIES)}; recipes: {', '.join(by_name)}; `--list` says what each does",
            )
        named = FAMILIES.get(word) or (by_name[word],)
        fit = [recipe for recipe in named if recipe.needs in has]
        if not fit:
            raise BadRequest(f"recipe {word!r} lacks its source", action=f"add {WANTING[named[0].needs]}")
        found |= {recipe.name: recipe for recipe in fit}
    if not found:
        raise BadRequest("no recipe was named", action="name some: --recipes crawl; `--list` shows all")
    return tuple(found.values())


def listed(recipes: Sequence[Recipe] = RECIPES) -> str:
    """A line for each."""
    width = max((len(recipe.name) for recipe in recipes), default=0)
    return "\n".join(f"{recipe.name:<{width}}  {recipe.needs:<5}  {recipe.summary}" for recipe in recipes)
