"""The commands `webemu ca` and `webemu env`."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path
from typing import Annotated

import typer
from cryptography import x509
from cryptography.hazmat.primitives import hashes

from webemu.api.proxy.authority import CERTIFICATE, ensure
from webemu.api.proxy.programs import for_cdx_toolkit, for_wget
from webemu.emulator.config import load
from webemu.emulator.errors import BadRequest

Root = Annotated[Path | None, typer.Option(help="Folder of all collections. [default: webemu-data]")]
PROXY = ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "DDGS_PROXY")
BUNDLE = (
    "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "HTTPLIB2_CA_CERTS",
    "AWS_CA_BUNDLE", "PIP_CERT", "GIT_SSL_CAINFO", "DENO_CERT",
)  # fmt: skip
DIRECT = "localhost,127.0.0.1,::1"


def exports(root: Path, server: str = "") -> dict[str, str]:
    """Variables that make programs trust the authority of a root and, given a server, take it as their proxy."""
    folder = ensure(root).resolve()
    trusted = dict.fromkeys(BUNDLE, str(folder / CERTIFICATE)) | for_wget(folder)
    if not server:
        return trusted
    direct = {"NO_PROXY": DIRECT, "no_proxy": DIRECT, "NODE_USE_ENV_PROXY": "1"}
    return dict.fromkeys(PROXY, server) | trusted | direct | for_cdx_toolkit(server)


def ca(
    root: Root = None,
    export: Annotated[Path | None, typer.Option(help="Also copy the certificate (PEM, without the key) there.")] = None,
) -> None:
    """Show the local certificate authority, created if there is none.

    The server ends TLS in its name. Its key is readable by you alone and it is installed nowhere: programs are told of
    it one by one (see `webemu env`).
    """
    path = ensure(load({"root": root}).root) / CERTIFICATE
    certificate = x509.load_pem_x509_certificate(path.read_bytes())
    print(f"certificate  {path.resolve()}")
    print(f"name         {certificate.subject.rfc4514_string()}")
    print(f"SHA-256      {certificate.fingerprint(hashes.SHA256()).hex(':')}")
    print(f"valid until  {certificate.not_valid_after_utc:%Y-%m-%d}")
    if export:
        shutil.copyfile(path, export)
        print(f"exported to  {export}")


def env(
    root: Root = None,
    server: Annotated[
        str, typer.Option(help="Address of the running server.", envvar="WEBEMU_SERVER")
    ] = "http://127.0.0.1:8800",
) -> None:
    """Print the settings that put programs onto the emulated web: the server as their proxy, its authority trusted.

    Obeyed by curl, GNU wget, git, pip, Python (requests, httpx, urllib, aiohttp with trust_env), Node from 22.21, and
    others. Libraries on aiohttp that do not set trust_env (LangChain's and LlamaIndex's asynchronous readers) and older
    Nodes read no proxy from the environment: start them with "webemu run".

        eval "$(webemu env)"

        curl https://en.openlexicon.org/wiki/Main_Page
    """
    if not server.startswith(("http://", "https://")):
        action = "name the server's port: --server http://127.0.0.1:8800"
        raise BadRequest(f"{server!r} is no address of a proxy", action=action)
    for name, value in exports(load({"root": root}).root, server).items():
        print(f"export {name}={shlex.quote(value)}")
