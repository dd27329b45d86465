"""Recipes that make tasks from any crawl without a model; one module per family.

`CRAWL` asks what a person would ask. `LOOKUP` names a page and asks for its content, or asks for a page: such tasks
are easier to make and to check, and teach less.
"""

from __future__ import annotations

from webemu.rl.tasks.recipe import Recipe
from webemu.rl.tasks.recipes import (
    asking,
    cloze,
    columns,
    comparisons,
    definitions,
    joins,
    page_finding,
    rows,
    structured,
    versions,
)
from webemu.rl.tasks.recipes.chains import CHAINS
from webemu.rl.tasks.recipes.parsed_page import make_page_recipe

CRAWL: tuple[Recipe, ...] = (
    Recipe("fact", "crawl", asking.generate_facts, "a fact about a thing that the question names"),
    Recipe("described", "crawl", asking.generate_described, "a fact about a thing that the question describes"),
    Recipe("joined", "crawl", joins.generate_bridges, "a fact about a thing that another page describes"),
    Recipe("common", "crawl", joins.generate_common, "the one reference that two entries of a manual have in common"),
    Recipe(
        "related", "crawl", joins.generate_related, "which reference of a page has a version that another page states"
    ),
    Recipe(
        "compare", "crawl", comparisons.generate_comparisons, "first, last, largest or smallest of two or three pages"
    ),
    Recipe(
        "requires",
        "crawl",
        versions.generate_requirements,
        "the oldest version that has two or three things of a software",
    ),
    Recipe("between", "crawl", comparisons.generate_between, "number of years between two related events"),
    make_page_recipe("column", columns.find_column_facts, "largest, smallest and sum of a table's column"),
)
"""Recipes of the family `crawl`, in the order of the docs."""
LOOKUP: tuple[Recipe, ...] = (
    make_page_recipe("infobox", rows.find_key_values, "keys and values of infoboxes and lists of terms"),
    make_page_recipe("table", rows.find_cells, "cells of tables, by row and column"),
    make_page_recipe("declared", structured.find_declared, "JSON-LD, microdata and OpenGraph that the page shows"),
    make_page_recipe("definition", definitions.find_definitions, "definitions reversed: which term means this"),
    make_page_recipe("quantity", cloze.find_quantities, "dates and quantities in sentences"),
    make_page_recipe("cloze", cloze.find_rare_names, "rare names in sentences"),
    make_page_recipe("finding", page_finding.find_unique_sentences, "which page of a site states a sentence"),
    Recipe("anchor", "crawl", page_finding.generate_anchor_tasks, "the page that others link to with certain words"),
    *CHAINS,
)
"""Recipes of the family `lookup`."""
