"""Command `webemu eval`: let a model behind an OpenAI-compatible endpoint, or a baseline without a model, answer a
task file, and print the figures. The measurements are in `webemu.rl.evaluation`; this module parses options and shows
progress.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Annotated

import typer
from tqdm import tqdm

from webemu.agent_client import ClientError
from webemu.rl.attempt_row import AttemptRow
from webemu.rl.ending import exit_with_error
from webemu.rl.evaluation.agents import BaselineName, ModelSpec, NoAgentError, ProtocolName, baseline_agent, model_agent
from webemu.rl.evaluation.evaluate import Evaluation, evaluate
from webemu.rl.evaluation.folder import FolderError
from webemu.rl.evaluation.judging import format_judge
from webemu.rl.evaluation.result import EvaluationResult
from webemu.rl.evaluation.run import RunSettings
from webemu.rl.evaluation.table import format_table
from webemu.rl.judge.spec import JudgeSpec
from webemu.rl.serving import run_server
from webemu.rl.state import Limits, parse_limits
from webemu.rl.tasks import Task, TaskError, load

INTERRUPTED = 130
"""Exit status after Ctrl-C, as in shells (128 + SIGINT)."""


TasksOption = Annotated[Path, typer.Option(help="Task file: JSON Lines.")]
ModelOption = Annotated[str, typer.Option(help="Name of the model at its endpoint.")]
BaseUrlOption = Annotated[str, typer.Option(help="Address of an OpenAI-compatible endpoint, ending in /v1.")]
ApiKeyEnvOption = Annotated[str, typer.Option(help="Environment variable that holds the endpoint's API key.")]
ProtocolOption = Annotated[ProtocolName, typer.Option(help="Protocol of tool calls: native, or ReAct in plain text.")]
BaselineOption = Annotated[
    BaselineName | None,
    typer.Option(help="Baseline that answers instead of a model; `rag` and `closed-book` may also use one."),
]
ServerOption = Annotated[
    str, typer.Option(envvar="WEBEMU_SERVER", help="Address of a running server. [default: start one]")
]
CollectionOption = Annotated[str | None, typer.Option(help="Collection of the server to start.")]
RootOption = Annotated[Path | None, typer.Option(help="Folder of all collections.")]
OutOption = Annotated[Path, typer.Option(help="Folder of the results; an existing one is continued.")]
SamplesOption = Annotated[int, typer.Option(min=1, help="Attempts at each task.")]
ConcurrencyOption = Annotated[int, typer.Option(min=1, help="Attempts that run at the same time.")]
TemperatureOption = Annotated[
    float | None, typer.Option(min=0, help="Sampling temperature of the model. [default: the endpoint's]")
]
MaxTokensOption = Annotated[
    int | None, typer.Option(min=1, help="Token limit of one turn of the model. [default: the endpoint's]")
]
ExtraJsonOption = Annotated[
    str, typer.Option(help="JSON object whose members are added to each request to the endpoint.")
]
MaxTurnsOption = Annotated[int, typer.Option(min=1, help="Largest number of tool calls in an attempt.")]
MaxCallsOption = Annotated[int, typer.Option(min=1, help="Largest number of searches and page views in an attempt.")]
LimitsJsonOption = Annotated[str, typer.Option(help='Other limits as a JSON object, such as {"brief": true}.')]
LimitOption = Annotated[
    int | None, typer.Option(min=1, help="Number of tasks, from the top of the file. [default: all]")
]
SplitOption = Annotated[str, typer.Option(help="Only tasks of this split: train, dev or test.")]
SessionPolicyOption = Annotated[str, typer.Option(help="Policy of every session, as a JSON object: a day, weather.")]
ProbeOption = Annotated[
    float,
    typer.Option(min=0, max=1, help="Share of passed tasks that are asked again of a web with another answer."),
]
JudgeOption = Annotated[
    str, typer.Option(help="Address of an OpenAI-compatible endpoint that judges what the rules leave open.")
]
JudgeModelOption = Annotated[str, typer.Option(help="Name of the judging model at its endpoint.")]
JudgeKeyEnvOption = Annotated[str, typer.Option(help="Environment variable that holds the judging endpoint's API key.")]
SeedOption = Annotated[int, typer.Option(help="Seed of the attempts.")]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]


def evaluation(
    tasks: TasksOption,
    model: ModelOption = "",
    base_url: BaseUrlOption = "",
    api_key_env: ApiKeyEnvOption = "",
    protocol: ProtocolOption = ProtocolName.native,
    baseline: BaselineOption = None,
    server: ServerOption = "",
    collection: CollectionOption = None,
    root: RootOption = None,
    out: OutOption = Path("evaluation"),
    samples: SamplesOption = 1,
    concurrency: ConcurrencyOption = 16,
    temperature: TemperatureOption = None,
    max_tokens: MaxTokensOption = None,
    extra_json: ExtraJsonOption = "{}",
    max_turns: MaxTurnsOption = Limits().turns,
    max_calls: MaxCallsOption = Limits().calls,
    limits_json: LimitsJsonOption = "{}",
    limit: LimitOption = None,
    split: SplitOption = "",
    session_policy: SessionPolicyOption = "{}",
    probe: ProbeOption = 0,
    judge: JudgeOption = "",
    judge_model: JudgeModelOption = "",
    judge_key_env: JudgeKeyEnvOption = "",
    seed: SeedOption = 0,
    quiet: QuietOption = False,
) -> None:
    """Let a model answer a task file by searching, and measure it.

    The folder gets a line for each attempt, the figures as JSON and an HTML report. After an interruption the same
    command continues where it stopped; attempts that an outage masked are repeated.

    \b
    Examples:
      webemu eval --tasks tasks.jsonl --baseline oracle --collection mine --out oracle
      webemu eval --tasks tasks.jsonl --model Qwen/Qwen3-8B --base-url http://127.0.0.1:8000/v1 --samples 4
    """
    session = _parse_json_option(session_policy, "--session-policy")
    limits = _parse_limits_option(max_turns, max_calls, limits_json)
    setting = RunSettings(samples, concurrency, seed, limits, session, probe)
    sampling_options = (protocol, temperature, max_tokens, _parse_json_option(extra_json, "--extra-json"))
    model_spec = ModelSpec(model, base_url, read_api_key(api_key_env, "--api-key-env"), *sampling_options)
    judge_spec = _build_judge_spec(judge, judge_model, judge_key_env)
    with _exit_on_errors():
        run_spec = _build_evaluation(tasks, split, limit, model_spec, baseline, setting, out, judge_spec)
        with run_server(server or None, root, collection) as address:
            result, mask = _run_evaluation(run_spec, address, quiet)
    _print_result(result, mask, out)


def _build_evaluation(
    tasks: Path,
    split: str,
    limit: int | None,
    model_spec: ModelSpec,
    baseline: BaselineName | None,
    setting: RunSettings,
    out: Path,
    judge_spec: JudgeSpec | None,
) -> Evaluation:
    all_tasks = load(tasks)
    selection = _select_tasks(all_tasks, split, limit), _describe_selection(tasks, split, limit)
    agent_spec = model_agent(model_spec, baseline) if model_spec.name else baseline_agent(baseline, all_tasks)
    return Evaluation(*selection, agent_spec, setting, out, judge_spec)


@contextmanager
def _exit_on_errors() -> Iterator[None]:
    """Exit with an error and its remedy if the server, the folder, the agent or the task file is at fault."""
    try:
        yield
    except (ClientError, FolderError, NoAgentError) as error:
        exit_with_error(error.message, error.action or "start the server with `webemu serve`")
    except TaskError as error:
        exit_with_error(str(error), "write a task file with `webemu tasks build` or `webemu generate`")


def _print_result(result: EvaluationResult, mask: str, out: Path) -> None:
    """Print the figures and where they are. Exits with an error if an outage masked most attempts or probes."""
    typer.echo(format_table(result.summary))
    _print_outputs(result, out)
    _fail_if_masked(result.summary.overall.masked, result.summary.overall.attempts, mask)
    verdicts = {
        name: int(count) for name, count in result.probe_counts.items() if name not in ("share_reads", "not probed")
    }
    _fail_if_masked(verdicts.get("masked", 0), sum(verdicts.values()), "see probes.jsonl")


def _fail_if_masked(masked: int, attempts: int, mask: str) -> None:
    """Exit with an error if an outage masked more than half of the attempts, since the rest says little."""
    if 2 * masked > attempts:
        exit_with_error(
            f"an outage masked {masked} of {attempts} attempts; the last: {mask or 'see the report'}",
            "repair the endpoint or the server, then run the same command again: it repeats them",
        )


def _run_evaluation(run_spec: Evaluation, address: str, quiet: bool) -> tuple[EvaluationResult, str]:
    """Return the result, and the reason why the last masked attempt was masked (empty if none was)."""
    progress = _Progress(len(run_spec.tasks) * run_spec.settings.samples, quiet)
    try:
        return asyncio.run(evaluate(run_spec, address, progress.on_attempt)), progress.last_mask
    except KeyboardInterrupt:
        progress.bar.close()
        typer.echo(
            f"webemu: stopped; {progress.finished_count:,} of {progress.total:,} attempts are in {run_spec.out}",
            err=True,
        )
        typer.echo("  -> run the same command again to continue", err=True)
        raise typer.Exit(INTERRUPTED) from None
    finally:
        progress.bar.close()


class _Progress:
    """Progress bar on stderr: finished attempts, running means, and the remaining time."""

    def __init__(self, total: int, quiet: bool) -> None:
        self.total, self.finished_count, self.last_mask = total, 0, ""
        self.bar = tqdm(total=total, unit="attempt", disable=quiet, smoothing=0.05)
        self._sums: Counter[str] = Counter()

    def on_attempt(self, row: AttemptRow | None) -> None:
        """Count an attempt. None stands for one that an earlier run finished; it does not count towards the rate."""
        self.finished_count += 1
        if row is not None and row["mask"]:
            self.last_mask = row["mask"]
        if self.bar.disable:
            return
        if row is None:
            # tqdm leaves `initial` out of the rate.
            self.bar.initial += 1
        else:
            self.bar.set_postfix_str(self._format_means(row), refresh=False)
        self.bar.update()

    def _format_means(self, row: AttemptRow) -> str:
        """Return the running means of exact match and reward, and the number of masked attempts."""
        self._sums["masked"] += bool(row["mask"])
        means = []
        for name, value in (("EM", row["terms"].get("correct")), ("reward", row["reward"])):
            if value is not None:
                self._sums.update({f"{name} of": 1, name: value})
            if self._sums[f"{name} of"]:
                means.append(f"{name} {self._sums[name] / self._sums[f'{name} of']:.3f}")
        return ", ".join([*means, f"masked {self._sums['masked']}"])


def _select_tasks(tasks: Sequence[Task], split: str, limit: int | None) -> tuple[Task, ...]:
    """Return the tasks of a split, at most `limit`. Raises: TaskError if there are none, or if two have the same id."""
    selected_tasks = tuple(task for task in tasks if not split or task.split == split)[:limit]
    if not selected_tasks:
        raise TaskError(f"the task file contains no tasks{f' of the split {split!r}' if split else ''}")
    duplicate_ids = [name for name, count in Counter(task.id for task in selected_tasks).items() if count > 1]
    if duplicate_ids:
        raise TaskError(f"the id {duplicate_ids[0]!r} occurs twice in the task file; ids must be unique")
    return selected_tasks


def _describe_selection(path: Path, split: str, limit: int | None) -> dict[str, object]:
    """Return which tasks of which file are selected, for the manifest."""
    return {"tasks": blake2b(path.read_bytes(), digest_size=16).hexdigest(), "split": split, "limit": limit}


def _build_judge_spec(base_url: str, model: str, key_variable: str) -> JudgeSpec | None:
    """Return the judge that the options name; None if they name none. Exits if only one of the two is there."""
    if bool(base_url) != bool(model):
        exit_with_error(
            f"a judge needs an address and a model, got --judge {base_url!r} and --judge-model {model!r}",
            "give both, such as --judge http://127.0.0.1:8000/v1 --judge-model Qwen/Qwen3-8B, or neither",
        )
    if not base_url:
        return None
    read_api_key(key_variable, "--judge-key-env")  # exits now if the variable is not set
    return JudgeSpec(base_url, model, key_variable)


def read_api_key(variable: str, option: str) -> str:
    """Return the API key in an environment variable; `none` if no variable is named. Exits if it is not set."""
    if variable and not os.environ.get(variable):
        exit_with_error(
            f"the environment variable {variable} is not set (from {option})",
            f"export {variable}=…, or leave out {option}",
        )
    return os.environ[variable] if variable else "none"


def _parse_json_option(text: str, option: str) -> dict[str, object]:
    """Return the JSON object that an option holds. Exits with an error if it is not one."""
    try:
        return dict(json.loads(text))
    except (ValueError, TypeError) as error:
        exit_with_error(
            f"{option} must be a JSON object, got {text!r} ({error})", f"""write it as {option} '{{"name": "value"}}'"""
        )


def _parse_limits_option(turns: int, calls: int, text: str) -> Limits:
    try:
        return parse_limits({"turns": turns, "calls": calls} | _parse_json_option(text, "--limits-json"))
    except ValueError as error:
        exit_with_error(f"--limits-json: {error}", """write it as --limits-json '{"brief": true}'""")


def _print_outputs(result: EvaluationResult, out: Path) -> None:
    """Print where the results are, and how many attempts were masked and why."""
    if result.probe_counts:
        verdict_counts = ", ".join(
            f"{name} {count}" for name, count in result.probe_counts.items() if name != "share_reads"
        )
        typer.echo(f"probe     {verdict_counts}")
    if result.judge:
        typer.echo("\n".join(format_judge(result.judge)))
    typer.echo(f"report    {out / 'report.html'}")
    if masked := result.summary.overall.masked:
        reasons = ", ".join(f"{reason} {count}" for reason, count in result.summary.masks.items())
        typer.echo(f"masked    {masked} ({reasons}); the same command repeats them")
