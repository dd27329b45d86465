"""Recipes that make tasks from any crawl without a model; one module per family."""

from __future__ import annotations

from webemu.rl.tasks.recipe import Recipe
from webemu.rl.tasks.recipes import cloze, columns, definitions, page_finding, rows, structured
from webemu.rl.tasks.recipes.chains import CHAINS
from webemu.rl.tasks.recipes.parsed_page import make_page_recipe

CRAWL: tuple[Recipe, ...] = (
    make_page_recipe("infobox", rows.find_key_values, "keys and values of infoboxes and lists of terms"),
    make_page_recipe("table", rows.find_cells, "cells of tables, by row and column"),
    make_page_recipe("column", columns.find_column_facts, "largest, smallest, sum and count of a table's column"),
    make_page_recipe("declared", structured.find_declared, "JSON-LD, microdata and OpenGraph that the page shows"),
    make_page_recipe("definition", definitions.find_definitions, "definitions reversed: which term means this"),
    make_page_recipe("quantity", cloze.find_quantities, "dates and quantities in sentences"),
    make_page_recipe("cloze", cloze.find_rare_names, "rare names in sentences"),
    make_page_recipe("finding", page_finding.find_unique_sentences, "which page of a site states a sentence"),
    Recipe("anchor", "crawl", page_finding.generate_anchor_tasks, "the page that others link to with certain words"),
    *CHAINS,
)
"""Recipes of the family `crawl`, in the order of the docs."""
