"""The commands `webemu ca` and `webemu env`, which route other programs through the server."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path
from typing import Annotated

import typer
from cryptography import x509
from cryptography.hazmat.primitives import hashes

from webemu.api.proxy.authority import CERTIFICATE_FILE, ensure_authority
from webemu.api.proxy.client_flags import describe_flags
from webemu.api.proxy.programs import configure_cdx_toolkit, configure_wget, write_java_store
from webemu.emulator.config import load_config
from webemu.emulator.errors import BadRequest
from webemu.emulator.options import RootOption

PROXY_VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "DDGS_PROXY")
"""Variables by which programs find their proxy."""
CA_VARIABLES = (
    "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "HTTPLIB2_CA_CERTS",
    "AWS_CA_BUNDLE", "PIP_CERT", "GIT_SSL_CAINFO", "DENO_CERT", "PRIMP_CA_BUNDLE",
)  # fmt: skip
"""Variables by which programs find certificate authorities that they trust."""
NO_PROXY_HOSTS = "localhost,127.0.0.1,::1"
"""Hosts that are reached without the proxy."""


def build_exports(root: Path, server: str = "") -> dict[str, str]:
    """Return environment variables that make programs trust the authority of a root of collections.

    With the address of a server they also make programs use it as their proxy.

        build_exports(Path("webemu-data"), "http://127.0.0.1:8800")["HTTPS_PROXY"]   # "http://127.0.0.1:8800"
    """
    folder = ensure_authority(root).resolve()
    trusted = dict.fromkeys(CA_VARIABLES, str(folder / CERTIFICATE_FILE)) | configure_wget(folder)
    if not server:
        return trusted
    direct = {"NO_PROXY": NO_PROXY_HOSTS, "no_proxy": NO_PROXY_HOSTS, "NODE_USE_ENV_PROXY": "1"}
    return dict.fromkeys(PROXY_VARIABLES, server) | trusted | direct | configure_cdx_toolkit(server)


def ca(
    root: RootOption = None,
    export: Annotated[Path | None, typer.Option(help="File to copy the certificate to (PEM, without the key).")] = None,
) -> None:
    """Show the local certificate authority; create it if there is none.

    It signs the certificates of the emulated web. Only you can read its key, and it is installed nowhere: programs
    are made to trust it one by one (see `webemu env`).
    """
    path = ensure_authority(load_config({"root": root}).root) / CERTIFICATE_FILE
    certificate = x509.load_pem_x509_certificate(path.read_bytes())
    print(f"certificate  {path.resolve()}")
    print(f"name         {certificate.subject.rfc4514_string()}")
    print(f"SHA-256      {certificate.fingerprint(hashes.SHA256()).hex(':')}")
    print(f"valid until  {certificate.not_valid_after_utc:%Y-%m-%d}")
    if export:
        shutil.copyfile(path, export)
        print(f"exported to  {export}")


def env(
    root: RootOption = None,
    server: Annotated[
        str, typer.Option(help="Address of the running server.", envvar="WEBEMU_SERVER")
    ] = "http://127.0.0.1:8800",
) -> None:
    """Print shell exports that route programs through webemu: the server as their proxy, its authority trusted.

    They work for curl, GNU wget, git, pip, Python (requests, httpx, urllib, aiohttp with trust_env), Node from 22.21
    and others. Comments after the exports name the flags that other clients need: browsers, Playwright, Selenium,
    Puppeteer, Java. Libraries on aiohttp that do not set trust_env (LangChain's and LlamaIndex's asynchronous readers)
    and older Nodes read no proxy from the environment: start them with "webemu run", where no client needs a flag.

        eval "$(webemu env)"

        curl https://en.openlexicon.org/wiki/Main_Page
    """
    if not server.startswith(("http://", "https://")):
        action = "give the URL of the server: --server http://127.0.0.1:8800"
        raise BadRequest(f"{server!r} is not the URL of a proxy", action=action)
    folder = load_config({"root": root}).root
    write_java_store(ensure_authority(folder))
    for name, value in build_exports(folder, server).items():
        print(f"export {name}={shlex.quote(value)}")
    # Last, because without the quotes of eval "$(webemu env)" everything after the first # is a comment.
    for line in describe_flags(ensure_authority(folder).resolve(), server):
        print(f"# {line}")
