"""Environment variables for single programs, beside proxy and authority: wget's settings file, cdx_toolkit's day."""

from __future__ import annotations

import json
import sys
import tempfile
from datetime import UTC, datetime
from http.client import HTTPException
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import ProxyHandler, build_opener

from webemu.api.proxy.authority import CERTIFICATE

WGETRC, SYSTEM_WGETRC = "wgetrc", Path("/etc/wgetrc")
PACE = "0.01"
"""Seconds between two requests of cdx_toolkit. It doubles them while it is told to wait: of 0 it would never wait."""
PATIENCE = 3.0
"""Seconds that a server has to say which crawls it holds."""


def for_wget(folder: Path) -> dict[str, str]:
    """Return the variable that names wget's settings for the whole system, which are copied with the authority added.

    wget of GnuTLS, which is Debian's, reads no variable for authorities. A user's own settings (`~/.wgetrc`, `WGETRC`)
    it reads all the same, after these. Where they cannot be written, that is said on standard error.
    """
    file = folder / WGETRC
    content = _text(SYSTEM_WGETRC) + f"\nca_certificate = {folder / CERTIFICATE}\n"
    try:
        if _text(file) != content:
            _write(file, content)
    except OSError as error:
        hint = f"pass it --ca-certificate={folder / CERTIFICATE}"
        print(f"webemu: wget is not told of the authority, {file} cannot be written ({error}); {hint}", file=sys.stderr)
        return {}
    return {"SYSTEM_WGETRC": str(file)}


def _text(file: Path) -> str:
    """Return what is in a file, nothing if it cannot be read."""
    try:
        return file.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return ""


def _write(file: Path, content: str) -> None:
    """Write a file whole: a program that starts meanwhile reads the old one or the new one."""
    with tempfile.TemporaryDirectory(prefix=".wgetrc-", dir=file.parent) as folder:
        made = Path(folder, WGETRC)
        made.write_text(content, encoding="utf-8", errors="surrogateescape")
        made.chmod(0o600)
        made.replace(file)


def for_cdx_toolkit(server: str) -> dict[str, str]:
    """Return the variables by which cdx_toolkit finds the crawl without being told of its years.

    Without dates it asks for the twelve months before today, which is the day of the last capture here. It waits
    between requests as the real archives want it, and keeps their list of crawls for a day: neither is wanted here.
    A server that does not answer tells no day; then its user names dates (`from_ts`).
    """
    paces = {f"CDXT_{name}_MIN_RETRY_INTERVAL": PACE for name in ("DEFAULT", "CC_INDEX", "CC_DATA", "IA")}
    day = _last_capture(server)
    return {**paces, "CDXT_CACHE_DIR": "/dev/null/"} | ({"CDXT_MOCK_TIME": str(day)} if day else {})


def _last_capture(server: str) -> int:
    """Return the time of the newest capture in seconds since the epoch, 0 if the server cannot be asked."""
    try:
        parts = urlsplit(server)
        address = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}/collinfo.json"
        with build_opener(ProxyHandler({})).open(address, timeout=PATIENCE) as answer:
            newest = json.load(answer)[0]["to"]
        return int(datetime.fromisoformat(newest).replace(tzinfo=UTC).timestamp())
    except (OSError, ValueError, LookupError, TypeError, HTTPException):
        return 0
