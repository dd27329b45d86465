"""Completion in the shells themselves, where they are installed: commands, inner commands and options."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(sys.executable).parent
BASH = """
source <(webemu completion bash)
COMP_WORDS=({line}); COMP_CWORD={position}; COMPREPLY=()
_webemu_completion webemu
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
ZSH = """
autoload -Uz compinit; compinit -u -d "$HOME/dump"
compdef() {{ print -- "$2 is bound to $1" }}
source <(webemu completion zsh)
words=({line}); CURRENT={position}
_arguments() {{ print -l -- "$@" }}
_describe() {{ print -l -- "${{(@P)2:-${{(@P)3}}}}" }}
_webemu_completion
"""
FISH = """
webemu completion fish | source
complete -C '{line}'
"""


def run_in_shell(shell: str, script: str, home: Path) -> str:
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} is installed")
    environment = {**os.environ, "PATH": f"{FOLDER}:{os.environ['PATH']}", "HOME": str(home)}
    arguments = {"bash": ["--norc"], "zsh": ["-f"], "fish": ["--no-config"]}[shell]
    done = subprocess.run(
        [shell, *arguments, "-c", script], capture_output=True, text=True, env=environment, timeout=120, check=False
    )
    assert done.stderr == ""
    return done.stdout


@pytest.mark.slow
@pytest.mark.skipif(not (FOLDER / "webemu").exists(), reason="the command is not installed beside this Python")
@pytest.mark.parametrize("shell", ["bash", "fish", "zsh"])
def test_a_shell_completes_commands_and_options(shell: str, tmp_path: Path) -> None:
    template = {"bash": BASH, "fish": FISH, "zsh": ZSH}[shell]
    first = 1 if shell == "bash" else 2
    commands = run_in_shell(shell, template.format(line="webemu se", position=first), tmp_path)
    assert all(name in commands for name in ("serve", "search", "serve-model"))
    assert "ingest" not in commands
    options = run_in_shell(shell, template.format(line="webemu serve --po", position=first + 1), tmp_path)
    assert "--port" in options
    assert "--collection" not in options
