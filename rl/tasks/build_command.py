"""The command `webemu tasks build`."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from math import isfinite
from pathlib import Path
from typing import Annotated, Protocol

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
from webemu.rl.tasks.build import QUOTA_UNITS, BuildResult, build
from webemu.rl.tasks.cached_client import MAX_CONCURRENCY, PLAIN_SETTING, CachedClient
from webemu.rl.tasks.catalogue import RECIPES, choose_recipes, format_recipes
from webemu.rl.tasks.crawl import Crawl
from webemu.rl.tasks.difficulty import read_pass_rates
from webemu.rl.tasks.filters import FilterContext
from webemu.rl.tasks.graph import Graph
from webemu.rl.tasks.options import CollectionOption, QuietOption, RootOption, ServerOption, convert_errors
from webemu.rl.tasks.overlap import load_benchmarks
from webemu.rl.tasks.recipe import SourceKind, Sources
from webemu.rl.tasks.recipes import CRAWL
from webemu.rl.tasks.splits import GRANULARITIES, SPLIT_NAMES, Granularity, leave_out_shared, split_tasks
from webemu.rl.tasks.task import Task, TaskError, load, save

DEFAULT_COUNT = 100
"""Number of tasks to make unless `--count` says otherwise."""


def _show_recipes(is_requested: bool) -> None:
    """Print all recipes and exit, if `--list` was given."""
    if is_requested:
        typer.echo(format_recipes())
        raise typer.Exit


OutOption = Annotated[Path, typer.Option(help="Task file to write.")]
RecipesOption = Annotated[
    str, typer.Option(help="Comma-separated recipes or families: world, crawl, lookup, reports, model, all.")
]
CountOption = Annotated[int | None, typer.Option(help="Number of tasks. [default: 100; all of a file]", min=1)]
GraphOption = Annotated[Path | None, typer.Option(help="graph.jsonl of a generated web, for the family world.")]
FromOption = Annotated[
    Path | None, typer.Option("--from", help="Filter the tasks of this file instead of making new ones.")
]
SeedOption = Annotated[int, typer.Option(help="Random seed; the same seed and collection give the same file.")]
SharesOption = Annotated[str, typer.Option("--split", help="Shares of train, dev and test.")]
SplitByOption = Annotated[
    str,
    typer.Option(help="Unit that splits must not share: domain, host, path, page; auto: first that divides well."),
]
QuotaOption = Annotated[
    str, typer.Option(help="Largest shares of one host, of one recipe, of easy tasks: host=0.3,recipe=0.2,easy=0.5.")
]
BaseUrlOption = Annotated[
    str | None, typer.Option(help="OpenAI-compatible endpoint for the family model and the filter closed-book.")
]
ModelOption = Annotated[str | None, typer.Option(help="Name of the model there.")]
ApiKeyEnvOption = Annotated[str, typer.Option(help="Environment variable with its API key.")]
SamplesOption = Annotated[int, typer.Option(help="Closed-book answers per task.", min=1)]
ConcurrencyOption = Annotated[int, typer.Option(help="Closed-book answers in flight.", min=1)]
AgainstOption = Annotated[
    list[Path] | None, typer.Option(help="File of benchmark questions that no task may overlap with; repeatable.")
]
PassRatesOption = Annotated[
    Path | None, typer.Option("--pass-rates", help="Results of `webemu eval`: its folder or episodes.jsonl.")
]
BandOption = Annotated[str, typer.Option(help="Lowest and highest pass rate of tasks that are kept.")]
SettingOption = Annotated[
    list[str] | None, typer.Option(help='Also search under a session policy: NAME={"as_of": …}; repeatable.')
]
KeepRejectedOption = Annotated[Path | None, typer.Option(help="File for rejected tasks, with their verdicts.")]
ListOption = Annotated[
    bool, typer.Option("--list", is_eager=True, callback=_show_recipes, help="Print all recipes and exit.")
]


def build_tasks(
    out: OutOption,
    recipes: RecipesOption = "",
    count: CountOption = None,
    collection: CollectionOption = None,
    root: RootOption = None,
    server: ServerOption = None,
    graph: GraphOption = None,
    from_file: FromOption = None,
    seed: SeedOption = 0,
    shares: SharesOption = "0.8,0.1,0.1",
    split_by: SplitByOption = "auto",
    base_url: BaseUrlOption = None,
    model: ModelOption = None,
    api_key_env: ApiKeyEnvOption = "OPENAI_API_KEY",
    samples: SamplesOption = 8,
    concurrency: ConcurrencyOption = MAX_CONCURRENCY,
    against: AgainstOption = None,
    results: PassRatesOption = None,
    band: BandOption = "0.1,0.9",
    setting: SettingOption = None,
    quota: QuotaOption = "",
    keep_rejected: KeepRejectedOption = None,
    quiet: QuietOption = False,
    shows_recipes: ListOption = False,
) -> None:
    """Make tasks from a collection, filter them and split them.

    Recipes take turns. Each task keeps the verdict of every filter; rejected tasks are counted by filter and recipe.
    No model is needed, except for the recipes of the family `model`.

    \b
    Examples:
      webemu tasks build --collection mine --recipes crawl --count 1000 --out tasks.jsonl
      webemu tasks build --collection invented --recipes world --graph web/graph.jsonl --out tasks.jsonl
      webemu tasks build --from mine.jsonl --collection mine --out filtered.jsonl
    """
    granularity, weights, pass_rate_band, quotas = (
        _parse_granularity(split_by),
        _parse_numbers(shares, len(SPLIT_NAMES), "--split"),
        _parse_band(band),
        _parse_quota(quota),
    )
    if from_file and recipes:
        raise BadRequest(
            "--from takes the tasks of a file, --recipes makes new ones", action="leave out one of the two"
        )
    config = configured({"root": root, "collection": collection})
    settings = dict(map(_parse_setting, setting or ()))
    make_context = partial(
        FilterContext,
        samples=samples,
        turns=asyncio.Semaphore(concurrency),
        benchmarks=load_benchmarks(against) if against else None,
        rates=read_pass_rates(results) if results else None,
        band=pass_rate_band,
        proven=frozenset(recipe.name for recipe in RECIPES if recipe.needs == "graph"),
        natural=frozenset(recipe.name for recipe in CRAWL),
        # Recipes and filters get an endpoint each, because an endpoint belongs to one event loop.
        endpoint=_make_endpoint(base_url, model, api_key_env),
        seed=seed,
    )
    recipe_endpoint, started_at = _make_endpoint(base_url, model, api_key_env), time.monotonic()
    with convert_errors():
        check_writable(out, keep_rejected)
    if from_file and not server:
        find_collection(config)
    with (
        convert_errors(),
        _open_streams(recipes, from_file, config, graph, recipe_endpoint, seed) as streams,
        run_server(server, root, config.collection) as address,
    ):
        if server and from_file is None:
            _check_snapshot(server, config)
        # Fails now rather than at the first search of the first task.
        _check_settings(address, settings)
        context = make_context(CachedClient(address, settings))
        build_result = _filter_tasks(streams, count or streams.default_count, context, quotas, quiet)
        skip_lines = list(tables.format_skipped(streams.skip_counts))
    split_result = split_tasks(build_result.kept_tasks, weights, seed, granularity)
    split_result = leave_out_shared(split_result, frozenset(recipe.name for recipe in CRAWL))
    save(out, split_result.tasks)
    if keep_rejected:
        save(keep_rejected, build_result.rejected_tasks)
    yield_lines = tables.format_yield(build_result, streams.page_count)
    further_lines = [*yield_lines, *skip_lines, *tables.format_splits(split_result)]
    _print_result(build_result, further_lines, out, time.monotonic() - started_at)
    if len(build_result.kept_tasks) < (count or (0 if from_file else streams.default_count)):
        typer.echo(f"warning    {count or streams.default_count:,} were requested; no more tasks pass the filters")


def _filter_tasks(
    streams: _TaskStreams, count: int, context: FilterContext, quotas: Mapping[str, float], quiet: bool
) -> BuildResult:
    """Filter tasks until `count` of them pass, behind a progress bar, and close the connections of the filters."""
    with (
        asyncio.Runner() as runner,
        tqdm(total=count, unit="task", desc="building", disable=quiet, file=sys.stderr, leave=False) as bar,
    ):
        try:
            return build(
                streams.tasks_by_recipe,
                count,
                context,
                runner,
                quotas=quotas,
                on_progress=lambda partial_result: _update_bar(bar, partial_result),
            )
        finally:
            runner.run(_close_context(context))


def _print_result(build_result: BuildResult, further_lines: list[str], out: Path, seconds: float) -> None:
    """Print the tables of the result and the name of the task file."""
    for line in (*tables.format_outcome(build_result), *tables.format_recall(build_result), *further_lines):
        typer.echo(line)
    judged_count = len(build_result.kept_tasks) + len(build_result.rejected_tasks)
    typer.echo(f"tasks      {len(build_result.kept_tasks):,} in {out} ({judged_count:,} judged in {seconds:,.1f} s)")


def _parse_band(band: str) -> tuple[float, float]:
    """Return the lowest and highest pass rate of `--band`. Raises BadRequest if they are no such pair."""
    lowest, highest = _parse_numbers(band, 2, "--band")
    if lowest > highest:
        raise BadRequest(
            f"--band {band} has its lowest pass rate above its highest",
            action="give the lower one first: --band 0.1,0.9",
        )
    return lowest, highest


class _ProgressBar(Protocol):
    """Progress bar of tqdm, as far as it is used here."""

    n: int
    """Tasks that were kept so far."""

    def set_postfix(self, *, judged: int) -> None:
        """Show the number of judged tasks behind the bar."""

    def update(self, n: int) -> object:
        """Advance the bar by a number of tasks."""


def _update_bar(bar: _ProgressBar, build_result: BuildResult) -> None:
    """Update the progress bar."""
    bar.set_postfix(judged=len(build_result.kept_tasks) + len(build_result.rejected_tasks))
    bar.update(len(build_result.kept_tasks) - bar.n)


async def _close_context(context: FilterContext) -> None:
    """Close the connections of the filters."""
    await context.web.close()
    if context.endpoint is not None:
        await context.endpoint.close()


def _check_snapshot(server: str, config: Config) -> None:
    """Raise BadRequest if the server serves another snapshot than the one that tasks are made from."""
    with Client(server) as client:
        served_snapshot = client.health().snapshot
    # Tasks quote one snapshot; in another one their evidence may be missing or changed.
    if served_snapshot != (local_snapshot := current_id(config.collection_folder)):
        raise BadRequest(
            f"{server} serves snapshot {served_snapshot}, {config.collection_folder} has {local_snapshot}",
            action="name the collection that is served, or leave out --server",
        )


def _check_settings(address: str, settings: Mapping[str, Mapping[str, object]]) -> None:
    """Open a session under each setting. Raises BadRequest if the server does not accept one as a session policy."""
    with Client(address) as client:
        for policy in settings.values():
            client.request(open_session_call(policy))


@dataclass(frozen=True, slots=True)
class _TaskStreams:
    """Tasks that are made or read while they are filtered."""

    tasks_by_recipe: Mapping[str, Iterator[Task]]
    """Tasks by the name of their recipe."""
    skip_counts: Mapping[tuple[str, str], int]
    """Number of pages and facts that became no task, by recipe and reason. It grows while tasks are made."""
    default_count: int
    """Number of tasks to keep unless `--count` says otherwise."""
    page_count: int = 0
    """Number of pages that the tasks are made from; 0 for the tasks of a file."""


@contextmanager
def _open_streams(
    recipes: str, from_file: Path | None, config: Config, graph: Path | None, endpoint: Endpoint | None, seed: int
) -> Iterator[_TaskStreams]:
    """Yield the tasks to filter: those of a file, or those that the recipes make.

    Raises:
        TaskError: The task file of `--from` cannot be read or is empty.
        BadRequest: A recipe is unknown or lacks its source.
    """
    if from_file is not None:
        tasks = load(from_file)
        if not tasks:
            raise TaskError(f"{from_file}: there is no task in it")
        # A dict keeps the order in which the recipes first occur.
        names = {one.recipe: 0 for one in tasks}
        by_recipe = {name: iter([one for one in tasks if one.recipe == name]) for name in names}
        yield _TaskStreams(by_recipe, {}, len(tasks))
        return
    available: set[SourceKind] = {"crawl", *(("graph",) if graph else ()), *(("model",) if endpoint else ())}
    selected = choose_recipes(recipes, frozenset(available))
    with Crawl(find_collection(config)) as crawl:
        sources = Sources(crawl, Graph.read(graph) if graph else None, endpoint)
        by_recipe = {recipe.name: recipe.make(sources, seed) for recipe in selected}
        yield _TaskStreams(by_recipe, crawl.skip_counts, DEFAULT_COUNT, crawl.count_pages())


def _make_endpoint(base_url: str | None, model: str | None, api_key_env: str) -> Endpoint | None:
    """Return the endpoint of the options; None without options. Raises BadRequest if only one of the two is given."""
    if not base_url and not model:
        return None
    if not base_url or not model:
        raise BadRequest("an endpoint needs --base-url and --model", action="give both or neither")
    return Endpoint(base_url, model, os.environ.get(api_key_env) or "none")


def _parse_granularity(text: str) -> Granularity:
    """Return the value of `--split-by`. Raises BadRequest if it is unknown."""
    granularities: dict[str, Granularity] = {name: name for name in (*GRANULARITIES, "auto")}
    if text not in granularities:
        raise BadRequest(f"splits cannot be by {text!r}", action="use --split-by auto, domain, host, path or page")
    return granularities[text]


def _parse_quota(text: str) -> dict[str, float]:
    """Return the shares of `--quota` by unit. Raises BadRequest if a unit is unknown or a share is none."""
    shares: dict[str, float] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        unit, _, share = part.partition("=")
        if unit not in QUOTA_UNITS:
            raise BadRequest(
                f"--quota {part!r} names no unit", action="write it as --quota host=0.3,recipe=0.2,easy=0.5"
            )
        shares[unit] = _parse_numbers(share, 1, "--quota")[0]
    return shares


def _parse_numbers(text: str, count: int, option: str) -> tuple[float, ...]:
    """Return `count` non-negative numbers with commas between, not all 0. Raises BadRequest if the text is something
    else.
    """
    try:
        numbers = tuple(float(part) for part in text.split(","))
    except ValueError:
        numbers = ()
    if len(numbers) != count or not all(map(isfinite, numbers)) or min(numbers) < 0 or not sum(numbers):
        raise BadRequest(
            f"{option} {text!r} is not {count} numbers", action=f"write it as {option} {'0.8,0.1,0.1'[: 4 * count - 1]}"
        )
    return numbers


def _parse_setting(text: str) -> tuple[str, dict[str, object]]:
    """Return the name and the policy of a `--setting`. Raises BadRequest if the text is not NAME=POLICY."""
    name, _, policy = text.partition("=")
    try:
        parsed = json.loads(policy)
    except ValueError:
        parsed = None
    if not name or not isinstance(parsed, dict):
        raise BadRequest(
            f"--setting {text!r} is no NAME=POLICY",
            action="""write it as --setting 'noisy={"weather": {"shuffled": 0.3}}\'""",
        )
    if name == PLAIN_SETTING:
        raise BadRequest(f"{PLAIN_SETTING!r} is the search without a policy", action="give the setting another name")
    return name, parsed
