"""`webemu episodes`: gives episodes of a task file over plain HTTP."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from webemu.agent_client import Client, ClientError
from webemu.agent_client.client import DEFAULT_URL
from webemu.agent_client.errors import InfrastructureError
from webemu.rl.adapters.environment_config import Place
from webemu.rl.tasks import Task, TaskError, load


def episodes(
    tasks: Annotated[Path, typer.Option("--tasks", help="Task file, whose tasks are asked for by id.")],
    server: Annotated[
        str, typer.Option("--server", envvar="WEBEMU_SERVER", help="Address of the running server; or unix:///path.")
    ] = DEFAULT_URL,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")] = 8900,
    policy: Annotated[Path | None, typer.Option(help="JSON file: policy of every session (docs/sessions.md).")] = None,
    limits: Annotated[str, typer.Option(help='JSON: limits of an episode, such as {"turns": 12}.')] = "{}",
    most: Annotated[int, typer.Option(min=1, help="Episodes that may go on at once.")] = 4096,
    idle: Annotated[float, typer.Option(min=1, help="Seconds until an episode nobody asks for is forgotten.")] = 1800,
) -> None:
    """Give episodes of a task file over plain HTTP, for trainers in any language.

    POST /reset {"task_id": …, "seed": …} begins one, POST /step {"episode": …, "tool": …, "arguments": …} makes a tool
    call of it, POST /close ends it. When it is done, the answer has its reward and every term.

    \b
    Example:
      webemu episodes --tasks webemu-data/demo/tasks.jsonl --port 8900
      curl -X POST http://127.0.0.1:8900/reset -d '{"task_id": "demo-01"}'
    """
    try:
        given = json.loads(policy.read_text(encoding="utf-8")) if policy else {}
        place = Place.of({"server": server, "limits": json.loads(limits), "policy": given})
        chosen = load(tasks)
        with Client(server) as client:
            client.health()
        if not chosen:
            raise TaskError(f"{tasks}: there is no task in it")
        place.episode().reset(chosen[0])  # so that a policy that is none is told now
    except (ClientError, TaskError, ValueError, OSError) as error:
        _stop(error)
    _serve(chosen, place, host, port, most, idle)


def _serve(chosen: Sequence[Task], place: Place, host: str, port: int, most: int, idle: float) -> None:
    import uvicorn  # of the extra `server`; not needed to say --help

    from webemu.rl.adapters.http import app

    config = uvicorn.Config(app(chosen, place, most, idle), host, port, log_level="warning", access_log=False)
    try:  # listening, so that the address holds from the moment it is told
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        sock = socket.create_server((host, port), family=family, backlog=config.backlog)
    except OSError as error:
        why = os.strerror(error.errno or 0)
        _stop(InfrastructureError(f"{host}:{port} cannot be listened on: {why}", action="give another --port"))
    typer.echo(f"episodes of {len(chosen)} tasks at http://{host}:{sock.getsockname()[1]} (end with Ctrl-C)")
    uvicorn.Server(config).run([sock])


def _stop(error: Exception) -> NoReturn:
    typer.echo(f"webemu: {error.message if isinstance(error, ClientError) else error}", err=True)
    action = error.action if isinstance(error, ClientError) else "`webemu episodes --help` shows what is taken"
    typer.echo(f"  -> {action or 'start the server with `webemu serve`'}", err=True)
    raise typer.Exit(1) from None
