"""The settings of one run: a TOML file, then `WEBEMU_*`, then flags. Passed as an argument, never read at import."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from emulator.errors import BadRequest
from emulator.logs import FORMS

COLLECTION_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
WEB_PORTS = re.compile(r"none||[0-9]{1,5}(\s*,\s*[0-9]{1,5})*")


@dataclass(frozen=True, slots=True)
class Config:
    """One run's settings; every field is also `WEBEMU_<FIELD>` in the environment and a key of `webemu.toml`."""

    root: Path = Path("webemu-data")
    """Folder that holds the collections."""
    collection: str = "default"
    """Which collection is worked on."""
    host: str = "127.0.0.1"
    """Address the server binds to."""
    port: int = 8800
    """Port the server binds to."""
    web_ports: str = "none"
    """Further TCP ports that lead to the same server, such as `80,443`."""
    uds: str = "none"
    """Unix domain socket on which the server also listens, for clients on the same machine: a path."""
    dns_port: int = 0
    """Port on which DNS leads every known name to the server, UDP and TCP; 0 is off."""
    workers: int = 1
    """Processes that serve or ingest."""
    cache_mb: int = 64
    """Memory for rendered answers and work that sessions share, per serving process, in MB."""
    compress: int = 0
    """Answers of the API of so many bytes or more are sent in gzip to who takes that; 0 is none."""
    api_keys: str = "any"
    """Keys that the vendors' APIs take, with commas between them; any key, and none, unless some are given."""
    state: str = "none"
    """Folder for the ledger of sessions and for traces, where the root is read-only; none is the root."""
    log_format: str = "text"
    """Form of the server's log on standard error: text, or json, an object a line."""
    slow_ms: int = 1000
    """Requests that take longer are logged, in milliseconds; 0 is none."""

    def __post_init__(self) -> None:
        if not COLLECTION_NAME.fullmatch(self.collection):
            raise BadRequest(
                f"collection name {self.collection!r} is not usable as a folder name",
                action="use letters, digits, '.', '_' and '-' (at most 64)",
            )
        for name, port in [("port", self.port), ("dns_port", self.dns_port)]:
            if not 0 <= port <= 65_535:
                raise BadRequest(f"setting {name}={port} is no port", action="use a number from 0 to 65535")
        if not WEB_PORTS.fullmatch(self.web_ports) or any(port > 65_535 for port in self.further_ports):
            raise BadRequest(
                f"setting web_ports={self.web_ports!r} is no list of ports",
                action="use numbers from 0 to 65535 with commas between them: 80,443",
            )
        for name, number, least in [
            ("workers", self.workers, 1),
            ("slow_ms", self.slow_ms, 0),
            ("compress", self.compress, 0),
        ]:
            if number < least:
                raise BadRequest(f"setting {name}={number} is less than {least}", action=f"use {least} or more")
        if self.log_format not in FORMS:
            raise BadRequest(
                f"setting log_format={self.log_format!r} is no form of a log", action=f"one of {', '.join(FORMS)}"
            )

    @property
    def keys(self) -> frozenset[str]:
        """`api_keys`, one by one; empty if any will do."""
        given = (key.strip() for key in self.api_keys.split(","))
        return frozenset() if self.api_keys == "any" else frozenset(key for key in given if key)

    @property
    def folder(self) -> Path:
        """Where the collection rests."""
        return self.root / self.collection

    @property
    def socket_path(self) -> Path | None:
        """`uds` as a path; None if there is to be none."""
        return Path(self.uds) if self.uds not in ("", "none") else None

    @property
    def written(self) -> Path:
        """Where the server writes what sessions of the collection did."""
        return self.folder if self.state == "none" else Path(self.state) / self.collection

    @property
    def further_ports(self) -> tuple[int, ...]:
        """`web_ports` as numbers."""
        return tuple(int(digits) for digits in re.findall("[0-9]+", self.web_ports))


def load(flags: Mapping[str, Any], environ: Mapping[str, str] | None = None) -> Config:
    """The config from `webemu.toml` (or the file `WEBEMU_CONFIG` names), the environment, and flags unless None."""
    environ = os.environ if environ is None else environ
    values: dict[str, Any] = {}
    path = Path(environ.get("WEBEMU_CONFIG", "webemu.toml"))
    if path.is_file():
        try:
            values.update(tomllib.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError) as error:
            raise BadRequest(f"{path}: {error}", action="correct the file; it is TOML") from error
    known = {f.name for f in fields(Config)}
    if unknown := values.keys() - known:
        raise BadRequest(f"{path}: unknown settings {sorted(unknown)}", action=f"known ones: {sorted(known)}")
    values.update({n: environ[f"WEBEMU_{n.upper()}"] for n in known if f"WEBEMU_{n.upper()}" in environ})
    values.update({n: v for n, v in flags.items() if v is not None})
    return Config(**{name: _typed(name, value) for name, value in values.items()})


def _typed(name: str, value: Any) -> Any:
    default = getattr(Config(), name)
    try:
        return type(default)(value) if not isinstance(default, Path) else Path(value)
    except (ValueError, TypeError) as error:
        raise BadRequest(f"setting {name}={value!r} is not a {type(default).__name__}") from error
