"""The command `webemu`: names its subcommands and loads the room that holds one only when it is called."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

from emulator.errors import EmulatorError

COMMANDS: dict[str, tuple[str, str]] = {
    "demo": ("emulator.demo:demo", "Generate a small web that does not exist, serve it, and let an agent use it."),
    "ingest": ("ingest.command:ingest", "Read WARC and other dumps into a collection and build a snapshot."),
    "serve": ("api.command:serve", "Serve a collection over HTTP."),
    "bench": ("api.bench.command:bench", "Measure what a server bears, how long answers take, and what they cost."),
    "search": ("agent_client.command:search", "Search a running server."),
    "fetch": ("agent_client.command:fetch", "Open a page of a running server."),
    "find": ("agent_client.command:find", "Find text inside a page of a running server."),
    "mcp": ("agent_client.stdio:mcp", "Be an MCP server on standard input and output, for a running server."),
    "env": ("api.doors.command:env", "Print the settings that put programs onto the emulated web."),
    "run": ("api.doors.run:run", "Run a command in a network where the emulated web is all there is."),
    "ca": ("api.doors.command:ca", "Show the certificate authority that the server ends TLS with."),
    "eval": ("rl.eval_command:evaluation", "Let a model answer a task file by searching, and measure it."),
    "data": ("rl.data_command:data", "Make data for training out of episodes."),
    "quiz": ("rl.command:quiz", "Let the scripted agent answer a task file against a running server."),
    "tasks": ("rl.tasks.command:app", "Make tasks with known answers, or look through your own."),
    "episodes": ("rl.adapters.command:episodes", "Give episodes of a task file over plain HTTP, for any trainer."),
    "train": ("rl.train.command:train", "Train a search agent: SFT and GRPO in the emulated web."),
    "report": ("rl.train.report_command:report", "Show a training run: curves, and what the model did."),
    "serve-model": ("rl.train.endpoint_command:serve_model", "Serve a trained model, to be evaluated."),
    "traces": ("index.traces_command:traces", "Export what sessions did: JSON lines, conversations, a clickstream."),
    "sql": ("index.command:sql", "Ask the catalog in SQL."),
    "stat": ("index.command:stat", "Show what a collection holds and what was dropped."),
    "snapshots": ("index.command:snapshots", "List, build, switch, remove or verify snapshots."),
    "eval-search": ("index.evaluation.command:eval_search", "Measure how well search finds what is known to be right."),
    "known-items": ("index.evaluation.known_items_command:known_items", "Make queries with known answers of a crawl."),
    "embed": ("index.dense.command:embed", "Give a snapshot vectors, so that it can be searched by meaning."),
    "generate": ("ingest.synth.command:generate", "Write a web that does not exist as WARC files, with tasks."),
}


class Rooms(TyperGroup):
    """A group whose commands live in rooms that are imported on demand."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            return None
        module, _, function = COMMANDS[cmd_name][0].partition(":")
        try:
            return _command(cmd_name, getattr(import_module(module), function))
        except ModuleNotFoundError as error:
            if error.name and error.name.partition(".")[0] == module.partition(".")[0]:
                raise
            raise EmulatorError(
                f"`webemu {cmd_name}` needs the package {error.name!r}, which is not installed",
                action="pip install 'webemu[server]'",
            ) from error

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


def _command(name: str, target: Any) -> Any:
    if isinstance(target, typer.Typer):
        return typer.main.get_command(target)
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command(name)(target)
    return typer.main.get_command(app)


app = typer.Typer(cls=Rooms, add_completion=False, no_args_is_help=True, rich_markup_mode=None)


@app.callback(epilog="Start with `webemu demo`. Every command explains itself: webemu COMMAND --help.")
def _root() -> None:
    """webemu: the web, emulated from a crawl, for training and evaluating search agents."""


def main() -> None:
    """Entry point; errors of ours are two lines on stderr, never a traceback."""
    try:
        app()
    except EmulatorError as error:
        print(f"webemu: {error}", file=sys.stderr)
        if error.action:
            print(f"  -> {error.action}", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
