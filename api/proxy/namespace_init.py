"""First program inside the network of `webemu run`: brings it up, serves the collection there, and runs the command.

It starts as root of the namespaces with nothing but a loopback interface that is down. DNS, HTTP and TLS have their
standard ports here, names have addresses that look public (`webemu.api.proxy.namespace_network`), and the authority is
in the stores of certificates (`webemu.api.proxy.namespace_trust`), so that programs need no settings. Unix sockets and
all other files are those of the machine.
"""

from __future__ import annotations

import ctypes
import errno
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

from webemu.api.proxy.authority import CERTIFICATE_FILE, ensure_authority
from webemu.api.proxy.command import build_exports
from webemu.api.proxy.mounts import cover_file, hide_folder
from webemu.api.proxy.namespace_network import open_loopback
from webemu.api.proxy.namespace_trust import trust_authority
from webemu.api.proxy.programs import configure_cdx_toolkit
from webemu.api.proxy.run import restore_ids_command
from webemu.emulator.config import Network
from webemu.emulator.demo import is_healthy
from webemu.emulator.errors import EmulatorError

ADDRESS, PORT = "127.0.0.1", 8800
SERVER_OPTIONS = ["--port", str(PORT), "--web-ports", "80,443", "--dns-port", "53"]
"""Options of `webemu serve` inside the network."""
START_SECONDS, STOP_SECONDS = 60.0, 20.0
"""Seconds that the server has to answer, and to end."""
RESOLV_CONF = Path("/etc/resolv.conf")
RESOLVER_FOLDERS = ("/run/systemd/resolve", "/run/nscd", "/var/run/nscd", "/run/avahi-daemon")
"""Folders of the Unix sockets of the machine's own resolvers, which a network namespace does not close."""
PROXY_VARIABLES = {
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "FTP_PROXY",
    "NO_PROXY",
    "DDGS_PROXY",
    "NODE_USE_ENV_PROXY",
}
"""Variables of the caller that must not reach the command: the caller may be in another network."""
FORWARDED_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)
"""Signals that are passed on to the command."""
_PR_SET_PDEATHSIG = 1


def main(arguments: list[str]) -> int:
    """Run the command inside the network; return its exit status, or 1 if it was not started."""
    root, collection, ids, policy, *command = arguments
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    server: subprocess.Popen[bytes] | None = None
    cleanup = ExitStack()
    try:
        networks = open_loopback()
        override_resolv_conf()
        server = start_server(root, collection, policy, networks)
        trusting = build_exports(Path(root))
        certificate_file = ensure_authority(Path(root)) / CERTIFICATE_FILE
        trust_authority(certificate_file, command, os.environ, cleanup)  # while the server starts
        wait_until_healthy(server)
        return run_and_forward_signals([*restore_ids_command(ids), *command], build_environment(trusting))
    except EmulatorError as error:
        print(f"webemu: {error}", file=sys.stderr)
        return 1
    finally:
        cleanup.close()
        if server:
            stop_server(server)


def override_resolv_conf() -> None:
    """Make the server the only resolver: hide the machine's own and replace resolv.conf, in this mount namespace
    alone.
    """
    hidden = {Path(name).resolve() for name in RESOLVER_FOLDERS if Path(name).is_dir()}
    target = RESOLV_CONF.resolve()
    for folder in hidden:
        hide_folder(folder)
    if any(folder in target.parents for folder in hidden):
        target.parent.mkdir(parents=True, exist_ok=True)
        target.touch()
    if target.exists():  # without the file, 127.0.0.1 is asked anyway, resolv.conf(5)
        cover_file(target, f"# by webemu run\nnameserver {ADDRESS}\n".encode())


def start_server(root: str, collection: str, policy: str, networks: Sequence[Network]) -> subprocess.Popen[bytes]:
    """Start the server under a policy, with the addresses of host names in these networks. It ends with this process,
    however that ends.
    """
    command = [
        *[sys.executable, "-P", "-m", "webemu.emulator.cli", "serve", "--root", root, "--collection", collection],
        *["--host", "::" if any(network.version == 6 for network in networks) else "0.0.0.0"],
        *["--policy", policy, "--dns-networks", ",".join(map(str, networks)), *SERVER_OPTIONS],
    ]
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        start_new_session=True,  # signals of the terminal are for the command
        preexec_fn=_end_with_parent,
    )


def wait_until_healthy(server: subprocess.Popen[bytes]) -> None:
    """Wait until the server answers.

    Raises:
        EmulatorError: it ended, or did not answer in time.
    """
    deadline = time.monotonic() + START_SECONDS
    while not is_healthy(PORT):
        if server.poll() is not None or time.monotonic() > deadline:
            stop_server(server)
            raise EmulatorError("the server did not start; see its messages above")
        time.sleep(0.05)


def _end_with_parent() -> None:
    """Have the kernel stop this process when its parent ends, prctl(2)."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def stop_server(server: subprocess.Popen[bytes]) -> None:
    """Stop the server; say so if it ended by itself before."""
    if server.poll() is not None:
        print("webemu: the server ended before the command, which may have failed for that reason", file=sys.stderr)
        return
    server.terminate()
    with suppress(subprocess.TimeoutExpired):
        server.wait(STOP_SECONDS)
    server.kill()
    server.wait()


def build_environment(trusting: dict[str, str]) -> dict[str, str]:
    """Return the caller's environment without proxies, with the variables of programs that trust the authority."""
    inherited = {name: value for name, value in os.environ.items() if name.upper() not in PROXY_VARIABLES}
    server = f"http://{ADDRESS}:{PORT}"
    return inherited | trusting | configure_cdx_toolkit(server) | {"WEBEMU_SERVER": server}


def run_and_forward_signals(command: list[str], env: dict[str, str]) -> int:
    """Run the command, forward signals to it, and return its exit status as a shell reports it."""
    awaited_signals = {*FORWARDED_SIGNALS, signal.SIGCHLD}
    # Blocked signals stay pending until sigwaitinfo takes them, so that none is lost before the command runs.
    old_mask = signal.pthread_sigmask(signal.SIG_BLOCK, awaited_signals)
    try:
        with subprocess.Popen(command, env=env, preexec_fn=lambda: _set_mask(old_mask)) as process:
            announcer = threading.Thread(target=_announce_end, args=(process.pid, threading.get_ident()))
            announcer.start()
            while process.poll() is None:
                signal_info = signal.sigwaitinfo(awaited_signals)
                if (
                    signal_info.si_signo != signal.SIGCHLD and signal_info.si_code <= 0
                ):  # signals of a terminal reach the command without us
                    process.send_signal(signal_info.si_signo)
            announcer.join()
        # Shells report death by signal N as 128 + N.
        return process.returncode if process.returncode >= 0 else 128 - process.returncode
    except OSError as error:
        print(f"webemu: cannot run {command[0]}: {error.strerror}", file=sys.stderr)
        return 127 if error.errno == errno.ENOENT else 126
    finally:
        _set_mask(old_mask)


def _announce_end(child: int, thread: int) -> None:
    """Wake a thread that waits for SIGCHLD once the child has ended.

    The kernel's own SIGCHLD is for the whole process, and another thread that does not block it may take it.
    """
    with suppress(ChildProcessError):  # its status was taken already
        os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)  # the status is left for Popen
    with suppress(ProcessLookupError):
        signal.pthread_kill(thread, signal.SIGCHLD)


def _set_mask(signals: Iterable[int]) -> None:
    signal.pthread_sigmask(signal.SIG_SETMASK, signals)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
