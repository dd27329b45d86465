"""Write `tasks.jsonl`, questions whose answers the graph knows with the pages that state them, and `graph.jsonl`, all
facts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime

from webemu.worlds import almanac
from webemu.worlds.facts import Fact, fact, facts_of
from webemu.worlds.graph import PRIZE_YEARS, YEARS, Entity, Prize, Town
from webemu.worlds.seeded_random import dice
from webemu.worlds.site_directory import Atlas
from webemu.worlds.works_and_products import YEARS_OF_FESTIVALS


@dataclass(frozen=True, slots=True)
class Form:
    """A form of question: it leads from an entity of a kind along relations to a fact."""

    question: str
    """Text with `{X}`, the title of the first page, and perhaps `{Y}`, a year."""
    kind: str
    """Kind of the entities that X can be, perhaps narrowed, as in `changed town`."""
    path: tuple[str, ...]
    """Relations to follow one after another; the last one gives the answer. `year` looks into the table of X,
    `largest` at the towns of the region.
    """


def _form(question: str, kind: str, path: str) -> Form:
    return Form(question, kind, tuple(path.split()))


DEMO = (
    _form("Who founded {X}?", "company", "founded_by"),
    _form("In which town was {X} born?", "person", "born_in"),
    _form('Who wrote the novel "{X}"?', "novel", "author"),
    _form("What is the population of {X}?", "town", "population"),
    _form("Which company makes the {X}?", "product", "made_by"),
    _form("On what date was the {X} opened?", "landmark", "opened_on"),
    _form("In which town was the founder of {X} born?", "company", "founded_by born_in"),
    _form("Who wrote the novel that won the {X} in {Y}?", "novel prize", "year author"),
    _form("Which river flows through the town where {X} is headquartered?", "company", "headquartered_in on_river"),
    _form("In which year was the company that makes the {X} founded?", "product", "made_by founded_in_year"),
    _form("Who became mayor of {X} in December 2024?", "changed town", "mayor"),
    _form("What was the population of {X} in {Y}?", "town", "year"),
)
"""The forms of `demo-01` to `demo-12`."""
OTHERS = (
    _form("In which year was {X} founded?", "company", "founded_in_year"),
    _form("In which town is {X} headquartered?", "company", "headquartered_in"),
    _form("How many people does {X} employ?", "company", "employees"),
    _form("Who is the mayor of {X}?", "town", "mayor"),
    _form("Which river flows through {X}?", "town", "on_river"),
    _form("In which region is {X}?", "town", "in_region"),
    _form("What is the capital of {X}?", "region", "capital"),
    _form("On what date was {X} born?", "person", "born_on"),
    _form("At which university did {X} study?", "person", "educated_at"),
    _form("How long is the {X}?", "river", "length"),
    _form('In which year was the novel "{X}" published?', "novel", "published_in_year"),
    _form('Who directed the film "{X}"?', "film", "director"),
    _form("In which year was the {X} introduced?", "product", "introduced_in_year"),
    _form("In which year was the {X} first held?", "festival", "first_held_in_year"),
    _form("Who was mayor of {X} before December 2024?", "changed town", "previous_mayor"),
    _form("Which novel won the {X} in {Y}?", "novel prize", "year"),
    _form("Which film won the {X} in {Y}?", "film prize", "year"),
    _form("How many visitors did the {X} have in {Y}?", "festival", "year"),
    _form("Which town in {X} had the largest population in 2021?", "region", "largest"),
    _form("Who directed the film that won the {X} in {Y}?", "film prize", "year director"),
    _form("Who is the mayor of the town where {X} was born?", "person", "born_in mayor"),
    _form('At which university did the author of the novel "{X}" study?', "novel", "author educated_at"),
    _form("What is the population of the town where the {X} stands?", "landmark", "stands_in population"),
    _form("Who is the mayor of the town where the founder of {X} was born?", "company", "founded_by born_in mayor"),
    _form('Which river flows through the town where the author of the novel "{X}" was born?', "novel", "author born_in on_river"),
    _form("In which town was the author of the novel that won the {X} in {Y} born?", "novel prize", "year author born_in"),
    _form("What is the population of the town where the maker of the {X} is headquartered?", "product", "made_by headquartered_in population"),
)  # fmt: skip
"""Forms that are asked in addition to those of the demo."""


def graph_lines(atlas: Atlas) -> Iterator[str]:
    """Yield the lines of `graph.jsonl`: every entity with its URL, and every fact as subject, relation, object, with
    the pages that state it.

    `label` is the text beside the object in its table row; `as_of` is the year or day for which an old page states it,
    `until` the month in which it ceased to be true.
    """
    old = {entity.key: entity for entity in almanac.entries(atlas)}
    for entity in atlas.graph.entities():
        row = {"entity": entity.key, "kind": entity.kind, "name": entity.name, "title": entity.title}
        yield _line({**row, "urls": [atlas.wiki(entity)]})
        for stated in (*facts_of(atlas.graph, entity), *_series(atlas, entity)):
            ceased = {"until": "2024-12"} if stated.relation == "previous_mayor" else {}
            yield _line(_triple(entity, stated, atlas.wiki(entity)) | ceased)
        if entity.key in old:
            for stated in almanac.then(atlas, old[entity.key]):
                day = {"as_of": "2011" if stated.relation == "population_2011" else almanac.DAY}
                yield _line(_triple(entity, stated, almanac.address(entity)) | day)


def _triple(entity: Entity, stated: Fact, url: str) -> dict[str, object]:
    known = {"text": stated.text} | ({"entity": stated.target.key} if stated.target else {})
    return {"subject": entity.key, "relation": stated.relation, "label": stated.label, "object": known, "urls": [url]}


def _series(atlas: Atlas, entity: Entity) -> list[Fact]:
    """Return the rows of the table of years on the entity's page; empty if it has none."""
    years = {"town": YEARS, "festival": YEARS_OF_FESTIVALS, "prize": PRIZE_YEARS}.get(entity.kind, ())
    return [_in_table(atlas, entity, year) for year in years]


def task_lines(atlas: Atlas) -> Iterator[str]:
    """Yield the lines of `tasks.jsonl`: the twelve of the demo, then more of all forms, in proportion to the size of
    the web. No question comes twice.
    """
    asked: set[str] = set()
    for number, form in enumerate(DEMO, 1):
        yield from _tasks(atlas, form, 1, asked, f"demo-{number:02d}")
    each = max(6, atlas.graph.pages // 160)
    for number, form in enumerate((*DEMO, *OTHERS), 1):
        yield from _tasks(atlas, form, each, asked, f"form-{number:02d}")


def _tasks(atlas: Atlas, form: Form, count: int, asked: set[str], name: str) -> Iterator[str]:
    """Yield up to `count` tasks of one form, skipping questions in `seen_questions` and paths that end early."""
    rng = dice(atlas.graph.seed, "tasks", name)
    starts = _starts(atlas, form.kind)
    made = 0
    for start in rng.sample(starts, len(starts)):
        year = _year(atlas, form, start, rng.randrange)
        question = form.question.format(X=start.title, Y=year)
        steps = list(_walk(atlas, form, start, year))
        if question in asked or len(steps) < len(form.path):
            continue
        asked.add(question)
        made += 1
        answer = steps[-1][1]
        evidence = [{"url": atlas.wiki(where), "value": stated.text} for where, stated in steps]
        yield _line({
            "id": name if name.startswith("demo") else f"{name}-{made:03d}", "question": question,
            "answers": spellings(answer), "evidence": evidence, "hops": len(steps), "recipe": " > ".join(form.path),
        })  # fmt: skip
        if made == count:
            return


def _starts(atlas: Atlas, kind: str) -> list[Entity]:
    """Return the entities that a question of that kind can begin with."""
    graph = atlas.graph
    if kind == "changed town":
        return [town for town in graph.towns if town.former_mayor >= 0]
    if kind in ("novel prize", "film prize"):
        return [prize for prize in graph.prizes if prize.field == kind.split()[0]]
    return graph.groups()[kind]


def _year(atlas: Atlas, form: Form, start: Entity, draw: Callable[[int], int]) -> int:
    if "{Y}" not in form.question:
        return 0
    years = YEARS if isinstance(start, Town) else PRIZE_YEARS if isinstance(start, Prize) else YEARS_OF_FESTIVALS
    return years[draw(len(years))]


def _walk(atlas: Atlas, form: Form, start: Entity, year: int) -> Iterator[tuple[Entity, Fact]]:
    """Yield the entity and the fact of each step, as far as the path goes."""
    at: Entity | None = start
    for relation in form.path:
        if at is None:
            return
        try:
            stated = _in_table(atlas, at, year) if relation in ("year", "largest") else fact(atlas.graph, at, relation)
        except KeyError:  # for example, a town without a river
            return
        yield at, stated
        at = stated.target


def _in_table(atlas: Atlas, entity: Entity, year: int) -> Fact:
    """Return a fact of the table on an entity's page: that of a year, or for a region its largest town."""
    graph, position = atlas.graph, int(entity.key.partition("/")[2])
    match entity.kind:
        case "town":
            return Fact(f"population_{year}", str(year), f"{graph.towns[position].population[YEARS.index(year)]:,}")
        case "festival":
            visitors = graph.festivals[position].visitors[YEARS_OF_FESTIVALS.index(year)]
            return Fact(f"visitors_{year}", str(year), f"{visitors:,}")
        case "prize":
            prize = graph.prizes[position]
            works = graph.novels if prize.field == "novel" else graph.films
            work = works[prize.winners[PRIZE_YEARS.index(year)]]
            return Fact(f"winner_{year}", str(year), work.name, work)
    towns = [graph.towns[n] for n in atlas.towns_in[entity.key]]
    largest = max(towns, key=lambda town: town.population[3])
    return Fact("largest_town_2021", "2021", largest.name, largest)


def spellings(answer: Fact) -> list[str]:
    """Return the answer as the page has it, and in the other forms that are equally right, without repeats."""
    texts = [answer.text]
    if answer.target:
        texts += [answer.target.name, answer.target.title]
    if answer.text.replace(",", "").isdigit():
        texts.append(answer.text.replace(",", ""))
    if answer.relation.endswith("_on"):  # relations with a full date, such as born_on
        day = datetime.strptime(answer.text, "%d %B %Y")
        texts += [day.strftime("%Y-%m-%d"), f"{day:%B} {day.day}, {day.year}"]
    return list(dict.fromkeys(texts))


def _line(row: dict[str, object]) -> str:
    return json.dumps(row, ensure_ascii=False) + "\n"
