"""Command `webemu serve-model`: serve a trained model for evaluation."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Annotated

import typer

from webemu.rl.ending import exit_with_error


def serve_model(
    model: Annotated[Path, typer.Argument(help="Folder of a model, such as runs/tiny/3-grpo/model.")],
    name: Annotated[str, typer.Option(help="Name of the model at the endpoint. [default: the folder's path]")] = "",
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")] = 8910,
) -> None:
    """Serve a model that `webemu train` made, behind an OpenAI-compatible endpoint with tool calls.

    \b
    Example:
      webemu serve-model runs/tiny/3-grpo/model --name tiny
      webemu eval --model tiny --base-url http://127.0.0.1:8910/v1 --temperature 1 \\
        --tasks runs/tiny/webs/held-out/tasks.jsonl --root runs/tiny/webs --collection held-out \\
        --limits-json '{"brief": true, "results": 3}'
    """
    if not (model / "config.json").exists():
        exit_with_error(
            f"{model} holds no model (no config.json)", "name the folder `model` of a stage: ls runs/*/*/model"
        )
    import uvicorn  # slow imports

    from webemu.rl.train.chat_model import load_model
    from webemu.rl.train.endpoint import create_app

    try:  # listen first, so that the printed address works at once
        sock = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        exit_with_error(f"cannot listen on {host}:{port}: {os.strerror(error.errno or 0)}", "choose another --port")
    chat_model = load_model(str(model))
    chat_model.model.eval()
    model_name = name or str(model)
    config = uvicorn.Config(create_app(model_name, chat_model), log_level="warning", access_log=False)
    typer.echo(f"{model_name} at http://{host}:{sock.getsockname()[1]}/v1 (end with Ctrl-C)")
    uvicorn.Server(config).run([sock])
