"""Ray nodes on loopback: real raylets, of which the second can be killed with all that runs on it."""

import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import psutil

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
# Ray gives its workers a niceness of 15: beside other work of the machine they get a thirtieth of a core.
os.environ["RAY_worker_niceness"] = "0"  # noqa: SIM112 (Ray spells it so)
# As docs/cluster.md says of busy machines; else proxies that are late are killed, with the connections that they have.
os.environ["RAY_SERVE_PROXY_READY_CHECK_TIMEOUT_S"] = "60"
os.environ["RAY_SERVE_PROXY_HEALTH_CHECK_TIMEOUT_S"] = "60"
CPUS = 3
"""The number of processors of each node, as Ray counts them."""
MEMORY = 150 << 20
"""Bytes of each node's object store."""


class Cluster:
    """A head, to which a second node can be added."""

    def __init__(self) -> None:
        from ray.cluster_utils import Cluster as Nodes

        head = {"num_cpus": CPUS, "object_store_memory": MEMORY, "include_dashboard": False}
        self._nodes: Any = Nodes(initialize_head=True, head_node_args=head)
        self.head = Node(self._nodes, self._nodes.head_node)
        self.address: str = self._nodes.address

    @contextmanager
    def second(self) -> Iterator["Node"]:
        """A second node."""
        node = Node(self._nodes, self._nodes.add_node(num_cpus=CPUS, object_store_memory=MEMORY))
        try:
            self._nodes.wait_for_nodes()
            yield node
        finally:
            node.kill()

    def close(self) -> None:
        self._nodes.shutdown()


class Node:
    """A running node."""

    def __init__(self, nodes: Any, node: Any) -> None:
        self._nodes = nodes
        self._node = node
        self._raylet = psutil.Process(node.all_processes["raylet"][0].process.pid)

    def running(self) -> list[psutil.Process]:
        """All processes that its raylet started, and those started by them."""
        return self._raylet.children(recursive=True) if self._raylet.is_running() else []

    def kill(self) -> None:
        """The node and whatever runs on it, without a word."""
        running = self.running()
        if self._node in self._nodes.worker_nodes:
            self._nodes.remove_node(self._node, allow_graceful=False)
        for process in running:
            with suppress(psutil.NoSuchProcess):
                process.kill()


def until(claim: Callable[[], object], seconds: float = 300.0) -> None:
    """Wait for a claim to be true; fails after so many seconds."""
    end = time.monotonic() + seconds
    while not claim():
        assert time.monotonic() < end, f"not within {seconds} s"
        time.sleep(0.05)


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port
