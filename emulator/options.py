"""Options that commands of several rooms share, so that their help is the same everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

RootOption = Annotated[Path | None, typer.Option(help="Folder of all collections. [default: webemu-data]")]
"""`--root`, for `load_config`."""
