"""The command `webemu tasks build`. Its options are described in `build_options`, its work is in `build_run`."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from webemu.emulator.config import load_config as configured
from webemu.emulator.errors import BadRequest
from webemu.rl.tasks import build_options as options
from webemu.rl.tasks.build_run import FilterOptions, OutputOptions, TaskSource, run_build
from webemu.rl.tasks.cached_client import MAX_CONCURRENCY
from webemu.rl.tasks.catalogue import format_recipes
from webemu.rl.tasks.options import CollectionOption, QuietOption, RootOption, ServerOption


def _show_recipes(is_requested: bool) -> None:
    """Print all recipes and exit, if `--list` was given."""
    if is_requested:
        typer.echo(format_recipes())
        raise typer.Exit


ListOption = Annotated[
    bool, typer.Option("--list", is_eager=True, callback=_show_recipes, help="Print all recipes and exit.")
]


def build_tasks(
    out: options.OutOption,
    recipes: options.RecipesOption = "",
    count: options.CountOption = None,
    collection: CollectionOption = None,
    root: RootOption = None,
    server: ServerOption = None,
    graph: options.GraphOption = None,
    from_file: options.FromOption = None,
    seed: options.SeedOption = 0,
    shares: options.SharesOption = "0.8,0.1,0.1",
    split_by: options.SplitByOption = "auto",
    base_url: options.BaseUrlOption = None,
    model: options.ModelOption = None,
    api_key_env: options.ApiKeyEnvOption = "OPENAI_API_KEY",
    samples: options.SamplesOption = 8,
    concurrency: options.ConcurrencyOption = MAX_CONCURRENCY,
    against: options.AgainstOption = None,
    results: options.PassRatesOption = None,
    band: options.BandOption = "0.1,0.9",
    setting: options.SettingOption = None,
    quota: options.QuotaOption = "",
    keep_rejected: options.KeepRejectedOption = None,
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
    if from_file and recipes:
        action = "leave out one of the two"
        raise BadRequest("--from takes the tasks of a file, --recipes makes new ones", action=action)
    config = configured({"root": root, "collection": collection})
    make_endpoint = partial(options.make_endpoint, base_url, model, api_key_env)
    source = TaskSource(config, root, server, recipes, from_file, graph, make_endpoint)
    settings, quotas = options.parse_settings(setting), options.parse_quota(quota)
    filters = FilterOptions(
        samples, concurrency, tuple(against or ()), results, options.parse_band(band), settings, quotas
    )
    weights, granularity = options.parse_shares(shares), options.parse_granularity(split_by)
    run_build(source, filters, OutputOptions(out, keep_rejected, count, weights, granularity, seed, quiet))
