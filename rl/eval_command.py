"""`webemu eval`: a model behind any OpenAI-compatible endpoint, or a policy without one, answers a task file."""

from __future__ import annotations

import asyncio
import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from tqdm import tqdm

from webemu.agent_client import ClientError
from webemu.rl.evaluation.agents import Model, Name, NobodyError, Spoken, with_model, without_model
from webemu.rl.evaluation.evaluate import Evaluation, evaluate
from webemu.rl.evaluation.folder import FolderError
from webemu.rl.evaluation.rows import Row
from webemu.rl.evaluation.run import Setting
from webemu.rl.evaluation.table import table
from webemu.rl.serving import serving
from webemu.rl.state import Limits, limits_of
from webemu.rl.tasks import Task, TaskError, load

INTERRUPTED = 130
"""Exit status after Ctrl-C, as shells have it."""


def evaluation(
    tasks: Annotated[Path, typer.Option(help="Task file: JSON Lines.")],
    model: Annotated[str, typer.Option(help="Name of the model, as its endpoint knows it.")] = "",
    base_url: Annotated[str, typer.Option(help="Address of an OpenAI-compatible endpoint, ending in /v1.")] = "",
    api_key_env: Annotated[str, typer.Option(help="Variable of the environment that holds the endpoint's key.")] = "",
    protocol: Annotated[Spoken, typer.Option(help="Tool calls, or ReAct in plain text.")] = Spoken.native,
    policy: Annotated[
        Name | None, typer.Option(help="Who answers without a model; `rag` and `closed-book` also take one.")
    ] = None,
    server: Annotated[str, typer.Option(envvar="WEBEMU_SERVER", help="Running server; else one is started.")] = "",
    collection: Annotated[str | None, typer.Option(help="Collection that a server is started over.")] = None,
    root: Annotated[Path | None, typer.Option(help="Folder of all collections.")] = None,
    out: Annotated[Path, typer.Option(help="Folder of the results; one that is there goes on.")] = Path("evaluation"),
    samples: Annotated[int, typer.Option(min=1, help="Attempts at each task.")] = 1,
    concurrency: Annotated[int, typer.Option(min=1, help="Attempts at once.")] = 16,
    temperature: Annotated[float | None, typer.Option(min=0, help="Of the model; else the endpoint's own.")] = None,
    max_tokens: Annotated[int | None, typer.Option(min=1, help="Of one turn of the model.")] = None,
    extra_json: Annotated[str, typer.Option(help="Members for each request to the endpoint, as JSON.")] = "{}",
    max_turns: Annotated[int, typer.Option(min=1, help="Tool calls of an attempt.")] = Limits().turns,
    max_calls: Annotated[int, typer.Option(min=1, help="Searches and pages of an attempt.")] = Limits().calls,
    limits_json: Annotated[str, typer.Option(help='Other limits as JSON, such as {"brief": true}.')] = "{}",
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first so many tasks.")] = None,
    split: Annotated[str, typer.Option(help="Only the tasks of a split: train, dev or test.")] = "",
    policy_json: Annotated[str, typer.Option(help="Policy of the sessions as JSON: a day, weather.")] = "{}",
    probe: Annotated[
        float, typer.Option(min=0, max=1, help="Share of passed tasks asked again of a web that says another answer.")
    ] = 0,
    seed: Annotated[int, typer.Option(help="Same seed, same attempts.")] = 0,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
) -> None:
    """Let a model answer a task file by searching, and measure it.

    The folder holds a line for each attempt, the figures as JSON and a report to read. Stopped at any moment, the same
    command goes on where it was; what an outage took is tried again.

    \b
    Examples:
      webemu eval --tasks tasks.jsonl --policy oracle --collection mine --out oracle
      webemu eval --tasks tasks.jsonl --model Qwen/Qwen3-8B --base-url http://127.0.0.1:8000/v1 --samples 4
    """
    session = _object(policy_json, "--policy-json")
    setting = Setting(samples, concurrency, seed, _limits(max_turns, max_calls, limits_json), session, probe)
    sampled = (protocol, temperature, max_tokens, _object(extra_json, "--extra-json"))
    asked_for = Model(model, base_url, _key(api_key_env), *sampled)
    try:
        known = load(tasks)
        chosen = _chosen(known, split, limit)
        told = {"tasks": blake2b(tasks.read_bytes(), digest_size=16).hexdigest(), "split": split, "limit": limit}
        answers = with_model(asked_for, policy) if model else without_model(policy, known)
        asked = Evaluation(chosen, told, answers, setting, out)
        with serving(server or None, root, collection) as address:
            figures, mask = _evaluated(asked, address, quiet)
    except (ClientError, FolderError, NobodyError) as error:
        _stop(error.message, error.action or "start the server with `webemu serve`")
    except TaskError as error:
        _stop(str(error), "`webemu tasks build` and `webemu generate` write task files")
    typer.echo(table(figures))
    _tell(figures, out)
    _fail_if_masked(figures["overall"]["masked"], figures["overall"]["attempts"], mask)
    verdicts = {name: count for name, count in figures["probe"].items() if name not in ("share_reads", "not probed")}
    _fail_if_masked(verdicts.get("masked", 0), sum(verdicts.values()), "see probes.jsonl")


def _fail_if_masked(masked: int, attempts: int, mask: str) -> None:
    """End with an error where an outage took most attempts, since what is left says little."""
    if 2 * masked > attempts:
        _stop(
            f"{masked} of {attempts} attempts were masked by an outage; the last: {mask or 'see the report'}",
            "see to the endpoint and the server, then give the same command: it tries them again",
        )


def _evaluated(asked: Evaluation, address: str, quiet: bool) -> tuple[dict[str, Any], str]:
    """Return the figures, and why the last attempt that was masked was."""
    progress = _Progress(len(asked.tasks) * asked.setting.samples, quiet)
    try:
        return asyncio.run(evaluate(asked, address, progress.ended)), progress.mask
    except KeyboardInterrupt:
        progress.bar.close()
        typer.echo(f"webemu: stopped; {progress.made:,} of {progress.total:,} attempts are in {asked.out}", err=True)
        typer.echo("  -> the same command goes on where it was", err=True)
        raise typer.Exit(INTERRUPTED) from None
    finally:
        progress.bar.close()


class _Progress:
    """A line on stderr: what was made, the means until now, and how long it will take."""

    def __init__(self, total: int, quiet: bool) -> None:
        self.total, self.made, self.mask = total, 0, ""
        self.bar = tqdm(total=total, unit="attempt", disable=quiet, smoothing=0.05)
        self._sums: Counter[str] = Counter()

    def ended(self, told: Row | None) -> None:
        """An attempt, or None for one that was there before, which is no part of the rate."""
        self.made += 1
        self.mask = (told or {}).get("mask") or self.mask
        if self.bar.disable:
            return
        if told is None:
            self.bar.initial += 1
        else:
            self.bar.set_postfix_str(self._means(told), refresh=False)
        self.bar.update()

    def _means(self, told: Row) -> str:
        self._sums["masked"] += bool(told["mask"])
        means = []
        for name, value in (("EM", told["terms"].get("correct")), ("reward", told["reward"])):
            if value is not None:
                self._sums.update({f"{name} of": 1, name: value})
            if self._sums[f"{name} of"]:
                means.append(f"{name} {self._sums[name] / self._sums[f'{name} of']:.3f}")
        return ", ".join([*means, f"masked {self._sums['masked']}"])


def _chosen(known: Sequence[Task], split: str, limit: int | None) -> tuple[Task, ...]:
    chosen = tuple(task for task in known if not split or task.split == split)[:limit]
    if not chosen:
        raise TaskError(f"there is no task {f'of the split {split!r} ' if split else ''}in the file")
    twice = [name for name, count in Counter(task.id for task in chosen).items() if count > 1]
    if twice:
        raise TaskError(f"the id {twice[0]!r} stands twice in the task file; ids must differ")
    return chosen


def _key(variable: str) -> str:
    if variable and not os.environ.get(variable):
        _stop(f"the variable {variable} is not set", f"export {variable}=…, or leave out --api-key-env")
    return os.environ[variable] if variable else "none"


def _object(text: str, option: str) -> dict[str, Any]:
    try:
        return dict(json.loads(text))
    except (ValueError, TypeError) as error:
        _stop(f"{option} is no JSON object ({error})", f"""write it as {option} '{{"name": "value"}}'""")


def _limits(turns: int, calls: int, text: str) -> Limits:
    try:
        return limits_of({"turns": turns, "calls": calls} | _object(text, "--limits-json"))
    except ValueError as error:
        _stop(f"--limits-json: {error}", """write it as --limits-json '{"brief": true}'""")


def _tell(figures: Mapping[str, Any], out: Path) -> None:
    """Where it lies, and what was masked."""
    if figures["probe"]:
        told = ", ".join(f"{name} {count}" for name, count in figures["probe"].items() if name != "share_reads")
        typer.echo(f"probe     {told}")
    typer.echo(f"report    {out / 'report.html'}")
    if masked := figures["overall"]["masked"]:
        reasons = ", ".join(f"{reason} {count}" for reason, count in figures["masks"].items())
        typer.echo(f"masked    {masked} ({reasons}); the same command tries them again")


def _stop(message: str, action: str) -> NoReturn:
    typer.echo(f"webemu: {message}", err=True)
    typer.echo(f"  -> {action}", err=True)
    raise typer.Exit(1) from None
