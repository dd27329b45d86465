"""The command `webemu serve`: listening sockets, and one or more uvicorn processes behind them."""

from __future__ import annotations

import gc
import ipaddress
import logging
import os
import signal
import socket
import sys
import tempfile
import threading
import time
from contextlib import ExitStack, suppress
from dataclasses import fields
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

import typer
import uvicorn

from webemu.api.app import store_policies
from webemu.api.proxy.authority import ensure_authority
from webemu.api.proxy.dns_server import check_dns_port
from webemu.api.proxy.listener import BACKLOG, listen
from webemu.api.proxy.protocol_sniffer import ProtocolSniffer
from webemu.api.proxy.unix import open_unix_listener
from webemu.api.runtime import batch_sharing
from webemu.api.runtime.descriptors import raise_limit
from webemu.api.runtime.live_snapshot import current_id, describe_reader, find_problem
from webemu.api.runtime.supervisor import Server, Supervisor
from webemu.api.runtime.tenants import run_tenants
from webemu.api.sessions.listening import NO_POLICY
from webemu.emulator.config import Config, list_tenants, load_config
from webemu.emulator.errors import BadRequest
from webemu.emulator.folders import find_collection
from webemu.emulator.logs import event_extra, logging_config
from webemu.emulator.options import RootOption
from webemu.emulator.tenants import NO_TENANT

log = logging.getLogger("webemu.serve")

KEEP_ALIVE_SECONDS = 120
"""Seconds that an idle connection stays open. Longer than clients keep theirs, so that the client closes it and never
sends a request on a connection that is just being closed.
"""
SHUTDOWN_SECONDS = 15
"""Seconds that running requests have to finish when the server is told to stop."""
HUNG_WORKER_SECONDS = 30
"""Seconds without a sign of life after which a worker is killed. A dead worker is noticed immediately; this limit is
for hung ones, and a worker that is merely busy must not die together with all its requests.
"""
PARENT_POLL_SECONDS = 0.5
"""Seconds between two checks that the parent process is alive."""


CollectionOption = Annotated[str | None, typer.Option(help="Collection to serve. [default: default]")]
HostOption = Annotated[str | None, typer.Option(help="Address to bind to. [default: 127.0.0.1]")]
PortOption = Annotated[
    int | None, typer.Option(help="Port to listen on; 0 takes a free one. [default: 8800]", min=0, max=65535)
]
WebPortsOption = Annotated[
    str | None,
    typer.Option(help="Further ports, such as 80,443, for programs that use no proxy. [default: none]"),
]
UdsOption = Annotated[
    str | None, typer.Option(help="Unix socket to listen on as well, for this user only. [default: none]")
]
DnsPortOption = Annotated[
    int | None,
    typer.Option(
        help="DNS port; captured host names resolve to this server; 0 disables it. [default: 0]", min=0, max=65535
    ),
]
DnsNetworksOption = Annotated[
    str | None,
    typer.Option(
        help="Networks in which DNS gives each host an address, such as 22.0.0.0/8; they must be routed to this "
        "server. [default: none]"
    ),
]
WorkersOption = Annotated[int | None, typer.Option(help="Number of serving processes. [default: 1]", min=1)]
CacheMbOption = Annotated[
    int | None, typer.Option(min=0, help="Cache of rendered responses, in MB per process. [default: 64]")
]
LogFormatOption = Annotated[
    str | None, typer.Option(help="Format of the log on standard error: text or json. [default: text]")
]
PolicyOption = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Policy in JSON, or an opened session, that holds for every request at every door; what a request carries "
        "can only narrow it. [default: none]",
    ),
]
ListenOption = typer.Option(
    "--listen",
    metavar="ADDRESS=FILE",
    help="Further listener that is bound to a policy or session: 127.0.0.1:8801=policy.json, unix:PATH=ws-…; "
    "may be repeated. [default: none]",
)
RequireSessionOption = Annotated[
    bool | None, typer.Option("--require-session", help="Refuse requests that carry no session.")
]
OpenOption = Annotated[
    bool | None, typer.Option("--open", help="Serve everybody who can reach an address that is not a loopback one.")
]
RayOption = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Ray cluster to serve on, with `workers` replicas: auto, HOST:PORT or ray://HOST:PORT.",
    ),
]
PartsOption = Annotated[
    int | None,
    typer.Option(
        help="With --ray: number of partitions that `webemu snapshots split` made, of which each is in two processes.",
        min=2,
    ),
]
PartProcessesOption = Annotated[
    int | None,
    typer.Option(
        help="With --parts: number of processes that share the partitions, each with one replica. [default: a quarter "
        "of the cluster's processors]",
        min=1,
    ),
]
StrictOption = Annotated[
    bool,
    typer.Option(
        "--strict",
        help="With --parts: refuse searches with 503 while a partition is lost; otherwise their answers name what they "
        "lack in X-Webemu-Missing-Parts.",
    ),
]
TenantOption = Annotated[
    str | None,
    typer.Option(help="Serve this tenant of webemu.toml alone. [default: each tenant that is there, on its own port]"),
]
WaitOption = Annotated[bool, typer.Option("--wait", help="Wait for a collection that does not exist yet.")]
ParentOption = Annotated[int, typer.Option(hidden=True, help="Process id; the server stops when that process ends.")]


def serve(
    collection: CollectionOption = None,
    root: RootOption = None,
    host: HostOption = None,
    port: PortOption = None,
    web_ports: WebPortsOption = None,
    uds: UdsOption = None,
    dns_port: DnsPortOption = None,
    dns_networks: DnsNetworksOption = None,
    workers: WorkersOption = None,
    cache_mb: CacheMbOption = None,
    policy: PolicyOption = None,
    listen_at: Annotated[list[str] | None, ListenOption] = None,
    require_session: RequireSessionOption = None,
    open_to_all: OpenOption = None,
    tenant: TenantOption = None,
    log_format: LogFormatOption = None,
    ray: RayOption = None,
    parts: PartsOption = None,
    part_processes: PartProcessesOption = None,
    strict: StrictOption = False,
    wait: WaitOption = False,
    parent: ParentOption = 0,
) -> None:
    """Serve a collection over HTTP: search, fetch, find; documented at /docs.

    The server follows the collection: a new snapshot is served a second after it is built, without dropping a request.

    \b
    Example:
      webemu serve --collection demo --workers 4
      webemu serve --collection demo --uds web.sock      then: webemu search --server unix://web.sock river
      webemu serve --collection mine --log-format json 2>server.log
      webemu serve --collection mine --ray auto --workers 4
      webemu serve --collection mine --policy blocked.json
      webemu serve --collection mine --listen 127.0.0.1:8801=blocked.json     agents at 8801, the trainer at 8800
      webemu serve                                       each tenant of webemu.toml (docs/settings.md)
    """
    flags = {"root": root, "collection": collection, "host": host, "port": port, "web_ports": web_ports, "uds": uds}
    flags |= {"dns_port": dns_port, "dns_networks": dns_networks, "workers": workers, "cache_mb": cache_mb}
    flags |= {"log_format": log_format, "policy": policy, "require_session": require_session}
    flags |= {"open": open_to_all, "listen": ",".join(listen_at) if listen_at else None, "tenant": tenant}
    config = load_config(flags)
    if parts is None and (part_processes or strict):
        raise BadRequest("--part-processes and --strict are about partitions", action="name their number with --parts")
    if config.tenant == NO_TENANT and (tenants := list_tenants()):
        run_tenants(tenants, [name for name, value in {**flags, "ray": ray}.items() if value is not None], wait, parent)
        return
    if ray:
        from webemu.api.runtime.ray_cluster import serve_on_ray  # it loads what builds partitions

        _require_collection(config, wait)
        serve_on_ray(ray, store_policies(config), parts, part_processes, strict)
        return
    if parts:
        raise BadRequest("--parts works on a Ray cluster only", action="name the cluster with --ray ADDRESS")
    _listen_and_run(config, wait, parent)


def _listen_and_run(config: Config, wait: bool, parent: int) -> None:
    """Open all sockets and serve on them until the server is stopped.

    `parent` is the process whose end stops the server too; 0 for none. With `wait`, the collection need not exist yet.
    """
    listeners = [listen(config.host, port) for port in (config.port, *config.further_ports)]
    bound = [listen(one.host, one.port) for one in config.bound_listeners if one.path is None]
    is_shared: dict[Path, bool] = {config.socket_path: False} if config.socket_path else {}
    for listener in config.bound_listeners:
        if listener.path is not None:
            is_shared[listener.path] = is_shared.get(listener.path, False) or listener.user is not None
    _check_openness(config, [*listeners, *bound])
    if config.dns_port:
        check_dns_port(config.host, config.dns_port)
    _require_collection(config, wait)
    config = store_policies(config)
    ensure_authority(config.root)
    raise_limit()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # an exception, so that the file of a Unix socket is removed
    with ExitStack() as stack:
        for path in is_shared:
            bound.append(stack.enter_context(open_unix_listener(path, is_shared[path])))
        print_addresses(config, listeners)
        # Worker processes read their configuration from the environment: see `webemu.api.app.from_environment`.
        for field in fields(config):
            os.environ[f"WEBEMU_{field.name.upper()}"] = str(getattr(config, field.name))
        os.environ["WEBEMU_TENANT"] = NO_TENANT  # its settings are among these
        if parent:
            threading.Thread(target=_exit_with_parent, args=(parent,), daemon=True).start()
        with suppress(KeyboardInterrupt):
            _run_server(config, [*listeners, *bound])


def _require_collection(config: Config, wait: bool) -> None:
    """Raise BadRequest if the collection does not exist, unless the server is told to wait for it."""
    if not wait:
        find_collection(config, "--wait waits for it")


def _exit_with_parent(parent: int) -> None:
    """Stop this server when the process that started it is gone: that process may be killed before it can stop the
    server.
    """
    while os.getppid() == parent:
        time.sleep(PARENT_POLL_SECONDS)
    os.kill(os.getpid(), signal.SIGTERM)


def _run_server(config: Config, listeners: list[socket.socket]) -> None:
    """Run uvicorn on the listening sockets, under a supervisor if there are several workers."""
    uvicorn_config = uvicorn.Config(
        "webemu.api.app:from_environment",
        factory=True,
        interface="asgi3",
        loop="webemu.api.proxy.accepting:AcceptingLoop" if find_spec("uvloop") else "auto",
        http=ProtocolSniffer,
        ws="none",
        lifespan="on",
        workers=config.workers,
        backlog=BACKLOG,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        timeout_worker_healthcheck=HUNG_WORKER_SECONDS,
        access_log=False,
        proxy_headers=False,  # X-Forwarded-* headers of clients are not trusted
        server_header=False,
        log_config=logging_config(config.log_format),
    )
    _log_start(config, listeners)
    if config.workers > 1:
        with tempfile.TemporaryDirectory(prefix="webemu-") as folder:
            os.environ[batch_sharing.FOLDER_VARIABLE] = folder
            Supervisor(uvicorn_config, listeners).run()
    else:
        Server(uvicorn_config).run(listeners)


def _log_start(config: Config, listeners: list[socket.socket]) -> None:
    """Log what is served and on which addresses."""
    addresses = [_format_address(listener.getsockname()) for listener in listeners]
    log_fields = event_extra(
        "server_started", collection=config.collection, listening=addresses, workers=config.workers
    )
    log.info("serving %s on %s", config.collection, ", ".join(addresses), extra=log_fields)


def _format_address(address: object) -> str:
    """Return the address of a socket as people write it: `host:port`, or the path of a Unix socket."""
    if isinstance(address, (str, bytes)):
        return str(Path(os.fsdecode(address)).absolute())
    assert isinstance(address, tuple)
    host, port = address[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _ingest_command(config: Config) -> str:
    """Return the command that fills the collection."""
    return f"webemu ingest SOURCE... --root {config.root} --collection {config.collection}"


def print_addresses(config: Config, listeners: list[socket.socket]) -> None:
    """Print what is served, where, and a command to try it; then the ports of the emulated web, and warnings."""
    name, port = listeners[0].getsockname()[:2]
    address = f"http://[{name}]:{port}" if ":" in name else f"http://{name}:{port}"
    snapshot = current_id(config.collection_folder)
    obstacle = find_problem(config.collection_folder, snapshot) if snapshot else None
    gc.collect()  # closes what `problem` opened: LMDB must not open a file twice in one process
    status = f"snapshot {snapshot}" if snapshot else f"no snapshot yet: {_ingest_command(config)} builds one"
    hint = f"   try: curl '{address}/v1/search?q=river'"
    if obstacle:
        status, hint = f"nothing is served: {obstacle[0]}", ""
    owner = "" if config.tenant == NO_TENANT else f"tenant {config.tenant}, "
    print(f"webemu: {owner}{config.collection} ({status}) on {address}{hint}", flush=True)
    if obstacle:
        print(f"  -> {obstacle[1]}", file=sys.stderr)
    ports = [str(listener.getsockname()[1]) for listener in listeners[1:]]
    ports += [f"{config.dns_port} (DNS)"] if config.dns_port else []
    if ports:
        print(f"webemu: the emulated web by host name on {name}, port {', '.join(ports)}", flush=True)
    for bound in config.bound_listeners:
        print(f"webemu: under the policy {bound.policy} on {bound.address}", flush=True)
    if config.policy != NO_POLICY:
        print(f"webemu: every request is under the policy {config.policy}", flush=True)
    if config.socket_path:
        path = config.socket_path.absolute()
        print(f"webemu: also for this user on unix://{quote(str(path))}", flush=True)
    print(f"webemu: reader of result records: {describe_reader()}", flush=True)
    if _is_reachable(name) and not config.accepted_keys:
        print(
            f"webemu: {name} is not a loopback address: anyone who can reach it can read the collection",
            file=sys.stderr,
        )


def _is_reachable(address: str) -> bool:
    """True if other machines may reach an address."""
    return not ipaddress.ip_address(address.partition("%")[0]).is_loopback and not _is_loopback_only()


def _check_openness(config: Config, listeners: list[socket.socket]) -> None:
    """Raise BadRequest if others may reach a listener, no key is wanted, and nobody said that this is meant."""
    names = [listener.getsockname()[0] for listener in listeners]
    if not (config.open or config.accepted_keys) and (name := next(filter(_is_reachable, names), None)):
        raise BadRequest(
            f"{name} is not a loopback address: anyone who can reach it could read the collection and its sessions",
            action="set api_keys, or say with --open that everybody may",
        )


def _is_loopback_only() -> bool:
    """True if the network has no interface but the loopback, as in `webemu run`: nobody else reaches this server."""
    return [name for _, name in socket.if_nameindex()] == ["lo"]
