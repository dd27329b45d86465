"""Recipes for any crawl, without a model: one small file per family."""

from __future__ import annotations

from webemu.rl.tasks.recipe import Recipe
from webemu.rl.tasks.recipes import cloze, columns, definitions, page_finding, rows, structured
from webemu.rl.tasks.recipes.chains import CHAINS
from webemu.rl.tasks.recipes.parsed_page import about_pages

CRAWL: tuple[Recipe, ...] = (
    about_pages("infobox", rows.boxes, "keys and values of infoboxes and lists of terms"),
    about_pages("table", rows.cells, "cells of tables, by row and column"),
    about_pages("column", columns.operations, "largest, smallest, sum and count of a table's column"),
    about_pages("declared", structured.declared, "JSON-LD, microdata and OpenGraph that the page shows"),
    about_pages("definition", definitions.turned, "definitions reversed: which term means this"),
    about_pages("quantity", cloze.quantities, "dates and quantities in sentences"),
    about_pages("cloze", cloze.names, "rare names in sentences"),
    about_pages("finding", page_finding.stated, "which page of a site states a sentence"),
    Recipe("anchor", "crawl", page_finding.linked, "the page that others link to with certain words"),
    *CHAINS,
)
