"""The command `webemu hosted-tools`."""

from __future__ import annotations

import os
import socket
from typing import Annotated

import typer

from webemu.agent_client import Client, ClientError
from webemu.agent_client.client import DEFAULT_URL
from webemu.rl.ending import exit_with_error


def hosted_tools(
    model: Annotated[str, typer.Option(help="Name of the model at the endpoint.")],
    base_url: Annotated[
        str, typer.Option("--base-url", help="Endpoint of the model: chat completions with tools, http://…/v1.")
    ],
    server: Annotated[
        str, typer.Option(envvar="WEBEMU_SERVER", help="Address of the running server, http://… or unix:///path.")
    ] = DEFAULT_URL,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")] = 8920,
    api_key_env: Annotated[str, typer.Option(help="Environment variable that holds the endpoint's key.")] = "",
) -> None:
    """Let agents written for the hosted web search of OpenAI or Anthropic run on a local model and the emulated web.

    POST /v1/responses has OpenAI's tool web_search, POST /v1/messages Anthropic's web_search and web_fetch: a request
    is played with the model at --base-url, which searches and reads, and answered with the items or blocks, citations
    and counts of the real service. The header X-Webemu-Session of a request holds for its searches.

    \b
    Example:
      webemu hosted-tools --model Qwen/Qwen3-8B --base-url http://127.0.0.1:8000/v1
      export OPENAI_BASE_URL=http://127.0.0.1:8920/v1 OPENAI_API_KEY=any
      export ANTHROPIC_BASE_URL=http://127.0.0.1:8920 ANTHROPIC_API_KEY=any
    """
    import uvicorn  # from the extra `server`; --help works without it

    from webemu.rl.endpoint import Endpoint, EndpointError
    from webemu.rl.hosted.app import build_app

    if api_key_env and api_key_env not in os.environ:
        exit_with_error(f"the variable {api_key_env} is not set", f"export {api_key_env}=…")
    try:
        endpoint = Endpoint(base_url, model, os.environ[api_key_env] if api_key_env else "none")
        with Client(server) as client:
            client.health()
    except (EndpointError, ClientError, ValueError) as error:
        exit_with_error(str(error), getattr(error, "action", "") or "webemu serve --collection NAME")
    try:  # listen first, so that the printed address works at once
        sock = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        exit_with_error(f"cannot listen on {host}:{port}: {os.strerror(error.errno or 0)}", "choose another --port")
    address = f"http://{host}:{sock.getsockname()[1]}"
    typer.echo(f"{model} with hosted tools at {address}/v1 (end with Ctrl-C)")
    config = uvicorn.Config(build_app(endpoint, server), log_level="warning", access_log=False)
    uvicorn.Server(config).run([sock])
