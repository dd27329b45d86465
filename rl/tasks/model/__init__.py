"""Recipes that ask a model behind an OpenAI-compatible API. The model proposes; string checks and the crawl decide."""

from __future__ import annotations

from webemu.rl.tasks.model import reports, translate
from webemu.rl.tasks.recipe import Recipe

MODEL: tuple[Recipe, ...] = (
    Recipe(
        "back-translation",
        "model",
        translate.generate_questions,
        "a passage made into a question, an answer and its quote",
    ),
    Recipe(
        "back-translation-hops",
        "model",
        translate.generate_obscured,
        "the same, its names made into descriptions and hops",
    ),
    Recipe(
        reports.RECIPE_NAME,
        "model",
        reports.generate_reports,
        "a page is the hidden report; a model names aspects and claims",
    ),
)
"""Recipes of the family `model`."""
