"""Flags of clients that no environment variable leads through the proxy or makes trust the authority.

`webemu env` prints them as comments after its exports. In `webemu run` none of them is needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

JAVA_STORE_FILE = "ca.p12"
"""Key store for Java, beside the certificate."""
_JAVA_OPTIONS = (
    "-Dhttp.proxyHost={host} -Dhttp.proxyPort={port} -Dhttps.proxyHost={host} -Dhttps.proxyPort={port} "
    "-Djavax.net.ssl.trustStore={java_store}"
)
FLAGS = (
    ("Chromium, Chrome", "--ignore-certificate-errors"),
    ("Playwright", "browser.new_context(ignore_https_errors=True)"),
    ("Selenium", "options.accept_insecure_certs = True"),
    ("Puppeteer", "puppeteer.launch({{acceptInsecureCerts: true}})"),
    ("Java", f"java {_JAVA_OPTIONS}"),
    ("aiohttp", "ClientSession(trust_env=True)"),
)
"""Clients and what to add to their command line or code, as format strings."""
RUN_ONLY = (
    ("trafilatura, pydantic-ai web_fetch, crewai scrapers", "they resolve names before they ask a proxy"),
    ("Firefox", "it trusts what its profile and its policies name"),
    ("Node before 22.21, http.client", "they use no proxy"),
    ("code that names a bundle, such as verify=certifi.where()", "it reads no variable"),
)
"""Clients that `webemu run` alone can serve, and why."""


def describe_flags(folder: Path, server: str) -> Iterator[str]:
    """Yield lines that say what each client needs besides the variables. `folder` is that of the authority."""
    parts = urlsplit(server)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    values = {"host": parts.hostname, "port": port, "java_store": folder / JAVA_STORE_FILE}
    yield "These need a flag besides the variables, or start them with `webemu run`, where they need none:"
    for name, flag in FLAGS:
        yield f"  {name}: {flag.format(**values)}"
    yield f"Under GNOME and KDE, Chromium takes its proxy from the desktop: add --proxy-server={server}"
    yield "These work with `webemu run` alone:"
    for name, reason in RUN_ONLY:
        yield f"  {name}: {reason}"
