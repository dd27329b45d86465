"""All recipes, and the choice among them by name or family."""

from __future__ import annotations

from webemu.emulator.errors import BadRequest
from webemu.rl.tasks.model import MODEL
from webemu.rl.tasks.recipe import Recipe, SourceKind
from webemu.rl.tasks.recipes import CRAWL, LOOKUP
from webemu.rl.tasks.reports import REPORTS
from webemu.rl.tasks.world import WORLD

RECIPES: tuple[Recipe, ...] = (*WORLD, *CRAWL, *LOOKUP, *REPORTS, *MODEL)
"""Every recipe, in the order of the families."""
FAMILIES: dict[str, tuple[Recipe, ...]] = {
    "world": WORLD, "crawl": CRAWL, "lookup": LOOKUP, "reports": REPORTS, "model": MODEL, "all": RECIPES,
}  # fmt: skip
"""Recipes by family name, for `--recipes`."""
MISSING_SOURCE_OPTIONS: dict[SourceKind, str] = {
    "graph": "--graph FILE, the graph.jsonl that `webemu generate` wrote",
    "model": "--base-url URL and --model NAME, an OpenAI-compatible endpoint",
}
"""Options that supply a source, for the error about a missing one."""


def choose_recipes(selection: str, available: frozenset[SourceKind]) -> tuple[Recipe, ...]:
    """Return the recipes or families named in a comma-separated list, each recipe once.

    From a family come the recipes whose source is in `available`; a recipe that is named itself must have its source.

    Raises:
        BadRequest: A name is unknown, a source is missing, or no recipe is named.
    """
    by_name = {recipe.name: recipe for recipe in RECIPES}
    selected: dict[str, Recipe] = {}
    for word in filter(None, (word.strip() for word in selection.split(","))):
        if word not in FAMILIES and word not in by_name:
            raise BadRequest(
                f"no recipe is called {word!r}",
                action=f"families: {', '.join(FAMILIES)}; recipes: {', '.join(by_name)}; `--list` describes them",
            )
        candidates = FAMILIES.get(word) or (by_name[word],)
        # A family gives what it can; a recipe by name gives itself or the error.
        usable = [recipe for recipe in candidates if recipe.needs in available]
        if not usable:
            raise BadRequest(
                f"recipe {word!r} lacks its source", action=f"add {MISSING_SOURCE_OPTIONS[candidates[0].needs]}"
            )
        selected |= {recipe.name: recipe for recipe in usable}
    if not selected:
        raise BadRequest("no recipe was named", action="name some: --recipes crawl; `--list` shows all")
    return tuple(selected.values())


def format_recipes() -> str:
    """Return a table of all recipes, one line each: name, source, summary."""
    width = max(len(recipe.name) for recipe in RECIPES)
    return "\n".join(f"{recipe.name:<{width}}  {recipe.needs:<5}  {recipe.summary}" for recipe in RECIPES)
