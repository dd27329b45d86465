"""Sites on loopback that are like live ones: pages, an API that counts calls, streams, answers that break off."""

import asyncio
import gzip
import itertools
import json
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import parse_qsl

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import RequestReceived

from webemu.api.proxy.authority import CertificateAuthority, ensure_authority

BIG = bytes(range(256)) * 12_000
PAGE = b"""<!doctype html><html><head><title>Tea shop</title><link rel=stylesheet href=/style.css></head><body>
<main><h1>Tea shop</h1><p>The oolong costs 12 crowns a bag.</p><img src=/leaf.svg><a href=/now>now</a></main>
<script>fetch('/now').then(r => r.text()).then(t => { document.title = t })</script></body></html>"""


class Site(BaseHTTPRequestHandler):
    """Answers for every host."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    calls = itertools.count(1)
    requests: ClassVar[list[tuple[str, str]]] = []

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def reply(self, body: bytes, mime: str = "text/html", status: int = 200, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": mime, "Content-Length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_GET(self) -> None:
        self.requests.append((self.headers["Host"], self.path))
        match self.path.partition("?")[0]:
            case "/robots.txt":
                self.reply(b"User-agent: *\nDisallow: /private\n", "text/plain")
            case "/now" | "/private/now":
                self.reply(b"visit %d" % next(self.calls), "text/plain", Cache_Control="no-store")
            case "/packed" if "gzip" in self.headers.get("Accept-Encoding", ""):
                self.reply(gzip.compress(PAGE, mtime=0), Content_Encoding="gzip")
            case "/chunked":
                self.send_response(200)
                self.send_header("Transfer-Encoding", "chunked")
                self.send_header("Content-Type", "text/event-stream")
                self.end_headers()
                for number in range(3):
                    text = b"data: %d\n\n" % number
                    self.wfile.write(b"%x\r\n%b\r\n" % (len(text), text))
                    self.wfile.flush()
                    time.sleep(0.05)
                self.wfile.write(b"0\r\n\r\n")
            case "/big":
                self.reply(BIG, "application/octet-stream")
            case "/moved":
                self.reply(b"", status=302, Location="/page")
            case "/gone":
                self.reply(b"no such tea", status=404)
            case "/busy":
                self.reply(b"wait", status=429, Retry_After="1")
            case "/cut":
                self.send_response(200)
                self.send_header("Content-Length", "1000")
                self.end_headers()
                self.wfile.write(b"only this")
                self.close_connection = True
            case "/style.css":
                self.reply(b"h1 { color: rgb(0, 100, 0) }", "text/css")
            case "/leaf.svg":
                self.reply(b"<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'/>", "image/svg+xml")
            case _:
                self.reply(PAGE, Set_Cookie="seen=1")

    do_HEAD = do_GET

    def do_POST(self) -> None:
        self.requests.append((self.headers["Host"], self.path))
        body = self.rfile.read(int(self.headers["Content-Length"]))
        answer: dict[str, Any] = {"call": next(self.calls), "length": len(body)}
        if self.headers["Content-Type"].startswith("application/json"):
            question = json.loads(body) if body else dict(parse_qsl(self.path.partition("?")[2]))
            answer["organic"] = [
                {"title": question.get("q", ""), "link": "https://shop.example/page", "snippet": "Tea."}
            ]
        self.reply(json.dumps(answer).encode(), "application/json")


@contextmanager
def plain_and_tls(folder: Path) -> Iterator[tuple[int, int, Path]]:
    """Serve the site over HTTP and HTTPS; yield both ports, and the file of the authority that vouches for them."""
    authority = ensure_authority(folder)
    context = CertificateAuthority(authority).tls_context("shop.example")
    names = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    names.sni_callback = lambda conn, name, _: setattr(conn, "context", contexts(name or "shop.example"))
    contexts = CertificateAuthority(authority).tls_context
    plain, secure = ThreadingHTTPServer(("127.0.0.1", 0), Site), ThreadingHTTPServer(("127.0.0.1", 0), Site)
    context.sni_callback = names.sni_callback
    secure.socket = context.wrap_socket(secure.socket, server_side=True)
    for server in (plain, secure):
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield plain.server_address[1], secure.server_address[1], authority / "ca.pem"
    finally:
        for server in (plain, secure):
            server.shutdown()
            server.server_close()


@contextmanager
def http2_site(folder: Path) -> Iterator[int]:
    """Serve one text over HTTP/2 alone; yield the port."""
    context = CertificateAuthority(ensure_authority(folder)).tls_context("two.example")
    context.set_alpn_protocols(["h2"])
    ports: list[int] = []
    loop = asyncio.new_event_loop()
    ready = threading.Event()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = H2Connection(H2Configuration(client_side=False))
        connection.initiate_connection()
        writer.write(connection.data_to_send())
        while data := await reader.read(65_536):
            for event in connection.receive_data(data):
                if isinstance(event, RequestReceived):
                    headers = [(":status", "200"), ("content-type", "text/plain"), ("content-length", "10")]
                    connection.send_headers(event.stream_id, headers)
                    connection.send_data(event.stream_id, b"over two.\n", end_stream=True)
            writer.write(connection.data_to_send())

    async def serve() -> None:
        server = await asyncio.start_server(talk, "127.0.0.1", 0, ssl=context)
        ports.append(server.sockets[0].getsockname()[1])
        ready.set()
        await server.serve_forever()

    def run() -> None:
        asyncio.set_event_loop(loop)
        with suppress(asyncio.CancelledError, RuntimeError):
            loop.run_until_complete(serve())

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    ready.wait(30)
    try:
        yield ports[0]
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
