"""The run of `webemu tasks build`: opens recipes and server, filters the tasks, splits, saves and prints them.

`build` has the loop over tasks without files or servers; `build_command` has the command line.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import typer
from tqdm import tqdm

from webemu.agent_client import Client
from webemu.emulator.config import Config
from webemu.emulator.errors import BadRequest
from webemu.emulator.folders import find_collection
from webemu.index.manifest import current_id
from webemu.rl.endpoint import Endpoint
from webemu.rl.ledger import open_session_call
from webemu.rl.outputs import check_writable
from webemu.rl.serving import run_server
from webemu.rl.tasks import tables
from webemu.rl.tasks.build import BuildResult, build
from webemu.rl.tasks.cached_client import CachedClient
from webemu.rl.tasks.catalogue import RECIPES, choose_recipes
from webemu.rl.tasks.crawl import Crawl
from webemu.rl.tasks.difficulty import read_pass_rates
from webemu.rl.tasks.filters import FilterContext
from webemu.rl.tasks.graph import Graph
from webemu.rl.tasks.guesser import leave_out_guessed
from webemu.rl.tasks.options import convert_errors
from webemu.rl.tasks.overlap import load_benchmarks
from webemu.rl.tasks.recipe import SourceKind, Sources
from webemu.rl.tasks.recipes import CRAWL
from webemu.rl.tasks.splits import Granularity, SplitResult, leave_out_shared, split_tasks
from webemu.rl.tasks.task import Task, TaskError, load, save
from webemu.rl.tasks.world import WORLD

DEFAULT_COUNT = 100
"""Number of tasks to make unless `--count` says otherwise."""
_NATURAL = frozenset(recipe.name for recipe in CRAWL)
_NEEDS_OPENING = _NATURAL | {recipe.name for recipe in WORLD}


@dataclass(frozen=True, slots=True)
class TaskSource:
    """Collection, recipes, files and model that the tasks come from."""

    config: Config
    """Settings that name the collection."""
    root: Path | None
    """Folder of all collections; None for the default."""
    server: str | None
    """Address of a server of the collection; None to start one."""
    recipes: str
    """Recipes or families with commas between; empty for a file."""
    from_file: Path | None
    """Task file whose tasks are filtered; None for new tasks."""
    graph: Path | None
    """Graph of a generated web; None if there is none."""
    make_endpoint: Callable[[], Endpoint | None]
    """Makes an endpoint of the model, or None. Each event loop needs an endpoint of its own."""


@dataclass(frozen=True, slots=True)
class FilterOptions:
    """Settings of the filters."""

    samples: int
    """Closed-book answers per task."""
    concurrency: int
    """Closed-book answers in flight."""
    benchmarks: tuple[Path, ...]
    """Files of questions that no task may overlap with."""
    results: Path | None
    """Results of an evaluation with pass rates; None if there are none."""
    band: tuple[float, float]
    """Lowest and highest pass rate of tasks that are kept."""
    settings: Mapping[str, Mapping[str, object]]
    """Session policies to search under, by name."""
    quotas: Mapping[str, float]
    """Largest shares by unit."""


@dataclass(frozen=True, slots=True)
class OutputOptions:
    """Files to write, and the number and division of the tasks."""

    out: Path
    keep_rejected: Path | None
    """File for rejected tasks; None to drop them."""
    count: int | None
    """Number of tasks to keep; None for the default of the source."""
    shares: tuple[float, ...]
    """Weights of train, dev and test."""
    granularity: Granularity
    seed: int
    quiet: bool
    """True to show no progress bar."""


def run_build(source: TaskSource, options: FilterOptions, output: OutputOptions) -> None:
    """Make or read tasks, filter them, split them, save them and print the tables.

    Raises:
        BadRequest: An option is wrong, a recipe lacks its source, or the server has another snapshot.
    """
    started_at = time.monotonic()
    with convert_errors():
        check_writable(output.out, output.keep_rejected)
    if source.from_file and not source.server:
        find_collection(source.config)
    make_context = _prepare_context(source, options, output.seed)
    with (
        convert_errors(),
        _open_streams(source, output.seed) as streams,
        run_server(source.server, source.root, source.config.collection) as address,
    ):
        if source.server and source.from_file is None:
            _check_snapshot(source.server, source.config)
        # Fails now rather than at the first search of the first task.
        _check_settings(address, options.settings)
        context, count = make_context(address), output.count or streams.default_count
        build_result = _filter_tasks(streams, count, context, options.quotas, output.quiet)
        skip_lines = list(tables.format_skipped(streams.skip_counts))
    split_result = _save_tasks(build_result, output)
    lines = [*skip_lines, *tables.format_splits(split_result)]
    judged_count = len(build_result.kept_tasks) + len(build_result.rejected_tasks)
    pages = f" of {streams.page_count:,} pages" if streams.page_count else ""
    figures = f"{judged_count:,} judged{pages} in {time.monotonic() - started_at:,.1f} s"
    lines.append(f"tasks      {len(split_result.tasks):,} in {output.out} ({figures})")
    _print_result(build_result, streams.page_count, lines)
    if len(build_result.kept_tasks) < (output.count or (0 if source.from_file else count)):
        typer.echo(f"warning    {count:,} were requested; no more tasks pass the filters")


def _prepare_context(source: TaskSource, options: FilterOptions, seed: int) -> Callable[[str], FilterContext]:
    """Read what the filters need, and return a function that makes their context for the address of a server."""
    benchmarks = load_benchmarks(options.benchmarks) if options.benchmarks else None
    rates = read_pass_rates(options.results) if options.results else None
    endpoint = source.make_endpoint()

    def make_context(address: str) -> FilterContext:
        return FilterContext(
            web=CachedClient(address, options.settings),
            endpoint=endpoint,
            samples=options.samples,
            turns=asyncio.Semaphore(options.concurrency),
            benchmarks=benchmarks,
            rates=rates,
            band=options.band,
            proven=frozenset(recipe.name for recipe in RECIPES if recipe.needs == "graph"),
            natural=_NATURAL,
            needs_opening=_NEEDS_OPENING,
            seed=seed,
        )

    return make_context


def _save_tasks(build_result: BuildResult, output: OutputOptions) -> SplitResult:
    """Split the tasks that were kept, save them with the rejected ones, and return the split."""
    split_result = split_tasks(build_result.kept_tasks, output.shares, output.seed, output.granularity)
    split_result = leave_out_guessed(leave_out_shared(split_result, _NATURAL))
    save(output.out, split_result.tasks)
    if output.keep_rejected:
        save(output.keep_rejected, build_result.rejected_tasks)
    return split_result


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


def _print_result(build_result: BuildResult, page_count: int, further_lines: list[str]) -> None:
    """Print the tables of the result."""
    for line in (*tables.format_outcome(build_result, page_count), *tables.format_recall(build_result), *further_lines):
        typer.echo(line)


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
def _open_streams(source: TaskSource, seed: int) -> Iterator[_TaskStreams]:
    """Yield the tasks to filter: those of a file, or those that the recipes make.

    Raises:
        TaskError: The task file of `--from` cannot be read or is empty.
        BadRequest: A recipe is unknown or lacks its source.
    """
    if source.from_file is not None:
        tasks = load(source.from_file)
        if not tasks:
            raise TaskError(f"{source.from_file}: there is no task in it")
        # A dict keeps the order in which the recipes first occur.
        names = {one.recipe: 0 for one in tasks}
        by_recipe = {name: iter([one for one in tasks if one.recipe == name]) for name in names}
        yield _TaskStreams(by_recipe, {}, len(tasks))
        return
    endpoint, graph = source.make_endpoint(), source.graph
    available: set[SourceKind] = {"crawl", *(("graph",) if graph else ()), *(("model",) if endpoint else ())}
    selected = choose_recipes(source.recipes, frozenset(available))
    with Crawl(find_collection(source.config)) as crawl:
        sources = Sources(crawl, Graph.read(graph) if graph else None, endpoint)
        by_recipe = {recipe.name: recipe.make(sources, seed) for recipe in selected}
        yield _TaskStreams(by_recipe, crawl.skip_counts, DEFAULT_COUNT, crawl.count_pages())
