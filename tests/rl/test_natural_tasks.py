"""Questions that a person would ask: what small pages give, that reading earns, and that guessing does not."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

from tests.crawls import CaptureSpec, html, ingest, write
from tests.rl.worlds import serving
from webemu.agent_client import Client
from webemu.rl.environment import Episode
from webemu.rl.rewards import SHORT
from webemu.rl.tasks import Evidence, Task
from webemu.rl.tasks.build import Quota
from webemu.rl.tasks.crawl import Crawl
from webemu.rl.tasks.recipe import Recipe, Sources
from webemu.rl.tasks.recipes import CRAWL, english, gold
from webemu.rl.tasks.recipes.alike import draw_alike, is_alike
from webemu.rl.tasks.recipes.statements import Subject
from webemu.rl.tasks.recipes.store import load_store
from webemu.rl.tasks.splits import leave_out_shared, split_tasks

FILL = (
    "The valley has been settled for a long time and is known for its orchards. Most of the people work in the mills "
    "that stand along the river, and many of them have done so for all of their lives."
)


def article(title: str, author: str, day: int, *paragraphs: str) -> str:
    """Return a page of news that declares and shows its author and day."""
    declared = (
        f'{{"@type": "NewsArticle", "author": {{"name": "{author}"}}, "datePublished": "2019-03-{day:02d}T10:00:00Z"}}'
    )
    byline = f"By {author}, {day} March 2019"
    return html(title, *paragraphs, FILL, byline, head=f'<script type="application/ld+json">{declared}</script>')


def manual(name: str, does: str, version: str, also: str = "") -> str:
    """Return a page of a manual for one function."""
    last = name.rpartition(".")[2]
    parts = [name, f"{name}(table, depth=42, mode='strict')", does, f"New in version {version}."]
    parts += ["Parameters:", "tablelist", "The rows.", "depthint, default 42", f"The depth of the {last} tree."]
    parts += [f"New in version 3{version[1:]}.", "modestr", "The mode."]
    parts += ["See also", also] if also else []
    parts += ["Notes", FILL.replace("orchards", f"{last} trees"), "The rows are read in the order of the table."]
    return html(f"{name} — Gridlock 2.1 documentation", *parts)


NEWS = "https://news.example"
PAGES = [
    CaptureSpec(
        f"{NEWS}/bridge",
        article(
            "Old Bridge of Arlind to be closed", "Ines Calder", 5,
            "The Old Bridge of Arlind will be closed to carts from the first day of May by order of the council.",
            "The Old Bridge of Arlind was built in 1871 by masons from Orvale.",
            "Tam Orrin, the president of the Society for Arlind Bridges, has asked for a new roof.",
            "Peter Vance, 61, is the keeper of the gate.",
            "Woodlark is a society for the care of old roofs in the towns of Orvale.",
        ),
    ),
    CaptureSpec(
        f"{NEWS}/ferry",
        article(
            "Ferry of Quay sinks at night", "Una Blythe", 19,
            "The ferry of Quay was lost on the way to Borlind at night with sacks of grain from the mills aboard.",
            "In 1902, the Quay Bridge Company bought a second boat from a yard in Borlind.",
            "Tam Orrin wrote 14 letters to the Ministry of Boats in 1902.",
            "Rosa Keene, 48, was the captain on the night watch.",
            "Redstart is a society for the care of old roofs in the towns of Orvale.",
        ),
    ),
    CaptureSpec(
        f"{NEWS}/mill",
        article(
            "Mill wheel of Stonehill turns again", "Ines Calder", 24,
            "The mill wheel of Stonehill has turned again after forty years of silence and two hard winters.",
        ),
    ),
    *[
        CaptureSpec(f"https://docs.example/{name}.html", manual(f"gridlock.{name}", does, version, also))
        for name, does, version, also in (
            ("weave", "Combine the columns of two tables row by row.", "0.4.0", "braid, knot"),
            ("braid", "Merge three tables along their common index.", "1.2.0", "weave, knot"),
            ("unravel", "Split a table into one table for each label.", "2.0.0", "knot, fray"),
            ("knot", "Attach the end of a table to its beginning.", "1.7.0", ""),
            ("fray", "Drop the outer rows of a table at random.", "1.9.0", ""),
        )
    ],
]  # fmt: skip


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("natural")
    ingest(root / "default", write(root / "web" / "a.warc.gz", PAGES))
    return root


@pytest.fixture(scope="module")
def crawl(root: Path) -> Iterator[Crawl]:
    with Crawl(root / "default") as crawl:
        yield crawl


def tasks_of(crawl: Crawl, name: str, seed: int = 0) -> list[Task]:
    recipe: Recipe = next(one for one in CRAWL if one.name == name)
    return list(islice(recipe.make(Sources(crawl), seed), 60))


def ask_all(crawl: Crawl, name: str, seeds: int = 4) -> dict[str, str]:
    return {task.question: task.answers[0] for seed in range(seeds) for task in tasks_of(crawl, name, seed)}


def test_facts_of_named_things(crawl: Crawl) -> None:
    answers = ask_all(crawl, "fact", 12)
    assert answers["In which year was the Old Bridge of Arlind built by masons from Orvale?"] == "1871"
    assert "Tam Orrin" in {
        answers.get(f"{start} the president of the Society for Arlind Bridges?")
        for start in ("Who is", "What is the name of")
    }
    assert answers["How old is Peter Vance reported to be?"] == "61"
    assert answers["In which version of Gridlock was gridlock.knot introduced?"] == "1.7.0"
    assert answers["In which version of Gridlock was the parameter depth of gridlock.knot added?"] == "3.7.0"
    assert not any("news.example" in question or "page" in question for question in answers)


def test_two_things_of_one_definition_are_not_asked_for(crawl: Crawl) -> None:
    statements = load_store(crawl).statements
    assert {"Woodlark", "Redstart"} <= {one.answers[0] for one in statements}
    assert not {"Woodlark", "Redstart"} & set(ask_all(crawl, "fact", 12).values())


def test_a_description_stands_for_the_name(crawl: Crawl) -> None:
    answers = ask_all(crawl, "described")
    described = "the Gridlock function that merges three tables along their common index"
    assert answers[f"In which version of Gridlock was {described.replace('Gridlock ', '')} introduced?"] == "1.2.0"
    assert any("the article which says that the ferry of Quay was lost" in question for question in answers)
    assert not any("braid" in question for question in answers)


def test_another_page_describes(crawl: Crawl) -> None:
    """ "Tam Orrin" of the second page is known by the office that the first page gives him."""
    joined = tasks_of(crawl, "joined")
    question = (
        "How many letters did the president of the Society for Arlind Bridges write to the Ministry of Boats in 1902?"
    )
    assert question in {task.question for task in joined}
    task = next(task for task in joined if task.question == question)
    assert [one.url for one in task.evidence] == [f"{NEWS}/bridge", f"{NEWS}/ferry"]
    assert (task.answers, task.hops) == (("14",), 2)


def test_what_two_pages_have_in_common(crawl: Crawl) -> None:
    tasks = {task.answers[0]: task for task in tasks_of(crawl, "common")}
    assert set(tasks) == {"knot"}
    assert all(task.hops == 2 for task in tasks.values())


def test_a_reference_by_its_version(crawl: Crawl) -> None:
    answers = {question: answer for question, answer in ask_all(crawl, "related").items() if "1.7.0" in question}
    assert set(answers.values()) == {"knot"}


def test_comparisons_of_alike_things(crawl: Crawl) -> None:
    tasks = [task for seed in range(4) for task in tasks_of(crawl, "compare", seed)]
    versions = [task for task in tasks if "Gridlock" in task.question]
    assert versions
    for task in versions:
        assert task.hops == len({source.url for source in task.evidence}) >= 2
        ordered = sorted(task.evidence, key=lambda source: tuple(map(int, source.value.split("."))))
        winner = ordered[-1 if "newest" in task.question or "last" in task.question else 0]
        assert f"/{task.answers[1]}.html" in winner.url


def subject(name: str, description: str) -> Subject:
    return Subject(name, (name,), "Gridlock function", f"that {description}")


def test_what_is_alike() -> None:
    read, load = subject("gridlock.read_rows", "reads rows"), subject("gridlock.read_trees", "loads trees")
    far = subject("gridlock.weave", "combines the columns of two tables")
    assert is_alike(read, load)
    assert not is_alike(read, far)
    groups = list(draw_alike([far, read, load], lambda thing: thing, 2, lambda group, thing: thing not in group))
    assert groups == [[read, load], [load, read]]


def test_the_version_that_a_program_needs(crawl: Crawl) -> None:
    tasks = [task for seed in range(4) for task in tasks_of(crawl, "requires", seed)]
    assert tasks
    for task in tasks:
        versions = [tuple(map(int, source.value.split("."))) for source in task.evidence]
        assert task.answers[0] == task.evidence[-1].value
        assert versions[-1] == max(versions) > min(versions)
        assert task.hops == len(versions) >= 2


def test_years_between_related_events(crawl: Crawl) -> None:
    answers = ask_all(crawl, "between")
    years = [
        answer for question, answer in answers.items() if question.startswith("How many years after the Old Bridge")
    ]
    assert set(years) == {"31"}
    assert all("Bridge" in question.partition(" did ")[2] for question in answers)


@pytest.mark.parametrize("recipe", CRAWL, ids=lambda recipe: recipe.name)
def test_the_same_seed_asks_the_same(root: Path, recipe: Recipe) -> None:
    builds = []
    for _ in range(2):
        with Crawl(root / "default") as crawl:
            builds.append(list(islice(recipe.make(Sources(crawl), 4), 20)))
    assert builds[0] == builds[1]


def test_reading_earns_and_guessing_does_not(root: Path, crawl: Crawl) -> None:
    """An episode that opens the evidence earns 1; the same answer from memory, or from a page beside it, earns 0."""
    with serving(root) as (url, _), Client(url, retries=0, timeout=60) as client:
        episode = Episode(client)
        for recipe in CRAWL:
            for task in tasks_of(crawl, recipe.name)[:4]:
                pages = list(dict.fromkeys(one.url for one in task.evidence))
                episode.reset(task)
                for page in pages:
                    episode.call("open", {"link": page})
                episode.call("finish", {"answer": task.answers[0], "citations": [task.evidence[-1].url]})
                assert SHORT.score(episode.record()).reward == 1.0, task.question
                episode.reset(task)
                episode.call("finish", {"answer": task.answers[0], "citations": [task.evidence[-1].url]})
                assert SHORT.score(episode.record()).reward == 0.0, task.question


@pytest.mark.parametrize(
    "answer",
    ["CH Contributor", "Staff Writer", "Home", "Read more", "index.html", "&amp;nbsp", "Sign in", "Monday", "Show all",
     "Undocumented", "admin"],
)  # fmt: skip
def test_silly_gold_is_refused(answer: str) -> None:
    assert gold.rejection_reason(answer)


@pytest.mark.parametrize("answer", ["Ada Verin", "1871", "1.2.0", "C++", "Monday Club", "Red Hat", "-3.5"])
def test_good_gold_is_not(answer: str) -> None:
    assert not gold.rejection_reason(answer)


def test_english() -> None:
    assert [english.third_person(verb) for verb in ("compute", "apply", "try", "play", "fix", "do")] == [
        *("computes", "applies", "tries", "plays", "fixes", "does")
    ]
    assert [english.plural(noun) for noun in ("class", "method", "library", "looms")] == [
        *("classes", "methods", "libraries", "looms")
    ]
    assert [english.with_article(noun) for noun in ("ox", "university", "bridge")] == [
        "an ox",
        "a university",
        "a bridge",
    ]
    assert english.join_list(["a", "b", "c"]) == "a, b and c"
    assert english.split_verb("wrote") == ("did", "write")
    assert english.choose(("x", "y"), "1", "2") == english.choose(("x", "y"), "1", "2")


def make(number: int, host: str, answer: str, recipe: str = "fact", question: str = "") -> Task:
    return Task(
        str(number),
        question or f"What is number {number}?",
        (answer,),
        (Evidence(f"https://{host}/{number}"),),
        1,
        recipe,
    )


def test_quotas() -> None:
    quota = Quota({"host": 0.2, "recipe": 0.5}, 10)
    for number in range(2):
        assert quota.exceeded_unit(make(number, "a.example", "x")) == ""
        quota.add(make(number, "a.example", "x"))
    assert quota.exceeded_unit(make(2, "a.example", "x")) == "host a.example"
    assert quota.exceeded_unit(make(2, "b.example", "x")) == ""


def test_no_answer_is_a_favourite() -> None:
    quota = Quota({}, 10, frozenset({"fact"}))
    quota.add(make(0, "a.example", "Ada Verin"))
    assert quota.exceeded_unit(make(1, "b.example", "ada verin")) == ""
    quota.add(make(2, "c.example", "Ada Verin"))
    assert quota.exceeded_unit(make(1, "b.example", "ada verin")) == "answer ada verin"
    assert quota.exceeded_unit(make(1, "b.example", "ada verin", "table")) == ""


def test_one_domain_is_split_more_finely() -> None:
    tasks = [make(number, f"{name}.site.org", str(number)) for number, name in enumerate("abcdefghij")]
    result = split_tasks(tasks, (0.6, 0.2, 0.2), 0, "auto")
    assert result.granularity == "host"
    assert set(result.task_counts) == {"train", "dev", "test"}
    one_host = [make(number, "site.org", str(number)) for number in range(10)]
    assert split_tasks(one_host, (0.6, 0.2, 0.2), 0, "auto").granularity in ("path", "page")


def test_answers_and_names_of_the_held_out_tasks_are_not_learned() -> None:
    tasks = [make(number, f"{number}.example", "same" if number % 2 else str(number)) for number in range(20)]
    result = leave_out_shared(split_tasks(tasks, (0.5, 0.25, 0.25), 0, "host"), frozenset({"fact"}))
    answers = {
        split: {task.answers[0] for task in result.tasks if task.split == split} for split in ("train", "dev", "test")
    }
    assert not answers["train"] & (answers["dev"] | answers["test"])
    assert result.left_out == 20 - len(result.tasks) > 0


@pytest.mark.parametrize("seed", range(5))
def test_enough_domains_are_held_out_and_share_nothing_with_train(seed: int) -> None:
    """A few domains have most tasks, names recur, and some tasks join two domains, as in real crawls."""
    rng = random.Random(seed)
    hosts = [f"{rng.choice('abc')}.site{int(40 * rng.random() ** 2)}.example" for _ in range(400)]
    tasks = []
    for number, host in enumerate(hosts):
        name = f"Ada Verin{rng.randrange(300)}" if number % 2 else f"gridlock.knot{rng.randrange(300)}"
        task = make(
            number, host, f"answer {rng.randrange(300)}", question=f"What did {name} make in the {number}th year?"
        )
        if number % 9 == 0:
            task = replace(task, evidence=(*task.evidence, Evidence(f"https://{rng.choice(hosts)}/{number}")))
        tasks.append(task)
    result = leave_out_shared(split_tasks(tasks, (0.7, 0.15, 0.15), seed, "auto"), frozenset({"fact"}))
    train = [task for task in result.tasks if task.split == "train"]
    held_out = [task for task in result.tasks if task.split != "train"]
    for key in (pages_of, answers_of, names_of):
        assert not set().union(*map(key, train)) & set().union(*map(key, held_out))
    unit = {"domain": 1, "host": 2}[result.granularity]
    domains = [{tuple(one.url.split("/")[2].split(".")[1 - unit :]) for one in task.evidence} for task in tasks]
    held_out_ids = {task.id for task in held_out}
    shared = set().union(*(names for task, names in zip(tasks, domains, strict=True) if task.id in held_out_ids))
    assert len(shared) >= 0.15 * len(set().union(*domains))


def pages_of(task: Task) -> set[str]:
    return {one.url for one in task.evidence}


def answers_of(task: Task) -> set[str]:
    return set(task.answers)


def names_of(task: Task) -> set[str]:
    return set(re.findall(r"Ada Verin\d+|gridlock\.knot\d+", task.question))
