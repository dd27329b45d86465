"""Command `webemu report`: render a training run as an HTML page, once or continuously while the run goes on, or
compare several runs or two evaluations.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from webemu.rl.ending import exit_with_error
from webemu.rl.evaluation.comparison import render_comparison
from webemu.rl.evaluation.folder import FolderError, is_evaluation
from webemu.rl.train.compare import MAX_RUNS
from webemu.rl.train.compare import render_comparison as render_runs
from webemu.rl.train.report import list_stage_folders, read_run_recipe, render_page
from webemu.rl.train.report_server import ReportServer
from webemu.rl.train.run_folder import RECIPE_FILE
from webemu.rl.train.step_log import STEPS_FILE
from webemu.rl.train.transcripts import print_episodes

FOUND_EPISODES = 10
"""Episodes of a stage that a search prints unless --episodes is given."""


def report(
    runs: Annotated[
        list[Path],
        typer.Argument(
            help="Folder of the run: the --out of `webemu train`. Several, or two of `webemu eval`, are compared."
        ),
    ],
    out: Annotated[
        Path | None, typer.Option(help="HTML file to write. [default: RUN/report.html; comparison.html for several]")
    ] = None,
    steps: Annotated[
        str, typer.Option(help="Steps whose episodes are shown, such as 1,20,100. [default: first, at a fifth, last]")
    ] = "",
    episodes: Annotated[
        int, typer.Option(min=0, help="Print so many episodes of each step whole, as text, and write no page.")
    ] = 0,
    find: Annotated[
        str,
        typer.Option(help="Print episodes that contain this text: as many of each stage as --episodes says, or 10."),
    ] = "",
    serve: Annotated[
        bool, typer.Option("--serve", help="Serve the page and refresh it while the run goes on.")
    ] = False,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen on with --serve; 0 takes a free one.")
    ] = 8095,
) -> None:
    """Show a training run: curves, held-out figures, and what the model did at its steps. Compare several, or two
    evaluations.

    The page is one file that needs no network. The run may still be going on. A comparison has the held-out figures of
    each stage with the differences task by task, one chart for each figure with a line for each run, and the keys in
    which the recipes differ. A comparison of evaluations has the figures of both with the differences task by task,
    and each pair of attempts side by side.

    \b
    Examples:
      webemu report runs/tiny                       # writes runs/tiny/report.html
      webemu report runs/tiny --steps 1,20,100
      webemu report runs/tiny --episodes 10         # whole, of the first, middle and last step and held out
      webemu report runs/tiny --find "not found"    # episodes in which somebody said so
      webemu report runs/tiny --serve               # http://127.0.0.1:8095, until Ctrl-C
      webemu report runs/tiny runs/random-reward    # writes comparison.html
      webemu report evals/base evals/trained        # folders of `webemu eval`: writes comparison.html
    """
    if any(map(is_evaluation, runs)):
        if serve or steps or episodes or find:
            exit_with_error(
                "--serve, --steps, --episodes and --find are for training runs", "leave them out for evaluations"
            )
        _compare_evaluations(runs, out)
        return
    shown_steps = _parse_steps(steps)
    _check_runs(runs, shows_one=serve or bool(shown_steps and not (episodes or find)))
    if episodes or find:
        stages = [folder for run in runs for folder, _ in list_stage_folders(run, read_run_recipe(run)[1])]
        for text in print_episodes(stages, episodes or FOUND_EPISODES, shown_steps, find):
            typer.echo(text)
        return
    if serve:
        _serve(runs[0], port, shown_steps)
        return
    _write_page(runs, out, shown_steps)


def _check_runs(runs: Sequence[Path], shows_one: bool) -> None:
    """End with an error if a folder is no run, or if there are more runs than can be shown."""
    for run in runs:
        if not (run / RECIPE_FILE).exists() and not any(run.glob(f"*/{STEPS_FILE}")):
            exit_with_error(
                f"{run} is not a training run: it has no {RECIPE_FILE}", "name the folder that `webemu train` printed"
            )
    if len(runs) > 1 and shows_one:
        exit_with_error("--serve and --steps show one run, but several are named", "leave them out, or name one run")
    if len(runs) > MAX_RUNS:
        exit_with_error(f"at most {MAX_RUNS} runs can be compared, got {len(runs)}", "name fewer")


def _compare_evaluations(folders: Sequence[Path], out: Path | None) -> None:
    """Write the comparison of two evaluations and print its path."""
    evaluations = [folder for folder in folders if is_evaluation(folder)]
    if len(folders) != 2 or len(evaluations) != 2:
        stranger = next((folder for folder in folders if folder not in evaluations), None)
        exit_with_error(
            f"{stranger} is not an evaluation" if stranger else f"two evaluations are compared, got {len(folders)}",
            f"name two folders of `webemu eval`; the page of one is {evaluations[0] / 'report.html'}",
        )
    try:
        page = render_comparison(folders[0], folders[1])
    except FolderError as error:
        exit_with_error(error.message, error.action)
    _write_file(out or Path("comparison.html"), page)


def _write_page(runs: Sequence[Path], out: Path | None, shown_steps: list[int]) -> None:
    """Write the page of a run, or the comparison of several, and print its path."""
    path = out or (runs[0] / "report.html" if len(runs) == 1 else Path("comparison.html"))
    page = render_page(runs[0], shown_steps) if len(runs) == 1 else render_runs(runs)
    _write_file(path, page)


def _write_file(path: Path, page: str) -> None:
    """Write a page and print its path."""
    try:
        path.write_text(page, encoding="utf-8", errors="replace")
    except OSError as error:
        exit_with_error(f"{path} cannot be written: {error.strerror}", "name another file with --out")
    typer.echo(str(path))


def _serve(run: Path, port: int, steps: list[int]) -> None:
    try:
        report_server = ReportServer(run, port, steps)
    except OSError as error:
        exit_with_error(
            f"cannot listen on port {port}: {error.strerror}", "choose another with --port, or 0 for a free one"
        )
    typer.echo(f"{report_server.address}  (Ctrl-C ends it)")
    try:
        report_server.serve_forever()
    except KeyboardInterrupt:
        report_server.server_close()


def _parse_steps(option: str) -> list[int]:
    try:
        return [int(one) for one in option.split(",") if one.strip()]
    except ValueError:
        exit_with_error(f"--steps must be a list of numbers, got {option!r}", "write it as --steps 1,20,100")
