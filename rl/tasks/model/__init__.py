"""Recipes that ask a model over an OpenAI-compatible endpoint. The model proposes; strings and the crawl decide."""

from __future__ import annotations

from webemu.rl.tasks.model import reports, translate
from webemu.rl.tasks.recipe import Recipe

MODEL: tuple[Recipe, ...] = (
    Recipe("back-translation", "model", translate.one_page, "a passage made into a question, an answer and its quote"),
    Recipe("back-translation-hops", "model", translate.obscured, "the same, its names made into descriptions and hops"),
    Recipe(reports.NAME, "model", reports.reports, "a page is the hidden report; a model names aspects and claims"),
)
