"""`webemu report`: a training run as a page to read, written once or served while the run goes on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, NoReturn

import typer

from webemu.rl.train.report import RECIPE, page
from webemu.rl.train.report_server import Live
from webemu.rl.train.step_log import STEPS


def report(
    run: Annotated[Path, typer.Argument(help="Folder of the run: the --out of `webemu train`.")],
    out: Annotated[Path | None, typer.Option(help="File of the page. [default: RUN/report.html]")] = None,
    steps: Annotated[
        str, typer.Option(help="Whose episodes are shown, such as 1,20,100; else first, a fifth of the way, last.")
    ] = "",
    serve: Annotated[bool, typer.Option("--serve", help="Serve the page, which then follows the run.")] = False,
    port: Annotated[int, typer.Option(min=0, max=65535, help="With --serve; 0 takes any.")] = 8095,
) -> None:
    """Show a training run: curves, held-out figures, and what the model did at its steps.

    The page is one file that asks the network for nothing. It may be made of a run that still goes on.

    \b
    Examples:
      webemu report runs/tiny                       # writes runs/tiny/report.html
      webemu report runs/tiny --steps 1,20,100
      webemu report runs/tiny --serve               # http://127.0.0.1:8095, until Ctrl-C
    """
    wanted = _steps(steps)
    if not (run / RECIPE).exists() and not any(run.glob(f"*/{STEPS}")):
        _stop(f"{run} is no run: it has no {RECIPE}", "name the folder that `webemu train` printed")
    if serve:
        _serve(run, port, wanted)
        return
    path = out or run / "report.html"
    try:
        path.write_text(page(run, wanted), encoding="utf-8", errors="replace")
    except OSError as error:
        _stop(f"{path} cannot be written: {error.strerror}", "name another file with --out")
    typer.echo(str(path))


def _serve(run: Path, port: int, steps: list[int]) -> None:
    try:
        live = Live(run, port, steps)
    except OSError as error:
        _stop(f"port {port} cannot be had: {error.strerror}", "name another with --port, or 0 for any")
    typer.echo(f"{live.address}  (Ctrl-C ends it)")
    try:
        live.serve_forever()
    except KeyboardInterrupt:
        live.server_close()


def _steps(said: str) -> list[int]:
    try:
        return [int(one) for one in said.split(",") if one.strip()]
    except ValueError:
        _stop(f"--steps {said!r} is no list of numbers", "such as --steps 1,20,100")


def _stop(message: str, action: str) -> NoReturn:
    typer.echo(f"webemu: {message}", err=True)
    typer.echo(f"  -> {action}", err=True)
    raise typer.Exit(1)
