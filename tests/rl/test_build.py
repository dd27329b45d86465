"""Building task files: drawing in turn, filters, splits, and the command over a generated web."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.rl.openai_server import openai_server
from tests.rl.worlds import World
from webemu.emulator.cli import app
from webemu.emulator.errors import BadRequest, EmulatorError
from webemu.rl.tasks import Evidence, Task, load, save, tables, to_json_line
from webemu.rl.tasks.build import MAX_DRAWS_PER_TASK, BuildResult, build, make_task_id, rejecting_filter
from webemu.rl.tasks.cached_client import CachedClient
from webemu.rl.tasks.catalogue import FAMILIES, RECIPES, choose_recipes, format_recipes
from webemu.rl.tasks.filters import FILTERS, Filter, FilterContext, Verdict
from webemu.rl.tasks.splits import find_components, split_tasks


def of(recipe: str, number: int, **more: Any) -> Task:
    page = Evidence(f"https://{recipe}-{number % 7}.example/{number}")
    task = Task("", f"Which town is number {number} of {recipe}?", (f"{recipe}ville {number}",), (page,), recipe=recipe)
    return replace(task, **more)


async def _even(task: Task, means: FilterContext) -> Verdict:
    return {"ok": int(task.answers[0].split()[1]) % 2 == 0}


EVEN = (Filter("even", _even),)


def built(
    world: World, draws: dict[str, Iterator[Task]], count: int, filters: tuple[Filter, ...] = EVEN
) -> BuildResult:
    with asyncio.Runner() as runner:
        web = CachedClient(world.url)
        try:
            return build(draws, count, FilterContext(web), runner, filters)
        finally:
            runner.run(web.close())


def test_recipes_are_drawn_from_in_turn(world: World) -> None:
    outcome = built(world, {"a": (of("a", n) for n in range(500)), "b": (of("b", n) for n in range(500))}, 20)
    assert [task.recipe for task in outcome.kept_tasks[:4]] == ["a", "b", "a", "b"]
    assert {name: tally.kept_count for name, tally in outcome.counts_by_recipe.items()} == {"a": 10, "b": 10}
    assert all(task.filters["even"] == {"ok": True} for task in outcome.kept_tasks)
    assert {rejecting_filter(task) for task in outcome.rejected_tasks} == {"even"}


def test_others_fill_what_a_recipe_cannot_give(world: World) -> None:
    outcome = built(world, {"a": (of("a", n) for n in range(6)), "b": (of("b", n) for n in range(500))}, 100)
    assert {name: tally.kept_count for name, tally in outcome.counts_by_recipe.items()} == {"a": 3, "b": 97}
    assert outcome.counts_by_recipe["a"].rejections == {"even": 3}


def test_a_recipe_may_run_an_event_loop_of_its_own(world: World) -> None:
    def asking() -> Iterator[Task]:
        for number in range(0, 300, 2):
            yield asyncio.run(asyncio.sleep(0, of("a", number)))

    assert len(built(world, {"a": asking()}, 150).kept_tasks) == 150


def test_a_build_gives_up(world: World) -> None:
    outcome = built(world, {"a": (of("a", 2 * n + 1) for n in range(10_000))}, 4)
    assert outcome.kept_tasks == []
    assert MAX_DRAWS_PER_TASK * 4 <= outcome.counts_by_recipe["a"].drawn_count < MAX_DRAWS_PER_TASK * 4 + 200


def test_the_first_filter_that_says_no_is_the_last_asked(world: World) -> None:
    outcome = built(world, {"a": iter([of("a", 1), of("a", 2), of("a", 2)])}, 3, (*EVEN, *EVEN[:0]))
    assert [list(task.filters) for task in outcome.rejected_tasks] == [["even"], ["even", "duplicate"]]
    assert outcome.counts_by_recipe["a"].rejections == {"even": 1, "duplicate": 1}
    table = list(tables.format_outcome(outcome))
    assert [" ".join(row.split()) for row in table] == ["recipe drawn kept rejected", "a 3 1 even 1, duplicate 1"]


def test_ids_say_what_a_task_is() -> None:
    task = of("a", 1)
    assert make_task_id(task) == make_task_id(of("a", 1)) == "a-" + make_task_id(task)[2:]
    changed = [replace(task, question="?"), replace(task, answers=("x",)), replace(task, evidence=())]
    assert len({make_task_id(task), *map(make_task_id, changed)}) == 4


def test_no_domain_is_in_two_splits() -> None:
    tasks = [of("a", n, id=str(n)) for n in range(70)]
    bridge = replace(of("a", 0, id="bridge"), evidence=(of("a", 1).evidence[0], of("a", 2).evidence[0]))
    split = split_tasks([*tasks, bridge], (0.6, 0.2, 0.2), seed=1)
    assert split.task_counts == {"train": 41, "dev": 20, "test": 10}
    assert split.component_sizes == (21, 10, 10, 10, 10, 10)
    domains = [
        {one.url.split("/")[2] for task in split.tasks if task.split == name for one in task.evidence}
        for name in ("train", "dev", "test")
    ]
    assert not domains[0] & domains[1] | domains[0] & domains[2] | domains[1] & domains[2]
    assert (
        split
        == split_tasks([*tasks, bridge], (0.6, 0.2, 0.2), seed=1)
        != split_tasks([*tasks, bridge], (0.6, 0.2, 0.2), seed=2)
    )
    assert list(tables.format_splits(split)) == [
        "splits     train 41 of 3, dev 20 of 2, test 10 of 1 components by domain, the largest of 21, 10, 10 tasks"
    ]


def test_what_hangs_together() -> None:
    pages = ["https://a.one.org/x", "https://b.one.org/y", "https://a.one.org/z"]
    tasks = [Task(str(n), "q", ("a",), (Evidence(url),)) for n, url in enumerate(pages)] + [Task("free", "q", ("a",))]
    assert [len(find_components(tasks, by)) for by in ("domain", "host", "page")] == [2, 3, 4]
    assert split_tasks(tasks, (1, 0, 0), 0).task_counts == {"train": 4}


def test_one_component_for_all_is_told() -> None:
    lines = list(tables.format_splits(split_tasks([of("a", 7 * n, id=str(n)) for n in range(9)], (0.8, 0.1, 0.1), 0)))
    assert lines[0] == "splits     train 9 of 1 components by domain, the largest of 9 tasks"
    assert "one component holds 9 of 9" in lines[1]
    assert "--split-by page" in lines[2]


def test_small_splits_are_told() -> None:
    sites = ["a"] * 50 + ["b"] * 45 + ["c"] * 5
    tasks = [
        Task(str(number), "q", ("a",), (Evidence(f"https://{site}.example/{number}"),))
        for number, site in enumerate(sites)
    ]
    lines = list(tables.format_splits(split_tasks(tasks, (0.8, 0.1, 0.1), 0)))
    assert lines[0].startswith("splits     train 95 of 2, dev 5 of 1 components by domain")
    assert lines[1] == "warning    few components have most tasks: dev 10, test 10 would be the share"
    assert "--split-by page" in lines[2]


def test_recipes_by_name_and_family() -> None:
    assert len({recipe.name for recipe in RECIPES}) == len(RECIPES)
    assert choose_recipes("crawl", frozenset({"crawl"})) == FAMILIES["crawl"]
    all_that_can = choose_recipes("all", frozenset({"crawl", "graph"}))
    assert {recipe.needs for recipe in all_that_can} == {"crawl", "graph"}
    first = RECIPES[0]
    assert choose_recipes(f"{first.name}, {first.name}", frozenset({first.needs})) == (first,)
    assert len(format_recipes().splitlines()) == len(RECIPES)
    for words, message in (
        ("riddles", "no recipe is called 'riddles'"),
        ("world", "lacks its source"),
        ("", "no recipe"),
    ):
        with pytest.raises(BadRequest, match=message):
            choose_recipes(words, frozenset({"crawl"}))


def command(*words: str) -> list[str]:
    result = CliRunner().invoke(app, ["tasks", "build", *words], env={"WEBEMU_SERVER": ""})
    if result.exception:
        raise result.exception
    return result.stdout.splitlines()


def test_the_same_seed_builds_the_same_file(world: World, root: Path, tmp_path: Path) -> None:
    def build_file(name: str, seed: int) -> bytes:
        place = ("--root", str(root), "--server", world.url, "--graph", str(root / "web" / "graph.jsonl"), "-q")
        out = tmp_path / name
        rejected = ("--keep-rejected", str(out) + ".no")
        lines = command(
            "--recipes", "world", *place, "--count", "30", "--seed", str(seed), "--out", str(out), *rejected
        )
        assert lines[0].split() == ["recipe", "drawn", "kept", "per", "1,000", "pages", "rejected"]
        guessed_count = sum(int(line.split()[0]) for line in lines if "left out: guessed" in line)
        assert lines[-1].startswith(f"tasks      {30 - guessed_count} in {out}")
        assert guessed_count < 6
        return out.read_bytes() + Path(f"{out}.no").read_bytes()

    assert build_file("a", 1) == build_file("b", 1) != build_file("c", 2)
    tasks = load(tmp_path / "a")
    assert all(set(task.filters) == {*(one.name for one in FILTERS), "duplicate"} for task in tasks)
    assert all(task.id.startswith(f"{task.recipe}-") and task.split and task.difficulty is not None for task in tasks)


def test_tasks_of_a_file_are_filtered(world: World, tmp_path: Path) -> None:
    mayor, other = world.of("mayor"), world.of("population")
    page = replace(other, evidence=(replace(other.evidence[0], value="no such number"),))
    leaning = replace(mayor, id="leaning", question="Who is the mayor on this page of the lexicon?")
    save(tmp_path / "given.jsonl", [mayor, page, leaning])
    rows = [{"task": mayor.id, "sample": n, "reward": float(n)} for n in range(2)]
    (tmp_path / "episodes.jsonl").write_text("\n".join(map(json.dumps, rows)))
    lines = command(
        *("--from", str(tmp_path / "given.jsonl"), "--server", world.url, "--out", str(tmp_path / "out.jsonl"), "-q"),
        *(
            "--count",
            "3",
            "--pass-rates",
            str(tmp_path),
            "--setting",
            'noisy={"weather": {"shuffled": 1.0}}',
            "--split",
            "0,0,1",
        ),
    )
    assert [task.id for task in load(tmp_path / "out.jsonl")] == [mayor.id]
    kept_task = load(tmp_path / "out.jsonl")[0]
    assert (kept_task.split, kept_task.difficulty, kept_task.filters["band"]) == (
        "test",
        0.5,
        {"ok": True, "rate": 0.5},
    )
    assert set(kept_task.filters["answerable"]["ranks"]) == {"plain", "noisy"}
    table = "\n".join(lines)
    assert "self-contained 1" in table
    assert "quote 1" in table
    assert "recall     noisy, script" in table
    assert lines[-1] == "warning    3 were requested; no more tasks pass the filters"


def test_what_a_model_knows_is_left_out(world: World, tmp_path: Path) -> None:
    familiar, unknown = world.of("mayor"), world.of("population")
    save(tmp_path / "given.jsonl", [familiar, unknown])
    with openai_server(lambda body: familiar.answers[0]) as model:
        command(
            *(
                "--from",
                str(tmp_path / "given.jsonl"),
                "--server",
                world.url,
                "--out",
                str(tmp_path / "out.jsonl"),
                "-q",
            ),
            *("--base-url", model.url, "--model", "stand-in", "--samples", "2", "--concurrency", "1"),
        )
        assert (len(model.requests), model.peak_open) == (4, 1)
    kept_tasks = load(tmp_path / "out.jsonl")
    assert [(one.id, one.filters["closed-book"]["right"]) for one in kept_tasks] == [(unknown.id, 0)]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--split", "1,2"), "--split '1,2' is not 3 numbers"), (("--split-by", "moon"), "cannot be by 'moon'"),
        (("--band", "low"), "--band 'low' is not 2 numbers"), (("--setting", "x"), "is no NAME=POLICY"),
        (("--model", "m"), "needs --base-url and --model"), (("--from", "none.jsonl"), "none.jsonl"),
        (("--recipes", "riddles"), "no recipe is called"), (("--against", "none.txt"), "none.txt"),
        (("--pass-rates", "none"), "holds no results"), (("--band", "0.9,0.1"), "above its highest"),
        (("--split", "nan,1,1"), "is not 3 numbers"), (("--setting", "plain={}"), "the search without a policy"),
        (("--setting", 'x={"weather": {"moon": 1}}'), "unknown member weather.moon"),
        (("--from", "empty.jsonl"), "no task in it"),
        (("--from", "tasks.jsonl", "--recipes", "world"), "leave out|makes new ones"),
        (("--keep-rejected", "none/r.jsonl"), "the folder none does not exist"),
        (("--server", "moon"), "server address must begin"),
    ],
)  # fmt: skip
def test_what_cannot_be_built(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tasks.jsonl").write_text(to_json_line(world.tasks[0]))
    (tmp_path / "empty.jsonl").write_text("\n")
    source_options = () if {"--from", "--recipes"} & set(words) else ("--from", "tasks.jsonl")
    with pytest.raises(EmulatorError, match=message):
        command("--out", "out.jsonl", "--server", world.url, "-q", *source_options, *words)
    assert not (tmp_path / "out.jsonl").exists()


def test_all_recipes_are_listed() -> None:
    result = CliRunner().invoke(app, ["tasks", "build", "--list"])
    assert (result.exit_code, result.stdout) == (0, format_recipes() + "\n")
