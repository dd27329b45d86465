"""The command `webemu doctor`: looks at what webemu needs here, and says what to do about what is missing; accounts for
the records of a file.

Every check is a function that returns findings and never raises. Packages of other rooms are imported by name when a
check runs, so that the command also works where they are what is missing.
"""

from __future__ import annotations

import json
import platform
import shutil
import socket
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import typer

from webemu.emulator import extras
from webemu.emulator.config import Config, load_config
from webemu.emulator.errors import EmulatorError
from webemu.emulator.folders import list_collections
from webemu.emulator.options import RootOption

MIN_FREE_BYTES = 2 << 30
"""Free disk space below which ingest soon fails."""
MIN_DESCRIPTORS = 4096
"""Open files that a server of a thousand connections needs."""
_CHECKED_EXTRAS = {
    "server": "ingest and serve",
    "rl": "tasks and evaluation",
    "train": "`webemu train`",
    "dense": "search by meaning",
}
"""Extras that are looked at, with what they are for."""

State = Literal["ok", "note", "fail"]


class CheckResult(NamedTuple):
    """Outcome of one check: `note` is a limit that one can live with, `fail` prevents what the text names."""

    state: State
    subject: str
    text: str
    action: str = ""
    """Remedy, as a command where one helps; empty if there is nothing to do."""


def doctor(
    file: Annotated[str | None, typer.Argument(help="Archive whose records are accounted for, one by one.")] = None,
    root: RootOption = None,
    losses: Annotated[bool, typer.Option("--losses", help="With FILE: only records that lost something.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per line.")] = False,
) -> None:
    """Look at Python, packages, the network namespaces of `webemu run`, limits, disk and collections.

    Says what to do about what is missing. Exit status 1 if something fails.

    With FILE it says instead what `webemu ingest FILE` makes of every record, and why; nothing is ingested.

    webemu doctor crawl.warc.gz --losses
    """
    if file is not None:
        _account_for(file, losses, as_json)
        return
    config = load_config({"root": root})
    has_failed = False
    for check in CHECKS:
        for result in check(config):
            has_failed |= result.state == "fail"
            print(json.dumps(result._asdict()) if as_json else _format(result))
    raise typer.Exit(1 if has_failed else 0)


def _account_for(file: str, only_losses: bool, as_json: bool) -> None:
    """Print what ingest makes of each record of a file, and the number of records by outcome and reason."""
    try:
        inspection = import_module("webemu.ingest.inspection")
    except ModuleNotFoundError as error:
        raise EmulatorError(
            f"reading archives needs the package {error.name!r}, which is not installed",
            action=extras.install_command(["server"]),
        ) from error
    outcomes: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    for report in inspection.inspect_file(file):
        outcomes[report.outcome] += 1
        reasons.update(report.reasons)
        if only_losses and not report.reasons:
            continue
        if as_json:
            print(json.dumps(report._asdict()))
        else:
            print(f"{report.offset:>12} {report.type or '-':<10} {report.outcome:<8} {report.url}".rstrip())
            if explanation := report.explain():
                print(f"{'':<24}{explanation}")
    if not as_json:
        print(", ".join(f"{outcome} {count:,}" for outcome, count in outcomes.most_common()) or "no record")
        for reason, count in reasons.most_common():
            print(f"{count:>12,} {reason}: {inspection.explain_reason(reason)}")


def _format(result: CheckResult) -> str:
    """Return a result as one line, or two if something can be done."""
    line = f"{result.state:<5} {result.subject:<14} {result.text}"
    return f"{line}\n{'':<20} -> {result.action}" if result.action else line


def check_python(_: Config) -> Iterator[CheckResult]:
    """Check the version of Python and the operating system."""
    try:
        installed = f"webemu {version('webemu')}"
    except PackageNotFoundError:
        installed = "webemu, not installed, from its source"
    yield CheckResult("ok", "python", f"{platform.python_version()} ({sys.executable}); {installed}")
    if sys.platform == "linux":
        return
    has_posix = sys.platform == "darwin"
    text = "everything but `webemu run`" if has_posix else "the client works, the server does not"
    action = "" if has_posix else "run the server in WSL or in a container"
    yield CheckResult("note", "system", f"{platform.system()}: {text}", action)


def check_packages(_: Config) -> Iterator[CheckResult]:
    """Check which extras are installed, and the record reader that was compiled with the installation."""
    for extra, purpose in _CHECKED_EXTRAS.items():
        missing = [module for module in extras.EXTRAS[extra] if not _is_installed(module)]
        if not missing:
            yield CheckResult("ok", f"extra {extra}", f"for {purpose}")
            continue
        names = ", ".join(missing[:4]) + (" and others" if len(missing) > 4 else "")
        yield CheckResult("note", f"extra {extra}", f"for {purpose}: no {names}", extras.install_command([extra]))
    if (records := _import_or_none("webemu.index.records")) is None:
        return
    if records.READER == "compiled":
        yield CheckResult("ok", "record reader", "compiled")
    else:
        text = "Python: searches take about a third longer"
        yield CheckResult("note", "record reader", text, _compiler_action())


def _is_installed(module: str) -> bool:
    """True if a top-level module can be found, whether or not it can be imported."""
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def _import_or_none(module: str) -> Any:
    """Return a module; None if it, or a package that it needs, cannot be imported."""
    try:
        return import_module(module)
    except (ImportError, OSError):
        return None


def _compiler_action() -> str:
    has_compiler = any(map(shutil.which, ("cc", "gcc", "clang")))
    return "install webemu again" if has_compiler else "install a C compiler (cc), then webemu again"


def check_namespaces(_: Config) -> Iterator[CheckResult]:
    """Check whether `webemu run` can make a network of its own."""
    if sys.platform != "linux" or (run := _import_or_none("webemu.api.proxy.run")) is None:
        return
    _, _, problem = run.find_unshare_flags()
    if not problem:
        yield CheckResult("ok", "namespaces", "`webemu run` can make a network of its own")
        return
    action = "use `webemu env` instead, or run where namespaces are allowed (docs/proxy.md)"
    yield CheckResult("note", "namespaces", f"`webemu run` cannot work: {problem}", action)


def check_limits(config: Config) -> Iterator[CheckResult]:
    """Check open files, disk space and the port."""
    if resource := _import_or_none("resource"):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        is_enough = soft in (-1, resource.RLIM_INFINITY) or soft >= MIN_DESCRIPTORS
        action = "" if is_enough else f"ulimit -n {hard}, before `webemu serve`"
        yield CheckResult("ok" if is_enough else "note", "open files", f"{soft:,} at most", action)
    folder = next(path for path in (config.root.absolute(), *config.root.absolute().parents) if path.exists())
    free = shutil.disk_usage(folder).free
    state: State = "ok" if free >= MIN_FREE_BYTES else "fail"
    text = f"{free / 2**30:,.1f} GiB free for {config.root}"
    yield CheckResult(state, "disk", text, "" if state == "ok" else "free some, or choose another --root")
    with socket.socket() as probe:
        probe.settimeout(1)
        is_used = probe.connect_ex((config.host, config.port)) == 0
    action = "stop what listens there, or choose another --port, unless it is your server" if is_used else ""
    text = f"{config.host}:{config.port} is {'in use' if is_used else 'free'}"
    yield CheckResult("note" if is_used else "ok", "port", text, action)


def check_collections(config: Config) -> Iterator[CheckResult]:
    """Check that the snapshot of every collection can be opened."""
    names = list_collections(config.root)
    if not names:
        text = f"there is none below {config.root}"
        yield CheckResult("note", "collections", text, "webemu ingest SOURCE..., or `webemu demo`")
        return
    if (live_snapshot := _import_or_none("webemu.api.runtime.live_snapshot")) is None:
        return
    for name in names:
        yield _check_collection(live_snapshot, config.root / name)


def _check_collection(live_snapshot: Any, folder: Path) -> CheckResult:
    """Return whether the snapshot that a collection serves can be opened."""
    subject = f"{folder.name}"
    try:
        snapshot = live_snapshot.current_id(folder)
    except (OSError, EmulatorError) as error:
        return CheckResult("fail", subject, str(error), "webemu snapshots list")
    if snapshot is None:
        action = f"webemu snapshots build --collection {folder.name}"
        return CheckResult("note", subject, "has no snapshot to serve", action)
    problem = live_snapshot.find_problem(folder, snapshot)
    if problem is None:
        return CheckResult("ok", subject, f"snapshot {snapshot} can be served")
    text, action = problem
    return CheckResult("fail", subject, f"snapshot {snapshot}: {text}", action)


CHECKS: tuple[Callable[[Config], Iterator[CheckResult]], ...] = (
    check_python,
    check_packages,
    check_namespaces,
    check_limits,
    check_collections,
)
"""All checks, in the order in which they are shown."""
