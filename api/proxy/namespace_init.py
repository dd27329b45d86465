"""First program inside the network of `webemu run`: brings it up, serves the collection there, and runs the command.

It starts as root of the namespaces with nothing but a loopback interface that is down. DNS, HTTP and TLS have their
standard ports here, so that programs need no settings except the certificate authority. Unix sockets and files are
those of the machine.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from webemu.api.proxy.command import build_exports
from webemu.api.proxy.programs import configure_cdx_toolkit
from webemu.api.proxy.run import restore_ids_command
from webemu.emulator.demo import is_healthy
from webemu.emulator.errors import EmulatorError

ADDRESS, PORT = "127.0.0.1", 8800
SERVER_OPTIONS = ["--host", ADDRESS, "--port", str(PORT), "--web-ports", "80,443", "--dns-port", "53"]
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
ALIAS_ADDRESS = "192.0.2.1"
"""Second address of the loopback interface (RFC 5737). With 127.0.0.1 alone, AI_ADDRCONFIG of getaddrinfo(3) takes the
machine to have no IPv4.
"""
_SIOCSIFADDR, _SIOCSIFFLAGS, _IFF_UP = 0x8916, 0x8914, 0x1
_PR_SET_PDEATHSIG = 1


def main(arguments: list[str]) -> int:
    """Run the command inside the network; return its exit status, or 1 if it was not started."""
    root, collection, ids, *command = arguments
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    server: subprocess.Popen[bytes] | None = None
    try:
        bring_up_loopback()
        override_resolv_conf()
        server = start_server(root, collection)
        return run_and_forward_signals([*restore_ids_command(ids), *command], build_environment(Path(root)))
    except EmulatorError as error:
        print(f"webemu: {error}", file=sys.stderr)
        return 1
    finally:
        if server:
            stop_server(server)


def bring_up_loopback() -> None:
    """Bring the loopback interface up and give it its second address, netdevice(7)."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sh22x", b"lo", _IFF_UP))
        address = struct.pack("HH4s", socket.AF_INET, 0, socket.inet_aton(ALIAS_ADDRESS))
        fcntl.ioctl(any_socket, _SIOCSIFADDR, struct.pack("16s8s16x", b"lo:1", address))


def override_resolv_conf() -> None:
    """Make the server the only resolver: hide the machine's own and replace resolv.conf, in this mount namespace
    alone.
    """
    hidden = {Path(name).resolve() for name in RESOLVER_FOLDERS if Path(name).is_dir()}
    target = RESOLV_CONF.resolve()
    for folder in hidden:
        _mount("-t", "tmpfs", "-o", "mode=755,size=64k", "webemu", str(folder))
    if any(folder in target.parents for folder in hidden):
        target.parent.mkdir(parents=True, exist_ok=True)
        target.touch()
    if target.exists():  # without the file, 127.0.0.1 is asked anyway, resolv.conf(5)
        with tempfile.NamedTemporaryFile("w") as file:
            file.write(f"# by webemu run\nnameserver {ADDRESS}\n")
            file.flush()
            Path(file.name).chmod(0o644)
            _mount("--bind", file.name, str(target))


def _mount(*arguments: str) -> None:
    """Run mount(8). Raises EmulatorError if it fails."""
    completed = subprocess.run(["mount", *arguments], capture_output=True, text=True)
    if completed.returncode:
        raise EmulatorError(f"mount {' '.join(arguments)}: {completed.stderr.strip()}")


def start_server(root: str, collection: str) -> subprocess.Popen[bytes]:
    """Start the server and return it once it answers. It ends with this process, however that ends.

    Raises:
        EmulatorError: it ended, or did not answer in time.
    """
    command = [
        sys.executable,
        "-P",
        "-m",
        "webemu.emulator.cli",
        "serve",
        "--root",
        root,
        "--collection",
        collection,
        *SERVER_OPTIONS,
    ]
    server = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        start_new_session=True,  # signals of the terminal are for the command
        preexec_fn=_end_with_parent,
    )
    deadline = time.monotonic() + START_SECONDS
    while not is_healthy(PORT):
        if server.poll() is not None or time.monotonic() > deadline:
            stop_server(server)
            raise EmulatorError("the server did not start; see its messages above")
        time.sleep(0.05)
    return server


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


def build_environment(root: Path) -> dict[str, str]:
    """Return the caller's environment without proxies, with the authority trusted."""
    inherited = {name: value for name, value in os.environ.items() if name.upper() not in PROXY_VARIABLES}
    server = f"http://{ADDRESS}:{PORT}"
    return inherited | build_exports(root) | configure_cdx_toolkit(server) | {"WEBEMU_SERVER": server}


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
