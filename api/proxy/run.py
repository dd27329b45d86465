"""The command `webemu run -- CMD`: run CMD in a network of its own that contains nothing but the emulated web.

The network is a Linux network namespace (namespaces(7)) created by `unshare`, as root or as any user who may create
user namespaces. What happens inside is in `webemu.api.proxy.namespace_init`. This module finds out whether the machine
allows it, and if not, why.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from webemu.api.app import store_run_policy
from webemu.api.runtime.live_snapshot import current_id
from webemu.emulator.config import load_config
from webemu.emulator.errors import BadRequest, SnapshotError
from webemu.emulator.folders import find_collection
from webemu.emulator.options import RootOption

ROOT_OPTIONS = ["--net", "--mount"]
"""Options of `unshare` for root."""
USER_OPTIONS = ["--user", "--map-root-user", *ROOT_OPTIONS]
"""Options of `unshare` for other users, who need a user namespace."""
CAP_SYS_ADMIN = 21
"""Bit of the capability that root needs, capabilities(7)."""
NAMESPACE_SWITCHES = {
    "/proc/sys/user/max_user_namespaces": "0",
    "/proc/sys/kernel/unprivileged_userns_clone": "0",
    "/proc/sys/kernel/apparmor_restrict_unprivileged_userns": "1",
}
"""Kernel settings that forbid user namespaces, and the value by which they do."""
ALTERNATIVES = (
    "run it as root with CAP_SYS_ADMIN; or in a closed network of containers (docker-compose.yml); or, with no such "
    'protection, in a shell after: eval "$(webemu env)"'
)
"""Advice for machines that do not allow such a network."""

PolicyOption = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Policy in JSON that holds for all that the command does. [default: none]"),
]
SessionOption = Annotated[
    str | None, typer.Option(metavar="ID", help="Session that all that the command does belongs to. [default: none]")
]


def run(
    command: Annotated[list[str], typer.Argument(metavar="CMD...", help="Command with its arguments, after `--`.")],
    collection: Annotated[str | None, typer.Option(help="Collection to serve. [default: default]")] = None,
    root: RootOption = None,
    policy: PolicyOption = None,
    session: SessionOption = None,
) -> None:
    """Run a command in a network of its own, where every name leads to the emulated web and nothing leads out.

    Needs no running server, no proxy settings and no root. Names have addresses that look public, and programs trust
    the emulated web's certificates without a flag. The command sees the same files, keeps your standard input and
    output, and its exit status is passed on; 2 means that the machine does not allow such a network.

    With --policy or --session, the command cannot leave out its rules: what it carries can only narrow them, and
    ledgers and statistics are closed to it. The session is one that a server of the same collection opened.

    \b
        webemu run --collection demo -- curl https://en.openlexicon.org/wiki/Main_Page
        webemu run --collection demo --policy blocked.json -- python agent.py
    """
    if policy and session:
        raise BadRequest("--policy and --session exclude each other", action="open a session with the policy")
    config = load_config({"collection": collection, "root": root, "policy": policy or session})
    try:
        folder = find_collection(config)
        bound_session = store_run_policy(config).policy
    except BadRequest as error:  # a BadRequest would exit with 2, which means that the machine does not allow it
        raise SnapshotError(error.message, action=error.action) from error
    if current_id(folder) is None:
        action = f"webemu ingest SOURCE... --collection {config.collection}"
        raise SnapshotError(f"the collection in {config.collection_folder} has no snapshot to serve", action=action)
    flags, ids, problem = find_unshare_flags()
    if problem:
        print(f"webemu: cannot create a network here: {problem}\n  -> {ALTERNATIVES}", file=sys.stderr)
        raise typer.Exit(2)
    # -P: the current folder is the user's, and its modules must not shadow ours.
    init_command = [
        sys.executable,
        "-P",
        "-m",
        "webemu.api.proxy.namespace_init",
        str(config.root.resolve()),
        config.collection,
        ids,
        bound_session,
    ]
    os.execvp("unshare", ["unshare", *flags, "--", *init_command, *command])


def find_unshare_flags() -> tuple[list[str], str, str]:
    """Return how to create a network namespace here.

    The result is the options of `unshare`, the `UID:GID` to return to inside (empty for root), and why it is
    impossible (empty if it is possible).
    """
    if not shutil.which("unshare"):
        return [], "", "there is no `unshare` here (Linux only, package util-linux)"
    problem = ""
    for flags in [ROOT_OPTIONS, USER_OPTIONS] if os.geteuid() == 0 else [USER_OPTIONS]:
        ids = f"{os.geteuid()}:{os.getegid()}" if flags is USER_OPTIONS else ""
        trial = subprocess.run(
            ["unshare", *flags, "--", *restore_ids_command(ids), "true"], capture_output=True, text=True
        )
        if trial.returncode == 0:
            return flags, ids, ""
        problem = trial.stderr.strip().replace("\n", "; ") or f"unshare ended with status {trial.returncode}"
    return [], "", "; ".join([problem, *_list_obstacles()])


def restore_ids_command(ids: str) -> list[str]:
    """Return the beginning of a command line that gives users their own ids back, without power over the network."""
    user, _, group = ids.partition(":")
    return ["unshare", "--user", f"--map-user={user}", f"--map-group={group}", "--"] if ids else []


def _list_obstacles() -> list[str]:
    """Return known causes why namespaces are forbidden on this machine."""
    obstacles = [
        f"{name.removeprefix('/proc/sys/').replace('/', '.')} is {value}"
        for name, value in NAMESPACE_SWITCHES.items()
        if (switch := Path(name)).is_file() and switch.read_text().strip() == value
    ]
    if os.geteuid() == 0 and not _effective_capabilities() >> CAP_SYS_ADMIN & 1:
        obstacles.append("root lacks CAP_SYS_ADMIN, as in most containers")
    return obstacles


def _effective_capabilities() -> int:
    """Return the effective capabilities of this process as bits, capabilities(7)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next((int(line.split()[1], 16) for line in lines if line.startswith("CapEff:")), 0)
