"""Connections that end are gone at once: what lived as long as they do is seldom looked through by the collector."""

import gc
import http.client
import threading
import time
from pathlib import Path

import uvicorn

from tests.api.conftest import SmallWorld
from webemu.api.app import create_app
from webemu.api.proxy.http_protocol import BufferedResponseCycle, HttpProtocol
from webemu.api.proxy.listener import listen
from webemu.api.proxy.protocol_sniffer import ProtocolSniffer
from webemu.emulator.config import Config


def held() -> int:
    return sum(isinstance(one, HttpProtocol | BufferedResponseCycle) for one in gc.get_objects())


def test_an_ended_connection_leaves_no_cycles(tmp_path: Path) -> None:
    app = create_app(Config(root=tmp_path), SmallWorld())
    socket = listen("127.0.0.1", 0)
    server = uvicorn.Server(
        uvicorn.Config(app, http=ProtocolSniffer, lifespan="on", proxy_headers=False, log_config=None)
    )
    thread = threading.Thread(target=server.run, args=([socket],))
    thread.start()
    gc.collect()
    gc.disable()
    try:
        before = held()
        for _ in range(5):
            connection = http.client.HTTPConnection("127.0.0.1", socket.getsockname()[1], timeout=10)
            for path in ("/v1/find?url=https://a.example/x&pattern=the", "/health", "/serper/", "/v1/stats"):
                connection.request("GET", path)
                connection.getresponse().read()
            connection.close()
        until = time.monotonic() + 10
        while held() > before and time.monotonic() < until:
            time.sleep(0.05)
        assert held() == before
    finally:
        gc.enable()
        server.should_exit = True
        thread.join()
