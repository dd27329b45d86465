"""rLLM's gateway stands between the agent and a model, and records the calls of an episode in a session of its own."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

pytest.importorskip("rllm_model_gateway")

import uvicorn
from rllm_model_gateway import GatewayClient, GatewayConfig, create_app
from rllm_model_gateway.models import WorkerConfig

from tests.rl.contract import SEED
from tests.rl.test_same_outcome import scripted_model
from tests.rl.transcripts import transcript
from tests.rl.worlds import World
from webemu.rl.adapters.endpoint_agent import WebAgent, build_rows
from webemu.rl.adapters.environment_config import close_clients


@contextmanager
def gateway(model_address: str) -> Iterator[str]:
    """Yield the address of rLLM's gateway before a model."""
    config = GatewayConfig(store_worker="memory", sync_traces=True, workers=[WorkerConfig(url=model_address)])
    server = uvicorn.Server(uvicorn.Config(create_app(config), "127.0.0.1", 0, log_level="warning"))
    sock = server.config.bind_socket()
    thread = threading.Thread(target=server.run, args=([sock],), daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{sock.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(10)


def test_rllms_gateway_records_the_turns_of_an_episode(world: World) -> None:
    played = transcript(world, "right")
    with scripted_model(played) as model, gateway(model.url) as address:
        client = GatewayClient(address)
        session = client.create_session()

        async def run() -> float:
            agent, row = WebAgent(server=world.url), build_rows([played.task], SEED)[0]
            reward = await agent.run(row, base_url=client.get_session_url(session))
            await close_clients()
            return reward

        assert asyncio.run(run()) == 1.0
        traces = client.get_session_traces(session)
    assert len(traces) == len(played.calls)
    names = [trace.response_message["tool_calls"][0]["function"]["name"] for trace in traces]
    assert names == [name for name, _ in played.calls]
    assert all(one["return_token_ids"] and one["logprobs"] for one in model.requests), "what rLLM trains on"
