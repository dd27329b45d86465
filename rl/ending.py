"""Ends a command of this room that failed: two lines on stderr and exit status 1, as `webemu.emulator.ending` does for
errors of the emulator, which this room may not import.
"""

from __future__ import annotations

from typing import NoReturn

import typer


def exit_with_error(message: str, action: str) -> NoReturn:
    """Print what happened and what to do, and exit with status 1."""
    typer.echo(f"webemu: {message}", err=True)
    typer.echo(f"  -> {action}", err=True)
    raise typer.Exit(1) from None
