"""The command `webemu tasks build`."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from math import isfinite
from pathlib import Path
from typing import Annotated, Any

import typer
from tqdm import tqdm

from webemu.agent_client import Client
from webemu.emulator.config import Config
from webemu.emulator.config import load_config as configured
from webemu.emulator.errors import BadRequest
from webemu.emulator.folders import find_collection
from webemu.index.manifest import current_id
from webemu.rl.endpoint import Endpoint
from webemu.rl.ledger import open_session_call
from webemu.rl.outputs import check_writable
from webemu.rl.serving import run_server
from webemu.rl.tasks import tables
from webemu.rl.tasks.build import Built, build
from webemu.rl.tasks.cached_client import AT_ONCE, PLAIN, Served
from webemu.rl.tasks.catalogue import RECIPES, chosen, listed
from webemu.rl.tasks.crawl import Crawl
from webemu.rl.tasks.difficulty import pass_rates
from webemu.rl.tasks.filters import Means
from webemu.rl.tasks.graph import Graph
from webemu.rl.tasks.options import Collection, Quiet, Root, Server, told
from webemu.rl.tasks.overlap import benchmarks
from webemu.rl.tasks.recipe import Needs, Sources
from webemu.rl.tasks.splits import NAMES, By, split
from webemu.rl.tasks.task import Task, TaskError, load, save

WANTED = 100
"""Tasks, unless one says."""


def _show_recipes(wanted: bool) -> None:
    if wanted:
        typer.echo(listed())
        raise typer.Exit


def build_tasks(
    out: Annotated[Path, typer.Option(help="Task file to write.")],
    recipes: Annotated[str, typer.Option(help="Recipes or families: world, crawl, reports, model, all.")] = "",
    count: Annotated[
        int | None, typer.Option(help="Tasks that are wanted. [default: 100; of a file all]", min=1)
    ] = None,
    collection: Collection = None,
    root: Root = None,
    server: Server = None,
    graph: Annotated[Path | None, typer.Option(help="graph.jsonl of a generated web, for its recipes.")] = None,
    given: Annotated[
        Path | None, typer.Option("--from", help="Take the tasks of this file instead, and filter them.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Same seed and collection, same bytes.")] = 0,
    shares: Annotated[str, typer.Option("--split", help="Shares of train, dev and test.")] = "0.8,0.1,0.1",
    split_by: Annotated[str, typer.Option(help="What splits must not share: domain, host or page.")] = "domain",
    base_url: Annotated[
        str | None, typer.Option(help="OpenAI-compatible endpoint, for recipes and closed-book.")
    ] = None,
    model: Annotated[str | None, typer.Option(help="Its model.")] = None,
    api_key_env: Annotated[str, typer.Option(help="Variable that holds its key.")] = "OPENAI_API_KEY",
    samples: Annotated[int, typer.Option(help="Closed-book answers per task.", min=1)] = 8,
    concurrency: Annotated[int, typer.Option(help="Closed-book answers at once.", min=1)] = AT_ONCE,
    against: Annotated[
        list[Path] | None, typer.Option(help="Benchmark questions that no task may overlap with; repeatable.")
    ] = None,
    results: Annotated[
        Path | None, typer.Option("--pass-rates", help="Folder or episodes.jsonl of `webemu eval`.")
    ] = None,
    band: Annotated[str, typer.Option(help="Lowest and highest pass rate that stays.")] = "0.1,0.9",
    setting: Annotated[
        list[str] | None, typer.Option(help='Search under a session policy too: NAME={"as_of": …}; repeatable.')
    ] = None,
    keep_rejected: Annotated[Path | None, typer.Option(help="Write what was rejected here, with the verdicts.")] = None,
    quiet: Quiet = False,
    show: Annotated[
        bool, typer.Option("--list", is_eager=True, callback=_show_recipes, help="Show all recipes and leave.")
    ] = False,
) -> None:
    """Make tasks from a collection, filter and split them.

    Recipes are drawn from in turn. Each task bears the verdict of every filter; what is rejected is counted by filter
    and recipe. No model is needed, unless a recipe is one of the family `model`.

    \b
    Examples:
      webemu tasks build --collection mine --recipes crawl --count 1000 --out tasks.jsonl
      webemu tasks build --collection invented --recipes world --graph web/graph.jsonl --out tasks.jsonl
      webemu tasks build --from mine.jsonl --collection mine --out filtered.jsonl
    """
    made_of, numbers, limits = _by(split_by), _numbers(shares, len(NAMES), "--split"), _limits(band)
    if given and recipes:
        raise BadRequest("--from takes the tasks of a file, --recipes makes new ones", action="leave out one of them")
    config = configured({"root": root, "collection": collection})
    settings = dict(map(_setting, setting or ()))
    known, rates = benchmarks(against) if against else None, pass_rates(results) if results else None
    asked, began = _endpoint(base_url, model, api_key_env), time.monotonic()
    with told():
        check_writable(out, keep_rejected)
    if given and not server:
        find_collection(config)
    with (
        told(),
        _draws(recipes, given, config, graph, asked, seed) as (draws, dropped, wanted),
        run_server(server, root, config.collection) as address,
        asyncio.Runner() as runner,
        tqdm(total=count or wanted, unit="task", desc="building", disable=quiet, file=sys.stderr, leave=False) as bar,
    ):
        if server and given is None:
            _agree(server, config)
        _try(address, settings)
        means = Means(
            web=Served(address, settings),
            endpoint=_endpoint(base_url, model, api_key_env),  # recipes ask from an event loop of their own
            samples=samples,
            turns=asyncio.Semaphore(concurrency),
            benchmarks=known,
            rates=rates,
            band=limits,
            proven=frozenset(recipe.name for recipe in RECIPES if recipe.needs == "graph"),
            seed=seed,
        )
        try:
            built = build(draws, count or wanted, means, runner, told=lambda sofar: _advance(bar, sofar))
        finally:
            runner.run(_closed(means))
        lost = list(tables.dropped(dropped))
    divided = split(built.kept, numbers, seed, made_of)
    save(out, divided.tasks)
    if keep_rejected:
        save(keep_rejected, built.rejected)
    _show(built, [*lost, *tables.splits(divided, made_of)], out, time.monotonic() - began)
    if len(built.kept) < (count or (0 if given else wanted)):
        typer.echo(f"warning    {count or wanted:,} were wanted: there were no more that pass")


def _show(built: Built, more: list[str], out: Path, seconds: float) -> None:
    for line in (*tables.outcome(built), *tables.recalls(built), *more):
        typer.echo(line)
    judged = len(built.kept) + len(built.rejected)
    typer.echo(f"tasks      {len(built.kept):,} in {out} ({judged:,} judged in {seconds:,.1f} s)")


def _limits(band: str) -> tuple[float, float]:
    """Lowest and highest pass rate. Raises BadRequest."""
    lowest, highest = _numbers(band, 2, "--band")
    if lowest > highest:
        raise BadRequest(f"--band {band} has its lowest pass rate above its highest", action="such as --band 0.1,0.9")
    return lowest, highest


def _advance(bar: Any, built: Built) -> None:
    bar.set_postfix(judged=len(built.kept) + len(built.rejected))
    bar.update(len(built.kept) - bar.n)


async def _closed(means: Means) -> None:
    await means.web.close()
    if means.endpoint is not None:
        await means.endpoint.close()


def _agree(server: str, config: Config) -> None:
    """Raises BadRequest where tasks would be made of one snapshot and looked for in another."""
    with Client(server) as client:
        served = client.health().snapshot
    if served != (own := current_id(config.collection_folder)):
        raise BadRequest(
            f"{server} serves snapshot {served}, {config.collection_folder} has {own}",
            action="name the collection that is served, or leave out --server",
        )


def _try(address: str, settings: Mapping[str, Mapping[str, Any]]) -> None:
    """Raises the client's BadRequest on a setting that is no policy of a session."""
    with Client(address) as client:
        for policy in settings.values():
            client.request(open_session_call(policy))


@contextmanager
def _draws(
    recipes: str, given: Path | None, config: Config, graph: Path | None, endpoint: Endpoint | None, seed: int
) -> Iterator[tuple[Mapping[str, Iterator[Task]], Mapping[tuple[str, str], int], int]]:
    """Tasks by recipe, what the recipes drop, and how many tasks are wanted unless one says."""
    if given is not None:
        tasks = load(given)
        if not tasks:
            raise TaskError(f"{given}: there is no task in it")
        names = {one.recipe: 0 for one in tasks}
        yield {name: iter([one for one in tasks if one.recipe == name]) for name in names}, {}, len(tasks)
        return
    has: set[Needs] = {"crawl", *(("graph",) if graph else ()), *(("model",) if endpoint else ())}
    named = chosen(recipes, frozenset(has))
    with Crawl(find_collection(config)) as crawl:
        sources = Sources(crawl, Graph.read(graph) if graph else None, endpoint)
        yield {recipe.name: recipe.make(sources, seed) for recipe in named}, crawl.dropped, WANTED


def _endpoint(base_url: str | None, model: str | None, api_key_env: str) -> Endpoint | None:
    """Recipes and filters have one each: an endpoint belongs to the event loop that asks."""
    if not base_url and not model:
        return None
    if not base_url or not model:
        raise BadRequest("an endpoint needs --base-url and --model", action="give both, or neither")
    return Endpoint(base_url, model, os.environ.get(api_key_env) or "none")


def _by(word: str) -> By:
    known: dict[str, By] = {"domain": "domain", "host": "host", "page": "page"}
    if word not in known:
        raise BadRequest(f"splits cannot be by {word!r}", action="use --split-by domain, host or page")
    return known[word]


def _numbers(text: str, count: int, option: str) -> tuple[float, ...]:
    try:
        numbers = tuple(float(part) for part in text.split(","))
    except ValueError:
        numbers = ()
    if len(numbers) != count or not all(map(isfinite, numbers)) or min(numbers) < 0 or not sum(numbers):
        raise BadRequest(
            f"{option} {text!r} is not {count} numbers", action=f"such as {option} {'0.8,0.1,0.1'[: 4 * count - 1]}"
        )
    return numbers


def _setting(text: str) -> tuple[str, dict[str, Any]]:
    name, _, policy = text.partition("=")
    try:
        read = json.loads(policy)
    except ValueError:
        read = None
    if not name or not isinstance(read, dict):
        raise BadRequest(
            f"--setting {text!r} is no NAME=POLICY",
            action="""such as --setting 'noisy={"weather": {"shuffled": 0.3}}\'""",
        )
    if name == PLAIN:
        raise BadRequest(f"{PLAIN!r} is the search without a policy", action="give the setting another name")
    return name, read
