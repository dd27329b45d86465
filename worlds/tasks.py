"""Write `tasks.jsonl`, questions whose answers the graph knows with the pages that state them, and `graph.jsonl`, all
facts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime

from webemu.worlds import almanac
from webemu.worlds.facts import Fact, find_fact, list_facts
from webemu.worlds.graph import CENSUS_YEARS, PRIZE_YEARS, Entity, Prize, Town
from webemu.worlds.seeded_random import seeded_rng
from webemu.worlds.site_directory import SiteDirectory
from webemu.worlds.works_and_products import FESTIVAL_YEARS


@dataclass(frozen=True, slots=True)
class QuestionTemplate:
    """A form of question: it leads from an entity of a kind along relations to a fact."""

    question: str
    """Text with `{X}`, the title of the first page, and perhaps `{Y}`, a year."""
    kind: str
    """Kind of the entities that X can be, perhaps narrowed, as in `changed town`."""
    path: tuple[str, ...]
    """Relations to follow one after another; the last one gives the answer. `year` looks into the table of X,
    `largest` at the towns of the region.
    """


def _template(question: str, kind: str, path: str) -> QuestionTemplate:
    return QuestionTemplate(question, kind, tuple(path.split()))


DEMO_TEMPLATES = (
    _template("Who founded {X}?", "company", "founded_by"),
    _template("In which town was {X} born?", "person", "born_in"),
    _template('Who wrote the novel "{X}"?', "novel", "author"),
    _template("What is the population of {X}?", "town", "population"),
    _template("Which company makes the {X}?", "product", "made_by"),
    _template("On what date was the {X} opened?", "landmark", "opened_on"),
    _template("In which town was the founder of {X} born?", "company", "founded_by born_in"),
    _template("Who wrote the novel that won the {X} in {Y}?", "novel prize", "year author"),
    _template("Which river flows through the town where {X} is headquartered?", "company", "headquartered_in on_river"),
    _template("In which year was the company that makes the {X} founded?", "product", "made_by founded_in_year"),
    _template("Who became mayor of {X} in December 2024?", "changed town", "mayor"),
    _template("What was the population of {X} in {Y}?", "town", "year"),
)
"""The forms of `demo-01` to `demo-12`."""
OTHER_TEMPLATES = (
    _template("In which year was {X} founded?", "company", "founded_in_year"),
    _template("In which town is {X} headquartered?", "company", "headquartered_in"),
    _template("How many people does {X} employ?", "company", "employees"),
    _template("Who is the mayor of {X}?", "town", "mayor"),
    _template("Which river flows through {X}?", "town", "on_river"),
    _template("In which region is {X}?", "town", "in_region"),
    _template("What is the capital of {X}?", "region", "capital"),
    _template("On what date was {X} born?", "person", "born_on"),
    _template("At which university did {X} study?", "person", "educated_at"),
    _template("How long is the {X}?", "river", "length"),
    _template('In which year was the novel "{X}" published?', "novel", "published_in_year"),
    _template('Who directed the film "{X}"?', "film", "director"),
    _template("In which year was the {X} introduced?", "product", "introduced_in_year"),
    _template("In which year was the {X} first held?", "festival", "first_held_in_year"),
    _template("Who was mayor of {X} before December 2024?", "changed town", "previous_mayor"),
    _template("Which novel won the {X} in {Y}?", "novel prize", "year"),
    _template("Which film won the {X} in {Y}?", "film prize", "year"),
    _template("How many visitors did the {X} have in {Y}?", "festival", "year"),
    _template("Which town in {X} had the largest population in 2021?", "region", "largest"),
    _template("Who directed the film that won the {X} in {Y}?", "film prize", "year director"),
    _template("Who is the mayor of the town where {X} was born?", "person", "born_in mayor"),
    _template('At which university did the author of the novel "{X}" study?', "novel", "author educated_at"),
    _template("What is the population of the town where the {X} stands?", "landmark", "stands_in population"),
    _template("Who is the mayor of the town where the founder of {X} was born?", "company", "founded_by born_in mayor"),
    _template('Which river flows through the town where the author of the novel "{X}" was born?', "novel", "author born_in on_river"),
    _template("In which town was the author of the novel that won the {X} in {Y} born?", "novel prize", "year author born_in"),
    _template("What is the population of the town where the maker of the {X} is headquartered?", "product", "made_by headquartered_in population"),
)  # fmt: skip
"""Forms that are asked in addition to those of the demo."""


def list_graph_lines(directory: SiteDirectory) -> Iterator[str]:
    """Yield the lines of `graph.jsonl`: every entity with its URL, and every fact as subject, relation, object, with
    the pages that state it.

    `label` is the text beside the object in its table row; `as_of` is the year or day for which an old page states it,
    `until` the month in which it ceased to be true.
    """
    almanac_entities = {entity.key: entity for entity in almanac.list_entries(directory)}
    for entity in directory.graph.list_entities():
        row = {"entity": entity.key, "kind": entity.kind, "name": entity.name, "title": entity.title}
        yield _json_line({**row, "urls": [directory.wiki_url(entity)]})
        for fact in (*list_facts(directory.graph, entity), *_table_facts(directory, entity)):
            until_field = {"until": "2024-12"} if fact.relation == "previous_mayor" else {}
            yield _json_line(_fact_row(entity, fact, directory.wiki_url(entity)) | until_field)
        if entity.key in almanac_entities:
            for fact in almanac.outdated_facts(directory, almanac_entities[entity.key]):
                as_of_field = {"as_of": "2011" if fact.relation == "population_2011" else almanac.EDITION_DATE}
                yield _json_line(_fact_row(entity, fact, almanac.entry_url(entity)) | as_of_field)


def _fact_row(entity: Entity, fact: Fact, url: str) -> dict[str, object]:
    object_field = {"text": fact.text} | ({"entity": fact.target.key} if fact.target else {})
    return {
        "subject": entity.key,
        "relation": fact.relation,
        "label": fact.label,
        "object": object_field,
        "urls": [url],
    }


def _table_facts(directory: SiteDirectory, entity: Entity) -> list[Fact]:
    """Return the rows of the table of years on the entity's page; empty if it has none."""
    years = {"town": CENSUS_YEARS, "festival": FESTIVAL_YEARS, "prize": PRIZE_YEARS}.get(entity.kind, ())
    return [_table_fact(directory, entity, year) for year in years]


def list_task_lines(directory: SiteDirectory) -> Iterator[str]:
    """Yield the lines of `tasks.jsonl`: the twelve of the demo, then more of all forms, in proportion to the size of
    the web. No question comes twice.
    """
    seen_questions: set[str] = set()
    for number, template in enumerate(DEMO_TEMPLATES, 1):
        yield from _list_tasks(directory, template, 1, seen_questions, f"demo-{number:02d}")
    per_template = max(6, directory.graph.pages // 160)
    for number, template in enumerate((*DEMO_TEMPLATES, *OTHER_TEMPLATES), 1):
        yield from _list_tasks(directory, template, per_template, seen_questions, f"form-{number:02d}")


def _list_tasks(
    directory: SiteDirectory, template: QuestionTemplate, count: int, seen_questions: set[str], name: str
) -> Iterator[str]:
    """Yield up to `count` tasks of one form, skipping questions in `seen_questions` and paths that end early."""
    rng = seeded_rng(directory.graph.seed, "tasks", name)
    starts = _start_entities(directory, template.kind)
    task_count = 0
    for start in rng.sample(starts, len(starts)):
        year = _draw_year(template, start, rng.randrange)
        question = template.question.format(X=start.title, Y=year)
        steps = list(_follow_path(directory, template, start, year))
        if question in seen_questions or len(steps) < len(template.path):
            continue
        seen_questions.add(question)
        task_count += 1
        answer = steps[-1][1]
        evidence = [{"url": directory.wiki_url(entity), "value": fact.text} for entity, fact in steps]
        yield _json_line({
            "id": name if name.startswith("demo") else f"{name}-{task_count:03d}", "question": question,
            "answers": accepted_spellings(answer), "evidence": evidence, "hops": len(steps), "recipe": " > ".join(template.path),
        })  # fmt: skip
        if task_count == count:
            return


def _start_entities(directory: SiteDirectory, kind: str) -> list[Entity]:
    """Return the entities that a question of that kind can begin with."""
    graph = directory.graph
    if kind == "changed town":
        return [town for town in graph.towns if town.former_mayor >= 0]
    if kind in ("novel prize", "film prize"):
        return [prize for prize in graph.prizes if prize.field == kind.split()[0]]
    return graph.group_by_kind()[kind]


def _draw_year(template: QuestionTemplate, start: Entity, draw: Callable[[int], int]) -> int:
    if "{Y}" not in template.question:
        return 0
    years = CENSUS_YEARS if isinstance(start, Town) else PRIZE_YEARS if isinstance(start, Prize) else FESTIVAL_YEARS
    return years[draw(len(years))]


def _follow_path(
    directory: SiteDirectory, template: QuestionTemplate, start: Entity, year: int
) -> Iterator[tuple[Entity, Fact]]:
    """Yield the entity and the fact of each step, as far as the path goes."""
    entity: Entity | None = start
    for relation in template.path:
        if entity is None:
            return
        try:
            step_fact = (
                _table_fact(directory, entity, year)
                if relation in ("year", "largest")
                else find_fact(directory.graph, entity, relation)
            )
        except KeyError:  # for example, a town without a river
            return
        yield entity, step_fact
        entity = step_fact.target


def _table_fact(directory: SiteDirectory, entity: Entity, year: int) -> Fact:
    """Return a fact of the table on an entity's page: that of a year, or for a region its largest town."""
    graph, position = directory.graph, int(entity.key.partition("/")[2])
    match entity.kind:
        case "town":
            return Fact(
                f"population_{year}", str(year), f"{graph.towns[position].population[CENSUS_YEARS.index(year)]:,}"
            )
        case "festival":
            visitors = graph.festivals[position].visitors[FESTIVAL_YEARS.index(year)]
            return Fact(f"visitors_{year}", str(year), f"{visitors:,}")
        case "prize":
            prize = graph.prizes[position]
            works = graph.novels if prize.field == "novel" else graph.films
            work = works[prize.winners[PRIZE_YEARS.index(year)]]
            return Fact(f"winner_{year}", str(year), work.name, work)
    towns = [graph.towns[n] for n in directory.towns_in[entity.key]]
    largest = max(towns, key=lambda town: town.population[3])
    return Fact("largest_town_2021", "2021", largest.name, largest)


def accepted_spellings(answer: Fact) -> list[str]:
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


def _json_line(row: dict[str, object]) -> str:
    return json.dumps(row, ensure_ascii=False) + "\n"
