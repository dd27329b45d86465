"""The command `webemu episodes`, which serves episodes of a task file over plain HTTP."""

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
from webemu.rl.adapters.environment_config import EnvironmentConfig
from webemu.rl.ending import exit_with_error
from webemu.rl.tasks import Task, TaskError, load


def episodes(
    tasks: Annotated[Path, typer.Option("--tasks", help="Task file; clients choose its tasks by id.")],
    server: Annotated[
        str,
        typer.Option(
            "--server", envvar="WEBEMU_SERVER", help="Address of the running server, http://… or unix:///path."
        ),
    ] = DEFAULT_URL,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 picks a free one.")] = 8900,
    policy: Annotated[
        Path | None, typer.Option(help="JSON file with the policy of every session (docs/sessions.md).")
    ] = None,
    limits: Annotated[str, typer.Option(help='JSON object with limits of an episode, such as {"turns": 12}.')] = "{}",
    max_episodes: Annotated[int, typer.Option("--most", min=1, help="Largest number of concurrent episodes.")] = 4096,
    idle: Annotated[float, typer.Option(min=1, help="Seconds until an unused episode is dropped.")] = 1800,
) -> None:
    """Serve episodes of a task file over plain HTTP, for trainers in any language.

    POST /reset {"task_id": …, "seed": …} starts an episode, POST /step {"episode": …, "tool": …, "arguments": …} makes
    a tool call in it, and POST /close ends it. When it is done, the answer has its reward and every term.

    \b
    Example:
      webemu episodes --tasks webemu-data/demo-web/tasks.jsonl --port 8900
      curl -X POST http://127.0.0.1:8900/reset -d '{"task_id": "demo-01"}'
    """
    try:
        session_policy = _read_object(policy.read_text(encoding="utf-8"), str(policy)) if policy else {}
        environment_config = EnvironmentConfig.from_config(
            {"server": server, "limits": _read_object(limits, "--limits"), "policy": session_policy}
        )
        loaded_tasks = load(tasks)
        with Client(server) as client:
            client.health()
        if not loaded_tasks:
            raise TaskError(f"{tasks} holds no tasks")
        environment_config.new_episode().reset(loaded_tasks[0])  # fails now, before listening, if the policy is invalid
    except (ClientError, TaskError, ValueError, OSError) as error:
        _stop(error)
    _serve(loaded_tasks, environment_config, host, port, max_episodes, idle)


def _serve(
    loaded_tasks: Sequence[Task],
    environment_config: EnvironmentConfig,
    host: str,
    port: int,
    max_episodes: int,
    idle_seconds: float,
) -> None:
    """Serve the application with uvicorn on an already listening socket, until it is interrupted."""
    import uvicorn  # from the extra `server`; --help works without it

    from webemu.rl.adapters.http import build_app

    config = uvicorn.Config(
        build_app(loaded_tasks, environment_config, max_episodes, idle_seconds),
        host,
        port,
        log_level="warning",
        access_log=False,
    )
    try:  # bound here, so that the printed address works at once
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        sock = socket.create_server((host, port), family=family, backlog=config.backlog)
    except OSError as error:
        reason = os.strerror(error.errno or 0)
        _stop(InfrastructureError(f"cannot listen on {host}:{port}: {reason}", action="choose another --port"))
    typer.echo(f"episodes of {len(loaded_tasks)} tasks at http://{host}:{sock.getsockname()[1]} (end with Ctrl-C)")
    uvicorn.Server(config).run([sock])


def _read_object(text: str, source: str) -> dict[str, object]:
    """Return the JSON object in a text. Raises ValueError, which names the source, if it is none."""
    try:
        value = json.loads(text)
    except ValueError as error:
        raise ValueError(f"{source} must hold a JSON object: {error}") from error
    if not isinstance(value, dict):
        raise ValueError(f"{source} must hold a JSON object, got {text.strip()!r:.60}")
    return value


def _stop(error: Exception) -> NoReturn:
    """Print an error and its remedy to standard error, and exit with status 1."""
    if isinstance(error, ClientError):
        exit_with_error(error.message, error.action or "start the server with `webemu serve`")
    exit_with_error(str(error), "`webemu episodes --help` lists the options")
