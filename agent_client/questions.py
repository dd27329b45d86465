"""Parses questions of known forms into lookup steps: which page to find, and what to look up there and on linked
pages.

The path of a form is read from left to right: `Founder > Place of birth` looks up a name, goes to its page and looks
up a place there. `Winner@Y` is the column `Winner` in the table row of year Y; `Town^Y` is the column `Town` in the
row with the largest value in column Y.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

FORMS = (
    ("In which year was {X} founded?", "Founded"),
    ("Who founded {X}?", "Founder"),
    ("In which town is {X} headquartered?", "Headquarters"),
    ("How many people does {X} employ?", "Employees"),
    ("Who is the mayor of {X}?", "Mayor"),
    ("What is the population of {X}?", "Population"),
    ("Which river flows through {X}?", "River"),
    ("In which region is {X}?", "Region"),
    ("What is the capital of {X}?", "Capital"),
    ("In which town was {X} born?", "Place of birth"),
    ("On what date was {X} born?", "Date of birth"),
    ("At which university did {X} study?", "Education"),
    ("How long is the {X}?", "Length"),
    ('Who wrote the novel "{X}"?', "Author"),
    ('In which year was the novel "{X}" published?', "Published"),
    ('Who directed the film "{X}"?', "Director"),
    ("Which company makes the {X}?", "Manufacturer"),
    ("In which year was the {X} introduced?", "Introduced"),
    ("On what date was the {X} opened?", "Opened"),
    ("In which year was the {X} first held?", "First held"),
    ("Who became mayor of {X} in {W}?", "Mayor"),
    ("Who was mayor of {X} before {W}?", "Previous mayor"),
    ("What was the population of {X} in {Y}?", "Population@Y"),
    ("Which novel won the {X} in {Y}?", "Winner@Y"),
    ("Which film won the {X} in {Y}?", "Winner@Y"),
    ("How many visitors did the {X} have in {Y}?", "Visitors@Y"),
    ("Which town in {X} had the largest population in {Y}?", "Town^Y"),
    ("In which town was the founder of {X} born?", "Founder > Place of birth"),
    ("Who wrote the novel that won the {X} in {Y}?", "Winner@Y > Author"),
    ("Who directed the film that won the {X} in {Y}?", "Winner@Y > Director"),
    ("Which river flows through the town where {X} is headquartered?", "Headquarters > River"),
    ("Who is the mayor of the town where {X} was born?", "Place of birth > Mayor"),
    ('At which university did the author of the novel "{X}" study?', "Author > Education"),
    ("In which year was the company that makes the {X} founded?", "Manufacturer > Founded"),
    ("What is the population of the town where the {X} stands?", "Town > Population"),
    ("Who is the mayor of the town where the founder of {X} was born?", "Founder > Place of birth > Mayor"),
    (
        'Which river flows through the town where the author of the novel "{X}" was born?',
        "Author > Place of birth > River",
    ),
    ("In which town was the author of the novel that won the {X} in {Y} born?", "Winner@Y > Author > Place of birth"),
    (
        "What is the population of the town where the maker of the {X} is headquartered?",
        "Manufacturer > Headquarters > Population",
    ),
)
"""Question forms with their lookup paths. X is the page, Y a year, W anything."""


@dataclass(frozen=True, slots=True)
class LookupStep:
    """One value to look up on a page."""

    label: str
    """Label of an infobox row or a table column."""
    year: str = ""
    """Table row to read, or for `largest` the column to compare; empty for an infobox."""
    is_largest: bool = False
    """True to read the row with the largest value."""


@dataclass(frozen=True, slots=True)
class LookupPlan:
    """The lookup steps of a question."""

    title: str
    """Title of the first page."""
    steps: tuple[LookupStep, ...]


def parse_question(question: str) -> LookupPlan | None:
    """Return the plan for a question; None if its form is unknown."""
    question = " ".join(question.split())
    for pattern, path in _PATTERNS:
        if match := pattern.fullmatch(question):
            slots = match.groupdict()
            return LookupPlan(slots["X"], tuple(_parse_step(step, slots.get("Y", "")) for step in path.split(" > ")))
    return None


def _parse_step(step: str, year: str) -> LookupStep:
    """Return one step of a path, with the year filled in."""
    for sign in "@^":
        if sign in step:
            return LookupStep(step.partition(sign)[0], year, sign == "^")
    return LookupStep(step)


def _compile_form(form: str) -> re.Pattern[str]:
    """Compile a question form."""
    pattern = re.escape(form)
    for slot, shape in (("X", ".+"), ("W", ".+"), ("Y", r"\d{4}")):
        pattern = pattern.replace(re.escape(f"{{{slot}}}"), f"(?P<{slot}>{shape})")
    return re.compile(pattern)


_PATTERNS = [(_compile_form(form), path) for form, path in sorted(FORMS, key=lambda entry: -len(entry[0]))]
"""Compiled forms, longest first, since the form with the most fixed words is the right one."""
