"""Options that the task commands share, and the conversion of their errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from webemu.agent_client.errors import ClientError
from webemu.emulator.errors import BadRequest, EmulatorError
from webemu.rl.tasks.task import TaskError

CollectionOption = Annotated[str | None, typer.Option(help="Name of the collection. [default: default]")]
RootOption = Annotated[Path | None, typer.Option(help="Folder of all collections. [default: webemu-data]")]
ServerOption = Annotated[
    str | None,
    typer.Option(envvar="WEBEMU_SERVER", help="Address of a server of this collection. [default: start one]"),
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress bar.")]


@contextmanager
def convert_errors() -> Iterator[None]:
    """Convert errors of the client and of task files to those that a command prints in two lines."""
    try:
        yield
    except ClientError as error:
        raise EmulatorError(error.message, action=error.action) from error
    except TaskError as error:
        raise BadRequest(str(error), action=error.action) from error
