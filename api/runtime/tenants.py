"""One server for each tenant of `webemu.toml`, each in processes of its own, started and stopped together."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from types import FrameType

from webemu.emulator.errors import BadRequest, EmulatorError

POLL_SECONDS = 0.2
"""Seconds between two looks at the servers."""
MIN_UPTIME_SECONDS = 10.0
"""Seconds that a server must have run to be started again when it ends: one that ends sooner would never come up."""
STOP_SECONDS = 25
"""Seconds that a server has to end by itself: more than it gives its running requests."""


def run_tenants(tenants: Sequence[str], flags: Sequence[str], wait: bool, parent: int) -> None:
    """Serve each tenant until this process is told to stop, or the process `parent` has ended; 0 for none.

    Raises:
        BadRequest: flags are given, which hold for one server.
        EmulatorError: the server of a tenant ended right after its start.
    """
    if flags:
        raise BadRequest(
            f"webemu.toml has tenants, and --{flags[0].replace('_', '-')} holds for one server",
            action="write the setting in webemu.toml, or name a tenant with --tenant",
        )
    with ExitStack() as stack:
        servers = [TenantServer(name, wait) for name in tenants]
        for server in servers:
            stack.callback(server.wait_for_end)
        for server in servers:
            stack.callback(server.stop)  # all are told to stop before the first is waited for
        signal.signal(signal.SIGTERM, _exit)
        with suppress(KeyboardInterrupt):
            while not parent or os.getppid() == parent:
                for server in servers:
                    server.start_again_if_ended()
                time.sleep(POLL_SECONDS)


def _exit(signal_number: int, frame: FrameType | None) -> None:
    """End this process, and so its servers."""
    sys.exit(0)


class TenantServer:
    """The server of one tenant as a child process."""

    def __init__(self, tenant: str, wait: bool) -> None:
        self._tenant = tenant
        self._command = [sys.executable, "-m", "webemu.emulator.cli", "serve", "--tenant", tenant]
        self._command += ["--parent", str(os.getpid()), *(["--wait"] if wait else [])]
        self._start()

    def _start(self) -> None:
        # A session of its own: Ctrl-C reaches this process alone, which then stops its servers in order.
        self._process = subprocess.Popen(self._command, start_new_session=True)
        self._started = time.monotonic()

    def start_again_if_ended(self) -> None:
        """Start the server again if it has ended. Raises EmulatorError if it ended right after its start."""
        if (status := self._process.poll()) is None:
            return
        if time.monotonic() - self._started < MIN_UPTIME_SECONDS:
            raise EmulatorError(
                f"the server of tenant {self._tenant} ended with status {status} right after its start",
                action=f"correct what it said above, or try it alone: webemu serve --tenant {self._tenant}",
            )
        self._start()

    def stop(self) -> None:
        """Tell the server to end."""
        self._process.terminate()

    def wait_for_end(self) -> None:
        """Wait until the server has ended, and kill it if it does not."""
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
