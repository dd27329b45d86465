"""What the commands of tasks have in common: options, and how errors are told."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from webemu.agent_client.errors import ClientError
from webemu.emulator.errors import BadRequest, EmulatorError
from webemu.rl.tasks.task import TaskError

Collection = Annotated[str | None, typer.Option(help="Collection. [default: default]")]
Root = Annotated[Path | None, typer.Option(help="Folder of all collections. [default: webemu-data]")]
Server = Annotated[
    str | None,
    typer.Option(envvar="WEBEMU_SERVER", help="A server of this collection; without it, one is started for the time."),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar.")]


@contextmanager
def told() -> Iterator[None]:
    """Errors of the client and of task files as those of the house, which end a command with two lines."""
    try:
        yield
    except ClientError as error:
        raise EmulatorError(error.message, action=error.action) from error
    except TaskError as error:
        raise BadRequest(str(error), action=error.action) from error
