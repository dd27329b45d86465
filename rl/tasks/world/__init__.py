"""Recipes that ask about a generated web (`webemu generate`).

The graph of such a web is known, so every answer is exact, and no model can know it beforehand.
"""

from __future__ import annotations

from webemu.rl.tasks.recipe import Recipe
from webemu.rl.tasks.world.compare import draw_comparison, draw_superlative
from webemu.rl.tasks.world.dates import draw_date_arithmetic
from webemu.rl.tasks.world.graph_tasks import make_recipe
from webemu.rl.tasks.world.missing import draw_no_such_thing
from webemu.rl.tasks.world.namesakes import draw_ambiguous, draw_namesakes
from webemu.rl.tasks.world.obfuscated import draw_obfuscated
from webemu.rl.tasks.world.outdated import draw_stale
from webemu.rl.tasks.world.sets import draw_counting, draw_intersection
from webemu.rl.tasks.world.walks import draw_bridge

WORLD: tuple[Recipe, ...] = (
    make_recipe("bridge", "a chain of 1 to 5 pages, each naming what the next is about", draw_bridge),
    make_recipe(
        "comparison",
        "which of two entities comes first or has more, or when it came and how much it has",
        draw_comparison,
    ),
    make_recipe(
        "intersection", "the only entity for which two facts hold that each hold for others too", draw_intersection
    ),
    make_recipe(
        "counting", "the number of years, towns, works or winners with a property, and sums of figures", draw_counting
    ),
    make_recipe("date-arithmetic", "years or days between two events, ages, the year of an age", draw_date_arithmetic),
    make_recipe("superlative", "the first or last of a group, or a fact of it", draw_superlative),
    make_recipe(
        "no-such-thing", "questions without an answer, about entities that exist or do not", draw_no_such_thing
    ),
    make_recipe("stale", "values of today and those of an outdated page", draw_stale),
    make_recipe("namesakes", "a name that several entities share, told apart by the question", draw_namesakes),
    make_recipe("obfuscated", "an entity described by two or three facts and never named", draw_obfuscated),
    make_recipe("ambiguous", "a question that only the user can complete, for agents that ask", draw_ambiguous),
)
"""All recipes of the generated web, in the order of the documentation."""
