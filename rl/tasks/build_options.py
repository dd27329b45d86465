"""Options of `webemu tasks build`: their types and help texts, and parsers for those that hold lists or pairs."""

from __future__ import annotations

import json
import os
from math import isfinite
from pathlib import Path
from typing import Annotated

import typer

from webemu.emulator.errors import BadRequest
from webemu.rl.endpoint import Endpoint
from webemu.rl.tasks.build import QUOTA_UNITS
from webemu.rl.tasks.cached_client import PLAIN_SETTING
from webemu.rl.tasks.splits import GRANULARITIES, SPLIT_NAMES, Granularity

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


def parse_band(band: str) -> tuple[float, float]:
    """Return the lowest and highest pass rate of `--band`. Raises BadRequest if they are no such pair."""
    lowest, highest = _parse_numbers(band, 2, "--band")
    if lowest > highest:
        raise BadRequest(
            f"--band {band} has its lowest pass rate above its highest",
            action="give the lower one first: --band 0.1,0.9",
        )
    return lowest, highest


def make_endpoint(base_url: str | None, model: str | None, api_key_env: str) -> Endpoint | None:
    """Return the endpoint of the options; None without options. Raises BadRequest if only one of the two is given."""
    if not base_url and not model:
        return None
    if not base_url or not model:
        raise BadRequest("an endpoint needs --base-url and --model", action="give both or neither")
    return Endpoint(base_url, model, os.environ.get(api_key_env) or "none")


def parse_shares(text: str) -> tuple[float, ...]:
    """Return the weights of train, dev and test in `--split`. Raises BadRequest if they are not three numbers."""
    return _parse_numbers(text, len(SPLIT_NAMES), "--split")


def parse_granularity(text: str) -> Granularity:
    """Return the value of `--split-by`. Raises BadRequest if it is unknown."""
    granularities: dict[str, Granularity] = {name: name for name in (*GRANULARITIES, "auto")}
    if text not in granularities:
        raise BadRequest(f"splits cannot be by {text!r}", action="use --split-by auto, domain, host, path or page")
    return granularities[text]


def parse_quota(text: str) -> dict[str, float]:
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


def parse_settings(texts: list[str] | None) -> dict[str, dict[str, object]]:
    """Return the policies of `--setting` by name. Raises BadRequest if one is not NAME=POLICY."""
    return dict(map(_parse_setting, texts or ()))


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
