"""Recipes that ask about a generated web. Its graph is known, so every answer is exact, and no model can know it."""

from __future__ import annotations

from webemu.rl.tasks.recipe import Recipe
from webemu.rl.tasks.world.compare import comparison, superlative
from webemu.rl.tasks.world.dates import date_arithmetic
from webemu.rl.tasks.world.graph_tasks import recipe
from webemu.rl.tasks.world.missing import no_such_thing
from webemu.rl.tasks.world.namesakes import ambiguous, namesakes
from webemu.rl.tasks.world.obfuscated import obfuscated
from webemu.rl.tasks.world.outdated import stale
from webemu.rl.tasks.world.sets import counting, intersection
from webemu.rl.tasks.world.walks import bridge

WORLD: tuple[Recipe, ...] = (
    recipe("bridge", "a chain of 1 to 5 pages, each naming what the next is about", bridge),
    recipe("comparison", "which of two comes first or has more, by their own pages", comparison),
    recipe("intersection", "the only one for which two things hold that hold for others too", intersection),
    recipe("counting", "how many rows, towns, works or winners there are of a kind", counting),
    recipe("date-arithmetic", "years or days between two events, ages, years of an age", date_arithmetic),
    recipe("superlative", "the first or last of a group, or a fact of it", superlative),
    recipe("no-such-thing", "what no page says, of what exists and of what does not", no_such_thing),
    recipe("stale", "what is so now and what was so when an old page was written", stale),
    recipe("namesakes", "a name that several bear, told apart by the question", namesakes),
    recipe("obfuscated", "an entity described by two or three facts and never named", obfuscated),
    recipe("ambiguous", "a question that only the user can complete, for those who ask", ambiguous),
)
