"""The command `webemu`: lists its subcommands, and imports the package of one only when it is called."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from difflib import get_close_matches
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer._click.shell_completion import CompletionItem
from typer._completion_classes import completion_init
from typer.core import TyperCommand, TyperGroup

from webemu.emulator import config, ending, extras

if TYPE_CHECKING:  # Typer's copy of click, which is no public module
    from typer._click.core import Command as ClickCommand
    from typer._click.core import Context
    from typer._click.formatting import HelpFormatter

COMPLETION_VARIABLE = "_WEBEMU_COMPLETE"
"""Environment variable in which a shell asks for completions."""
COMMAND_GROUPS: dict[str, dict[str, tuple[str, str]]] = {
    "Use it": {
        "demo": ("webemu.emulator.demo:demo", "Generate a small synthetic web, serve it, and let an agent use it."),
        "generate": ("webemu.worlds.command:generate", "Write a synthetic web as WARC files, with tasks."),
        "pick": (
            "webemu.ingest.pick.command:pick",
            "Choose pages of a crawl by its index and fetch only their records.",
        ),
        "plan": ("webemu.ingest.plan_command:plan", "Say what a crawl will cost to ingest, keep and serve."),
        "ingest": ("webemu.ingest.command:ingest", "Read WARC and other dumps into a collection and build a snapshot."),
        "serve": ("webemu.api.command:serve", "Serve a collection over HTTP."),
        "search": ("webemu.agent_client.command:search", "Search a running server."),
        "fetch": ("webemu.agent_client.command:fetch", "Open a page of a running server."),
        "find": ("webemu.agent_client.command:find", "Find text inside a page of a running server."),
    },
    "Point agents at it": {
        "env": ("webemu.api.proxy.command:env", "Print shell exports that route programs through the emulated web."),
        "run": ("webemu.api.proxy.run:run", "Run a command in a network that contains only the emulated web."),
        "record": ("webemu.recorder.command:record", "Run a command on the live web and record it for replay."),
        "ca": ("webemu.api.proxy.command:ca", "Show the certificate authority with which the server terminates TLS."),
        "mcp": (
            "webemu.agent_client.stdio:mcp",
            "Run an MCP server on standard input and output, for a running server.",
        ),
    },
    "Train with it": {
        "tasks": ("webemu.rl.tasks.command:app", "Make tasks with known answers, or check your own."),
        "episodes": (
            "webemu.rl.adapters.command:episodes",
            "Serve episodes of a task file over HTTP, for any trainer.",
        ),
        "train": ("webemu.rl.train.command:train", "Train a search agent: SFT and GRPO in the emulated web."),
        "report": ("webemu.rl.train.report_command:report", "Show a training run: curves and what the model did."),
        "hosted-tools": (
            "webemu.rl.hosted.command:hosted_tools",
            "Give a local model OpenAI's and Anthropic's hosted web search.",
        ),
        "serve-model": ("webemu.rl.train.endpoint_command:serve_model", "Serve a trained model for evaluation."),
        "eval": ("webemu.rl.eval_command:evaluation", "Evaluate a model on a task file: it searches and answers."),
        "judge": ("webemu.rl.judge.command:judge_app", "Measure a model that judges answers."),
        "data": ("webemu.rl.data_command:data", "Make training data from episodes."),
        "quiz": ("webemu.rl.command:quiz", "Let the scripted agent answer a task file against a running server."),
    },
    "Operate it": {
        "completion": ("webemu.emulator.completion:completion", "Print a script that completes commands in a shell."),
        "doctor": ("webemu.emulator.doctor:doctor", "Look at this machine and its collections, and say what to do."),
        "stat": ("webemu.index.command:stat", "Show what a collection contains and what was dropped."),
        "sql": ("webemu.index.command:sql", "Query the catalog in SQL."),
        "snapshots": ("webemu.index.command:snapshots", "List, build, switch, remove or verify snapshots."),
        "remove": (
            "webemu.ingest.removal_command:remove_command",
            "Take pages, hosts or files out of a collection for good.",
        ),
        "removed": ("webemu.ingest.removal_command:removed", "List what was removed, when and why."),
        "restore": ("webemu.ingest.removal_command:restore", "Take removals back."),
        "export": (
            "webemu.ingest.export.command:export",
            "Write a collection or a part of it as WARC, WACZ, Parquet, JSONL.",
        ),
        "merge": ("webemu.ingest.keeping_command:merge", "Take the sources of other collections into one."),
        "move": ("webemu.ingest.keeping_command:move", "Move a collection or its source files; own its payloads."),
        "gc": ("webemu.ingest.keeping_command:gc", "Delete old snapshots and what killed runs left behind."),
        "embed": ("webemu.index.dense.command:embed", "Add embeddings to a snapshot, for search by meaning."),
        "traces": (
            "webemu.index.traces_command:traces",
            "Export session traces: JSON lines, conversations, a clickstream.",
        ),
        "misses": ("webemu.index.misses_command:misses", "List what agents asked for and did not get."),
        "audit-leak": (
            "webemu.api.audit.command:audit_leak",
            "Prove that sessions see nothing later than their moment; find pages that give tasks away.",
        ),
        "bench": ("webemu.api.bench.command:bench", "Measure the throughput, latency and cost of a server."),
        "eval-search": (
            "webemu.index.evaluation.command:eval_search",
            "Measure search quality against known relevant pages.",
        ),
        "compare-serp": (
            "webemu.index.evaluation.serp_command:compare_serp",
            "Compare recorded results of a live search service with those of a collection.",
        ),
        "known-items": (
            "webemu.index.evaluation.known_items_command:known_items",
            "Make queries with known answers from a crawl.",
        ),
    },
}
"""Subcommands by group, as `webemu --help` shows them: name -> (`module:function`, help line)."""

COMMANDS: dict[str, tuple[str, str]] = {
    name: entry for commands in COMMAND_GROUPS.values() for name, entry in commands.items()
}
"""Subcommands by name, in the order of their groups."""


Command = TyperCommand | TyperGroup


class LazyCommandGroup(TyperGroup):
    """A Typer group whose commands are imported on demand, so that `webemu --help` needs no optional package."""

    def list_commands(self, ctx: object) -> list[str]:
        """Return the names of all commands."""
        return list(COMMANDS)

    def get_command(self, ctx: object, cmd_name: str) -> Command | None:
        """Import and return a command; None if the name is unknown."""
        return _load_command(cmd_name) if cmd_name in COMMANDS else None

    def resolve_command(self, ctx: Context, args: list[str]) -> tuple[str | None, ClickCommand | None, list[str]]:
        """Resolve a command. An unknown name fails with suggestions; a missing package fails before the options are
        checked.
        """
        name, *arguments = args
        if name not in COMMANDS and not name.startswith("-"):
            similar = " or ".join(map(repr, get_close_matches(name, COMMANDS)))
            ctx.fail(f"No such command {name!r}." + (f" Did you mean {similar}?" if similar else ""))
        resolved = super().resolve_command(ctx, args)
        if "--help" in arguments:
            return resolved
        config.check_variables(os.environ)
        absent = getattr(resolved[1], "absent", None)
        if absent and (arguments or not isinstance(resolved[1], TyperGroup)):
            raise absent  # before the options are checked: without its packages no options would help
        return resolved

    def shell_complete(self, ctx: Context, incomplete: str) -> list[CompletionItem]:
        """Return the commands that begin with a text, without importing any; for an option, the options."""
        if incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete)
        names = [name for name in COMMANDS if name.startswith(incomplete)]
        return [CompletionItem(name, help=COMMANDS[name][1]) for name in names]

    def invoke(self, ctx: Context) -> object:
        """Run the command; Ctrl-C ends it with exit status 130 and without a traceback."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            print("webemu: interrupted", file=sys.stderr)
            raise typer.Exit(ending.EXIT_INTERRUPTED) from None

    def format_commands(self, ctx: Context, formatter: HelpFormatter) -> None:
        """Write the command list of `--help`, a section for each group, without importing any command."""
        width = max(map(len, COMMANDS))
        for group, commands in COMMAND_GROUPS.items():
            with formatter.section(group):
                formatter.write_dl([(name.ljust(width), text) for name, (_, text) in commands.items()])


def _load_command(name: str) -> Command:
    """Return a command.

    If packages that it needs are missing, return one that shows its options and, when run, says what to install.
    """
    module, _, function = COMMANDS[name][0].partition(":")
    try:
        return _build_command(name, getattr(import_module(module), function))
    except ImportError as error:
        if not extras.is_optional(extras.missing_module(error)):
            raise
    with extras.stub_missing_packages() as missing:
        command = _build_command(name, getattr(import_module(module), function))
    _fail_when_run(command, extras.missing_package_error(f"`webemu {name}`", missing))
    return command


def _fail_when_run(command: Any, error: Exception) -> None:
    """Make a command, or each command of a group, raise an error when it is run."""

    def raise_error(**_: object) -> None:
        raise error

    command.absent = error
    if not isinstance(command, TyperGroup):
        command.callback = raise_error
    for inner in getattr(command, "commands", {}).values():
        _fail_when_run(inner, error)


def _build_command(name: str, target: typer.Typer | Callable[..., None]) -> Command:
    """Return the click command of a Typer app or of a function."""
    if isinstance(target, typer.Typer):
        app = target
    else:
        app = typer.Typer(add_completion=False, rich_markup_mode=None)
        app.command(name)(target)
    command = typer.main.get_command(app)
    assert isinstance(command, TyperCommand | TyperGroup)  # Typer builds no other kind
    return command


def _show_version(is_requested: bool) -> None:
    """Print the version and exit."""
    if is_requested:
        try:
            typer.echo(f"webemu {version('webemu')}")
        except PackageNotFoundError:
            typer.echo("webemu (not installed; running from its source)")
        raise typer.Exit


app = typer.Typer(cls=LazyCommandGroup, add_completion=False, no_args_is_help=True, rich_markup_mode=None)

EPILOG = """Start with `webemu demo`. Every command explains itself: webemu COMMAND --help.

Exit status: 0 done, 1 failed, 2 wrong usage, 130 interrupted. WEBEMU_TRACEBACK=1 prints a traceback."""
"""Text below the command list of `webemu --help`."""


@app.callback(epilog=EPILOG)
def _root(
    show_version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_show_version, help="Show the version and exit.")
    ] = False,
) -> None:
    """webemu: the web, emulated from a crawl, for training and evaluating search agents."""


def main() -> None:
    """Run the command line. An error is printed as two lines on stderr: what happened and what to do."""
    if COMPLETION_VARIABLE in os.environ:
        completion_init()  # a shell asks for completions of what is typed (`webemu completion`)
    try:
        app()
    except Exception as error:
        sys.exit(ending.print_error(error))
    except KeyboardInterrupt:
        sys.exit(ending.EXIT_INTERRUPTED)


if __name__ == "__main__":
    main()
