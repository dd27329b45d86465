"""Inside the network that `webemu run` has made: brings it up, serves the collection there, and runs the command.

Begins as root of the namespaces, alone with a loopback interface that is down. DNS, HTTP and TLS have their own ports
here, so that programs need no settings but the certificate authority. Unix sockets and files remain the machine's.
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

from webemu.api.proxy.command import exports
from webemu.api.proxy.programs import for_cdx_toolkit
from webemu.api.proxy.run import returning
from webemu.emulator.demo import is_healthy
from webemu.emulator.errors import EmulatorError

ADDRESS, PORT = "127.0.0.1", 8800
DOORS = ["--host", ADDRESS, "--port", str(PORT), "--web-ports", "80,443", "--dns-port", "53"]
PATIENCE, GRACE = 60.0, 20.0
"""Seconds that the server has to answer, and to end."""
RESOLV = Path("/etc/resolv.conf")
RESOLVERS = ("/run/systemd/resolve", "/run/nscd", "/var/run/nscd", "/run/avahi-daemon")
"""Where the machine's own resolvers listen on Unix sockets, which no network namespace closes."""
PROXIES = {"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "FTP_PROXY", "NO_PROXY", "DDGS_PROXY", "NODE_USE_ENV_PROXY"}
"""Of the caller, who may have another network."""
FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)
ALIAS = "192.0.2.1"
"""A second address (RFC 5737): to AI_ADDRCONFIG of getaddrinfo(3), a machine with loopback's alone has no IPv4."""
_SIOCSIFADDR, _SIOCSIFFLAGS, _IFF_UP = 0x8916, 0x8914, 0x1
_PR_SET_PDEATHSIG = 1


def main(arguments: list[str]) -> int:
    """The exit status of the command; 1 if it was not reached."""
    root, collection, ids, *command = arguments
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    server: subprocess.Popen[bytes] | None = None
    try:
        raise_loopback()
        lead_names_here()
        server = serve(root, collection)
        return obey([*returning(ids), *command], environment(Path(root)))
    except EmulatorError as error:
        print(f"webemu: {error}", file=sys.stderr)
        return 1
    finally:
        if server:
            end(server)


def raise_loopback() -> None:
    """netdevice(7)."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sh22x", b"lo", _IFF_UP))
        address = struct.pack("HH4s", socket.AF_INET, 0, socket.inet_aton(ALIAS))
        fcntl.ioctl(any_socket, _SIOCSIFADDR, struct.pack("16s8s16x", b"lo:1", address))


def lead_names_here() -> None:
    """Hide the machine's resolvers and name the server as the only one; for this mount namespace alone."""
    hidden = {Path(name).resolve() for name in RESOLVERS if Path(name).is_dir()}
    target = RESOLV.resolve()
    for folder in hidden:
        _mount("-t", "tmpfs", "-o", "mode=755,size=64k", "webemu", str(folder))
    if any(folder in target.parents for folder in hidden):
        target.parent.mkdir(parents=True, exist_ok=True)
        target.touch()
    if target.exists():  # without one, the resolver of this machine is asked, resolv.conf(5)
        with tempfile.NamedTemporaryFile("w") as file:
            file.write(f"# by webemu run\nnameserver {ADDRESS}\n")
            file.flush()
            Path(file.name).chmod(0o644)
            _mount("--bind", file.name, str(target))


def _mount(*arguments: str) -> None:
    done = subprocess.run(["mount", *arguments], capture_output=True, text=True)
    if done.returncode:
        raise EmulatorError(f"mount {' '.join(arguments)}: {done.stderr.strip()}")


def serve(root: str, collection: str) -> subprocess.Popen[bytes]:
    """The server, answering. It ends with this process, however that ends."""
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
        *DOORS,
    ]
    server = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=_end_with_parent,
    )
    deadline = time.monotonic() + PATIENCE
    while not is_healthy(PORT):
        if server.poll() is not None or time.monotonic() > deadline:
            end(server)
            raise EmulatorError("the server does not get ready; see its messages above")
        time.sleep(0.05)
    return server


def _end_with_parent() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def end(server: subprocess.Popen[bytes]) -> None:
    if server.poll() is not None:
        print("webemu: the server ended before the command; what failed may be its fault", file=sys.stderr)
        return
    server.terminate()
    with suppress(subprocess.TimeoutExpired):
        server.wait(GRACE)
    server.kill()
    server.wait()


def environment(root: Path) -> dict[str, str]:
    """The caller's, without proxies, the authority trusted."""
    kept = {name: value for name, value in os.environ.items() if name.upper() not in PROXIES}
    server = f"http://{ADDRESS}:{PORT}"
    return kept | exports(root) | for_cdx_toolkit(server) | {"WEBEMU_SERVER": server}


def obey(command: list[str], env: dict[str, str]) -> int:
    """Run the command, pass on what signals come, and return its status as a shell has it."""
    watched = {*FORWARDED, signal.SIGCHLD}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, watched)
    try:
        with subprocess.Popen(command, env=env, preexec_fn=lambda: _set_mask(before)) as running:
            ending = threading.Thread(target=_announce_end, args=(running.pid, threading.get_ident()))
            ending.start()
            while running.poll() is None:
                told = signal.sigwaitinfo(watched)
                if told.si_signo != signal.SIGCHLD and told.si_code <= 0:  # a terminal's reach the command themselves
                    running.send_signal(told.si_signo)
            ending.join()
        return running.returncode if running.returncode >= 0 else 128 - running.returncode
    except OSError as error:
        print(f"webemu: cannot run {command[0]}: {error.strerror}", file=sys.stderr)
        return 127 if error.errno == errno.ENOENT else 126
    finally:
        _set_mask(before)


def _announce_end(child: int, thread: int) -> None:
    """Wake a thread that waits for SIGCHLD once the child has ended. The kernel's own SIGCHLD is for the whole process,
    and a thread that does not block it may take it away."""
    with suppress(ChildProcessError):  # its status was taken already
        os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    with suppress(ProcessLookupError):
        signal.pthread_kill(thread, signal.SIGCHLD)


def _set_mask(signals: Iterable[int]) -> None:
    signal.pthread_sigmask(signal.SIG_SETMASK, signals)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
