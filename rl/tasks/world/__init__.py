"""Recipes that ask about a generated web (`webemu generate`).

The graph of such a web is known, so every answer is exact, and no model can know it beforehand.
"""

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
    recipe("comparison", "which of two entities comes first or has more, by their own pages", comparison),
    recipe("intersection", "the only entity for which two facts hold that each hold for others too", intersection),
    recipe("counting", "the number of years, towns, works or winners with a property", counting),
    recipe("date-arithmetic", "years or days between two events, ages, the year of an age", date_arithmetic),
    recipe("superlative", "the first or last of a group, or a fact of it", superlative),
    recipe("no-such-thing", "questions without an answer, about entities that exist or do not", no_such_thing),
    recipe("stale", "values of today and those of an outdated page", stale),
    recipe("namesakes", "a name that several entities share, told apart by the question", namesakes),
    recipe("obfuscated", "an entity described by two or three facts and never named", obfuscated),
    recipe("ambiguous", "a question that only the user can complete, for agents that ask", ambiguous),
)
"""All recipes of the generated web, in the order of the documentation."""
