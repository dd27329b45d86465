"""The command `webemu completion`: prints a script by which a shell completes commands and options.

The scripts are made by Typer's parser, so that they know what the parser knows: the shell asks `webemu` itself at each
TAB.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer
from typer._completion_shared import get_completion_script

from webemu.emulator.cli import COMPLETION_VARIABLE

PROGRAM = "webemu"
"""Name of the program."""


class Shell(StrEnum):
    """Shells that can complete."""

    bash = "bash"
    zsh = "zsh"
    fish = "fish"
    powershell = "powershell"


def completion(shell: Annotated[Shell, typer.Argument(help="Shell for which the script is.")]) -> None:
    """Print a script that completes commands and options in a shell.

    \b
    Examples:
      source <(webemu completion bash)                                         # or in ~/.bashrc
      source <(webemu completion zsh)                                          # after compinit, or in ~/.zshrc
      webemu completion fish > ~/.config/fish/completions/webemu.fish
    """
    typer.echo(get_completion_script(prog_name=PROGRAM, complete_var=COMPLETION_VARIABLE, shell=shell.value))
