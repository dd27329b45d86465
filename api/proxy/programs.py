"""Settings of single programs that need more than variables for proxy and authority: wget, Java and cdx_toolkit."""

from __future__ import annotations

import json
import sys
import tempfile
from datetime import UTC, datetime
from http.client import HTTPException
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import ProxyHandler, build_opener

from cryptography import x509
from cryptography.hazmat.primitives.serialization import NoEncryption
from cryptography.hazmat.primitives.serialization.pkcs12 import PKCS12Certificate, serialize_java_truststore

from webemu.api.proxy.authority import CERTIFICATE_FILE
from webemu.api.proxy.client_flags import JAVA_STORE_FILE

WGETRC, SYSTEM_WGETRC = "wgetrc", Path("/etc/wgetrc")
RETRY_INTERVAL_SECONDS = "0.01"
"""Seconds between two requests of cdx_toolkit. It doubles them each time it is told to wait, so 0 would never wait."""
TIMEOUT_SECONDS = 3.0
"""Seconds that a server has to answer which crawls it holds."""


def configure_wget(folder: Path) -> dict[str, str]:
    """Write wget's system-wide settings with the authority added; return the variable that names the file.

    wget built with GnuTLS, as in Debian, reads no variable for authorities. It still reads the user's own settings
    (`~/.wgetrc`, `WGETRC`) after these. If the file cannot be written, a warning goes to standard error and the result
    is empty.
    """
    file = folder / WGETRC
    content = _read_bytes(SYSTEM_WGETRC) + f"\nca_certificate = {folder / CERTIFICATE_FILE}\n".encode()
    try:
        if _read_bytes(file) != content:
            _replace_file(file, content)
    except OSError as error:
        hint = f"run it with --ca-certificate={folder / CERTIFICATE_FILE}"
        print(f"webemu: wget will not trust the authority: cannot write {file} ({error}); {hint}", file=sys.stderr)
        return {}
    return {"SYSTEM_WGETRC": str(file)}


def write_java_store(folder: Path) -> None:
    """Write a key store of the authority beside its certificate, for Java, which reads no PEM file.

    If the file cannot be written, a warning goes to standard error.
    """
    file = folder / JAVA_STORE_FILE
    if file.exists():
        return
    try:
        _replace_file(file, encode_java_store((folder / CERTIFICATE_FILE).read_bytes()))
    except OSError as error:
        print(f"webemu: Java will not trust the authority: cannot write {file} ({error})", file=sys.stderr)


def encode_java_store(pem: bytes) -> bytes:
    """Return a key store in PKCS #12 that holds one certificate, as one of Java's trusted authorities.

    It has neither encryption nor checksum, since Java reads its file of authorities without a password.
    """
    certificate = PKCS12Certificate(x509.load_pem_x509_certificate(pem), b"webemu")
    return serialize_java_truststore([certificate], NoEncryption())


def _read_bytes(file: Path) -> bytes:
    """Return the content of a file; empty if it cannot be read."""
    try:
        return file.read_bytes()
    except OSError:
        return b""


def _replace_file(file: Path, content: bytes) -> None:
    """Replace a file in one step: a program that starts meanwhile reads the old or the new content."""
    with tempfile.TemporaryDirectory(prefix=f".{file.name}-", dir=file.parent) as folder:
        temporary = Path(folder, file.name)
        temporary.write_bytes(content)
        temporary.chmod(0o600)
        temporary.replace(file)


def configure_cdx_toolkit(server: str) -> dict[str, str]:
    """Return the variables by which cdx_toolkit finds the crawl without being given dates.

    Without dates it asks for the twelve months before today, so its clock is set to the last capture here. It also
    waits between requests, as the real archives require, and caches their list of crawls for a day; both are turned
    off. If the server does not answer, the clock is left alone and users must name dates (`from_ts`).
    """
    intervals = {
        f"CDXT_{name}_MIN_RETRY_INTERVAL": RETRY_INTERVAL_SECONDS for name in ("DEFAULT", "CC_INDEX", "CC_DATA", "IA")
    }
    last_time = _fetch_last_capture_time(server)
    return {**intervals, "CDXT_CACHE_DIR": "/dev/null/"} | ({"CDXT_MOCK_TIME": str(last_time)} if last_time else {})


def _fetch_last_capture_time(server: str) -> int:
    """Return the time of the newest capture in seconds since the epoch; 0 if the server does not tell."""
    try:
        parts = urlsplit(server)
        address = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}/collinfo.json"
        with build_opener(ProxyHandler({})).open(address, timeout=TIMEOUT_SECONDS) as answer:
            newest = json.load(answer)[0]["to"]
        return int(datetime.fromisoformat(newest).replace(tzinfo=UTC).timestamp())
    except (OSError, ValueError, LookupError, TypeError, HTTPException):
        return 0
