"""Tasks from a generated web: what every recipe gives, and what the web says to it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from tests.rl.raw import EACH, Raw, Tasks, make, raw_of
from tests.rl.worlds import World
from webemu.agent_client import PageAnswer, SearchAnswer
from webemu.index.catalog import Catalog
from webemu.rl.gates import contains_phrase
from webemu.rl.tasks import NOT_FOUND, Task, TaskError, parse_task, to_json_line
from webemu.rl.tasks.graph import Graph
from webemu.rl.tasks.recipe import Sources
from webemu.rl.tasks.world import WORLD
from webemu.rl.user import answer_question
from webemu.rl.verify import normalise


@pytest.fixture(scope="module")
def raw(root: Path) -> Raw:
    return raw_of(root / "web" / "graph.jsonl")


@pytest.fixture(scope="module")
def tasks(root: Path) -> Tasks:
    return make(root, 1)


@pytest.fixture(scope="module")
def many(root: Path) -> Tasks:
    return make(root, 2, 300)


def everything(tasks: Tasks) -> Iterator[Task]:
    return (task for task_list in tasks.values() for task in task_list)


def test_every_recipe_has_tasks_that_a_file_can_hold(tasks: Tasks) -> None:
    assert {name: len(task_list) for name, task_list in tasks.items()} == {recipe.name: EACH for recipe in WORLD}
    assert sum(map(len, tasks.values())) >= 300
    for name, of_recipe in tasks.items():
        assert len({task.question for task in of_recipe}) == len(of_recipe)
        assert all(task.recipe == name and task.answers and task.question[0].isupper() for task in of_recipe)
        assert all(task.hops == max(1, len({place.url for place in task.evidence})) for task in of_recipe)
    task_list = [replace(task, id=str(n)) for n, task in enumerate(everything(tasks))]
    assert [parse_task(json.loads(to_json_line(task))) for task in task_list] == task_list


def test_the_same_seed_gives_the_same_tasks(root: Path, tasks: Tasks) -> None:
    assert make(root, 1) == tasks
    other = make(root, 3)
    assert all(other[name] != task_list for name, task_list in tasks.items())


def test_no_question_says_its_answer(many: Tasks) -> None:
    for task in everything(many):
        if task.answer_type != "choice":
            assert not any(contains_phrase(normalise(task.question), normalise(answer)) for answer in task.answers), (
                task
            )


def test_the_web_says_what_the_evidence_quotes(tasks: Tasks, world: World) -> None:
    quotes = {(place.url, place.quote, place.value) for task in everything(tasks) for place in task.evidence}
    urls = sorted({url for url, _, _ in quotes})
    with world.client() as client:
        texts = dict(zip(urls, map(_text, client.open_many(urls)), strict=True))
    assert len(urls) > 100
    for url, quote, value in quotes:
        assert quote in texts[url], (url, quote)
        assert value in quote


def test_evidence_names_its_capture(tasks: Tasks, root: Path) -> None:
    """The digest is that of the newest capture, or of the one before if the server only said that nothing changed."""
    with Catalog(root / "default", read_only=True) as catalog:
        query = "SELECT url, content_digest FROM captures WHERE content_digest IS NOT NULL ORDER BY fetch_time"
        newest = dict(catalog.db.execute(query).fetchall())
    places = [place for task in everything(tasks) for place in task.evidence]
    assert [place.digest for place in places] == [newest.get(place.url, "") for place in places]
    assert sum(bool(place.digest) for place in places) > 0.9 * len(places)


def _text(page: object) -> str:
    assert isinstance(page, PageAnswer)
    return page.content


def test_what_does_not_exist_stands_on_no_page(many: Tasks, raw: Raw, root: Path) -> None:
    with Catalog(root / "default", read_only=True) as catalog:
        pages = catalog.db.execute("SELECT url, coalesce(title, '') || chr(10) || text FROM pages").fetchall()
    all_texts = "\n".join(text for _, text in pages)
    named = {row["name"] for row in raw.entities.values()}
    invented = silent = 0
    for task in many["no-such-thing"]:
        assert (task.answers, task.answer_type) == (NOT_FOUND, "none")
        if task.evidence:
            silent += 1
            _is_silent(task.question, next(text for url, text in pages if url == task.evidence[0].url))
            continue
        name = _named(task.question)
        assert name not in named
        assert not re.search(rf"\b{re.escape(name)}\b", all_texts), task.question
        invented += 1
    assert invented > 50 < silent


def _named(question: str) -> str:
    """Return the name in quotes, or the first run of words with capitals after the question's own first word."""
    match = re.search(r'"(.+)"|\b[A-Z][\w\'-]*(?: (?:[A-Z][\w\'-]*|\d+))*', question.partition(" ")[2])
    assert match, question
    return match[1] or match[0]


def _is_silent(question: str, page: str) -> None:
    words: dict[str, tuple[str, ...]] = {
        "river": ("River |",), "previous mayor": ("Previous mayor",), "die?": ("Year of death", "; died"),
        "1981": ("1981 |",), "prize": ("won the", "awarded the", "received the"),
    }  # fmt: skip
    years = re.findall(r"in (20\d\d)\?", question)
    lacking = tuple(f"{year} |" for year in years) or next(phrase for key, phrase in words.items() if key in question)
    assert not any(one in page for one in lacking), question


def test_old_pages_contradict_new_ones(tasks: Tasks, raw: Raw) -> None:
    old = {(row["urls"][0], row["object"]["text"]) for row in raw.triples if "as_of" in row}
    then = [task for task in tasks["stale"] if any("gazetteer" in place.url for place in task.evidence)]
    now = [task for task in tasks["stale"] if not any("gazetteer" in place.url for place in task.evidence)]
    assert len(then) > 5 < len(now)
    for task in then:
        place = next(place for place in task.evidence if "gazetteer" in place.url)
        assert (place.url, place.value) in old
    contradicted = {row["subject"] for row in raw.triples if "as_of" in row and row["object"]["text"]
                    != raw.value_text(row["subject"], row["relation"].rpartition("_")[0])}  # fmt: skip
    assert len(contradicted) > 8


def test_namesakes_are_told_apart(tasks: Tasks, raw: Raw) -> None:
    homes = {row["urls"][0]: row for row in raw.entities.values()}
    for task in tasks["namesakes"]:
        home = homes[task.evidence[0].url]
        bearers = [row for row in raw.entities.values() if row["name"] == home["name"]]
        assert len(bearers) > 1
        assert home["name"] in task.question
        value = task.evidence[0].value
        in_region = home["title"].removeprefix(home["name"]).strip(" ()") in task.question
        assert in_region or value.lower() in task.question.lower(), task


def test_an_ambiguous_question_is_completed_by_the_user(tasks: Tasks, raw: Raw) -> None:
    for task in tasks["ambiguous"]:
        assert task.user
        answer = answer_question(
            "Which one do you mean?" if "that year" not in task.question else "Which year?", task.user
        )
        assert answer == task.user[0].says
        year = re.search(r"\d{4}", answer)
        place = task.evidence[0]
        if year:
            assert place.quote == f"{year[0]} | {place.value}"
            assert year[0] not in task.question
        else:
            title = next(row["title"] for row in raw.entities.values() if row["urls"][0] == place.url)
            assert title.partition(" (")[2].rstrip(")") in answer


def test_a_bad_graph_is_named(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match="No such file"):
        Graph.read(tmp_path / "none.jsonl")
    (tmp_path / "graph.jsonl").write_text('{"subject": "town/1"}\n')
    (tmp_path / "tasks.jsonl").write_text('{"id": "a"}')
    with pytest.raises(TaskError, match="it states no fact"):
        Graph.read(tmp_path / "tasks.jsonl")
    with pytest.raises(TaskError, match="no graph of a generated web"):
        Graph.read(tmp_path / "graph.jsonl")


def test_a_recipe_without_a_graph_says_so() -> None:
    with pytest.raises(ValueError, match=r"graph\.jsonl"):
        next(WORLD[0].make(Sources(crawl=cast(Any, None)), 1))


def test_a_search_for_what_is_quoted_finds_the_page(tasks: Tasks, world: World) -> None:
    """An oracle depends on it: it searches for the title of the evidence and its quote."""
    places = [place for task_list in tasks.values() for task in task_list[:5] for place in task.evidence]
    with world.client() as client:
        queries = [f"{client.open(place.url).title} {place.quote}" for place in places]
        answers = client.search_many(queries)
    outcomes = [isinstance(answer, SearchAnswer) and place.url in {hit.url for hit in answer.results}
             for place, answer in zip(places, answers, strict=True)]  # fmt: skip
    assert sum(outcomes) > 0.9 * len(outcomes)
